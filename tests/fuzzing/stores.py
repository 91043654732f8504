"""Readers of binary data: pickles and files of vectors, shards, saved datasets."""

import functools
import gzip
import hashlib
import json
import pickle
import tempfile
from pathlib import Path

import numpy as np

from fuzzing.target import Target, part_of
from fuzzing.texts import DOCUMENTS, found_vectors
from gile_lightning.data import Corpus
from gile_lightning.data.formats.hub_datasets import read_dataset
from gile_lightning.data.formats.word_vectors import read_word_vectors
from gile_lightning.data.shards.cache import META
from gile_lightning.data.shards.encoded_corpus import FILES, VECTORS, EncodedCorpus
from gile_lightning.data.shards.encoding import TASK
from gile_lightning.data.shards.remote_folder import MANIFEST, RemoteFolder
from gile_testing.readers import LABELS

WORDS, NUMBERS = ["the", "cat"], np.array([[1, 2, 3], [4, 5, 6]], np.float32)


@functools.cache
def _pickles() -> list[bytes]:
    pairs = [(WORDS, list(NUMBERS)), (WORDS, NUMBERS)]
    return [pickle.dumps(pair, protocol) for pair in pairs for protocol in (2, 4, 5)]


def _word2vec() -> list[bytes]:
    rows = zip(WORDS, NUMBERS, strict=True)
    return [b"2 3\n" + b"".join(f"{w} ".encode() + v.tobytes() + b"\n" for w, v in rows)]


@functools.cache
def _shards() -> Path:
    """Return an encoded corpus without checksums, as an earlier version wrote them."""
    folder = Path(tempfile.mkdtemp())
    (folder / "documents.jsonl").write_text(DOCUMENTS)
    (folder / "labels.jsonl").write_text(LABELS)
    data = Corpus(
        str(folder / "documents.jsonl"),
        folder / "labels.jsonl",
        split_year=None,
        test_size=0.3,
        min_count=1,
        cache_dir=folder,
    )
    data.prepare_data()
    directory: Path = data.directory_of_shards()
    meta = json.loads((directory / META).read_text())
    (directory / META).write_text(json.dumps({k: v for k, v in meta.items() if k != FILES}))
    np.save(directory / VECTORS, NUMBERS)
    return directory


@functools.cache
def _saved() -> Path:
    import datasets

    folder = Path(tempfile.mkdtemp())
    rows = [json.loads(line) for line in DOCUMENTS.splitlines()]
    datasets.Dataset.from_list(rows).save_to_disk(folder)
    return folder


def _read_shards(folder: Path) -> None:
    corpus = EncodedCorpus(folder)
    corpus.vectors()
    for split in corpus.splits.values():
        split.with_format("arrow")[:].to_pydict()


def _read_saved(folder: Path) -> None:
    list(read_dataset(str(folder)))


def _download(path: Path) -> None:
    """Copy the files that a manifest names."""
    (path.parent / "a").touch()
    remote = RemoteFolder(f"file://{path.parent}")
    manifest = remote.manifest()
    if manifest is not None:
        remote.download(manifest, path.parent / "local")


def _manifests() -> list[bytes]:
    checksum = {"bytes": 0, "sha256": hashlib.sha256(b"").hexdigest()}
    return [json.dumps({"a": checksum, "b": checksum | {"bytes": 1}}).encode()]


TARGETS = {
    "pickle": Target("english.pkl", _pickles, read_word_vectors),
    "pickle gzip": Target(
        "english.pkl.gz", lambda: [gzip.compress(_pickles()[0], mtime=0)], read_word_vectors
    ),
    "vectors binary": Target("vectors.bin", _word2vec, found_vectors),
    "shard": part_of(_shards, "train-00000.arrow", _read_shards),
    "shard counts": part_of(_shards, META, _read_shards),
    "shard task": part_of(_shards, TASK, _read_shards),
    "shard vectors": part_of(_shards, VECTORS, _read_shards),
    "remote manifest": Target(MANIFEST, _manifests, _download),
    "saved dataset": part_of(_saved, "data-00000-of-00001.arrow", _read_saved),
    "saved dataset state": part_of(_saved, "state.json", _read_saved),
    "saved dataset columns": part_of(_saved, "dataset_info.json", _read_saved),
}
