import json
import pickle
from itertools import permutations

import numpy as np
import pytest

from gile_lightning.common.errors import InputError
from gile_lightning.data.readers.released_articles import ReleasedArticles
from gile_testing.corpora import ready

WORDS = ["the", "cat", "sat", "mat", "dog", "the", "new york", "UNK"]
VECTORS = np.arange(24, dtype=np.float32).reshape(8, 3)
NAMES = ["the", "cat", "sat", "mat", "dog", "the\ufffd5", "newyork\ufffd6", "UNK\ufffd7", "UNK"]

TRAIN = {
    "X_ids": [[[0, 1, 2], [5, 6]], [[7]], [[4, 4], [], [3]]],
    "Y_ids": [[0], [1, 2], [2]],
    "label_ids": ["1", "3_4", "5"],
}
DEV = {"X_ids": [[[1]], [[2], [3]]], "Y_ids": [[1], [0, 2]], "label_ids": TRAIN["label_ids"]}
TEST = {"X_ids": [[[3, 2, 1, 0]]], "Y_ids": [[0, 1]], "label_ids": TRAIN["label_ids"]}


@pytest.fixture
def make(write, tmp_path):
    """Makes a corpus in the authors' format, files and options as given."""

    def make(train=TRAIN, dev=DEV, test=TEST, **options):
        for name, content in {"train": train, "dev": dev, "test": test}.items():
            if content is not None:
                text = content if isinstance(content, str | bytes) else json.dumps(content)
                write(f"dw/{name}/english.json", text)
        vectors = write("vectors/english.pkl", pickle.dumps((WORDS, list(VECTORS))))
        defaults = {"word_vectors": vectors.parent, "cache_dir": tmp_path / "cache"}
        return ReleasedArticles(str(tmp_path / "dw"), **(defaults | options))

    return make


@pytest.fixture
def prepared(make):
    def prepared(*args, **options):
        return ready(make(*args, **options))

    return prepared


def rows(data, split):
    """Sentences of word ids and label numbers of every document, by its id."""
    found = {}
    names = data.tasks["english"].labels.names
    for row in data.split(split):
        words = iter(row["words"])
        sentences = [[next(words) for _ in range(n)] for n in row["sentence_lengths"]]
        assert not list(words)
        found[row["id"]] = (sentences, [names[i] for i in row["labels"]])
    return found


def refuse(data, message):
    with pytest.raises(InputError) as error:
        data.prepare_data()
    assert message in str(error.value)


def test_documents_have_the_ids_of_the_file(prepared):
    data = prepared()
    assert rows(data, "train") == {
        "train-0": ([[0, 1, 2], [5, 6]], ["cat"]),
        "train-1": ([[7]], ["mat dog", "the\ufffd5"]),
        "train-2": ([[4, 4], [3]], ["the\ufffd5"]),
    }
    assert rows(data, "validation") == {
        "validation-0": ([[1]], ["mat dog"]),
        "validation-1": ([[2], [3]], ["cat", "the\ufffd5"]),
    }
    assert rows(data, "test") == {"test-0": ([[3, 2, 1, 0]], ["cat", "mat dog"])}
    assert data.meta["skipped"] == {}


def test_labels_are_their_words(prepared):
    task = prepared().tasks["english"]
    assert task.labels.names == task.labels.texts == ["the\ufffd5", "cat", "mat dog"]
    assert task.labels.frequencies == [2, 1, 1]
    words, lengths = task.tokenizer.labels(task.labels.texts)
    assert words.tolist() == [5, 1, 3, 4]
    assert lengths.tolist() == [1, 1, 2]


def test_labels_of_a_file_are_its_own(prepared):
    dev = DEV | {"label_ids": ["3_4", 2]}  # a number need not be a string
    data = prepared(dev=dev | {"Y_ids": [[1], [0]]})
    assert [labels for _, labels in rows(data, "validation").values()] == [["sat"], ["mat dog"]]
    labels = data.tasks["english"].labels
    assert (labels.names[3:], labels.frequencies[3:]) == (["sat"], [0])


@pytest.mark.parametrize("order", list(permutations([*TRAIN, "other"])), ids="-".join)
def test_keys_in_any_order(make, order):
    content = TRAIN | {"other": {"X_ids": ["]", 1.5, None, [[{}]]]}}
    text = json.dumps({key: content[key] for key in order}, indent=1)
    data = make(f"\n {text} \n")
    texts = data.label_texts(None)
    assert list(texts) == list(texts.values()) == ["cat", "mat dog", "the\ufffd5"]
    found = [document for document in data.documents(None) if document.split == "train"]
    assert [document.pieces for document in found] == [
        [[NAMES[i] for i in sentence] for sentence in sentences] for sentences in TRAIN["X_ids"]
    ]


def test_a_file_without_documents(make):
    data = make(dev={key: [] for key in DEV})
    data.label_texts(None)
    assert [d.id for d in data.documents(None)] == ["train-0", "train-1", "train-2", "test-0"]


# ---------------------------------------------------------------- errors


def test_word_vectors_of_another_corpus(make, write):
    path = write("other/english.txt", "the 1\ncat 2\nsat 3\n")
    refuse(make(word_vectors=path.parent), "a word id is none of the 3 words of ")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"X_ids": [[[0, 8]], [[1]], [[1]]]}, "document 0: a word id is none of the 8 words of "),
        ({"X_ids": [[[0]], [[9_999]], [[1]]]}, "document 1: a word id is none of the 8 words of "),
        ({"X_ids": [[[0]], [[1]], [[1, -1]]]}, "document 2: a word id is none of the 8 words of "),
        ({"X_ids": [[["the"]], [[1]], [[1]]]}, "document 0: a word id is none of the 8 words of "),
        ({"X_ids": [[[1.5]], [[1]], [[1]]]}, "document 0: a word id is none of the 8 words of "),
        ({"X_ids": [[[None]], [[1]], [[1]]]}, "document 0: a word id is none of the 8 words of "),
        ({"X_ids": [[0, 1], [[1]], [[1]]]}, "document 0: a sentence is 0, not a list"),
        ({"X_ids": [0, 1, 2]}, "document 0 in X_ids is 0, not a list"),
        ({"Y_ids": [[0], [3], [1]]}, "document 1: label 3 is none of the 3 label_ids"),
        ({"Y_ids": [[0], [1, -1], [1]]}, "document 1: label -1 is none of the 3 label_ids"),
        ({"Y_ids": [[0], ["1"], [1]]}, "document 1: label '1' is none of the 3 label_ids"),
        ({"Y_ids": [0, 1, 2]}, "document 0 in Y_ids is 0, not a list"),
        ({"Y_ids": 5}, "english.json: Y_ids is 5, not a list"),
        ({"Y_ids": [[0], [1]]}, "X_ids and Y_ids differ in their number of documents (3 or more, "
         "and 2)"),
        ({"Y_ids": [[0]]}, "X_ids and Y_ids differ in their number of documents (2 or more, and 1"),
        ({"Y_ids": [[0]] * 4}, "X_ids and Y_ids differ in their number of documents (3 or more, "
         "and 4)"),
        ({"label_ids": ["1", "cat", "2"]}, "label 1 is 'cat', not word ids joined with '_'"),
        ({"label_ids": ["1", "1_", "2"]}, "label 1 is '1_', not word ids joined with '_'"),
        ({"label_ids": ["1", "", "2"]}, "label 1 is '', not word ids joined with '_'"),
        ({"label_ids": ["1", [1, 2], "2"]}, "label 1 is [1, 2], not word ids joined with '_'"),
        ({"label_ids": ["1", "1_8", "2"]}, "label 1: a word id is none of the 8 words of "),
        ({"label_ids": ["1", "-1", "2"]}, "label 1: a word id is none of the 8 words of "),
        ({"label_ids": {"1": 0}}, "label_ids is {'1': 0}, not a list"),
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("split", ["test"])
def test_wrong_values(make, tmp_path, changes, message, split):
    data = make(**{split: TRAIN | changes})
    file = tmp_path / "dw" / split / "english.json"
    with pytest.raises(InputError) as error:
        data.prepare_data()
    assert str(error.value).startswith(f"{file}: ")
    assert message in str(error.value)
    if "word id is" in message:
        where = f"{tmp_path}/vectors/english.pkl; are these the word vectors of this corpus?"
        assert str(error.value).endswith(where)


@pytest.mark.parametrize("key", list(TRAIN))
def test_missing_key(make, key):
    content = {name: value for name, value in TRAIN.items() if name != key}
    refuse(make(content), f"train/english.json: no {key} in it; the keys are {list(content)}")


@pytest.mark.parametrize(
    "content",
    [
        "",
        "5",
        "[[1, 2]]",
        '{"X_ids": [[[0]]], "Y_ids": [[0]], "label_ids": ["1"]',
        '{"X_ids": [[[0]]], "Y_ids": [[0]], "label_ids',
        '{"X_ids": [[[0]], [[1',
        '{"X_ids": 5, "Y_ids": [], "label_ids": []}',
        '{"Y_ids": [], "label_ids": [], "X_ids": {}}',
        '{"X_ids": [[[0]]] "Y_ids": [[0]] + 1}',
        "{'X_ids': []}",
        b'{"Y_ids": "\xff"}',
    ],
)
def test_no_json_of_the_authors(make, tmp_path, content):
    message = f"{tmp_path}/dw/train/english.json: not readable as the authors' JSON ("
    refuse(make(content), message)
