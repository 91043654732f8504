import json

import pytest

from gile_lightning.metrics.evaluation import BUCKETS
from gile_lightning.tracking.tables import COLUMNS, F1_COLUMNS, f1_rows, flatten, rows, table

NAN = float("nan")
SCORES = (
    "ranking_loss",
    "average_precision",
    "one_error",
    "precision_at_1",
    "precision_at_5",
    "ndcg_at_5",
)


def scores(*values, documents=0.0, skipped=0.0, **more):
    named = dict(zip(SCORES, values, strict=True))
    return named | more | {"documents": documents, "skipped": skipped}


def over_labels(psp, coverage, **macro_f1):
    return {"psp_at_5": psp, "coverage_at_5": coverage, **macro_f1}


RESULTS = {
    "seen": scores(
        *(0.125, 0.5, 0.25, 0.75, 0.2, 0.6),
        documents=1234.0,
        skipped=6.0,
        **over_labels(0.3, 0.4, macro_f1=0.15),
    ),
    "seen, by popularity": scores(
        *(0.25, 0.1, 0.9, 0.1, 0.05, 0.07), documents=1234.0, skipped=6.0, **over_labels(0.02, 0.01)
    ),
    "unseen": scores(*[NAN] * 6, skipped=1240.0, **over_labels(NAN, NAN, macro_f1=NAN)),
    "unseen, at random": scores(*[NAN] * 6, **over_labels(NAN, NAN)),
    "all": scores(
        *(0.0, 1.0, 0.0, 1.0, 0.333333, 1.0), documents=1240.0, **over_labels(1, 0.5, macro_f1=1.0)
    ),
    "1 to 5 documents": scores(
        *(0.5, 0.25, 1.0, 0.0, 0.1, 0.125),
        documents=17.0,
        skipped=1223.0,
        **over_labels(0.25, 0.2, macro_f1=0.0),
    ),
    "above 50 documents": scores(*[NAN] * 6, **over_labels(NAN, NAN, macro_f1=NAN)),
}


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
    assert flatten({"unseen, at random": RESULTS["all"]}).keys() == {
        f"reference.unseen.at_random.{key}" for key in RESULTS["all"]
    }
    for bucket, key in zip(BUCKETS, ("1_to_5", "6_to_50", "above_50"), strict=True):
        assert f"test.frequency_{key}.macro_f1" in flatten({bucket: RESULTS["all"]})
    assert json.loads(json.dumps(flat, allow_nan=False)) == flat


def test_rows_are_percentages():
    assert rows(RESULTS) == [
        ["seen", "1,234", "12.50", "50.00", "25.00", "75.00", "20.00", "60.00", "30.00"],
        [
            "seen, by popularity",
            "1,234",
            "25.00",
            "10.00",
            "90.00",
            "10.00",
            "5.00",
            "7.00",
            "2.00",
        ],
        ["all", "1,240", "0.00", "100.00", "0.00", "100.00", "33.33", "100.00", "100.00"],
        ["1 to 5 documents", "17", "50.00", "25.00", "100.00", "0.00", "10.00", "12.50", "25.00"],
    ]
    assert all(len(row) == 1 + len(COLUMNS) for row in rows(ENGLISH))  # without PSP


def parts(text):
    """Read a printed table back: the cells of its parts, whose columns are aligned."""
    found = [[]]
    for line in text.splitlines():
        if not line:
            found.append([])
        elif not line.startswith("---"):
            found[-1].append([cell for cell in line.split("  ") if cell])
            found[-1][-1] = [cell.strip() for cell in found[-1][-1]]
    return found


def test_the_printed_table_has_the_rows_and_what_is_empty_is_left_out():
    text = table(RESULTS, {"parameters": 12, "seconds": 3.5})
    ranking, means = parts(text)
    assert ranking == [["labels", *COLUMNS.values()], *rows(RESULTS)]
    assert means[:3] == [
        ["mean over labels", "macro-F1", "coverage@5"],
        ["seen", "15.00", "40.00"],
        ["seen, by popularity", "1.00"],
    ]
    assert means[-1] == ["parameters 12, seconds 3.5"]
    lines = text.split("\n\n")[0].splitlines()
    assert len({len(line) for line in lines}) == 1
    (german, _) = parts(table(GERMAN, {}))[:2]
    assert "PSP@5" not in german[0]  # needs the training documents
    nothing = parts(table({"seen": RESULTS["unseen"]}, {"epochs": 0}))
    assert nothing[0] == [["labels", *COLUMNS.values()]]


# --- several languages, and F1 ---


def micro(precision, recall, f1, documents, labels, threshold, *tuned):
    return {
        "documents": documents,
        "labels": labels,
        "threshold": threshold,
        "precision": precision,
        "recall": recall,
        "f1": f1,
        **dict(zip(("tuned_threshold", "tuned_f1"), tuned, strict=True)),
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
OWN = {"german": {**GERMAN, "micro": micro(1, 1, 1, 34.0, 40, 0.4, 0.62, 1)}}


def test_rows_leave_f1_out():
    assert [row[0] for row in rows(GERMAN)] == ["seen", "unseen"]


def test_f1_of_one_language():
    assert f1_rows({"german": GERMAN}) == [
        ["german", "34", "40", "0.40", "75.00", "75.00", "75.00", "0.50", "80.00"]
    ]
    f1 = parts(table(GERMAN, {}, {"german": GERMAN}))[-1]
    assert f1[0] == ["micro-F1", *F1_COLUMNS.values()]
    untuned = {k: v for k, v in GERMAN["micro"].items() if not k.startswith("tuned_")}
    f1 = parts(table(GERMAN, {}, {"german": {**GERMAN, "micro": untuned}}))[-1]
    assert f1[:2] == [
        ["micro-F1", *list(F1_COLUMNS.values())[:-2]],
        ["german", "34", "40", "0.40", "75.00", "75.00", "75.00"],
    ]


def test_f1_of_several_languages():
    """Their thresholds differ, so the average has none; its counts are added up."""
    assert f1_rows(BOTH) == [
        ["english", "1,200", "450", "0.20", "50.00", "25.00", "33.33", "0.31", "37.50"],
        ["german", "34", "40", "0.40", "75.00", "75.00", "75.00", "0.50", "80.00"],
        ["average", "1,234", "490", "", "62.50", "50.00", "54.17", "", "58.75"],
    ]


def test_f1_at_the_own_epochs():
    own = BOTH | OWN
    names = [row[0] for row in f1_rows(BOTH, own)]
    assert names[:3] == ["english", "german", "average"]
    assert names[3:] == ["english, own epoch", "german, own epoch", "average, own epoch"]
    average = f1_rows(BOTH, own)[-1]
    assert average[1:] == ["1,234", "490", "", "75.00", "62.50", "66.67", "", "68.75"]


def test_no_f1_table_without_languages():
    assert table(RESULTS, {}, {}) == table(RESULTS, {})


def test_flat_keys_of_several_languages():
    results = {"seen": ENGLISH["seen"], "micro": {"documents": 1234.0, "labels": 490.0, "f1": 0.5}}
    flat = flatten(results, BOTH, BOTH | OWN)
    assert {k: v for k, v in flat.items() if k.startswith("test.micro.")} == {
        "test.micro.documents": 1234,
        "test.micro.labels": 490,
        "test.micro.f1": 0.5,
    }
    assert isinstance(flat["test.micro.labels"], int)
    for key, value in GERMAN["micro"].items():
        assert flat[f"german.test.micro.{key}"] == value
        assert flat[f"german.own_epoch.test.micro.{key}"] == OWN["german"]["micro"][key]
        assert flat[f"english.own_epoch.test.micro.{key}"] == ENGLISH["micro"][key]
    assert flat["own_epoch.test.micro.f1"] == pytest.approx((1 / 3 + 1) / 2)
    assert flat["own_epoch.test.micro.documents"] == 1234
    assert "own_epoch.test.micro.threshold" not in flat
    assert flat["german.test.unseen.documents"] == 4
    assert flat["own_epoch.test.unseen.ranking_loss"] == 0.2  # only German has unseen labels
    assert not any(key.startswith("english.test.unseen") for key in flat)
    assert json.loads(json.dumps(flat, allow_nan=False)) == flat


def test_flat_keys_of_one_language():
    assert flatten(GERMAN, {"german": GERMAN}) == flatten(GERMAN)
    assert flatten(GERMAN)["test.micro.tuned_threshold"] == 0.5
