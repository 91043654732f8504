import json

import pytest
import torch

from gile_lightning.metrics.document_scores import DocumentScores
from gile_lightning.metrics.evaluation import BUCKETS
from gile_lightning.metrics.table import ECE, F1_COLUMNS, LABEL_COLUMNS, ranking_columns
from gile_lightning.tracking import tables
from gile_lightning.tracking.tables import f1_rows, flatten, flatten_documents, rows
from gile_testing.own_metric import HitAt

NAN = float("nan")
COLUMNS = ranking_columns()
MEANS = [name for name in COLUMNS if name not in ("documents", "psp_at_5", ECE)]


def scores(*values, documents=0.0, skipped=0.0, **more):
    """Six means, and further scores of a set of labels."""
    named = dict(zip(MEANS, values, strict=True))
    return named | more | {"documents": documents, "skipped": skipped}


def micro(precision, recall, f1, documents, labels, threshold, *tuned):
    return {
        **{"documents": documents, "labels": labels, "threshold": threshold},
        **{"precision": precision, "recall": recall, "f1": f1},
        **dict(zip(("tuned_threshold", "tuned_f1"), tuned, strict=True)),
    }


NOTHING = scores(*[NAN] * 6, skipped=1240.0, psp_at_5=NAN, coverage_at_5=NAN, macro_f1=NAN)
SEEN = scores(0.125, 0.5, 0.25, 0.75, 0.2, 0.6, documents=1234.0, skipped=6.0, psp_at_5=0.3)
SEEN |= {"coverage_at_5": 0.4, "macro_f1": 0.15, ECE: 0.0125}
ALL = scores(0.0, 1.0, 0.0, 1.0, 1 / 3, 1.0, documents=1240.0, psp_at_5=1, macro_f1=1.0)
RESULTS = {
    "seen": SEEN,
    "seen, by popularity": scores(0.25, 0.1, 0.9, 0.1, 0.05, 0.07, documents=1234.0),
    "unseen": NOTHING,
    "unseen, at random": NOTHING,
    "all": ALL,
    "1 to 5 documents": scores(0.5, 0.25, 1.0, 0.0, 0.1, 0.125, documents=17.0, macro_f1=0.0),
    "above 50 documents": NOTHING,
}
ENGLISH = {
    "seen": scores(0.1, 0.5, 0.3, 0.7, 0.2, 0.5, documents=1200.0),
    "unseen": scores(*[NAN] * 6, skipped=1200.0),
    "micro": micro(0.5, 0.25, 1 / 3, 1200.0, 450, 0.2, 0.31, 0.375),
}
GERMAN = {
    "seen": scores(0.3, 0.7, 0.1, 0.9, 0.4, 0.5, documents=34.0),
    "unseen": scores(0.2, 0.6, 0.4, 0.6, 0.2, 0.5, documents=4.0, skipped=30.0),
    "micro": micro(0.75, 0.75, 0.75, 34.0, 40, 0.4, 0.5, 0.8),
}
BOTH = {"english": ENGLISH, "german": GERMAN}
OWN = BOTH | {"german": {**GERMAN, "micro": micro(1, 1, 1, 34.0, 40, 0.4, 0.62, 1)}}


def table(*args, **kwargs):
    """Return the tables as they are printed into a file."""
    return "\n".join(map(str, tables.table(*args, **kwargs)))


def parts(text):
    """Read a printed table back: the cells of its parts."""
    return [
        [
            [cell.strip() for cell in line.split("  ") if cell]
            for line in part.splitlines()
            if not line.startswith("---")
        ]
        for part in text.split("\n\n")
    ]


def test_flat_keys():
    flat = flatten(RESULTS)
    expected = {
        f"{prefix}.{key}": value
        for prefix, name in (
            ("test.seen", "seen"),
            ("reference.seen.by_popularity", "seen, by popularity"),
            ("test.all", "all"),
            ("test.frequency_1_to_5", "1 to 5 documents"),
        )
        for key, value in RESULTS[name].items()
    }
    assert flat == expected
    assert isinstance(flat["test.seen.documents"], int)
    assert "reference.unseen.at_random.one_error" in flatten({"unseen, at random": ALL})
    for bucket, key in zip(BUCKETS, ("1_to_5", "6_to_50", "above_50"), strict=True):
        assert f"test.frequency_{key}.macro_f1" in flatten({bucket: ALL})
    assert json.loads(json.dumps(flat, allow_nan=False)) == flat


def test_rows_are_percentages_of_the_sets_that_have_documents():
    found = {name: cells for name, *cells in rows(RESULTS, COLUMNS)}
    assert list(found) == ["seen", "seen, by popularity", "all", "1 to 5 documents"]
    assert found["seen"][:4] == ["1,234", "12.50", "50.00", "25.00"]
    assert found["all"][-4:] == ["33.33", "100.00", "100.00", ""]
    assert found["seen"][-1] == "1.25"
    # micro-F1 has a table of its own; there is neither PSP nor ECE here
    assert [row[0] for row in rows(GERMAN, COLUMNS)] == ["seen", "unseen"]
    assert {cell for row in rows(GERMAN, COLUMNS) for cell in row[-2:]} == {""}


def test_the_printed_table_has_the_rows_and_what_is_empty_is_left_out():
    text = table(RESULTS, {"parameters": 12, "seconds": 3.5})
    ranking, means = parts(text)
    assert ranking[0] == ["labels", *COLUMNS.values()]
    assert ranking[1] == rows(RESULTS, COLUMNS)[0]
    assert len({len(line) for line in text.split("\n\n")[0].splitlines()}) == 1
    assert means[0] == ["mean over labels", *LABEL_COLUMNS.values()]
    assert means[1] == ["seen", "15.00", "40.00"]
    assert means[-1] == ["parameters 12, seconds 3.5"]
    assert "PSP@5" not in parts(table(GERMAN, {}))[0][0]  # needs the training documents
    nothing = parts(table({"seen": NOTHING}, {"epochs": 0}))
    assert nothing[0] == [["labels", *COLUMNS.values()]]


def test_an_added_metric_has_the_last_column():
    ranking, _ = parts(table({"seen": SEEN | {"hit_at_2": 0.875}}, {}, added=[HitAt(2)]))
    assert [row[-1] for row in ranking] == ["hit@2", "87.50"]


def test_f1_of_one_language():
    row = ["german", "34", "40", "0.40", "75.00", "75.00", "75.00", "0.50", "80.00"]
    assert f1_rows({"german": GERMAN}) == [row]
    f1 = parts(table(GERMAN, {}, {"german": GERMAN}))[-1]
    assert f1[:2] == [["micro-F1", *F1_COLUMNS.values()], row]
    untuned = {k: v for k, v in GERMAN["micro"].items() if not k.startswith("tuned_")}
    f1 = parts(table(GERMAN, {}, {"german": {**GERMAN, "micro": untuned}}))[-1]
    assert f1[:2] == [["micro-F1", *F1_COLUMNS.values()][:-2], row[:-2]]
    assert len(parts(table(GERMAN, {}, {}))) == 2


def test_f1_of_several_languages_and_at_their_own_epochs():
    """Their thresholds differ, so the average has none; its counts are added up."""
    found = f1_rows(BOTH, OWN)
    assert found[:3] == [
        ["english", "1,200", "450", "0.20", "50.00", "25.00", "33.33", "0.31", "37.50"],
        ["german", "34", "40", "0.40", "75.00", "75.00", "75.00", "0.50", "80.00"],
        ["average", "1,234", "490", "", "62.50", "50.00", "54.17", "", "58.75"],
    ]
    names = ["english, own epoch", "german, own epoch", "average, own epoch"]
    assert [row[0] for row in found[3:]] == names
    assert found[-1][1:] == ["1,234", "490", "", "75.00", "62.50", "66.67", "", "68.75"]


def test_flat_keys_of_several_languages():
    results = {"seen": ENGLISH["seen"], "micro": {"documents": 1234.0, "labels": 490.0, "f1": 0.5}}
    flat = flatten(results, BOTH, OWN)
    assert (flat["test.micro.labels"], flat["test.micro.f1"]) == (490, 0.5)
    assert isinstance(flat["test.micro.labels"], int)
    for key, value in GERMAN["micro"].items():
        assert flat[f"german.test.micro.{key}"] == value
        assert flat[f"german.own_epoch.test.micro.{key}"] == OWN["german"]["micro"][key]
        assert flat[f"english.own_epoch.test.micro.{key}"] == ENGLISH["micro"][key]
    assert flat["own_epoch.test.micro.f1"] == pytest.approx((1 / 3 + 1) / 2)
    assert flat["own_epoch.test.micro.documents"] == 1234
    assert "own_epoch.test.micro.threshold" not in flat
    assert flat["own_epoch.test.unseen.ranking_loss"] == 0.2  # only German has unseen labels
    assert not any(key.startswith("english.test.unseen") for key in flat)
    assert json.loads(json.dumps(flat, allow_nan=False)) == flat
    assert flatten(GERMAN, {"german": GERMAN}) == flatten(GERMAN)


def test_documents_have_the_keys_of_the_figures():
    """A set without a document that counts has no key, as it has no figure."""

    def terms(count):
        return torch.tensor([[0.5, count], [0.0, 0.0]])

    numbers = torch.arange(2)
    sets = {"1 to 5 documents": {"one_error": terms(1)}, "unseen": {"one_error": terms(0)}}
    one = DocumentScores(numbers, numbers + 7, sets)
    flat = flatten_documents({"english": one})
    assert list(flat) == ["documents", "test.frequency_1_to_5.one_error"]
    assert flat["documents"].tolist() == [7, 8]
    flat = flatten_documents({"english": one, "german": one}, {"german": one})
    assert list(flat) == [
        "english.documents",
        "english.test.frequency_1_to_5.one_error",
        "german.documents",
        "german.test.frequency_1_to_5.one_error",
        "german.own_epoch.test.frequency_1_to_5.one_error",
    ]
