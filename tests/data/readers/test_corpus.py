import datasets
import pytest

from gile_lightning.common.errors import InputError
from gile_lightning.data import Columns, Corpus
from gile_lightning.data.document import SPLITS
from gile_lightning.data.formats.skipped import Skipped
from gile_lightning.data.inspection import inspect
from gile_lightning.data.readers import corpus as module
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_testing.corpora import ready

PLAIN = {"id": 1, "text": "a text", "labels": ["x"], "year": 2000}


def texts(data, split):
    """The documents of a split as (id, text, label names)."""
    task = data.tasks["english"]
    words, names = task.tokenizer.vocabulary, task.labels.names
    return [
        (row["id"], " ".join(words[i] for i in row["words"]), [names[i] for i in row["labels"]])
        for row in data.split(split)
    ]


def documents_of(data):
    skipped = Skipped()
    return list(data.documents(skipped)), skipped.state()


# ---------------------------------------------------------------- splits


def test_all_documents_can_train(corpus, prepared):
    data = prepared(split_year=None, test_size=0, validation_size=4)
    assert data.meta["counts"]["documents"] == {"train": 16, "validation": 4, "test": 0}
    assert not data.has_test
    assert "test 0 documents" in data.summary()
    scored = corpus(split_year=None, test_size=0)
    scored.encode_for_scoring(data.tasks)
    ready(scored)
    assert scored.meta["counts"]["documents"] == {"test": 20}  # of another corpus, all


@pytest.mark.parametrize(
    ("split_year", "message"),
    [
        (1995, "no document before 1995 for the train split; .* of 1995 to 2014; "),
        (2015, "no document from 2015 for the test split; .* of 1995 to 2014; "),
    ],
)
def test_no_document_on_one_side_of_the_split_year(corpus, split_year, message):
    data = corpus(split_year=split_year)
    with pytest.raises(InputError, match=f"{data.path}: {message}set --data.split_year"):
        data.prepare_data()


# ---------------------------------------------------------------- sources


def test_several_files_and_saved_datasets_give_the_same(prepared, write, tmp_path):
    one = prepared()
    rows = [row for row in datasets.load_dataset("json", data_files=one.path, split="train")]
    write("parts/part-0.jsonl", rows[:7])
    write("parts/part-1.jsonl.gz", rows[7:])
    write("parts/other.txt", "no JSON")
    datasets.Dataset.from_list(rows).save_to_disk(tmp_path / "saved")
    for path in (tmp_path / "parts/part-*", tmp_path / "*/part-*", tmp_path / "saved"):
        other = prepared(path)
        assert other.tasks == one.tasks
        for split in SPLITS:
            assert texts(other, split) == texts(one, split)


# ---------------------------------------------------------------- labels


@pytest.mark.parametrize(
    ("label_text", "undescribed", "expected"),
    [
        ("description", "skip", {"a": "first letter"}),
        ("description", "name", {"a": "first letter", "b": "b", "c": "c"}),
        ("name_description", "skip", {"a": "a first letter"}),
        ("name", "skip", {"a": "a"}),
        ("name", "name", {"a": "a", "b": "b", "c": "c"}),
    ],
)
def test_label_texts(corpus, label_text, undescribed, expected):
    labels = [
        {"name": "a", "description": " first letter\n"},
        {"name": "b", "description": ""},
        {"name": "c"},
    ]
    data = corpus(labels=labels, label_text=label_text, undescribed_labels=undescribed)
    skipped = Skipped()
    assert data.label_texts(skipped) == expected
    counted = {"labels without a description": {"count": 2, "first": f"{data.labels}:2"}}
    assert skipped.state() == (counted if undescribed == "skip" else {})


def test_doubled_label_names_both_places(corpus):
    labels = [{"name": name, "description": "d"} for name in "abca"]
    data = corpus(labels=labels)
    with pytest.raises(
        InputError, match=f"{data.labels}:4: the label 'a' is there already at {data.labels}:1"
    ):
        data.label_texts(Skipped())


# ---------------------------------------------------------------- a trained model


TASK = Task(
    Tokenizer(["common", "UNK"]),
    LabelSet(["zzz", "y", "new"], ["its z", "its y", "its new"], [5, 2, 0]),
)


def test_trained_model_is_scored_with_its_own_label_texts(corpus):
    data = corpus()
    data.encode_for_scoring({"english": TASK})
    assert data.label_texts(Skipped())["y"] == "its y"
    ready(data)
    labels = data.tasks["english"].labels
    assert labels.names == ["zzz", "y", "new", "x", "z"]
    assert labels.texts == ["its z", "its y", "its new", "about x", "about z"]
    assert data.meta["counts"]["documents"] == {"test": 10}
    assert texts(data, "test")[0] == ("10", "common UNK UNK", ["y", "new"])


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"split_year": None},
        {"split_year": None, "held_out_labels": 1, "validation_size": 8},
        {"min_count": 1, "label_synonyms": True, "label_words": True},
    ],
    ids=str,
)
@pytest.mark.parametrize("further", [False, True])
def test_shards_of_the_training_are_those_for_the_trained_model(
    corpus, tmp_path, monkeypatch, options, further
):
    """Its test documents, words and labels are what encoding them anew gives."""
    trained = corpus(**options)
    if further:  # trained on from another model's vocabulary
        trained.encode_for_training({"english": TASK})
    ready(trained)
    found = []
    for cache in (tmp_path / "other", trained.cache_dir):
        data = corpus(cache_dir=cache, **options)
        data.encode_for_scoring(trained.tasks, new_words=True)
        if found:
            monkeypatch.setattr(module.Corpus, "documents", None)  # not read again
        ready(data)
        found.append((data.tasks, data.split("test").to_list()))
    assert found[0] == found[1]


# ---------------------------------------------------------------- labels by name


@pytest.fixture
def named(prepared, write):
    """Encodes a corpus whose labels are known by their names alone."""

    def make(rows, **options):
        data = module.Corpus(str(write("documents.jsonl", rows)), **options)
        data.cache_dir = write("cache/x", "").parent
        return ready(data)

    return make


def in_splits(*rows):
    """Each row once in every split."""
    return [
        PLAIN | row | {"id": f"{split}{i}", "split": split}
        for split in SPLITS
        for i, row in enumerate(rows)
    ]


def label_sets(data, split="test"):
    return [labels for _, _, labels in texts(data, split)]


SPLIT = Columns(split="split")


def test_labels_of_held_out_documents_are_unseen(named):
    rows = in_splits({"labels": ["x"]}, {"labels": ["y"]})
    rows[-1]["labels"] = ["z", "x", " "]
    rows[-2]["labels"] = []
    data = named(rows, columns=SPLIT, min_count=1)
    labels = data.tasks["english"].labels
    assert (labels.names, labels.frequencies) == (["x", "y", "z"], [1, 1, 0])
    assert label_sets(data) == [["z", "x"]]
    assert data.meta["skipped"]["documents without labels"]["count"] == 1
    assert (
        data.meta["skipped"]["assignments of labels without a description or unknown"]["count"] == 1
    )


def test_labels_of_the_same_known_words_are_one(named, write):
    vectors = write("english.txt", "a 1\nscience 2\ntechnology 3\n& 4\n")
    rows = in_splits(
        {"labels": ["Science/Technology", "the a"]},
        {"labels": ["science technology"]},
        {"labels": ["technology science", "Science, Technology"]},
        {"labels": ["SCIENCE of technology", "science technology"]},
        {"labels": ["unknown", "A"]},
        {"labels": ["science & technology", "nothing"]},
    )
    data = named(rows, columns=SPLIT, word_vectors=vectors)
    first, other, third, fourth = (
        "Science/Technology",
        "technology science",
        "the a",
        "science & technology",
    )
    labels = data.tasks["english"].labels
    assert dict(zip(labels.names, labels.frequencies, strict=True)) == {
        first: 4, other: 1, third: 2, fourth: 1
    }  # fmt: skip
    assert label_sets(data) == [[first, third], [first], [other, first], [first], [third], [fourth]]
    cached = ready(Corpus(data.path, columns=SPLIT, word_vectors=vectors))
    pairs = sum(len(labels) for split in SPLITS for labels in label_sets(data, split))
    assert inspect(cached, None)["mentions"]["all"]["pairs"] == pairs == 3 * 8
    assert data.meta["skipped"] == {
        "labels without a known word": {"count": 2, "first": ""},
        "assignments of labels without a description or unknown": {
            "count": 2 * 3,
            "first": f"{data.path}:5: unknown",
        },
    }


def test_a_corpus_that_changes_while_it_is_read(named, monkeypatch):
    rows = in_splits({"labels": ["x"]}, {"labels": ["y"]})
    documents = Corpus.documents

    def growing(self, skipped):
        for document in documents(self, skipped):
            yield document
            with open(self.path, "a") as file:
                file.write("\n")

    monkeypatch.setattr(Corpus, "documents", growing)
    with pytest.raises(InputError, match=r"the corpus \(english\) changed while they were read"):
        named(rows, columns=SPLIT, min_count=1)


def test_fewer_broken_lines_may_be_allowed_later(write, tmp_path):
    path = write("d.jsonl", in_splits({"labels": ["x"]}))
    path.write_text(path.read_text() + "broken\n")
    settings = {"columns": SPLIT, "min_count": 1, "cache_dir": tmp_path}
    ready(Corpus(str(path), **settings))
    with pytest.raises(InputError, match="more than max_broken_lines = 0 allows"):
        ready(Corpus(str(path), **settings, max_broken_lines=0))


def test_labels_are_merged_with_those_of_a_trained_model(named, write):
    vectors = write("english.txt", "a 1\nx 2\ny 3\nz 4\n")
    rows = in_splits({"labels": ["X"]}, {"labels": ["y", "x!"]})
    trained = named(rows, columns=SPLIT, word_vectors=vectors)
    assert trained.tasks["english"].labels.names == ["X", "y"]
    other = in_splits({"labels": ["x?", "(Y)"]}, {"labels": ["Z", "z."]})
    data = module.Corpus(
        str(write("other.jsonl", other)),
        columns=SPLIT,
        word_vectors=vectors,
        cache_dir=trained.cache_dir,
    )
    data.encode_for_scoring(trained.tasks)
    ready(data)
    labels = data.tasks["english"].labels
    assert (labels.names, labels.frequencies) == (["X", "y", "Z"], [2, 1, 0])
    assert label_sets(data) == [["X", "y"], ["Z"]]


# ---------------------------------------------------------------- leads and languages


@pytest.mark.parametrize(
    ("language", "code", "expected"),
    [
        ("english", "en", ["en", "English", "EN"]),
        ("english", None, ["en", "English", "EN"]),
        ("German", "de", ["de"]),
        ("German", None, ["de"]),
        ("Klingon", None, ["klingon"]),
    ],
)
def test_documents_of_a_language(corpus, language, code, expected):
    names = ["en", "de", "English", "EN", None, "klingon"]
    rows = [PLAIN | {"id": i, "lang": name} for i, name in enumerate(names)]
    data = corpus(rows, columns=Columns(language="lang"), language=language, sentences=code)
    found, skipped = documents_of(data)
    assert [names[int(document.id)] for document in found] == expected
    assert skipped["documents of other languages"]["count"] == len(names) - len(expected)


@pytest.mark.parametrize("by_name", [True, False])
@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("languages", ":1: no 'languages' in this document; .* did you mean 'language'"),
        ("language", ": no document of german .language. in it"),
    ],
)
def test_no_document_of_the_language(corpus, by_name, column, message):
    rows = [PLAIN | {"language": "en"}] * 2
    data = corpus(rows, columns=Columns(language=column), language="german", sentences="de")
    data.by_name = by_name
    with pytest.raises(InputError, match=f"{data.path}{message}"):
        data.prepare_data()


def test_documents_without_an_id(corpus):
    rows = [{key: PLAIN[key] for key in ("text", "labels", "year")}] * 3
    data = corpus(rows)
    with pytest.raises(
        InputError, match=r"no 'id' .*--data\.columns\.id null takes a hash of the text"
    ):
        data.prepare_data()
    rows.append(rows[0] | {"text": "another"})
    found, skipped = documents_of(corpus(rows, columns=Columns(id=None)))
    first, *others, last = (document.id for document in found)
    assert others == [f"{first}-2", f"{first}-3"]
    assert not skipped
    moved, _ = documents_of(corpus(rows[::-1], columns=Columns(id=None)))
    assert [document.id for document in moved] == [last, first, *others]


# ---------------------------------------------------------------- labels by URI


def test_documents_name_labels_by_uri(corpus):
    labels = [{"name": x, "description": f"about {x}", "uri": f"urn:{x}"} for x in "xyz"]
    rows = [PLAIN | {"id": i, "labels": ["x" if i % 2 else "urn:x", "urn:y"]} for i in range(20)]
    rows[-1]["labels"] = ["urn:z", "z"]
    rows[-2]["labels"] = ["urn:none", "urn:x"]
    data = ready(corpus(rows, labels, split_year=None, test_size=4))
    found = data.tasks["english"].labels
    assert dict(zip(found.names, found.uris, strict=True)) == {x: f"urn:{x}" for x in "xyz"}
    sets = {id: labels for split in SPLITS for id, _, labels in texts(data, split)}
    assert sets == {str(i): ["x", "y"] for i in range(18)} | {"18": ["x"], "19": ["z"]}
    assert (
        data.meta["skipped"]["assignments of labels without a description or unknown"]["count"] == 1
    )
    # a label that was renamed after training is found, as its URI is the same
    renamed = [labels[0], labels[1] | {"name": "why"}, labels[2] | {"parents": ["why", "top"]}]
    scored = corpus(rows[1::2], renamed, split_year=None, test_size=0)
    scored.encode_for_scoring(data.tasks)
    ready(scored)
    assert set(scored.tasks["english"].labels.names) == {"x", "y", "z"}
    assert label_sets(scored) == [["x", "y"]] * 9 + [["z"]]
    assert scored.parents() == {"x": (), "y": (), "z": ("y", "top")}
    # also where documents use the new name
    of_why = [row | {"labels": ["x", "why"]} for row in rows[:8]]
    scored = corpus(of_why, renamed, split_year=None, test_size=0)
    scored.encode_for_scoring(data.tasks)
    ready(scored)
    assert scored.tasks["english"].labels == data.tasks["english"].labels
    assert label_sets(scored) == [["x", "y"]] * 8


def test_another_label_that_has_got_the_name_of_a_trained_one(corpus):
    labels = [{"name": x, "description": f"about {x}", "uri": f"urn:{x}"} for x in "xy"]
    rows = [PLAIN | {"id": i, "labels": ["x", "y"]} for i in range(9)]
    data = ready(corpus(rows, labels, split_year=None, test_size=2))
    later = [
        {"name": "y", "description": "new", "uri": "urn:new", "parents": ["old y"]},
        {"name": "x", "description": "about x", "uri": "urn:x", "parents": ["y"]},
        {"name": "old y", "description": "about y", "uri": "urn:y"},
    ]
    rows = [PLAIN | {"id": i, "labels": names} for i, names in enumerate((["y"], ["old y", "x"]))]
    rows.append(PLAIN | {"id": 2, "labels": ["urn:new", "urn:y"]})
    scored = corpus(rows, later, split_year=None, test_size=0)
    scored.encode_for_scoring(data.tasks)
    found = ready(scored).tasks["english"].labels
    assert found.names == ["x", "y", "y (urn:new)"]
    assert found.uris == ["urn:x", "urn:y", "urn:new"]
    assert found.texts == ["about x", "about y", "new"]
    assert found.parents == [[], [], ["y"]]
    assert scored.parents() == {"x": ("y (urn:new)",), "y": (), "y (urn:new)": ("y",)}
    assert label_sets(scored) == [["y (urn:new)"], ["y", "x"], ["y (urn:new)", "y"]]


def test_uris_of_another_namespace_tell_nothing(corpus):
    def labels(space):
        return [{"name": x, "description": f"about {x}", "uri": space + x} for x in "xy"]

    rows = [PLAIN | {"id": i, "labels": ["x", "y"]} for i in range(9)]
    data = ready(corpus(rows, labels("http://a.b/"), split_year=None, test_size=2))
    rows[0]["labels"] = ["https://a.b/x"]
    scored = corpus(rows, labels("https://a.b/"), split_year=None, test_size=0)
    scored.encode_for_scoring(data.tasks)
    assert ready(scored).tasks["english"].labels == data.tasks["english"].labels
    assert label_sets(scored) == [["x"], *[["x", "y"]] * 8]


def test_a_uri_names_one_label(corpus):
    data = corpus(labels=[{"name": x, "description": "d", "uri": "urn:x"} for x in "ab"])
    with pytest.raises(InputError, match=r":2: the label 'b' has the URI of 'a' at .*:1; URIs"):
        data.label_texts(Skipped())


def test_defaults_that_decide_what_is_read():
    """Others would change the documents and results of everybody who gives none."""
    data = Corpus("documents.jsonl")
    assert (data.max_broken_lines, data.split_year, data.label_parents) == (100, 2005, 0)
