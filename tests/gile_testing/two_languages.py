"""Two hand-made languages, and models that are trained on them."""

from functools import partial

import lightning
import torch

from gile_lightning.data.loading.ragged import RaggedBatch
from gile_lightning.data.shards.cache import default_cache
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.data.training_data import TrainingData
from gile_lightning.network.encoders import HAN, WAN, Dense, WordEmbedding
from gile_lightning.network.outputs import GILE
from gile_lightning.systems import NeuralSystem
from gile_testing import runs

PARTS = {
    "embedding": partial(WordEmbedding, dim=6),
    "encoder": partial(WAN, layer=partial(Dense, dim=5)),
    "output": partial(GILE, joint_dim=7),
    "optimizer": partial(torch.optim.SGD, lr=0.0),  # the weights stay what they are
}
HIERARCHICAL = PARTS | {"encoder": partial(HAN, layer=partial(Dense, dim=5))}


WORDS = {"english": ["liver", "kidney", "rat", "mouse"], "german": ["leber", "niere", "ratte"]}


LABELS = {  # two unseen ones each
    "english": LabelSet(
        ["L", "K", "R", "M", "X"],
        ["liver liver", "kidney rat", "rat mouse", "mouse", "kidney mouse liver"],
        [4, 3, 1, 0, 0],
    ),
    "german": LabelSet(
        ["N", "L", "R", "S"], ["niere", "leber ratte", "ratte", "ratte niere"], [2, 1, 0, 0]
    ),
}


DOCUMENTS = {  # words and label ids, in two batches; the first is for training, too
    "english": [
        ([[0, 1, 2], [3, 3]], [[0, 2], [1]]),
        ([[2, 0], [1], [3]], [[0, 3], [4], [1, 2]]),
    ],
    "german": [
        ([[0, 2], [1]], [[0], [1]]),
        ([[2], [2, 1]], [[0, 2], [3]]),
    ],
}


def languages():
    return {name: Task(Tokenizer([*words, "UNK"]), LABELS[name]) for name, words in WORDS.items()}


def ragged(words, labels):
    def flat(rows):
        return torch.tensor([x for row in rows for x in row]), torch.tensor([len(r) for r in rows])

    values, lengths = flat(words)
    return RaggedBatch(values, lengths, torch.ones_like(lengths), *flat(labels))


class TwoLanguages(lightning.LightningDataModule):
    """The documents above, a batch of both languages at a time."""

    def __init__(self, given=None):
        super().__init__()
        self.tasks = given or languages()
        self.batches = [
            {name: ragged(*DOCUMENTS[name][i]) for name in self.tasks} for i in range(2)
        ]

    def train_dataloader(self):
        return torch.utils.data.DataLoader(self.batches[:1], batch_size=None)

    def val_dataloader(self):
        return torch.utils.data.DataLoader(self.batches, batch_size=None)

    test_dataloader = val_dataloader

    def vectors(self, name):
        return None

    def training_data(self):
        return TrainingData(self.tasks, self.vectors, self.training_documents, default_cache())

    def training_documents(self, name):
        yield self.batches[0][name]

    def size(self, name, split):
        return len(self.batches[0][name].label_counts)


def run(model, data, *stages):
    """Train an epoch or test; return the logged metrics."""
    trainer = lightning.Trainer(
        max_epochs=1,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        use_distributed_sampler=False,
    )
    torch.manual_seed(3)
    for stage in stages:
        getattr(trainer, stage)(model, data)
    return {key: float(value) for key, value in trainer.callback_metrics.items()}


MORE = {  # other labels, many more of them seen
    "english": LabelSet([f"e{i}" for i in range(12)], ["rat liver", "mouse"] * 6, [2] * 11 + [0]),
    "german": LabelSet([f"g{i}" for i in range(7)], ["ratte"] * 7, [1] * 7),
}


def checkpoint_of(model):
    checkpoint = {"state_dict": {k: v.clone() for k, v in model.state_dict().items()}}
    model.on_save_checkpoint(checkpoint)
    return checkpoint


def with_labels(names, labels):
    found = languages()
    return {name: Task(found[name].tokenizer, labels[name]) for name in names}


def built(**parts):
    torch.manual_seed(8)
    model = NeuralSystem(**parts)
    model.build(languages())
    return model


def logits(model, name, words):
    """Score each document with each label text, all by themselves: the oracle."""
    network, task = model.network(name), model.tasks[name]
    with torch.no_grad():
        embed = network.embedding.weight
        labels = [
            network.label_norm(embed[task.tokenizer.word_ids(task.tokenizer.words(text))].mean(0))
            for text in task.labels.texts
        ]
        rows = []
        for document in words:
            states = network.encoder.layer.linear(embed[document]).relu()
            pooling = network.encoder.pooling
            attention = pooling.score(pooling.hidden(states).relu()).softmax(0)
            vector = network.document_norm((attention * states).sum(0))
            output = network.output
            joint = [
                output.document_projection(vector).relu() * output.label_projection(label).relu()
                for label in labels
            ]
            rows.append([float(output.unit(e)) for e in joint])
    return torch.tensor(rows)


def of_all_batches(model, name):
    """Return the logits and targets of all documents of a language."""
    words = [w for batch, _ in DOCUMENTS[name] for w in batch]
    labels = [ids for _, batch in DOCUMENTS[name] for ids in batch]
    count = len(LABELS[name])
    return logits(model, name, words).numpy(), runs.positives(labels, list(range(count)))
