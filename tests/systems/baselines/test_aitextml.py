"""AiTextML and WSABIE+: the parts together, on documents made up here and through the commands."""

import math
from dataclasses import replace

import lightning
import numpy as np
import pytest
import torch

from gile_lightning import evaluate, load
from gile_lightning.common.errors import InputError
from gile_lightning.data.loading.ragged import RaggedBatch
from gile_lightning.data.shards.cache import default_cache
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.data.training_data import TrainingData
from gile_lightning.systems.baselines import AiTextML
from gile_lightning.systems.baselines.paragraph_vectors import TextRows
from gile_lightning.systems.baselines.warp import warp_updates
from gile_lightning.systems.loading import load_system
from gile_lightning.training.checkpoint import read_checkpoint
from gile_testing import baseline_runs, runs

# batches that are there already need no workers
pytestmark = pytest.mark.filterwarnings("ignore:.*does not have many workers")

TOPICS, WORDS, DOCUMENTS = 4, 12, 60
VOCABULARY = [f"{topic}{word}" for topic in "abcd" for word in "abcdefghijkl"]


def label_set():
    """A label per topic, the last of which has no training document."""
    names = [f"{topic}a {topic}b" for topic in "abcd"]
    texts = [" ".join(VOCABULARY[WORDS * t : WORDS * t + WORDS]) for t in range(TOPICS)]
    return LabelSet(names, texts, [30, 20, 10, 0])


def language():
    return Task(Tokenizer([*VOCABULARY, "UNK"]), label_set())


def batch(topics, seed=0, rows=None):
    """Documents of 30 words of the topic, in two sentences, the second document's empty."""
    source = np.random.default_rng(seed)
    words = np.concatenate([WORDS * t + source.integers(0, WORDS, 30) for t in topics])
    count = len(topics)
    return RaggedBatch(
        torch.from_numpy(words.astype(np.int32)),
        torch.tensor([10, 20] * count),
        torch.full((count,), 2),
        torch.tensor(topics),
        torch.ones(count, dtype=torch.long),
        torch.arange(count) if rows is None else rows,
    )


class Topics(lightning.LightningDataModule):
    """Documents of one topic each: 60 of three topics to train with, 40 of four to test."""

    def __init__(self):
        super().__init__()
        self.tasks = {"text": language()}
        self.train = batch([0] * 30 + [1] * 20 + [2] * 10)
        self.test = batch([0, 1, 2, 3] * 10, seed=1)
        self.parts = []
        for ids in torch.randperm(60, generator=torch.Generator().manual_seed(0)).split(20):
            words = self.train.words.view(60, 30)[ids].flatten()
            labels, ones = self.train.label_ids[ids], torch.ones(20, dtype=torch.long)
            part = RaggedBatch(words, torch.tensor([10, 20] * 20), 2 * ones, labels, ones, ids)
            self.parts.append({"text": part})

    def training_data(self):
        return TrainingData(self.tasks, None, self.training_documents, default_cache())

    def training_documents(self, name):
        yield self.train

    def train_dataloader(self):
        return torch.utils.data.DataLoader(self.parts, batch_size=None)

    def val_dataloader(self):
        return torch.utils.data.DataLoader([{"text": self.test}], batch_size=None)

    test_dataloader = val_dataloader


def trainer(epochs=1, **settings):
    return lightning.Trainer(
        max_epochs=epochs,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        use_distributed_sampler=False,
        **settings,
    )


def built(**settings):
    torch.manual_seed(4)
    model = AiTextML(**{"dim": 8, "subsampling": 0.0} | settings)
    model.attach(Topics().training_data())
    return model


@pytest.mark.parametrize("label_weight", [0.0, 0.5])
def test_a_step_is_warp_then_the_texts_then_those_of_the_violations(label_weight):
    settings = {"warp_weight": 2.0, "document_weight": 3.0, "label_weight": label_weight}
    model = built(lr=0.1, margin=0.3, weight_decay=0.01, **settings)
    expected = built(lr=0.1, margin=0.3, weight_decay=0.01, **settings).of("text")
    data, documents = Topics(), batch([2, 0, 1], rows=torch.tensor([50, 7, 33]))
    trainer(limit_train_batches=0, limit_val_batches=0).fit(model, data)
    counted = model._train("text", documents, torch.Generator().manual_seed(9))

    generator = torch.Generator().manual_seed(9)
    found = warp_updates(
        *(expected.documents, expected.labels, expected.mapping, documents.rows),
        *(documents.label_ids, documents.label_counts, generator),
        **{"lr": 0.2, "margin": 0.3, "max_norm": 1.0, "weight_decay": 0.01},
    )
    words, lengths = documents.words, torch.full((3,), 30)
    texts = TextRows(words, lengths, documents.rows, torch.arange(3))
    draws = expected.words.uniform(90, generator)
    expected.words.steps(expected.documents, texts, draws, 0.3)
    pairs = zip(found.documents, found.positives, found.labels, strict=True)
    read = [(document, int(label)) for document, *both in pairs for label in both]
    if label_weight:
        rows = torch.tensor([label for _, label in read])
        words = torch.cat([torch.arange(WORDS * row, WORDS * row + WORDS) for row in rows]).int()
        streams = torch.tensor([int(document) for document, _ in read])
        texts = TextRows(words, torch.full_like(rows, WORDS), rows, streams)
        draws = expected.words.uniform(len(words), generator)
        expected.words.steps(expected.labels, texts, draws, 0.05)
    assert counted == len(read) // 2 > 0
    own, others = model.of("text").state_dict(), expected.state_dict()
    assert own.keys() == others.keys()
    for key in own:
        torch.testing.assert_close(own[key], others[key], rtol=1e-6, atol=1e-7)


def test_words_are_counted():
    counts = torch.bincount(Topics().train.words, minlength=len(VOCABULARY) + 1)
    assert torch.equal(built().of("text").words.counts, counts)


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def test_scores_are_products_of_unit_vectors():
    model, documents = built(inference_iterations=2, lr=0.3), batch([1, 3, 0])
    vectors = model.of("text")
    found = model.score("text", documents.texts, model.prepare_labels("text", label_set())).numpy()
    # the document's and the unseen label's vectors, each on its own
    new = vectors.words.infer(VOCABULARY_IDS[3], torch.tensor([WORDS]), 3**-0.5, 0.1, 2)
    labels = np.concatenate([vectors.labels.numpy(), new.numpy()])
    for i, words in enumerate(documents.words.split(30)):
        x = vectors.words.infer(words, torch.tensor([30]), 60**-0.5, 0.1, 2).numpy()[0]
        expected = unit(labels) @ (vectors.mapping.numpy() @ unit(x))
        np.testing.assert_allclose(found[i], expected, rtol=1e-4, atol=1e-6)


VOCABULARY_IDS = torch.arange(TOPICS * WORDS).int().view(TOPICS, WORDS)


def test_unseen_labels_by_the_words_of_their_names():
    model = built(unseen="avg")
    vectors = model.of("text")
    inputs = vectors.words.inputs.numpy()
    names = ["bd cf nowhere", "aa ab", "da db"]  # the second has been seen
    found = model.prepare_labels("text", LabelSet(names, ["aa"] * 3, [0] * 3)).numpy()
    sums = [
        unit(inputs[WORDS + 3]) + unit(inputs[2 * WORDS + 5]) + unit(inputs[-1]),
        vectors.labels.numpy()[0],
        unit(inputs[3 * WORDS]) + unit(inputs[3 * WORDS + 1]),
    ]
    expected = unit(np.array(sums)) @ vectors.mapping.numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_a_label_that_was_renamed_keeps_its_vector():
    task = language()
    own = replace(task.labels, uris=[f"urn:{i}" for i in range(TOPICS)])
    model = built(unseen="avg")
    model.set_tasks({"text": replace(task, labels=own)})
    renamed = LabelSet(["bd", "ca cb"], ["", ""], [0, 0], uris=["urn:1", "urn:9"])
    found = model.prepare_labels("text", renamed).numpy()
    vectors = model.of("text")
    inputs = vectors.words.inputs.numpy()
    rows = [vectors.labels.numpy()[1], unit(inputs[2 * WORDS]) + unit(inputs[2 * WORDS + 1])]
    np.testing.assert_allclose(found, unit(np.array(rows)) @ vectors.mapping.numpy(), 1e-5, 1e-6)


def test_texts_are_read_once_more_than_in_training():
    model, documents = built(), batch([1, 3])
    labels = model.prepare_labels("text", label_set())
    trainer(2, limit_val_batches=0).fit(model, Topics())
    assert int(model.epochs) == 2
    found = model.score("text", documents.texts, labels)
    model.inference_iterations = 3
    assert torch.equal(found, model.score("text", documents.texts, labels))
    model.inference_iterations = 2
    assert not torch.equal(found, model.score("text", documents.texts, labels))


@pytest.mark.parametrize("unseen", ["inf", "avg"])
def test_learns_topics(unseen):
    """Words of a topic come together, and so do documents and labels, the unseen one too."""
    model = built(unseen=unseen, lr=0.6, inference_iterations=20, positions_at_once=4)
    run = trainer(30, limit_val_batches=0)
    run.fit(model, Topics())
    assert run.callback_metrics["train/violations"] < 0.5
    run.test(model, Topics(), verbose=False)
    assert model.results["seen"]["average_precision"] > 0.95


def test_a_run_that_goes_on_ends_as_one_that_was_not_broken(tmp_path):
    whole, data = built(), Topics()
    trainer(3, limit_val_batches=0).fit(whole, data)
    first = built()
    run = trainer(2, limit_val_batches=0)
    run.fit(first, data)
    run.save_checkpoint(tmp_path / "last.ckpt")
    second = AiTextML(dim=8, subsampling=0.0)
    path = tmp_path / "last.ckpt"
    trainer(3, limit_val_batches=0).fit(second, data, ckpt_path=path, weights_only=True)
    for key, value in whole.state_dict().items():
        assert torch.equal(value, second.state_dict()[key]), key
    # 3 batches an epoch; callbacks tell epochs apart by the steps
    assert second.trainer.global_step == 9

    loaded = load_system(read_checkpoint(path))
    prepared = [model.prepare_labels("text", label_set()) for model in (first, loaded)]
    scores = [
        model.score("text", data.test.texts, labels)
        for model, labels in zip((first, loaded), prepared, strict=True)
    ]
    assert torch.equal(*scores)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"document_weight": 0}, "above 0: document_weight is 0"),
        ({"label_weight": -1}, "model.label_weight is -1; 0 or above"),
        ({"max_norm": 0}, "above 0: max_norm is 0"),
        ({"window": 4}, "window is 4"),
    ],
)
def test_wrong_settings(settings, message):
    with pytest.raises(InputError, match=message):
        AiTextML(**settings).check()


@pytest.mark.parametrize("config", ["aitextml.yaml", "wsabie.yaml"])
def test_commands(config):
    """A fit, its evaluation, and new labels."""
    run = baseline_runs.trained(config, "--trainer.max_epochs", "2", "--model.dim", "10")
    assert run.metrics["epochs"] == 2
    again = runs.call(evaluate.main, "--checkpoint", run.output, "--trainer.accelerator", "cpu")
    assert again.status is None, again.errors
    name = "test.unseen.average_precision"
    assert again.result[name] == pytest.approx(run.metrics[name])
    (labels,) = load(run.best).predict(["The liver of the rat."], {"Fish": "They live in water."})
    assert [label["name"] for label in labels] == ["Fish"]
    assert math.isfinite(labels[0]["score"])
