"""The LightningModule, with one corpus and with two hand-made languages."""

from functools import partial
from pathlib import Path

import lightning
import numpy as np
import pytest
import runs
import torch
import torch.nn.functional as F
from torch import nn

from gile_lightning.classifier import TextClassifier
from gile_lightning.data.labels import LabelSet
from gile_lightning.data.language import Language
from gile_lightning.data.ragged import RaggedBatch
from gile_lightning.data.text import TextEncoder
from gile_lightning.encoders import WAN, Dense, WordEmbedding
from gile_lightning.errors import InputError
from gile_lightning.outputs import GILE, Linear
from gile_lightning.sampling import AllLabels

# batches that are there already need no workers
pytestmark = pytest.mark.filterwarnings("ignore:.*does not have many workers")

PARTS = {
    "embedding": partial(WordEmbedding, dim=6),
    "encoder": partial(WAN, layer=partial(Dense, dim=5)),
    "output": partial(GILE, joint_dim=7),
    "optimizer": partial(torch.optim.SGD, lr=0.0),  # the weights stay what they are
}
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
    return {
        name: Language(TextEncoder([*words, "UNK"]), LABELS[name]) for name, words in WORDS.items()
    }


def ragged(words, labels):
    def flat(rows):
        return torch.tensor([x for row in rows for x in row]), torch.tensor([len(r) for r in rows])

    values, lengths = flat(words)
    return RaggedBatch(values, lengths, torch.ones_like(lengths), *flat(labels))


class TwoLanguages(lightning.LightningDataModule):
    """The documents above, a batch of both languages at a time."""

    def __init__(self):
        super().__init__()
        self.languages = languages()
        self.batches = [
            {name: ragged(*batches[i]) for name, batches in DOCUMENTS.items()} for i in range(2)
        ]

    def train_dataloader(self):
        return torch.utils.data.DataLoader(self.batches[:1], batch_size=None)

    def val_dataloader(self):
        return torch.utils.data.DataLoader(self.batches, batch_size=None)

    test_dataloader = val_dataloader

    def vectors(self, name):
        return None


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


def logits(model, name, words):
    """Score each document on its own against the label texts, each on its own."""
    scorer, language = model.scorer(name), model.languages[name]
    with torch.no_grad():
        embed = scorer.embedding.weight
        labels = [
            scorer.label_norm(embed[language.text.word_ids(language.text.words(text))].mean(0))
            for text in language.labels.texts
        ]
        rows = []
        for document in words:
            states = scorer.encoder.layer.linear(embed[document]).relu()
            pooling = scorer.encoder.pooling
            attention = pooling.score(pooling.hidden(states).relu()).softmax(0)
            vector = scorer.document_norm((attention * states).sum(0))
            output = scorer.output
            joint = [
                output.document_projection(vector).relu() * output.label_projection(label).relu()
                for label in labels
            ]
            rows.append([float(output.unit(e)) for e in joint])
    return torch.tensor(rows)


def of_all_batches(model, name):
    words = [w for batch, _ in DOCUMENTS[name] for w in batch]
    labels = [ids for _, batch in DOCUMENTS[name] for ids in batch]
    count = len(LABELS[name])
    return logits(model, name, words).numpy(), runs.positives(labels, list(range(count)))


def test_loss_is_the_mean_over_languages():
    model, data = TextClassifier(**PARTS, sampler=AllLabels()), TwoLanguages()
    logged = run(model, data, "fit")
    losses = []
    for name, batches in DOCUMENTS.items():
        words, labels = batches[0]
        seen = LABELS[name].seen
        targets = torch.tensor(runs.positives(labels, list(range(seen)))).float()
        scores = logits(model, name, words)[:, :seen]
        losses.append(float(F.binary_cross_entropy_with_logits(scores, targets)))
    assert losses[0] != pytest.approx(losses[1], rel=1e-3)
    assert logged["train/loss"] == pytest.approx(np.mean(losses), rel=1e-5)


def test_validation_scores_are_those_of_the_seen_labels_averaged_over_languages():
    model, data = TextClassifier(**PARTS), TwoLanguages()
    logged = run(model, data, "fit")
    scores, popularity = [], []
    for name in DOCUMENTS:
        seen = LABELS[name].seen
        values, targets = of_all_batches(model, name)
        scores.append(runs.ranking_scores(values[:, :seen], targets[:, :seen]))
        by_frequency = np.tile(np.arange(seen, 0, -1), (len(targets), 1))
        popularity.append(runs.ranking_scores(by_frequency, targets[:, :seen]))
    for key in ("ranking_loss", "average_precision", "one_error", "precision_at_1"):
        expected = np.mean([score[key] for score in scores])
        assert logged[f"val/{key}"] == pytest.approx(expected), key
    expected = np.mean([score["average_precision"] for score in popularity])
    assert logged["val/popularity_average_precision"] == pytest.approx(expected)


def test_results_are_averaged_and_documents_added_up():
    model, data = TextClassifier(**PARTS), TwoLanguages()
    run(model, data, "fit", "test")
    for key in ("seen", "unseen", "all"):
        scores = []
        for name in DOCUMENTS:
            seen = LABELS[name].seen
            part = {"seen": slice(seen), "unseen": slice(seen, None), "all": slice(None)}[key]
            values, targets = of_all_batches(model, name)
            scores.append(runs.ranking_scores(values[:, part], targets[:, part]))
        for metric in ("ranking_loss", "average_precision", "one_error", "precision_at_1"):
            expected = np.mean([score[metric] for score in scores])
            assert model.results[key][metric] == pytest.approx(expected), (key, metric)
        for count in ("documents", "skipped"):
            assert model.results[key][count] == sum(score[count] for score in scores)


def test_parts_may_be_shared_between_languages():
    model = TextClassifier(**PARTS)
    model.build(languages())
    separate = sum(p.numel() for p in model.parameters())
    model.scorers["german"].encoder = model.scorers["english"].encoder
    encoder = sum(p.numel() for p in model.scorers["english"].encoder.parameters())
    assert sum(p.numel() for p in model.parameters()) == separate - encoder


# --- steps ---


def test_label_samples_follow_position_not_history():
    """A resumed run draws what an unbroken one draws."""
    model = TextClassifier(**PARTS)
    model.build(languages())
    model.languages = languages()

    def draw(name, batch):
        return torch.rand(4, generator=model._generator(name, batch)).tolist()

    places = [("english", 0), ("english", 1), ("german", 0)]
    first = [draw(*place) for place in places]
    assert [draw(*place) for place in reversed(places)] == first[::-1]
    assert len({tuple(numbers) for numbers in first}) == len(places)
    other = TextClassifier(**PARTS, seed=5)
    other.languages = languages()
    assert torch.rand(4, generator=other._generator("english", 0)).tolist() != first[0]


def test_linear_weights_start_as_in_the_authors_code():
    model = TextClassifier(**PARTS)
    model.build(languages())
    linear = [m for m in model.modules() if isinstance(m, nn.Linear)]
    # per language 3 in the encoder and one unit; two projections to the joint space for both
    assert len(linear) == 2 * 4 + 2
    for layer in linear:
        limit = (6 / sum(layer.weight.shape)) ** 0.5  # Glorot and Bengio (2010)
        assert layer.weight.abs().max() <= limit
        assert layer.weight.abs().max() > 0.3 * limit
        assert not layer.bias.any()


def test_frozen_parts_are_not_trained():
    model = TextClassifier(**PARTS | {"embedding": partial(WordEmbedding, dim=6, trainable=False)})
    model.build(languages())
    (group,) = model.configure_optimizers().param_groups
    trained = {id(parameter) for parameter in group["params"]}
    for name in languages():
        assert id(model.scorers[name].embedding.weight) not in trained
    assert len(trained) == sum(p.requires_grad for p in model.parameters())


def test_linear_has_no_unseen_scores():
    model, data = TextClassifier(**PARTS | {"output": Linear}), TwoLanguages()
    run(model, data, "fit", "test")
    assert model.results["seen"]["documents"] == 7
    assert model.results["unseen"]["documents"] == model.results["all"]["documents"] == 0


def test_scores_that_are_no_numbers():
    model, data = TextClassifier(**PARTS), TwoLanguages()
    model.build(data.languages)
    model.scorers["german"].output.unit.weight.data.fill_(float("nan"))
    with pytest.raises(InputError, match="training diverged; lower the learning rate"):
        run(model, data, "test")


# --- settings ---


@pytest.mark.parametrize(
    ("parts", "error"),
    [
        ({"embedding": partial(WordEmbedding, dim=0)}, "dim is 0"),
        ({"embedding": partial(WordEmbedding, vectors=Path("none.txt"))}, "none.txt: no such file"),
        ({"output": partial(GILE, joint_dim=-1)}, "joint_dim is -1"),
        ({"optimizer": partial(torch.optim.SGD, lr=-1.0)}, r"model\.optimizer: Invalid learning"),
    ],
)
def test_check_finds_what_cannot_be_made(parts, error):
    model = TextClassifier(**PARTS | parts)
    with pytest.raises(InputError, match=error):
        model.check()


def test_check_leaves_no_trace():
    model = TextClassifier(**PARTS)
    torch.manual_seed(1)
    before = torch.get_rng_state()
    model.check()
    assert torch.equal(torch.get_rng_state(), before)
    assert not list(model.parameters())


def test_a_checkpoint_of_another_corpus_is_refused():
    model = TextClassifier(**PARTS)
    model.build(languages())
    checkpoint = {}
    model.on_save_checkpoint(checkpoint)
    model.on_load_checkpoint(checkpoint)  # its own is fine
    other = languages()
    other["german"] = Language(TextEncoder(["leber", "UNK"]), LABELS["german"])
    model.use(other)
    with pytest.raises(InputError, match=r"trained with another corpus .* \(german\)"):
        model.on_load_checkpoint(checkpoint)


def test_weights_of_another_model_are_refused():
    model, other = TextClassifier(**PARTS), TextClassifier(**PARTS | {"output": Linear})
    for one in (model, other):
        one.build(languages())
    with pytest.raises(InputError, match=r"not that of the checkpoint: Missing key\(s\)"):
        model.load_state_dict(other.state_dict())


def test_the_norm_makes_documents_differ():
    """Without it, the mean of many small word vectors is nearly the same for every document."""
    words = [str(i) for i in range(500)]
    language = Language(TextEncoder([*words, "UNK"]), LabelSet(["a"], ["1 2"], [1]))
    draw = np.random.default_rng(0)
    texts = [[int(i) for i in draw.integers(0, 500, 190)] for _ in range(20)]
    spread = {}
    for norm in (nn.Identity, None):
        torch.manual_seed(0)
        model = TextClassifier(**({} if norm is None else {"norm": norm}))
        model.build({"en": language})
        vectors = model.scorer("en").encode_documents(ragged(texts, [[]] * 20).texts)
        spread[norm] = float(vectors.detach().std(0).mean())
    assert spread[nn.Identity] < 0.01
    assert spread[None] > 20 * spread[nn.Identity]
