"""Small files that unfold to much, and endless ones: each is read in a process with little memory.

python -m fuzzing.bombs FOLDER prints, as JSON, what each reader said, and how long it took.
"""

import gzip
import json
import pickle
import struct
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import h5py
import numpy as np

from fuzzing.models import checkpoint, records
from fuzzing.targets import TARGETS, outcome, read
from gile_lightning.training.checkpoint import HPARAMS, AtomicCheckpointIO
from gile_testing.faults import limit_memory

MEMORY = 1_200  # MB, beside what the imports take
GIGABYTE = 2**30

Write = Callable[[Path], object]


class Bomb(NamedTuple):
    """A target, what writes its file, the words of the error, and the file's name if not its."""

    target: str
    write: Write
    told: str
    name: str = ""


def endless(path: Path) -> None:
    """Write a line of a gigabyte, which takes no room on the disk."""
    with path.open("wb") as file:
        file.truncate(GIGABYTE)


def unfolding(block: bytes, size: int = GIGABYTE) -> Write:
    """Write a gzip file that has so many bytes in it, a thousand times its own."""
    member = gzip.compress(block * (2**24 // len(block)), mtime=0)

    def write(path: Path) -> None:
        path.write_bytes(member * (size // 2**24))

    return write


def text(content: str) -> Write:
    return lambda path: path.write_text(content)


def entities(root: str) -> str:
    """Return XML in which one entity becomes a billion."""
    more = "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 10))
    return f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a0 "ha">{more}]><{root}>&a9;</{root}>'


def anchors() -> str:
    """Return YAML in which one list becomes a billion."""
    more = "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 10))
    return f"a0: &a0 [x, y]\n{more}trainer: *a9\n"


def memo(path: Path) -> None:
    """Write a pickle of ten bytes that puts a value at the two billionth place."""
    path.write_bytes(b"\x80\x02N" + b"r" + struct.pack("<I", 2**31) + b".")


def room(path: Path) -> None:
    """Write a pickle that asks for room for 64 GB."""
    path.write_bytes(b"\x80\x05\x96" + struct.pack("<Q", 2**36) + b"x.")


def again(path: Path) -> None:
    """Write a pickle of one vector, which is there a million times."""
    vector = np.zeros(10_000, np.float32)
    path.write_bytes(pickle.dumps((["a"] * 1_000_000, [vector] * 1_000_000), 5))


def empty_tensor(path: Path) -> None:
    """Write a tensor of 4 TB, of which no value is in the file."""
    with h5py.File(path, "w") as file:
        shape = (10**6, 10**6)
        file.create_dataset("dense_1/dense_1/kernel", shape, "f4", chunks=(1000, 1000))


def elsewhere(path: Path) -> None:
    """Write a tensor whose values are in another file."""
    path.with_name("secret").write_bytes(bytes(64))
    with h5py.File(path, "w") as file:
        place = [(str(path.with_name("secret")), 0, 64)]
        file.create_dataset("dense_1/dense_1/kernel", (4, 4), "f4", external=place)


def compressed(path: Path) -> None:
    """Write a checkpoint with a record that unfolds to a gigabyte."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in records().items():
            archive.writestr(name, content)
        with archive.open("more", "w", force_zip64=True) as file:
            for _ in range(64):
                file.write(bytes(GIGABYTE // 64))


def lists(path: Path) -> None:
    """Write a checkpoint with settings that are lists of the same lists."""
    value: list[object] = ["x"]
    for _ in range(60):
        value = [value, value]
    made = checkpoint()
    AtomicCheckpointIO().save_checkpoint(made | {HPARAMS: made[HPARAMS] | {"dropout": value}}, path)


TOO_LONG, MORE = "a line is longer than", "unfolds to more than"
BOMBS = {
    **{
        f"1 GB line, {name}": Bomb(name, endless, TOO_LONG)
        for name in ("allMeSH", "MeSH ASCII", "labels", "labels CSV", "label changes", "corpus TSV")
    },
    "1 GB line, texts": Bomb("texts", endless, TOO_LONG),
    "1 GB line, vectors": Bomb("vectors of words", endless, TOO_LONG),
    "1 GB word": Bomb("vectors binary", lambda path: path.write_bytes(
        b"2 3\n" + b"x" * 10_000_000), "word 1 is longer than"),
    "1 GB vector": Bomb("vectors binary", text("2 999999999\nthe "), "announces vectors of"),
    "many numbers": Bomb("vectors of words", text("1 99999999999999999\nthe 1\n"),
                         "announces vectors of"),
    "gzip, line": Bomb("allMeSH gzip", unfolding(b"x"), TOO_LONG.partition(" is")[0] + " is"),
    "gzip, lines": Bomb("allMeSH gzip", unfolding(b"\n", GIGABYTE // 8), "unfolds to more than"),
    "gzip, STIX": Bomb("STIX gzip", unfolding(b"[]"), MORE),
    "gzip, XML": Bomb("MeSH XML", unfolding(b" "), MORE, "desc.xml.gz"),
    "gzip, SKOS": Bomb("SKOS Turtle", unfolding(b"# \n"), MORE, "labels.ttl.gz"),
    "gzip, JSON-LD": Bomb("SKOS JSON-LD", unfolding(b"[]"), MORE, "labels.jsonld.gz"),
    "gzip, pickle": Bomb("pickle gzip", unfolding(b"]"), MORE),
    "gzip, binary": Bomb("vectors binary", unfolding(b"99999999 1000\n"), MORE, "vectors.bin.gz"),
    "entities, MeSH": Bomb("MeSH XML", text(entities("DescriptorRecordSet")), "not well-formed"),
    "entities, SKOS": Bomb("SKOS RDF/XML", text(entities("rdf")), "no RDF"),
    "deep XML": Bomb("MeSH XML", text("<a>" * 1_000_000), "within each other"),
    "anchors": Bomb("configuration", text(anchors()), "which no settings have"),
    "a list in itself": Bomb("configuration", text("trainer: &a [*a]"), "nested too deep"),
    "pickle, place": Bomb("pickle", memo, "must hold two things"),
    "pickle, room": Bomb("pickle", room, "no pickle of words"),
    "pickle, again": Bomb("pickle", again, "the same vectors again and again"),
    "HDF5, empty": Bomb("Keras HDF5", empty_tensor, "far more than the file holds"),
    "HDF5, elsewhere": Bomb("Keras HDF5", elsewhere, "lies in another file"),
    "checkpoint, compressed": Bomb("checkpoint", compressed, "is compressed"),
    "checkpoint, lists": Bomb("checkpoint", lists, "which no settings have"),
    "checkpoint, a long name": Bomb("checkpoint pickle", lambda path: path.write_bytes(
        b"\x80\x02c" + b"x" * 10_000_000 + b"\ny\n."), "more than 500 characters"),
}  # fmt: skip


def main() -> None:
    folder = Path(sys.argv[1])
    for name in {bomb.target for bomb in BOMBS.values()}:
        (folder / "sound").mkdir(exist_ok=True)
        outcome(name, TARGETS[name].sound()[0], folder / "sound")  # which imports what it needs
    limit_memory(MEMORY)
    for number, (name, bomb) in enumerate(BOMBS.items()):
        target = TARGETS[bomb.target]
        path = folder / str(number) / (bomb.name or target.name)
        path.parent.mkdir()
        bomb.write(path)
        before = time.process_time()
        try:
            told = read(bomb.target, path)
        except BaseException as error:
            told = f"{type(error).__name__}: {error}"[:500]
        seconds = time.process_time() - before
        print(json.dumps([name, told[:5000], seconds]), flush=True)
        path.unlink()


if __name__ == "__main__":
    main()
