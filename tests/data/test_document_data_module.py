import json
import os
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from gile_lightning.common.errors import InputError
from gile_lightning.data import Columns, Corpus, document_data_module
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_testing.corpora import ready

TASK = Task(Tokenizer(["common", "UNK"]), LabelSet(["x"], ["about x"], [1]))


def content(data):
    """The encoded rows of every split."""
    return {split: data.split(split).to_list() for split in data.meta["counts"]["documents"]}


def stop(*_):
    raise AssertionError("the raw files were read")


# ---------------------------------------------------------------- the cache


def test_second_preparation_reads_nothing(corpus, prepared, monkeypatch):
    first = prepared()
    monkeypatch.setattr(Corpus, "documents", stop)
    monkeypatch.setattr(Corpus, "label_texts", stop)
    again = corpus()
    ready(again)
    assert content(again) == content(first)
    assert again.tasks == first.tasks


def test_a_corpus_of_an_older_format_is_left_alone_and_encoded_anew(corpus, prepared, monkeypatch):
    newest = document_data_module.FORMAT
    monkeypatch.setattr(document_data_module, "FORMAT", newest - 1)
    older = prepared()
    key = older.fingerprint()
    monkeypatch.setattr(document_data_module, "FORMAT", newest)
    newer = corpus()
    assert newer.fingerprint() != key
    ready(newer)
    assert content(newer) == content(older)


CHANGES = {
    "min_count": 2, "max_document_words": 299, "max_label_words": 49, "max_sentences": 30,
    "max_sentence_words": 30, "sentences": "en", "validation_size": 0.2, "test_size": 0.2,
    "held_out_labels": 1, "split_seed": 1, "split_year": 2006, "label_text": "name",
    "label_synonyms": True, "label_parents": 1, "label_words": True, "undescribed_labels": "name",
    "encoding": "latin-1", "columns": Columns(labels="tags"), "language": "german",
}  # fmt: skip


@pytest.mark.parametrize("option", CHANGES)
def test_setting_that_changes_the_result_changes_the_fingerprint(corpus, option):
    assert corpus(**{option: CHANGES[option]}).fingerprint() != corpus().fingerprint()


def test_setting_that_does_not_change_the_result_keeps_the_fingerprint(corpus, tmp_path):
    options = {"batch_size": 3, "eval_batch_size": 5, "seed": 7, "cache_dir": tmp_path / "other"}
    options |= {"samples_per_epoch": 9, "train_share": 0.5}
    options |= {"num_proc": 4}
    assert corpus(**options).fingerprint() == corpus().fingerprint()


@pytest.mark.parametrize("name", ["documents.jsonl", "labels.jsonl"])
def test_changed_file_changes_the_fingerprint(corpus, tmp_path, name):
    data = corpus()
    prints = [data.fingerprint()]
    path = tmp_path / name
    modified = path.stat().st_mtime_ns
    os.utime(path, ns=(modified, modified + 1_000_000))
    prints.append(data.fingerprint())
    path.write_text(path.read_text() + "\n")
    os.utime(path, ns=(modified, modified))
    prints.append(data.fingerprint())
    assert len(set(prints)) == 3


def test_meta_has_counts_sources_and_what_was_left_out(prepared, rows):
    rows[3]["text"] = ""
    data = prepared(rows)
    meta = json.loads((data.directory_of_shards() / "meta.json").read_text())
    assert meta["counts"] == {
        "documents": {"train": 8, "validation": 1, "test": 10},
        "seen_labels": 4,
        "unseen_labels": 1,
        "words": len(data.tasks["english"].tokenizer.vocabulary),
    }
    assert meta["skipped"] == {"documents without text": {"count": 1, "first": f"{data.path}:4"}}
    assert meta["sources"]["documents"][0]["file"] == str(Path(data.path).resolve())
    assert "train 8  validation 1  test 10 documents" in data.summary()
    assert "left out: 1 documents without text" in data.summary()


def test_setup_without_preparation(corpus):
    with pytest.raises(FileNotFoundError):
        corpus().setup()


# ---------------------------------------------------------------- settings


SIZES = (
    "batch_size", "eval_batch_size", "min_count", "max_document_words", "max_label_words",
    "max_sentences", "max_sentence_words", "validation_size", "samples_per_epoch", "train_share",
)  # fmt: skip


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("value", [0, -0.5])
def test_sizes_must_be_positive(name, value):
    with pytest.raises(InputError, match=f"must be above 0: {name} is {value}"):
        Corpus("x", **{name: value})


@pytest.mark.parametrize("name", ["test_size", "held_out_labels"])
def test_sizes_that_can_be_0(name):
    Corpus("x", **{name: 0})
    with pytest.raises(InputError, match=f"{name} is -1; 0, for none, or more"):
        Corpus("x", **{name: -1})


def test_language_of_the_model(corpus):
    data = corpus(language="german")
    with pytest.raises(InputError, match=r"knows english, french, not german: set --data.language"):
        data.encode_for_scoring({"english": TASK, "french": TASK})
    data.encode_for_scoring({"german": TASK})
    ready(data)
    assert list(data.tasks) == ["german"]
    assert list(next(iter(data.test_dataloader()))) == ["german"]


# ---------------------------------------------------------------- loaders


def documents_in(loader):
    return sum(len(batch["english"].document_lengths) for batch in loader)


def test_loaders(builtin):
    sizes = builtin.meta["counts"]["documents"]
    loaders = builtin.train_dataloader(), builtin.val_dataloader(), builtin.test_dataloader()
    for loader, split in zip(loaders, ("train", "validation", "test"), strict=True):
        assert documents_in(loader) == sizes[split] == len(builtin.split(split))
        assert (loader.rank, loader.world_size) == (0, 1)
    assert [loader.shuffle for loader in loaders] == [True, False, False]
    assert [loader.batch_size for loader in loaders] == [64, 64, 64]


def test_loaders_of_a_process(prepared):
    data = prepared(batch_size=3, eval_batch_size=5, seed=8)
    data.trainer = SimpleNamespace(global_rank=1, world_size=2)
    train, test = data.train_dataloader(), data.test_dataloader()
    assert (train.rank, train.world_size, train.seed, train.batch_size) == (1, 2, 8, 3)
    assert (test.rank, test.world_size, test.batch_size, len(test)) == (1, 2, 5, 1)
    assert documents_in(test) == 5


# ---------------------------------------------------------------- a share of the training documents


@pytest.fixture
def share(prepared, rows):
    """Encodes a corpus with 16 training documents and keeps a share of them."""

    def make(share, **options):
        for row in rows:
            row["split"] = {18: "validation", 19: "test"}.get(row["id"], "train")
        rows[16]["split"] = rows[17]["split"] = "test"
        columns = Columns(split="split")
        return prepared(rows, columns=columns, train_share=share, **options)

    return make


def training(data):
    return list(data.split("train")["id"])


def test_shares_are_nested(share):
    sets = [set(training(share(part))) for part in (0.0001, 0.1, 0.25, 0.5, 0.9, 1)]
    assert [len(ids) for ids in sets] == [1, 2, 4, 8, 14, 16]
    for smaller, larger in pairwise(sets):
        assert smaller < larger


def test_share_leaves_all_else(share):
    whole, part = share(1.0), share(0.1)
    assert part.directory_of_shards() == whole.directory_of_shards()
    assert part.tasks == whole.tasks
    assert content(part)["test"] == content(whole)["test"]
    assert content(part)["validation"] == content(whole)["validation"]
    used = {row["id"]: row for row in content(whole)["train"]}
    assert content(part)["train"] == [used[id] for id in training(part)]
    assert whole.meta["counts"]["documents"]["train"] == 16
    assert part.meta["counts"]["documents"]["train"] == 16
    assert part.meta["counts"]["training_documents_used"] == 2
    assert "training_documents_used" not in whole.meta["counts"]


def test_a_number_of_documents(share):
    assert training(share(4)) == training(share(0.25))
    assert share(4).meta["counts"]["training_documents_used"] == 4
    assert len(training(share(16))) == 16


def test_share_beyond_everything(share):
    with pytest.raises(InputError, match=r"train_share is 1\.5; give a share up to 1, or a number"):
        Corpus("x", train_share=1.5)
    with pytest.raises(InputError, match="train_share is 17, but there are 16 training documents"):
        training(share(17))


# ---------------------------------------------------------------- word vectors


WORDS = ["common", "even", "x", "about", "even", "new york", "unused", "old"]
VECTORS = np.random.default_rng(0).normal(size=(8, 3)).astype(np.float32)
NAMES = ["common", "even", "x", "about", "even\ufffd4", "newyork\ufffd5", "unused", "old", "UNK"]


@pytest.fixture
def vectors(write):
    """The folder of a file of word vectors; "odd", "new", "y" and others are not in it."""
    lines = [" ".join([w, *map(str, v.tolist())]) for w, v in zip(WORDS, VECTORS, strict=True)]
    return write("vectors/english.txt", "8 3\n" + "\n".join(lines) + "\n").parent


def decoded(data, split):
    vocabulary = data.tasks["english"].tokenizer.vocabulary
    return {row["id"]: [vocabulary[i] for i in row["words"]] for row in data.split(split)}


def test_vocabulary_is_that_of_the_word_vectors(prepared, vectors, rows):
    data = prepared(word_vectors=vectors, validation_size=2, min_count=1_000)
    text = data.tasks["english"].tokenizer
    assert text.known_words_only
    assert text.vocabulary == NAMES
    for split in ("train", "validation", "test"):
        for id, words in decoded(data, split).items():
            known = [word for word in rows[int(id)]["text"].split() if word in WORDS]
            assert words == known
    assert data.meta["counts"]["words"] == 9


def test_vectors_are_the_rows_of_the_file(prepared, vectors):
    data = prepared(word_vectors=vectors)
    np.testing.assert_array_equal(data.vectors("english")[:-1], VECTORS)
    np.testing.assert_array_equal(data.vectors("english")[-1], np.zeros(3))
    np.testing.assert_array_equal(
        np.load(data.directory_of_shards() / "vectors.npy"), data.vectors("english")
    )
    assert list(data.shards()) == [data.directory_of_shards()]


def test_vectors_come_from_the_cache(corpus, prepared, vectors, monkeypatch):
    expected = prepared(word_vectors=vectors).vectors("english")
    monkeypatch.setattr("gile_lightning.data.document_data_module.read_word_vectors", stop)
    again = prepared(word_vectors=vectors)
    np.testing.assert_array_equal(again.vectors("english"), expected)
    assert again.tasks["english"].tokenizer.vocabulary == NAMES


def test_no_vectors(prepared):
    data = prepared()
    assert data.vectors("english") is None
    assert data.vectors_file() is None
    with pytest.raises(InputError, match=r"no word vectors: set --data.word_vectors"):
        data.vector_words()


TRAINED = Task(
    Tokenizer(["old", "common", "y", "UNK"], 5, 3, known_words_only=True),
    LabelSet(["y", "zzz"], ["about y", "old"], [4, 1]),
)


def test_trained_model_brings_its_own_words(prepared, corpus, vectors):
    data = corpus(word_vectors=vectors)
    data.encode_for_scoring({"english": TRAINED})
    ready(data)
    task = data.tasks["english"]
    assert task.tokenizer == TRAINED.tokenizer
    # of the corpus' labels "about x", "about new" and "about z" have no word that it knows
    assert task.labels == TRAINED.labels
    # documents 10, 13, 16 and 19 have the label y
    assert decoded(data, "test") == {str(i): ["common"] for i in (10, 13, 16, 19)}
    assert data.vectors("english") is None
    assert list(data.meta["counts"]["documents"]) == ["test"]


@pytest.mark.parametrize("with_vectors", [True, False])
def test_model_that_is_trained_further_keeps_its_words(corpus, vectors, with_vectors):
    data = corpus(word_vectors=vectors if with_vectors else None, validation_size=2)
    data.encode_for_training({"english": TRAINED})
    assert data.fingerprint() != corpus(word_vectors=data.word_vectors).fingerprint()
    ready(data)
    task = data.tasks["english"]
    assert task.tokenizer == TRAINED.tokenizer
    # the labels are the corpus' own; "about old" and "about y" have words that it knows
    assert task.labels.names == ["old", "y"]
    assert task.labels.texts == ["about old", "about y"]
    assert data.vectors("english") is None
    assert list(data.meta["counts"]["documents"]) == ["train", "validation", "test"]
    with pytest.raises(InputError, match="the model knows german, not english"):
        data.encode_for_training({"german": TRAINED})
