"""Validation and test of a system, with two hand-made languages."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sklearn.metrics import f1_score

from gile_lightning.common.errors import InputError
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.metrics.table import POPULARITY
from gile_lightning.network.outputs import Linear
from gile_lightning.systems import NeuralSystem
from gile_lightning.systems import system as module
from gile_testing import runs
from gile_testing.two_languages import (
    DOCUMENTS,
    LABELS,
    PARTS,
    TwoLanguages,
    built,
    checkpoint_of,
    languages,
    of_all_batches,
    ragged,
    run,
)

# batches that are there already need no workers
pytestmark = pytest.mark.filterwarnings("ignore:.*does not have many workers")


def test_validation_scores_are_those_of_the_seen_labels_averaged_over_languages():
    model, data = NeuralSystem(**PARTS), TwoLanguages()
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
    for key in POPULARITY:
        expected = np.mean([score[key] for score in popularity])
        assert logged[f"val/popularity_{key}"] == pytest.approx(expected), key


def test_results_are_averaged_and_documents_added_up():
    model, data = NeuralSystem(**PARTS), TwoLanguages()
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


def f1_of(model, name, *thresholds):
    """Return the best F1 at these thresholds, after scikit-learn."""
    values, targets = of_all_batches(model, name)
    probabilities = 1 / (1 + np.exp(-values))
    return max(
        f1_score(targets, probabilities > threshold, average="micro", zero_division=0)
        for threshold in thresholds
    )


@pytest.mark.parametrize("own", [None, 0.515])
def test_f1_is_that_of_all_labels_averaged_over_languages(own):
    model, data = NeuralSystem(**PARTS, threshold=own, calibrate=False), TwoLanguages()
    threshold = own or 0.4
    logged = run(model, data, "fit")
    run(model, data, "test")
    for name in DOCUMENTS:  # the authors choose the epoch at 0.2
        assert logged[f"val/{name}/f1"] == pytest.approx(f1_of(model, name, 0.2))
        scores = model.by_language[name]["micro"]
        assert scores["threshold"] == threshold
        assert scores["f1"] == pytest.approx(f1_of(model, name, threshold))
    assert logged["val/f1"] == pytest.approx(np.mean([logged[f"val/{x}/f1"] for x in DOCUMENTS]))
    micro = model.results["micro"]
    assert micro["f1"] == pytest.approx(np.mean([f1_of(model, x, threshold) for x in DOCUMENTS]))
    assert (micro["documents"], micro["labels"]) == (9, 9)


def test_tuned_threshold_is_the_best_one():
    model, data = NeuralSystem(**PARTS, calibrate=False), TwoLanguages()
    run(model, data, "fit", "test")  # with the same documents
    for name in DOCUMENTS:
        best = f1_of(model, name, *(percent / 100 for percent in range(1, 100)))
        scores = model.by_language[name]["micro"]
        assert scores["tuned_threshold"] == model.thresholds[name]
        assert scores["tuned_f1"] == pytest.approx(best)
        assert scores["tuned_f1"] == pytest.approx(f1_of(model, name, model.thresholds[name]))


def test_labels_that_linear_cannot_score_are_misses():
    model, data = (
        NeuralSystem(**PARTS | {"output": Linear}, threshold=0.3, calibrate=False),
        TwoLanguages(),
    )
    run(model, data, "fit", "test")
    for name, batches in DOCUMENTS.items():
        network, labels = model.network(name), LABELS[name]
        hits = predicted = positives = 0
        for words, ids in batches:
            documents = ragged(words, ids).texts
            with torch.no_grad():
                chosen = network.output.linear(network.encode_documents(documents)).sigmoid() > 0.3
            targets = runs.positives(ids, list(range(len(labels))))
            hits += (chosen.numpy() & (targets[:, : labels.seen] == 1)).sum()
            predicted += int(chosen.sum())
            positives += targets.sum()
        scores = model.by_language[name]["micro"]
        assert predicted > 0
        assert scores["recall"] == pytest.approx(hits / positives)
        assert scores["f1"] == pytest.approx(2 * hits / (predicted + positives))
        assert scores["documents"] == 5 if name == "english" else 4  # with a ranked label or not
    assert model.results["seen"]["documents"] == 7
    assert model.results["unseen"]["documents"] == model.results["all"]["documents"] == 0


@pytest.mark.parametrize("threshold", [0, 1, -0.1, 1.5, 40])
def test_threshold_that_is_no_probability(threshold):
    with pytest.raises(InputError, match=f"model.threshold is {threshold:g}; a probability"):
        NeuralSystem(**PARTS, threshold=threshold)


@pytest.mark.parametrize("sizes", [(1, 1), (10, 5), (7, 1_000)])
def test_slabs_of_documents_and_scores_change_no_metric(monkeypatch, sizes):
    """A label set of any size is scored and ranked in parts that fit into memory."""

    def scores():
        torch.manual_seed(1)
        model = NeuralSystem(**PARTS)
        run(model, TwoLanguages(), "test")
        return model.by_language

    whole = scores()
    monkeypatch.setattr(module, "SCORES", sizes[0])
    monkeypatch.setattr(module, "RANKED", sizes[1])
    for name, sets in scores().items():
        for key, values in sets.items():
            assert values == pytest.approx(whole[name][key], abs=1e-6, nan_ok=True)


def test_labels_are_encoded_once_for_all_tests(monkeypatch):
    model, data, calls = NeuralSystem(**PARTS), TwoLanguages(), []
    encode = model._encode
    monkeypatch.setattr(model, "_encode", lambda *args: calls.append(args[0]) or encode(*args))
    run(model, data, "fit", "test", "test")
    assert calls == ["english", "german"]
    model.set_tasks(languages())  # other label sets, although equal ones
    assert calls == ["english", "german"] * 2


def test_scores_that_are_no_numbers():
    model, data = NeuralSystem(**PARTS), TwoLanguages()
    model.build(data.tasks)
    model.networks["german"].output.unit.weight.data.fill_(float("nan"))
    with pytest.raises(InputError, match="training diverged; lower the learning rate"):
        run(model, data, "test")


def test_label_samples_follow_position_not_history():
    """A resumed run draws what an unbroken one draws."""
    model = NeuralSystem(**PARTS)
    model.build(languages())
    model.tasks = languages()

    def draw(name, batch):
        return torch.rand(4, generator=model.generator(name, batch)).tolist()

    places = [("english", 0), ("english", 1), ("german", 0)]
    first = [draw(*place) for place in places]
    assert [draw(*place) for place in reversed(places)] == first[::-1]
    assert len({tuple(numbers) for numbers in first}) == len(places)
    other = NeuralSystem(**PARTS, seed=5)
    other.tasks = languages()
    assert torch.rand(4, generator=other.generator("english", 0)).tolist() != first[0]


def test_a_checkpoint_of_another_corpus_is_refused():
    model = built(**PARTS)
    checkpoint = checkpoint_of(model)
    model.on_load_checkpoint(checkpoint)  # its own is fine
    model.set_tasks(languages() | {"german": Task(Tokenizer(["leber", "UNK"]), LABELS["german"])})
    with pytest.raises(InputError, match=r"trained with another corpus .* \(german\)"):
        model.on_load_checkpoint(checkpoint)


def test_weights_of_another_model_are_refused():
    other = built(**PARTS | {"output": Linear})
    with pytest.raises(InputError, match=r"not that of the checkpoint: Missing key\(s\)"):
        built(**PARTS).load_state_dict(other.state_dict())


@pytest.mark.parametrize(
    ("seen", "unseen", "both"),
    [
        ((0.5, 300), (0.9, 200), 0.7),
        ((0.5, 300), (0.9, 100), 0.7),
        ((0.5, 300), (0.9, 50), 0.6),  # half of the weight of 100 documents
        ((0.5, 300), (math.nan, 0), 0.5),
        ((math.nan, 0), (0.9, 3), 0.9),
    ],
)
def test_what_selects_a_model_that_is_good_at_both_kinds_of_labels(seen, unseen, both):
    found = {
        key: {"average_precision": precision, "documents": documents}
        for key, (precision, documents) in {"seen": seen, "unseen": unseen}.items()
    }
    assert module._of_both(found)["seen_unseen_average_precision"] == pytest.approx(both)


@pytest.mark.parametrize("path", [None, "last.ckpt"])
def test_processes_that_do_not_see_the_same_run_are_refused(path):
    """Some would begin anew beside others, which go on."""
    model = NeuralSystem(**PARTS)
    strategy = SimpleNamespace(broadcast=lambda mine: not mine)
    model._trainer = SimpleNamespace(datamodule=None, ckpt_path=path, strategy=strategy)
    with pytest.raises(InputError, match="--output must be a folder that all nodes see"):
        model.setup("fit")
