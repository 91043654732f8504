import re
from datetime import datetime

from gile_lightning.metrics.calibration import reliability
from gile_lightning.tracking.examples import Confusion, Example, Gold, Predicted
from gile_lightning.tracking.run_page import run_page
from gile_lightning.tracking.run_report import RunReport

EVIL = "<script>alert('&')</script>"
SEEN = {"average_precision": 0.5, "precision_at_1": 0.25, "ndcg_at_5": 0.75, "documents": 9.0}
NONE = dict.fromkeys(SEEN, float("nan")) | {"documents": 0.0}


def report(**more):
    given = {
        "title": EVIL,
        "facts": {"system": EVIL, "commit": None, "started": datetime(2026, 1, 2, 3, 4)},
        "figures": {"parameters": 1234, "seconds": 1.5},
        "history": [
            {"epoch": 0, "step": 5, "val/average_precision": 0.25, "train/loss": 2.0},
            {"epoch": 1, "step": 10, "val/average_precision": 0.5, "train/violations": 0.5},
        ],
        "results": {"seen": SEEN, "1 to 5 documents": SEEN, "6 to 50 documents": NONE},
        "by_language": {},
        "own_epochs": {},
        "examples": [
            Example(
                "english",
                f"{EVIL} UNK …",
                [Gold("A", False, True), Gold("B & C", True, False)],
                [Predicted("A", 0.987, False, True), Predicted("D", 0.5, True, False)],
            )
        ],
        "confusions": [Confusion("english", "B & C", "D", 2, 3)],
        "sizes": {"english": {"encoder": 1000, "output": 234, "norm": 0}},
        "counts": {"documents": {"train": 20000, "test": 9}, "seen_labels": 40},
        "skipped": {EVIL: {"count": 7, "first": "file:3"}},
        "config": f"model: {EVIL}\n",
    }
    return RunReport(**given | more)


def test_tables():
    found = report().tables
    assert list(found) == ["results", "over_labels", "by_frequency", "examples", "confusions"]
    for columns, rows in found.values():
        assert len(columns) == len(set(columns))  # as W&B needs it
        assert {len(row) for row in rows} == {len(columns)}
    columns, rows = found["results"]
    assert [row[0] for row in rows] == ["seen", "1 to 5 documents"]
    row = dict(zip(columns, rows[0], strict=True))
    assert (row["average precision"], row["nDCG@5"], row["one-error"]) == ("50.00", "75.00", "")
    assert found["by_frequency"][1] == [["1 to 5", 50.0, 25.0, 75.0]]
    assert found["examples"][1] == [
        [
            *("english", f"{EVIL} UNK …", "A; B & C", "B & C"),
            *("A 0.99 (hit); D 0.50 (miss)", "B & C; D", 1),
        ]
    ]
    assert found["confusions"][1] == [["english", "B & C", "D", 2, 66.7]]


def test_reliability():
    sets = {
        "seen": reliability([0.1, 0.2, 0.8, 0.9], [0, 1, 1, 1], bins=2),
        "unseen": reliability([0.5], [1]),
    }
    one = report(reliability={"english": sets})
    assert one.tables["reliability"][1] == [
        ["english", "seen", 15.0, 50.0, 2],
        ["english", "seen", 85.0, 100.0, 2],
        ["english", "unseen", 50.0, 100.0, 1],
    ]
    title = "Reliability of the ten best labels (%)"
    assert f'<img alt="{title}"' in run_page(one)
    two = run_page(report(reliability={"english": sets, "german": sets}))
    assert all(f'<img alt="{title}, {name}"' in two for name in ("english", "german"))


def test_the_page_has_it_all_and_fetches_nothing():
    text = run_page(report())
    assert "<script" not in text
    assert text.count("&lt;script&gt;") >= 6  # title twice, system, example, skipped, configuration
    assert len(re.findall("<h2>(.*?)</h2>", text)) == 9
    labels = re.findall('<img alt="(.*?)"', text)
    assert len(labels) == 4
    assert {"Training loss", "Training violations"} < set(labels)
    assert '<li class="miss unseen">✗ B &amp; C</li>' in text
    assert "<dd>2026-01-02 03:04</dd>" in text
    assert "20,000" in text
    assert "<td>norm</td>" not in text
    assert "commit" not in text  # not known


def test_a_run_without_an_epoch_or_a_document():
    nothing = {"history": [], "results": {"seen": NONE}, "examples": [], "confusions": []}
    text = run_page(report(**nothing, sizes={}, skipped={}))
    headings = re.findall("<h2>(.*?)</h2>", text)
    assert headings == ["Run", "Corpus", "Parameters", "Configuration"]
    assert "<img" not in text


def test_several_languages():
    counts = {"documents": {"train": 3}, "seen_labels": 4}
    micro = {"documents": 9.0, "labels": 4, "threshold": 0.4, "precision": 0.5, "recall": 1.0}
    scores = {"seen": SEEN, "micro": micro | {"f1": 2 / 3, "tuned_threshold": 0.3, "tuned_f1": 0.7}}
    names = ("english", "中文")
    row = {"step": 5, **{f"val/{name}/average_precision": 0.5 for name in names}}
    several = report(
        by_language=dict.fromkeys(names, scores),
        history=[row, row],
        counts=dict.fromkeys(names, counts),
        skipped={name: {} for name in names},
        sizes={"english": {"encoder": 5}, "中文": {"encoder": 6}},
    )
    text = run_page(several)
    assert "Average precision of each language (validation, %)" in text
    assert "<td>中文</td><td>seen</td>" in text
    assert text.count("<th>language</th>") == 2  # their results, the corpus
    columns, rows = several.tables["f1"]
    assert len(columns) == len(set(columns)) == len(rows[0])
    assert [row[0] for row in rows] == [*names, "average"]


def test_languages_of_which_other_things_are_known():
    counts = {"a": {"documents": {"test": 3}, "known": 5}, "b": {"seen_labels": 4}}
    counts["b"]["documents"] = {"train": 7, "test": 8}
    text = run_page(report(counts=counts, skipped={"a": {}, "b": {}}))
    corpus = re.search("<h2>Corpus</h2>(.*?)</section>", text, re.S)[1]
    found = [re.findall(r"<t[hd][^>]*>(.*?)</t", row) for row in corpus.split("<tr>")[1:]]
    assert found == [
        ["language", "test documents", "known", "seen labels", "train documents"],
        ["a", "3", "5", "", ""],
        ["b", "8", "", "4", "7"],
    ]
