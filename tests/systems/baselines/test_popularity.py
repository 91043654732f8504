import math

import pytest
import torch

import gile_lightning
from gile_lightning.common.errors import InputError
from gile_lightning.data.loading.ragged import Texts
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.data.tokenizing.tokenizer import UNKNOWN, Tokenizer
from gile_lightning.systems.baselines import Popularity
from gile_testing import baseline_runs

TEXTS = Texts(torch.tensor([0, 0]), torch.tensor([1, 1]), torch.tensor([1, 1]))


def logits(frequencies, documents):
    names = [str(i) for i in range(len(frequencies))]
    labels = LabelSet(names, names, frequencies, documents)
    model = Popularity()
    model.build({"text": Task(Tokenizer([UNKNOWN]), labels)})
    return model.score("text", TEXTS, model.prepare_labels("text", labels)).tolist()


def test_share_of_the_documents():
    first, second = logits([5, 2, 2, 1, 0], 10)  # the last one is unseen
    expected = [0, math.log(0.2 / 0.8), math.log(0.2 / 0.8), math.log(0.1 / 0.9)]
    assert first == pytest.approx(expected, abs=1e-7)
    assert first[1] > first[2]  # ties in the order of the labels
    assert first == second


def test_a_label_of_all_documents():
    (always, _), _ = logits([4, 1], 4)
    assert math.isfinite(always)
    assert torch.tensor(always).sigmoid() == pytest.approx(1)


def test_rank_where_the_documents_are_unknown():
    assert logits([5, 2, 2], 0)[0] == [0, -1, -2]


POPULARITY = ("--model", "gile_lightning.systems.baselines.Popularity")


@pytest.mark.parametrize("place", [("bow.yaml",), ("bioasq.yaml", "--trainer.max_epochs", "3")])
def test_the_run_is_its_own_reference(place):
    """In the place of a baseline or of a neural system."""
    run = baseline_runs.trained(*place, *POPULARITY)
    for key in ("ranking_loss", "average_precision", "one_error", "precision_at_5"):
        assert run.metrics[f"test.seen.{key}"] == run.metrics[f"reference.seen.by_popularity.{key}"]
    assert run.metrics["parameters"] == 0
    assert run.metrics["epochs"] == 1  # a second one would find nothing new
    assert run.metrics["documents_per_second"] > 0


def test_other_labels_are_refused():
    run = baseline_runs.trained("bow.yaml", *POPULARITY)
    with pytest.raises(InputError, match=r"Popularity scores only the labels it was trained on"):
        gile_lightning.load(run.best).set_labels({"Cats": "Animals that purr."})
