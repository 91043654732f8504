import json
import re

import numpy as np
import pytest

from gile_lightning import compare
from gile_lightning.commands import comparing
from gile_lightning.metrics.evaluation import MICRO
from gile_testing import runs


@pytest.fixture(scope="module")
def pair():
    return runs.trained(), runs.trained(*runs.MATCH)


@pytest.fixture(scope="module")
def compared(pair, tmp_path_factory):
    """The output of the command, and its figures."""
    file = tmp_path_factory.mktemp("compare") / "figures.json"
    done = runs.call(
        compare.main, pair[0].output, pair[1].output, "--resamples", 200, "--output", file
    )
    assert done.status is None, done.errors
    return done.printed, json.loads(file.read_text())


HEADINGS = {
    "ranking loss": "ranking_loss",
    "average precision": "average_precision",
    "one-error": "one_error",
    "P@1": "precision_at_1",
    "nDCG@5": "ndcg_at_5",
}


def test_the_means_are_those_of_the_tests(pair, compared):
    rows = {(row["labels"], row["metric"]): row for row in compared[1]["differences"]}
    for labels in ("seen", "unseen", "all"):
        for heading, name in HEADINGS.items():
            row = rows[labels, heading]
            assert row["documents"] == pair[0].metrics[f"test.{labels}.documents"]
            for side, run in (("first", pair[0]), ("second", pair[1])):
                assert row[side] == [pytest.approx(100 * run.metrics[f"test.{labels}.{name}"])]
            difference = row["difference"]
            assert difference["mean"] == pytest.approx(row["second"][0] - row["first"][0])
            assert difference["low"] <= difference["mean"] <= difference["high"]


def test_labels_by_their_training_documents(pair, compared):
    rows = {(row["labels"], row["metric"]): row for row in compared[1]["differences"]}
    for labels, key in (("1 to 5 documents", "1_to_5"), ("6 to 50 documents", "6_to_50")):
        row = rows[labels, "average precision"]
        name = f"test.frequency_{key}.average_precision"
        assert row["first"] == [pytest.approx(100 * pair[0].metrics[name])]
        assert row["second"] == [pytest.approx(100 * pair[1].metrics[name])]


def test_the_documents_that_differ_most(pair, compared):
    """They are those of the differences of what each document contributes."""
    kept = [np.load(run.output / "documents.npz") for run in pair]
    assert np.array_equal(kept[0]["documents"], kept[1]["documents"])
    first, second = (part["test.all.average_precision"][:, 0] for part in kept)
    expected = np.sort(100 * (second - first))[::-1]
    printed, figures = compared
    found = [extreme["difference"] for extreme in figures["documents"]]
    assert found == pytest.approx([*expected[:5], *expected[-5:]], abs=1e-3)
    assert "documents (by their place among the test documents) that differ most" in printed


def test_what_is_printed(pair, compared):
    printed, figures = compared
    assert f"first: {pair[0].output}\nsecond: {pair[1].output}" in printed
    (row,) = [
        row
        for row in figures["differences"]
        if (row["labels"], row["metric"]) == ("unseen", "average precision")
    ]
    assert row["difference"]["low"] > 0  # matchers find names in texts
    assert re.search(
        rf"unseen .* average precision .* \+{row['difference']['mean']:.2f} .* \*", printed
    )
    ends = [extreme["difference"] for extreme in figures["labels"]]
    assert len(ends) == 10
    assert ends == sorted(ends, reverse=True)
    assert all(extreme["documents"] >= 3 for extreme in figures["labels"])


def test_several_seeds_of_a_run_and_the_run_are_alike(pair):
    run = pair[0].output
    done = runs.call(compare.main, f"{run},{run}", run, "--resamples", 100)
    assert "± 0.00" in done.printed
    assert not re.search(r" \*$", done.printed, re.MULTILINE)


def test_a_model_that_knows_no_unseen_labels(pair):
    done = runs.call(compare.main, pair[0].output, runs.trained(*runs.LINEAR).output)
    assert "left out: english, unseen: not every run ranks them" in done.printed
    # labels that a system does not score are missed, by every system alike
    assert "micro-F1" in done.printed
    assert "left out: english, documents and labels that differ most: not the same" in done.printed
    assert "by points of average precision" not in done.printed


@pytest.mark.parametrize("order", [1, -1])
def test_one_run_has_seen_all_labels(pair, monkeypatch, order):
    """What it has of seen labels is what the other one has of all."""
    one, other = (comparing.scored(str(run.output)) for run in pair)
    expected = comparing._documents("english", [one["english"]], [other["english"]], 5)
    assert expected
    other = {
        name: run._replace(
            terms={"seen": run.terms["all"], MICRO: run.terms[MICRO]},
            candidates={"seen": run.candidates["all"], MICRO: run.candidates[MICRO]},
        )
        for name, run in other.items()
    }
    given = {"one": one, "other": other}
    monkeypatch.setattr(comparing, "scored", given.__getitem__)
    monkeypatch.setattr(comparing, "find_checkpoint", lambda name, key: given[name])
    compared = comparing.compare_runs([*given][::order][:1], [*given][::order][1:], 100)
    found = {extreme.name: order * extreme.difference for extreme in compared.documents}
    assert found == pytest.approx({extreme.name: extreme.difference for extreme in expected})
    assert "english, all: not every run ranks them" in compared.left_out


@pytest.mark.parametrize("order", [1, -1])
def test_a_language_that_one_run_lacks(pair, monkeypatch, order):
    english = comparing.scored(str(pair[0].output))
    given = {"one": english, "both": {**english, "german": english["english"]}}
    monkeypatch.setattr(comparing, "scored", given.__getitem__)
    monkeypatch.setattr(comparing, "find_checkpoint", lambda name, key: given[name])
    compared = comparing.compare_runs([*given][::order][:1], [*given][::order][1:], 100)
    assert {difference.language for difference in compared.differences} == {"english"}
    assert "german: not every run has it" in compared.left_out


def test_other_documents_are_refused(pair):
    other = runs.trained("--data.test_size", "0.3", "--data.split_year", "null")
    done = runs.call(compare.main, pair[0].output, other.output)
    assert done.status == 2
    assert "were tested on different documents (english)" in done.errors


def test_all_runs_are_looked_for_before_one_is_scored(pair, monkeypatch):
    monkeypatch.setattr(comparing, "scored", None)
    for second, problem in (
        (f"{pair[1].output},", ",: give a run before and after each comma"),
        ("nosuch", "nosuch: no such file or folder (RUN)"),
    ):
        done = runs.call(compare.main, pair[0].output, second)
        assert done.status == 2
        assert problem in done.errors


def test_documents_without_a_positive_that_one_run_counts(pair):
    counted = runs.trained("--model.without_positive", "released")
    for first, second in ((pair[0], counted), (counted, pair[0])):
        done = runs.call(compare.main, first.output, second.output, "--resamples", 100)
        assert done.status is None, done.errors
        assert "left out: english, unseen: not the same documents count" in done.printed
        assert "micro-F1" in done.printed
