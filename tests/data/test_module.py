import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from gile_lightning.data import Columns, Corpus
from gile_lightning.data.labels import LabelSet
from gile_lightning.data.language import Language
from gile_lightning.data.module import default_cache
from gile_lightning.data.text import TextEncoder
from gile_lightning.errors import InputError

LANGUAGE = Language(TextEncoder(["common", "UNK"]), LabelSet(["x"], ["about x"], [1]))


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
    again.prepare_data()
    again.setup()
    assert content(again) == content(first)
    assert again.languages == first.languages


@pytest.mark.parametrize(
    "option",
    [
        {"min_count": 2},
        {"max_document_words": 299},
        {"max_label_words": 49},
        {"validation_size": 0.2},
        {"test_size": 0.2},
        {"split_seed": 1},
        {"split_year": 2006},
        {"label_text": "name"},
        {"undescribed_labels": "name"},
        {"columns": Columns(year="year", labels="tags")},
        {"encoding": "latin-1"},
    ],
    ids=str,
)
def test_setting_that_changes_the_result_changes_the_fingerprint(corpus, option):
    assert corpus(**option).fingerprint() != corpus().fingerprint()


def test_setting_that_does_not_change_the_result_keeps_the_fingerprint(corpus, tmp_path):
    options = {"batch_size": 3, "eval_batch_size": 5, "seed": 7, "cache_dir": tmp_path / "other"}
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


def test_changed_saved_dataset_changes_the_fingerprint(corpus, rows, tmp_path):
    import datasets

    datasets.Dataset.from_list(rows).save_to_disk(tmp_path / "saved")
    data = corpus(tmp_path / "saved")
    before = data.fingerprint()
    assert data.fingerprint() == before
    datasets.Dataset.from_list(rows[1:]).save_to_disk(tmp_path / "saved")
    assert data.fingerprint() != before


def test_known_language_changes_the_fingerprint(corpus):
    data, other = corpus(), corpus()
    other.use({"english": LANGUAGE})
    assert data.fingerprint() != other.fingerprint()


def test_changed_file_is_encoded_anew(prepared, rows):
    assert prepared().meta["counts"]["documents"]["test"] == 10
    assert prepared(rows[:-1]).meta["counts"]["documents"]["test"] == 9


def test_processes_that_prepare_at_once_encode_once(corpus, monkeypatch):
    def counted(self, skipped):
        calls.append(skipped)
        time.sleep(0.1)  # the others come to the lock
        return documents(self, skipped)

    documents, calls = Corpus.documents, []
    monkeypatch.setattr(Corpus, "documents", counted)
    modules = [corpus() for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(Corpus.prepare_data, modules))
    assert len(calls) == 1


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_interrupted_encoding_leaves_no_usable_entry(corpus, prepared, monkeypatch, error):
    def interrupted(self, skipped):
        for number, document in enumerate(documents(self, skipped)):
            if number == 12:
                raise error
            yield document

    documents = Corpus.documents
    data = corpus()
    with monkeypatch.context() as patch:
        patch.setattr(Corpus, "documents", interrupted)
        patch.setattr("gile_lightning.data.encoding.SHARD", 5)
        with pytest.raises(error):
            data.prepare_data()
    directory = data.directory_of_shards()
    assert not directory.exists()
    leftover = directory.with_suffix(".partial")
    assert list(leftover.glob("raw-*"))
    (leftover / "train-99999.arrow").write_bytes(b"junk")
    again = prepared()
    assert again.directory_of_shards() == directory
    assert not leftover.exists()
    assert content(again) == content(prepared(cache_dir=directory.parent / "untouched"))


def test_entry_without_its_last_file_is_encoded_anew(corpus, prepared):
    data = corpus()
    directory = data.directory_of_shards()
    directory.mkdir(parents=True)
    (directory / "test-99999.arrow").write_bytes(b"junk")
    assert len(prepared().split("test")) == 10
    assert not (directory / "test-99999.arrow").exists()


def test_meta_has_counts_sources_and_what_was_left_out(prepared, rows):
    rows[3]["text"] = ""
    data = prepared(rows)
    meta = json.loads((data.directory_of_shards() / "meta.json").read_text())
    assert meta["counts"] == {
        "documents": {"train": 8, "validation": 1, "test": 10},
        "seen_labels": 4,
        "unseen_labels": 1,
        "words": len(data.languages["english"].text.vocabulary),
    }
    assert meta["skipped"] == {"documents without text": {"count": 1, "first": f"{data.path}:4"}}
    assert meta["sources"]["documents"][0]["file"] == str(Path(data.path).resolve())
    assert "train 8  validation 1  test 10 documents" in data.summary()
    assert "left out: 1 documents without text" in data.summary()


def test_second_setup_keeps_the_mapped_shards(prepared):
    data = prepared()
    split = data.split("test")
    data.setup("test")
    assert data.split("test") is split


def test_setup_without_preparation(corpus):
    with pytest.raises(FileNotFoundError):
        corpus().setup()


def test_default_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_cache() == tmp_path / "gile_lightning"
    assert Corpus("x").cache_dir == tmp_path / "gile_lightning"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert default_cache() == tmp_path / "home/.cache/gile_lightning"
    assert Corpus("x", cache_dir="~/mine").cache_dir == tmp_path / "home/mine"


# ---------------------------------------------------------------- settings


@pytest.mark.parametrize(
    "name",
    [
        "batch_size",
        "eval_batch_size",
        "min_count",
        "max_document_words",
        "max_label_words",
        "validation_size",
        "test_size",
    ],
)
@pytest.mark.parametrize("value", [0, -0.5, -3])
def test_sizes_must_be_positive(name, value):
    with pytest.raises(InputError, match=f"must be above 0: {name} is {value}"):
        Corpus("x", **{name: value})


def test_all_wrong_sizes_are_named_at_once():
    with pytest.raises(InputError, match="batch_size is 0, min_count is -1"):
        Corpus("x", batch_size=0, min_count=-1)


def test_validation_size_beyond_the_training_documents(corpus):
    with pytest.raises(InputError, match="validation_size = 10 would take all 10 documents"):
        corpus(validation_size=10).prepare_data()


def test_lengths_reach_the_documents_and_labels(prepared):
    data = prepared(max_document_words=2, max_label_words=1)
    assert {len(words) for words in data.split("train")["words"]} == {2}
    text = data.languages["english"].text
    assert text.labels(["about x"])[1].tolist() == [1]


def test_language_of_the_model(corpus):
    data = corpus(language="german")
    with pytest.raises(InputError, match=r"knows english, french, not german: set --data.language"):
        data.use({"english": LANGUAGE, "french": LANGUAGE})
    data.use({"german": LANGUAGE})
    data.prepare_data()
    data.setup()
    assert list(data.languages) == ["german"]
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


def test_setup_maps_several_shards(prepared, monkeypatch):
    one = prepared()
    monkeypatch.setattr("gile_lightning.data.encoding.SHARD", 7)
    several = prepared(cache_dir=one.cache_dir / "several")
    assert len(list(several.directory_of_shards().glob("*.arrow"))) > 3
    assert content(several) == content(one)
    assert several.languages == one.languages
