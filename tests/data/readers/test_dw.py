import gzip
import json
import pickle
import re
import warnings
from inspect import signature

import datasets
import numpy as np
import pytest

from gile_lightning.common.errors import InputError
from gile_lightning.data import DW
from gile_lightning.data.document import SPLITS
from gile_lightning.data.readers.dw import LANGUAGES
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_testing.corpora import ready

FILES = {"train": "train", "dev": "validation", "test": "test"}
VECTORS = {
    "english": ["a", "news", "wins", "goals", "of", "culture", "sport", ".", "first", "she", "he"],
    "german": ["die", "erste", "kultur", "sport", ".", "gewinnt", "er", "sie", "fußball"],
}
TEXTS = {
    "english": ("A news", "First culture.", "She wins. He loses goals. Sport!"),
    "german": ("Die", "Erste Kultur.", "Sie gewinnt. Er nicht. Fußball!"),
}


def article(name, i, **more):
    """An article of a language, with a title and teaser unless i is odd."""
    title, teaser, text = TEXTS[name]
    kind = "culture" if name == "english" else "Kultur"
    row = {"id": f"{name}{i}", "text": text, "general": [kind], "specific": [f"{kind} Sport"]}
    if i % 2 == 0:
        row |= {"title": title, "teaser": teaser}
    return row | more


@pytest.fixture
def vectors(write):
    """A folder of word vectors of size 2; the vector of word i is [i, 1]."""
    for language, words in VECTORS.items():
        lines = [f"{word} {i} 1\n" for i, word in enumerate(words)]
        path = write(f"vectors/{language}.txt", "".join(lines))
    return path.parent


@pytest.fixture
def raw(write):
    """A folder of JSON lines; 4, 2 and 3 documents of each language."""
    for language in VECTORS:
        number = 0
        for file, size in zip(FILES, (4, 2, 3), strict=True):
            rows = [article(language, number + i) for i in range(size)]
            number += size
            path = write(f"raw/{language}/{file}.jsonl", rows)
    return path.parent.parent


@pytest.fixture
def make(vectors, tmp_path):
    def make(path, word_vectors=vectors, languages=tuple(VECTORS), label_set="general", **options):
        options = {"cache_dir": tmp_path / "cache"} | options
        return DW(str(path), word_vectors, languages, label_set, **options)

    return make


@pytest.fixture
def prepared(make):
    def prepared(*args, **options):
        return ready(make(*args, **options))

    return prepared


def documents(data, language, split):
    """Sentences and label names of every document, by its id."""
    part = data.only(language)
    known = part.tasks[language]
    found = {}
    for row in part.split(split):
        words = iter([known.tokenizer.vocabulary[i] for i in row["words"]])
        sentences = [" ".join(next(words) for _ in range(n)) for n in row["sentence_lengths"]]
        found[row["id"]] = sentences, [known.labels.names[i] for i in row["labels"]]
    return found


def counts(data):
    return {name: data.meta["counts"][name]["documents"] for name in data.names}


ENGLISH = [["a news", "first culture .", "she wins .", "he goals .", "sport"]]
GERMAN = [["die", "erste kultur .", "sie gewinnt .", "er .", "fußball"]]
ENGLISH.append(ENGLISH[0][2:])  # without title and teaser
GERMAN.append(GERMAN[0][2:])
SIZES = {"train": 4, "validation": 2, "test": 3}


def expect_articles(data):
    number = 0
    for split, size in SIZES.items():
        expected = range(number, number + size)
        english, german = (documents(data, name, split) for name in VECTORS)
        assert english == {f"english{i}": (ENGLISH[i % 2], ["culture"]) for i in expected}
        assert german == {f"german{i}": (GERMAN[i % 2], ["Kultur"]) for i in expected}
        number += size


# ---------------------------------------------------------------- JSON lines by language


def test_folder_of_json_lines(prepared, raw):
    data = prepared(raw)
    expect_articles(data)
    assert data.names == ["english", "german"]
    assert not data.builtin
    assert counts(data) == dict.fromkeys(VECTORS, SIZES)
    for name, words in VECTORS.items():
        assert data.tasks[name].tokenizer.vocabulary == [*words, "UNK"]
        np.testing.assert_array_equal(
            data.vectors(name), [*([i, 1] for i in range(len(words))), [0, 0]]
        )


def test_texts_of_labels_train_where_documents_are_few(prepared, raw):
    data = prepared(raw, label_documents=4)
    for name, label in (("english", "culture"), ("german", "Kultur")):
        module, task = data.modules[name], data.tasks[name]
        texts = module.split("train")[module.size(module.language, "train") :]
        assert module.size(module.language, "train") == SIZES["train"]
        assert texts["id"] == [f"label: {label}"]
        assert texts["words"] == [task.tokenizer.word_ids(task.tokenizer.words(label))]


@pytest.mark.parametrize("file", FILES)
def test_missing_file(make, raw, file):
    (raw / "german" / f"{file}.jsonl").unlink()
    with pytest.raises(InputError) as error:
        make(raw).prepare_data()
    assert str(error.value) == f"{raw}/german/{file}.jsonl: no such file (or .gz of it)"


def test_trained_model_needs_the_test_file_only(make, raw):
    for file in ("train", "dev"):
        (raw / "english" / f"{file}.jsonl").unlink()
    text = Tokenizer([*VECTORS["english"], "UNK"], known_words_only=True, sentences="en")
    data = make(raw, languages=["english"])
    data.encode_for_scoring({"english": Task(text, LabelSet(["Culture!"], ["Culture!"], [3]))})
    ready(data)
    assert documents(data, "english", "test") == {
        f"english{i}": (ENGLISH[i % 2], ["Culture!"]) for i in (6, 7, 8)
    }


def test_languages_by_their_code(prepared, write, vectors):
    words = ["le", "sport", "."]
    write("vectors/fr.txt", "".join(f"{word} 1 2\n" for word in words))
    for file in FILES:
        row = {"id": file, "text": "Le sport. Le Sport.", "labels": ["Sport"], "language": "fr"}
        path = write(f"raw/fr/{file}.jsonl", [row])
    data = prepared(path.parent.parent, languages=["fr"])
    assert documents(data, "fr", "test") == {"test": (["le sport .", "le sport ."], ["Sport"])}
    assert data.tasks["fr"].tokenizer.sentences == "fr"


# ---------------------------------------------------------------- one file or dataset for all


def in_one(**names):
    """All articles with a language and split column."""
    split = [name for name, size in SIZES.items() for _ in range(size)]
    rows = [
        article(name, i, language=names.get(name, name), split=part)
        for i, part in enumerate(split)
        for name in VECTORS
    ]
    return [*rows, article("english", 99, language="fr", split="train")]


@pytest.mark.parametrize(
    "names", [{}, {"german": "de"}, {"english": "EN", "german": "German"}], ids=str
)
@pytest.mark.parametrize("name", ["one.jsonl", "one.jsonl.gz"])
def test_one_file(prepared, write, names, name):
    path = write(name, in_one(**names))
    data = prepared(path)
    expect_articles(data)
    for language, other in (("english", 2), ("german", 1)):
        skipped = data.meta["skipped"][language]["documents of other languages"]
        assert skipped == {"count": 10, "first": f"{path}:{other}"}


def test_one_file_must_say_each_language(make, write):
    path = write("one.jsonl", [*in_one(), article("english", 7, split="train")])
    with pytest.raises(InputError, match=f"^{path}:20: no 'language' in this document"):
        make(path).prepare_data()


@pytest.mark.parametrize("dev", ["validation", "dev", "valid"])
def test_saved_dataset(prepared, write, tmp_path, dev):
    rows = in_one(german="de")
    parts = {}
    for split in SPLITS:
        own = [row | {"title": row.get("title"), "teaser": row.get("teaser")} for row in rows]
        own = [
            {k: v for k, v in row.items() if k != "split"} for row in own if row["split"] == split
        ]
        parts[dev if split == "validation" else split] = datasets.Dataset.from_list(own)
    datasets.DatasetDict(parts).save_to_disk(tmp_path / "saved")
    expect_articles(prepared(tmp_path / "saved"))


# ---------------------------------------------------------------- the authors' format

RELEASED = {
    "train": {"X_ids": [[[0, 1], [3]], [[2]]], "Y_ids": [[0], [1, 0]], "label_ids": ["5", "5_6"]},
    "dev": {"X_ids": [[[4, 1]]], "Y_ids": [[1]], "label_ids": ["5", "5_6"]},
    "test": {"X_ids": [[[2], [2, 3]]], "Y_ids": [[0]], "label_ids": ["5", "5_6"]},
}


def write_released(write, folder, **changes):
    for split, content in RELEASED.items():
        path = write(f"{folder}/{split}/english.json", json.dumps(content | changes))
    return path.parent.parent


def expect_released(data):
    assert counts(data) == {"english": {"train": 2, "validation": 1, "test": 1}}
    assert documents(data, "english", "train") == {
        "train-0": (["a news", "goals"], ["culture"]),
        "train-1": (["wins"], ["culture sport", "culture"]),
    }
    assert documents(data, "english", "validation") == {
        "validation-0": (["of news"], ["culture sport"])
    }
    assert documents(data, "english", "test") == {"test-0": (["wins", "wins goals"], ["culture"])}


@pytest.mark.parametrize("prefix", ["", "dw_"])
@pytest.mark.parametrize("label_set", ["general", "specific"])
def test_folder_of_a_label_set(prepared, write, label_set, prefix):
    other = {"general": "specific", "specific": "general"}[label_set]
    write_released(write, f"dw/{prefix}{other}", label_ids=["1", "2"])
    folder = write_released(write, f"dw/{prefix}{label_set}").parent
    expect_released(prepared(folder, languages=["english"], label_set=label_set))


# ---------------------------------------------------------------- options


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"languages": []}, "data.languages is empty: name at least one language"),
        ({"languages": ["german", "english", "german"]}, "data.languages names german twice"),
        ({"languages": ["germann"]}, "data.languages: 'germann' is none of english, german, "
         "spanish, portuguese, ukrainian, russian, arabic, persian; did you mean 'german'?; name "
         "another language by its ISO 639-1 code"),
        ({"languages": ["english", "french"]}, "'french' is none of"),
        ({"train_share": {"spanish": 0.5}}, "data.train_share: 'spanish' is none of the languages "
         "english, german"),
        ({"train_share": {"englsh": 0.5}}, "languages english, german; did you mean 'english'?"),
        ({"train_share": {"german": 1.2}}, "train_share is 1.2; give a share up to 1, or a number"),
        ({"train_share": {"german": 0}}, "must be above 0: train_share is 0"),
        ({"languages": ["X"]}, "sentences is 'X'; give the ISO 639-1 code"),
        ({"samples_per_epoch": 0}, "must be above 0: samples_per_epoch is 0"),
    ],
    ids=str,
)  # fmt: skip
def test_wrong_options(make, raw, options, message):
    with pytest.raises(InputError, match=re.escape(message)):
        make(raw, **options)


# ---------------------------------------------------------------- real articles, eight languages


@pytest.fixture(scope="session")
def real(shared, tmp_path_factory):
    """The same articles from both doors."""
    folder, cache = shared / "data" / "dw", tmp_path_factory.mktemp("real")
    doors = {}
    for name in ("released", "raw"):
        doors[name] = DW(
            str(folder / name), folder / "word_vectors", list(LANGUAGES), cache_dir=cache
        )
        doors[name].prepare_data()
        doors[name].setup()
    return doors


@pytest.fixture(scope="session")
def words_of(shared):
    """The words of a language's vectors and the vectors, as Python's own pickle reads them."""

    def words_of(language):
        path = shared / "data" / "dw" / "word_vectors" / f"{language}.pkl.gz"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # numpy.core
            words, vectors = pickle.loads(gzip.decompress(path.read_bytes()), encoding="latin1")
        return words, np.stack(vectors)

    return words_of


@pytest.mark.parametrize("language", LANGUAGES)
def test_real_articles_have_the_ids_of_the_files(real, shared, words_of, language):
    data = real["released"]
    words, vectors = words_of(language)
    np.testing.assert_array_equal(data.vectors(language)[:-1], vectors)
    names = data.tasks[language].labels.names
    for file, split in FILES.items():
        path = shared / "data" / "dw" / "released" / file / f"{language}.json"
        content = json.loads(path.read_text())
        keys = [" ".join(words[int(i)] for i in key.split("_")) for key in content["label_ids"]]
        rows = data.only(language).split(split)
        assert len(rows) == len(content["X_ids"])
        for row, sentences, labels in zip(rows, content["X_ids"], content["Y_ids"], strict=True):
            kept = [sentence[:30] for sentence in sentences[:30]]
            assert row["words"] == [i for sentence in kept for i in sentence]
            assert row["sentence_lengths"] == list(map(len, kept))
            assert [names[i] for i in row["labels"]] == [keys[i] for i in labels]


@pytest.mark.parametrize("language", LANGUAGES)
def test_real_articles_of_json_lines(real, shared, words_of, language):
    data = real["raw"]
    known = set(words_of(language)[0])
    text = data.tasks[language].tokenizer
    uncut = 0
    for file, split in FILES.items():
        path = shared / "data" / "dw" / "raw" / language / f"{file}.jsonl"
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        found = documents(data, language, split)
        assert {id: labels for id, (_, labels) in found.items()} == {
            row["id"]: row["labels"] for row in rows
        }
        for row in rows:
            sentences = [sentence.split(" ") for sentence in found[row["id"]][0]]
            words = [word for sentence in sentences for word in sentence]
            assert known.issuperset(words)
            if max(map(len, sentences)) < 30:
                uncut += 1
                assert words == text.words(row["text"])  # none is lost between sentences
                assert {word for word in row["text"].split() if word in known} <= set(words)
    assert uncut > 500


def test_defaults_that_decide_what_is_drawn():
    """Others would change the documents and results of everybody who gives none."""
    data = DW()
    assert data.builtin_documents == 1_500
    for i, module in enumerate(data.modules.values()):  # each draws on its own
        assert (module.seed, module.split_seed, module.max_broken_lines) == (1234 + i, 1234, 100)
    parameters = signature(DW).parameters.values()
    named = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
    assert named == ["path", "word_vectors", "languages", "label_set"]
