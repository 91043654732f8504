"""A corpus whose figures can be counted by hand."""

import json

import pytest

from gile_lightning import prepare
from gile_lightning.commands.checking import check, recommendations
from gile_lightning.data import Columns, Corpus, Multilingual
from gile_testing import runs
from gile_testing.corpora import ready

LABELS = [
    {"name": "Cats", "description": "Small hunters.", "synonyms": ["felines"], "uri": "urn:1"},
    {"name": "Dogs", "description": "Pets that bark.", "uri": "urn:2"},
    {"name": "Newts", "description": "In ponds.", "uri": "urn:3"},
    {"name": "Eels", "uri": "urn:4"},
    {"name": "Bats", "description": "They fly."},
]
REPEATED = "this dog is told of at some length here and once again below"
ROWS = [
    # split, text, labels
    ("train", "one cat sat on the mat", ["urn:1"]),
    ("train", "dogs bark at each feline and at me", ["urn:1", "Dogs"]),
    ("train", REPEATED, ["Dogs"]),
    ("train", "nothing of note", ["urn:4"]),  # of which no label is described
    ("train", "nothing at all", []),
    ("validation", "a cat it was", ["urn:1"]),
    ("test", REPEATED.upper(), ["urn:2"]),
    ("test", REPEATED + " indeed", ["Dogs"]),
    ("test", "the pond has a newt", ["urn:3", "Cats"]),
]


@pytest.fixture
def files(tmp_path):
    """The paths of documents and labels."""
    rows = [
        {"id": f"d{i}", "split": split, "text": text, "labels": labels}
        for i, (split, text, labels) in enumerate(ROWS)
    ]
    named = {"documents": rows, "labels": LABELS}
    for name, records in named.items():
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(x) + "\n" for x in records))
    return [tmp_path / f"{name}.jsonl" for name in named]


def test_figures_and_what_they_recommend(files, tmp_path):
    given = runs.small(runs.CONFIG.with_name("best_scratch.yaml"), tmp_path / "checked", {}, ())
    given[given.index("--data.cache_dir") + 1] = str(tmp_path / "cache")
    options = ["--data", "gile_lightning.data.Corpus", "--data.columns.split", "split"]
    options += ["--data.path", files[0], "--data.labels", files[1]]
    options += ["--data.min_count", 1, "--data.max_document_words", 12]
    done = runs.call(prepare.main, *given, *options, "--check")
    assert done.status is None, done.errors
    (figures,) = done.result["corpus"].values()
    assert figures["documents"] == {"train": 3, "validation": 1, "test": 3}
    assert figures["labels"] == {"seen": 2, "unseen": 1, "known": 5, "undescribed": 1, "uris": 3}
    assert figures["labels_per_document"] == {"mean": 9 / 7, "median": 1, "largest": 2}
    assert figures["documents_per_label"] == {"mean": 2, "median": 2, "largest": 2, "one": 0}
    lengths = {"mean": (6 + 8 + 13 + 4 + 13 + 14 + 5) / 7, "median": 8, "largest": 14}
    assert figures["words_per_document"] == lengths | {"cut": 3}
    # cat sat: cats; dogs bark: dogs, and cats as felines; twice told: dog; a cat: cats;
    # upper case: dog; indeed: dog; the newt; and cats are not in the pond
    assert figures["mentions"] == {
        "all": {"pairs": 9, "name": 7, "name_or_synonym": 8},
        "unseen": {"pairs": 1, "name": 1, "name_or_synonym": 1},
    }
    near = {"id": "d7", "of": "d2", "resemblance": 9 / 10}  # 9 runs of five words, and one more
    equal = {"id": "d6", "of": "d2", "resemblance": 1}
    assert figures["repeated"] == {
        "validation": {"equal": 0, "near": 0, "first": []},
        "test": {"equal": 1, "near": 1, "first": [equal, near]},
    }
    left_out = {reason: case["count"] for reason, case in figures["left_out"].items()}
    assert left_out["documents without labels"] == 1
    assert left_out["documents without a described label"] == 1
    assert "  labels without description  1 of 5 (20.0%)\n" in done.printed
    assert "  labels named in the text    7 of 9 (77.8%); by name or synonym 8 of 9 (88.9%)\n" in (
        done.printed
    )
    assert json.loads((tmp_path / "checked/check.json").read_text()) == done.result
    page = (tmp_path / "checked/check.html").read_text()
    assert "<tr><td>labels without description</td><td>1 of 5 (20.0%)</td></tr>" in page
    assert "<td><code>--data.undescribed_labels name</code></td>" in page
    advice = [item["set"] for item in done.result["recommended"]]
    assert advice == [
        "--config best",
        "--data.label_text name_description",
        "--data.undescribed_labels name",
        "--data.max_document_words 5000",
        "texts that repeat in one split",
    ]
    set_already = [x["set"] for x in done.result["recommended"] if "(so it is here)" in x["why"]]
    assert set_already == ["--data.label_text name_description"]


def test_several_languages_and_bare_names(files, tmp_path):
    names = tmp_path / "names.csv"
    names.write_text("name,uri\n" + "".join(f"{x['name']},{x.get('uri', '')}\n" for x in LABELS))
    modules = {
        language: Corpus(
            *(str(files[0]), files[1] if language == "english" else names),
            columns=Columns(split="split"),
            min_count=1,
            undescribed_labels="name",
            cache_dir=tmp_path,
        )
        for language in ("english", "german")
    }
    advice = {}
    for languages in (["german"], ["english", "german"]):
        checked = check(ready(Multilingual({name: modules[name] for name in languages})), None)
        advice[len(languages)] = [item["set"] for item in checked["recommended"]]
    pairs = {name: x["mentions"]["all"]["pairs"] for name, x in checked["corpus"].items()}
    assert pairs == {"english": 10, "german": 10}  # eels count too
    encoder = "--config best --data.pretrained paraphrase-multilingual-MiniLM-L12-v2"
    text = "--data.label_text name_description"
    assert advice[1][:2] == ["--config best_scratch", encoder]
    assert text not in advice[1]
    assert advice[2][:3] == ["--config best_scratch", encoder, text]


@pytest.mark.parametrize(("documents", "large"), [(29_999, False), (30_000, True)])
def test_many_documents_train_word_vectors(files, tmp_path, documents, large):
    columns = Columns(split="split")
    data = ready(Corpus(str(files[0]), files[1], columns=columns, min_count=1, cache_dir=tmp_path))
    corpus = check(data, None)["corpus"]
    corpus["english"]["documents"]["train"] = documents
    over_scratch = "--config best_scratch --config large"
    assert (over_scratch in dict(recommendations(data, corpus))) is large
