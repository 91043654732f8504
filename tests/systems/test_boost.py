"""How far a regression is trusted on new documents, against scikit-learn at every factor."""

import json
from functools import partial

import numpy as np
import pytest
import torch
from sklearn.metrics import label_ranking_average_precision_score

import gile_lightning
from gile_lightning import fit
from gile_lightning.common.errors import DivergedError
from gile_lightning.network import Ridge, prepare_labels
from gile_lightning.network.encoders import IdfMean, WordEmbedding
from gile_lightning.systems.boost import BOOSTS, best_boost
from gile_testing import runs
from gile_testing.two_languages import built, ragged

NAME = "english"
WORDS = [[0, 1], [2], [1, 2], [0], [2, 0]]
LABELS = [[0], [1, 4], [0, 2], [3], [1]]  # 3 and 4 are unseen, and do not count


@pytest.fixture
def model():
    """A model whose regression knows what the rest does not, or the other way round."""
    torch.manual_seed(0)
    frozen = partial(WordEmbedding, dim=6, trainable=False)
    made = built(embedding=frozen, encoder=IdfMean, ridge=Ridge)
    ridge = made.network(NAME).ridge
    ridge.coefficients.copy_(torch.randn(ridge.coefficients.shape))
    return made.eval()


def scored(model, factor):
    """Return the scores of the documents with a factor."""
    network = model.network(NAME)
    network.ridge.boost.fill_(factor)
    seen = model.tasks[NAME].labels.seen
    labels = prepare_labels(network, model.encoded(NAME), seen).subset(torch.arange(seen))
    with torch.no_grad():
        return labels, model.score(NAME, ragged(WORDS, LABELS).texts, labels)


@pytest.mark.parametrize("scale", [-30.0, -3.0, 3.0, 10.0, 30.0])
def test_the_best_factor(model, scale):
    with torch.no_grad():
        model.network(NAME).ridge.scale.fill_(scale)
    targets = np.array([[label in own for label in range(3)] for own in LABELS])
    some = targets.any(1)
    precisions = [
        label_ranking_average_precision_score(targets[some], scored(model, factor)[1][some].numpy())
        for factor in BOOSTS
    ]
    ties = [factor for factor in BOOSTS if precisions[BOOSTS.index(factor)] == max(precisions)]
    for present in (1.5, 0.5):
        labels, before = scored(model, present)
        found = best_boost(model, labels, ragged(WORDS, LABELS).split(2))
        assert found == min(ties, key=lambda factor: abs(factor - present))
        assert torch.equal(model.score(NAME, ragged(WORDS, LABELS).texts, labels), before)


def test_scores_that_are_not_numbers(model):
    model.network(NAME).ridge.coefficients.fill_(torch.nan)
    labels, _ = scored(model, 1.0)
    with pytest.raises(DivergedError):
        best_boost(model, labels, [ragged(WORDS, LABELS)])


def test_documents_without_a_label_choose_nothing(model):
    labels, _ = scored(model, 0.75)
    assert best_boost(model, labels, [ragged(WORDS[:1], [[3]])]) == 0.75
    assert best_boost(model, labels, []) == 0.75


def test_checkpoints_of_earlier_versions():
    """They have no factor, which was 1.5 unless it was named."""
    state = Ridge(3, 2).state_dict()
    del state["boost"]
    for made, expected in ((Ridge(3, 2), 1.5), (Ridge(3, 2, boost=0.7), 0.7)):
        made.load_state_dict(state)
        assert made.boost.item() == pytest.approx(expected)


def test_a_factor_that_is_named_counts():
    """Also where a checkpoint has another one."""
    state = Ridge(3, 2, boost=0.5).state_dict()
    for made, expected in ((Ridge(3, 2), 0.5), (Ridge(3, 2, boost=1.25), 1.25)):
        made.load_state_dict(state)
        assert made.boost.item() == expected


@pytest.mark.parametrize("boost", [None, 0.6])
def test_a_fit_chooses_or_keeps_it(tmp_path, boost):
    rows = [
        {
            "id": str(i),
            "text": f"{('cats purr', 'dogs bark', 'newts swim')[i % 3]} word{i % 7} word{i % 5}",
            "labels": [("Cats", "Dogs", "Newts")[i % 3]] + (["Cats"] if i % 4 == 0 else []),
            "split": ("train", "train", "train", "validation", "test")[i % 5],
        }
        for i in range(60)
    ]
    for row in rows:
        row["labels"] = sorted(set(row["labels"]))
    (tmp_path / "documents.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "mine.yaml").write_text(
        "base: best_scratch.yaml\n"
        "data:\n  class_path: gile_lightning.data.Corpus\n  init_args:\n    split_year: null\n"
        "    columns: {id: id, text: text, labels: labels, split: split}\n"
    )
    keys = {
        "data.path": tmp_path / "documents.jsonl",
        "data.undescribed_labels": "name",
        "data.cache_dir": tmp_path / "cache",
        "trainer.max_epochs": 2,
        "model.embedding.dim": 8,
        "model.output.joint_dim": 4,
        "model.ridge.word_features": 16,
        **({} if boost is None else {"model.ridge.boost": boost}),
    }
    output = tmp_path / "run"
    done = runs.call(fit.main, *runs.small(tmp_path / "mine.yaml", output, keys, ()))
    assert done.status is None, done.errors
    network = gile_lightning.load(output).system.network("english")
    found = network.ridge.boost.item()
    assert found == pytest.approx(boost) if boost is not None else found in BOOSTS
