import json

from gile_lightning.tracking.report import flatten, rows, table

NAN = float("nan")
SCORES = ("ranking_loss", "average_precision", "one_error", "precision_at_1", "precision_at_5")


def scores(*values, documents=0.0, skipped=0.0):
    return dict(zip(SCORES, values, strict=True)) | {"documents": documents, "skipped": skipped}


RESULTS = {
    "seen": scores(0.125, 0.5, 0.25, 0.75, 0.2, documents=1234.0, skipped=6.0),
    "seen, by popularity": scores(0.25, 0.1, 0.9, 0.1, 0.05, documents=1234.0, skipped=6.0),
    "unseen": scores(*[NAN] * 5, skipped=1240.0),
    "unseen, at random": scores(*[NAN] * 5),
    "all": scores(0.0, 1.0, 0.0, 1.0, 0.333333, documents=1240.0),
}


def test_flat_keys():
    flat = flatten(RESULTS)
    expected = {
        f"{prefix}.{key}": value
        for prefix, name in (
            ("test.seen", "seen"),
            ("reference.seen.by_popularity", "seen, by popularity"),
            ("test.all", "all"),
        )
        for key, value in RESULTS[name].items()
    }
    assert flat == expected
    assert isinstance(flat["test.seen.documents"], int)
    assert flatten({"unseen, at random": RESULTS["all"]}).keys() == {
        f"reference.unseen.at_random.{key}" for key in RESULTS["all"]
    }
    assert json.loads(json.dumps(flat, allow_nan=False)) == flat


def test_rows_are_percentages():
    assert rows(RESULTS) == [
        ["seen", "1,234", "12.50", "50.00", "25.00", "75.00", "20.00"],
        ["seen, by popularity", "1,234", "25.00", "10.00", "90.00", "10.00", "5.00"],
        ["all", "1,240", "0.00", "100.00", "0.00", "100.00", "33.33"],
    ]


def test_table():
    lines = table(RESULTS, {"parameters": 12, "seconds": 3.5}).splitlines()
    assert lines == [
        "labels               documents  ranking loss  average precision  one-error     P@1    P@5",
        "-----------------------------------------------------------------------------------------",
        "seen                     1,234         12.50              50.00      25.00   75.00  20.00",
        "seen, by popularity      1,234         25.00              10.00      90.00   10.00   5.00",
        "all                      1,240          0.00             100.00       0.00  100.00  33.33",
        "parameters 12, seconds 3.5",
    ]
