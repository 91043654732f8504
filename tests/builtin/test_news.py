import gzip
import json
import pickle
import re
import zlib
from pathlib import Path

import numpy as np
import pytest

from gile_lightning.builtin import news, write_news
from gile_lightning.builtin.__main__ import main
from gile_lightning.builtin.news.articles import ArticleMaker
from gile_lightning.builtin.news.concepts import lexicon
from gile_lightning.common.errors import InputError

CODES = {
    "english": "en", "german": "de", "spanish": "es", "portuguese": "pt", "ukrainian": "uk",
    "russian": "ru", "arabic": "ar", "persian": "fa",
}  # fmt: skip
LANGUAGES = list(CODES)
# labels per language: general and specific ones of Pappas & Henderson (2019)
PAPER = {
    "general": (327, 367, 159, 95, 28, 102, 91, 71),
    "specific": (1058, 809, 684, 301, 260, 814, 344, 127),
}
KINDS = list(PAPER)
SPLITS = ("train", "dev", "test")


def read(folder: Path, language: str, split: str) -> list[dict]:
    text = (folder / language / f"{split}.jsonl").read_text(encoding="utf-8")
    assert text.endswith("}\n")
    return [json.loads(line) for line in text.split("\n")[:-1]]


def read_vectors(folder: Path, language: str) -> dict[str, np.ndarray]:
    with gzip.open(folder / "word_vectors" / f"{language}.pkl.gz") as file:
        words, vectors = pickle.load(file, encoding="latin1")
    assert len(set(words)) == len(words) == len(vectors)
    return dict(zip(words, vectors, strict=True))


def full_text(record: dict) -> str:
    return f"{record['title']} {record['teaser']} {record['text']}"


def words(text: str) -> list[str]:
    return re.findall(r"[^\W\d]+", text.lower())


def unit(rows) -> np.ndarray:
    rows = np.array(rows)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("news")
    write_news(path, 600)
    return path


@pytest.fixture(scope="module")
def corpus(folder) -> dict[str, dict[str, list[dict]]]:
    return {name: {s: read(folder, name, s) for s in SPLITS} for name in LANGUAGES}


@pytest.fixture(scope="module")
def vectors(folder) -> dict[str, dict[str, np.ndarray]]:
    return {name: read_vectors(folder, name) for name in LANGUAGES}


# ---------------------------------------------------------------- files


@pytest.mark.parametrize("language", LANGUAGES)
def test_records(corpus, language):
    parts = corpus[language]
    assert [len(parts[split]) for split in SPLITS] == [480, 60, 60]
    records = [record for split in SPLITS for record in parts[split]]
    assert [record["id"] for record in records] == [f"{language}-{i}" for i in range(1, 601)]
    assert len({record["text"] for record in records}) == 600
    for record in records:
        assert list(record) == ["id", "title", "teaser", "text", *KINDS]
        assert record["title"]
        assert record["text"]
        for kind in KINDS:
            assert len(set(record[kind])) == len(record[kind]) >= 1
    assert 0.05 < sum(not record["teaser"] for record in records) / 600 < 0.15


def test_a_language_does_not_depend_on_the_others(tmp_path):
    write_news(tmp_path / "one", 90, languages=["russian"])
    write_news(tmp_path / "two", 90, languages=["german", "russian"])
    both = files(tmp_path / "two")
    assert files(tmp_path / "one").items() < both.items()


def test_seed_changes_articles_but_not_vectors(tmp_path, folder, corpus, vectors):
    write_news(tmp_path, 90, seed=1, languages=["spanish"])
    texts = {record["text"] for record in corpus["spanish"]["train"]}
    assert not texts & {record["text"] for record in read(tmp_path, "spanish", "train")}
    other = read_vectors(tmp_path, "spanish")
    assert other.keys() == vectors["spanish"].keys()
    assert all(np.array_equal(other[word], v) for word, v in vectors["spanish"].items())


def test_vectors_are_a_pickle_without_time(folder):
    packed = (folder / "word_vectors" / "arabic.pkl.gz").read_bytes()
    assert packed[3:8] == bytes(5)  # no flags (and so no file name), no time
    data = gzip.decompress(packed)
    assert data[:2] == b"\x80\x02"  # protocol 2, which Python 2 reads
    found, rows = pickle.loads(data)
    assert type(found) is type(rows) is list
    assert {type(word) for word in found} == {str}
    assert {(type(v), v.dtype.str, v.shape) for v in rows} == {(np.ndarray, "<f4", (40,))}


def test_output_is_that_of_this_version(tmp_path):
    """A change of the output must come with another `VERSION`, or caches keep the old one."""
    write_news(tmp_path, 90, seed=0)
    articles = sums = 0
    for language in LANGUAGES:
        for split in SPLITS:
            articles = zlib.crc32((tmp_path / language / f"{split}.jsonl").read_bytes(), articles)
        rows = read_vectors(tmp_path, language)
        sums = zlib.crc32(" ".join(rows).encode() + np.array([*rows.values()]).tobytes(), sums)
    assert (news.VERSION, articles, sums) == (1, 3055255508, 1420894641)


def test_failure_leaves_no_file_under_the_final_name(tmp_path, monkeypatch):
    def fail(self, labels):
        raise RuntimeError("stop")

    monkeypatch.setattr(ArticleMaker, "article", fail)
    with pytest.raises(RuntimeError, match="stop"):
        write_news(tmp_path, 100, languages=["english"])
    assert not list(tmp_path.rglob("*.jsonl"))


# ---------------------------------------------------------------- labels


@pytest.mark.parametrize("language", LANGUAGES)
def test_default_labels(corpus, language):
    numbers = news.DEFAULT_LABELS[language]
    for kind, number, least, most in zip(KINDS, numbers, (20, 60), (40, 150), strict=True):
        seen = [{name for r in corpus[language][split] for name in r[kind]} for split in SPLITS]
        assert least <= len(seen[0]) == number <= most
        assert seen[1] | seen[2] <= seen[0]
    assert numbers[0] < numbers[1]


def test_paper_labels(tmp_path):
    # the fewest documents with which each English label can occur in training
    write_news(tmp_path, 645, paper_labels=True, words=60)
    for place, language in enumerate(LANGUAGES):
        train = read(tmp_path, language, "train")
        for kind in KINDS:
            assert len({name for r in train for name in r[kind]}) == PAPER[kind][place]
    assert sum(PAPER["general"] + PAPER["specific"]) == 5637  # the sum of the paper's Table 1


def test_too_few_documents_for_the_labels(tmp_path):
    message = "documents is 644: english needs at least 645, .* its 1385 labels"
    with pytest.raises(InputError, match=message):
        write_news(tmp_path / "none", 644, languages=["persian", "english"], paper_labels=True)
    with pytest.raises(InputError, match="documents is 0: persian needs at least"):
        write_news(tmp_path / "none", 0, languages=["persian"])
    assert not (tmp_path / "none").exists()


# ---------------------------------------------------------------- word vectors


@pytest.mark.parametrize("language", LANGUAGES)
def test_words_have_vectors(corpus, vectors, language):
    known = vectors[language]
    for split in SPLITS:
        for record in corpus[language][split]:
            assert set(words(full_text(record))) <= known.keys()
            for kind in KINDS:
                assert {word for name in record[kind] for word in words(name)} <= known.keys()


@pytest.mark.parametrize("language", LANGUAGES[1:])
def test_vectors_agree_across_languages(vectors, language):
    english, own = lexicon("english"), lexicon(language)
    here = unit([vectors["english"][forms[0].lower()] for forms in english.forms])
    there = unit([vectors[language][forms[0].lower()] for forms in own.forms])
    cosines = here @ there.T
    same = np.diag(cosines)
    assert 0.75 < same.mean() < 0.85
    assert np.mean((same > 0.65) & (same < 0.92)) > 0.95
    assert (cosines.argmax(axis=1) == np.arange(len(same))).mean() > 0.99
    assert abs((cosines.sum() - same.sum()) / (cosines.size - len(same))) < 0.05


def label_vectors(language: str, names: list[str], vectors) -> np.ndarray:
    return np.array([np.mean([vectors[language][w] for w in words(n)], axis=0) for n in names])


# ---------------------------------------------------------------- what can be learnt


def table(records, kind, names, rows) -> tuple[np.ndarray, np.ndarray]:
    """Mean word vectors [B, 40] and whether a document has a label [B, K]."""
    means = [np.mean([rows[w] for w in words(full_text(r))], axis=0) for r in records]
    has = [[name in r[kind] for name in names] for r in records]
    return np.array(means), np.array(has, dtype=int)


def data(language, kind, corpus, vectors):
    names = sorted({name for r in corpus[language]["train"] for name in r[kind]})
    train = table(corpus[language]["train"], kind, names, vectors[language])
    held = corpus[language]["dev"] + corpus[language]["test"]
    test = table(held, kind, names, vectors[language])
    middle, spread = train[0].mean(axis=0), train[0].std(axis=0)
    scaled = [((x - middle) / spread, y) for x, y in (train, test)]
    return scaled, label_vectors(language, names, vectors)


# ---------------------------------------------------------------- command line


def test_command_line(tmp_path, capsys):
    options = ["--documents", "650", "--seed", "4", "--paper-labels", "--words", "50"]
    main([str(tmp_path / "a"), "--corpus", "news", "--languages", "persian", "english", *options])
    names = ("persian", "english")
    write_news(tmp_path / "b", 650, 4, languages=names, paper_labels=True, words=50)
    assert files(tmp_path / "a") == files(tmp_path / "b")
    assert capsys.readouterr().err == "".join(f"650 {name} articles written\n" for name in names)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--corpus", "news", "--documents", "3"], "english needs at least"),
        (["--corpus", "news", "--compress"], "--compress is not an option of --corpus news"),
        (["--paper-labels"], "--paper-labels is not an option of --corpus bioasq"),
        (["--corpus", "dw"], "invalid choice: 'dw'"),
    ],
)
def test_command_line_errors(tmp_path, capsys, options, message):
    with pytest.raises(SystemExit) as caught:
        main([str(tmp_path), *options])
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


def test_unknown_language(tmp_path):
    with pytest.raises(InputError, match=r"'germany' is not one of english, .*mean 'german'"):
        write_news(tmp_path, languages=["germany"])
