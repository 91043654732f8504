import gzip
import json
from collections import Counter

import pytest

from gile_lightning.common.errors import InputError
from gile_lightning.data import BioASQ
from gile_lightning.data.formats.skipped import Skipped
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_testing.corpora import ready

HEADINGS = "*NEWRECORD\nMH = Cells\nMS = Living units.\n\n*NEWRECORD\nMH = Female\n"
ARTICLE = {
    "journal": "J",
    "abstractText": "Of cells.",
    "meshMajor": ["Cells", "Female"],
    "pmid": 1,
    "title": "Study",
    "year": "2004 Spring",
}


def articles(*changes):
    rows = [json.dumps(ARTICLE | {"pmid": i} | change) for i, change in enumerate(changes)]
    return '{"articles":[\n' + ",\n".join(rows) + "]}\n"


OLD_AND_NEW = articles({}, {"year": "2004"}, {"year": 2003}, {"year": "2005 Jan"})


@pytest.fixture
def folder(write, tmp_path):
    write("raw/allMeSH.json", OLD_AND_NEW)
    write("raw/d2014.bin", HEADINGS)
    return tmp_path / "raw"


@pytest.fixture
def bioasq(folder, tmp_path):
    """Makes a module of the folder and encodes it."""

    def make(path=folder, known=None, **options):
        data = BioASQ(str(path), min_count=1, cache_dir=tmp_path / "cache", **options)
        if known:
            data.encode_for_scoring({"english": known})
        return ready(data)

    return make


def decoded(data, split):
    task = data.tasks["english"]
    return [
        (
            row["id"],
            " ".join(task.tokenizer.vocabulary[i] for i in row["words"]),
            [task.labels.names[i] for i in row["labels"]],
        )
        for row in data.split(split)
    ]


def test_small_folder(bioasq):
    data = bioasq()
    assert decoded(data, "test") == [("3", "study of cells .", ["Cells"])]
    assert len(decoded(data, "train")) == 2
    assert data.tasks["english"].labels.texts == ["Living units."]
    assert (
        data.meta["skipped"]["assignments of labels without a description or unknown"]["count"] == 4
    )


TREE = """\
*NEWRECORD
MH = Cells
ENTRY = Cell
MN = A11
MS = Living units.

*NEWRECORD
MH = Blood Cells
ENTRY = Blood Corpuscles
MN = A11.118
MS = Cells of blood.
"""


def test_entry_terms_and_parents(bioasq, write):
    write(
        "raw/allMeSH.json",
        articles(*[{"meshMajor": ["Blood Cells"], "year": "2004"}] * 2, {}, {"year": "2005"}),
    )
    write("raw/d2014.bin", TREE)
    labels = bioasq(label_synonyms=True, label_parents=1).tasks["english"].labels
    texts = {
        "Blood Cells": "Cells of blood. Blood Corpuscles Cells Living units.",
        "Cells": "Living units. Cell",
    }
    assert dict(zip(labels.names, labels.texts, strict=True)) == texts
    assert labels.synonyms == [
        ["Cell" if n == "Cells" else "Blood Corpuscles"] for n in labels.names
    ]
    assert labels.parents == [[] if n == "Cells" else ["Cells"] for n in labels.names]


def test_incomplete_folders(bioasq, folder, tmp_path):
    with pytest.raises(InputError, match=rf"{tmp_path}/none: no such folder \(--data.path\)"):
        bioasq(tmp_path / "none")
    (folder / "d2014.bin").unlink()
    with pytest.raises(InputError, match=rf"{folder}: no MeSH descriptors.*--data\.descriptors"):
        bioasq()
    (folder / "allMeSH.json").unlink()
    with pytest.raises(InputError, match=rf"{folder}: no allMeSH\*\.json"):
        bioasq()


def test_trained_model_needs_no_descriptors(bioasq, folder):
    (folder / "d2014.bin").unlink()
    labels = LabelSet(["Female", "Cells"], ["women", "cells"], [4, 3])
    data = bioasq(known=Task(Tokenizer(["cells", "UNK"]), labels))
    assert data.tasks["english"].labels == labels
    assert decoded(data, "test") == [("3", "UNK UNK cells UNK", ["Cells", "Female"])]


# ---------------------------------------------------------------- the built-in corpus


def test_builtin_corpus_is_written_once(builtin, tmp_path):
    files = {path: path.stat().st_mtime_ns for path in builtin.directory.iterdir()}
    other = BioASQ(builtin_documents=400, min_count=3, cache_dir=builtin.cache_dir)
    other.prepare_data()
    assert other.directory == builtin.directory
    assert {path: path.stat().st_mtime_ns for path in builtin.directory.iterdir()} == files
    assert other.fingerprint() != builtin.fingerprint()


def test_builtin_fingerprint_does_not_depend_on_the_files(builtin, tmp_path):
    options = {"min_count": 2, "cache_dir": tmp_path / "other"}
    assert BioASQ(builtin_documents=400, **options).fingerprint() == builtin.fingerprint()
    assert BioASQ(builtin_documents=401, **options).fingerprint() != builtin.fingerprint()


# ---------------------------------------------------------------- real articles


def described_headings(path):
    """The names of the headings with a scope note, from the ASCII file."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        records = file.read().split("*NEWRECORD\n")[1:]
    fields = [
        dict(line.split(" = ", 1) for line in r.splitlines() if " = " in line) for r in records
    ]
    return {record["MH"] for record in fields if record.get("MS", "").strip()}


def test_real_articles(shared, tmp_path):
    folder = shared / "data/bioasq"
    described = described_headings(folder / "d2014.bin.gz")
    with gzip.open(folder / "allMeSH_sample.json.gz", "rt", encoding="utf-8") as file:
        read = [json.loads(line.rstrip(",\n")) for line in file.read().split("\n")[1:-2]]
    assert len(read) == 6_534
    labels = {str(a["pmid"]): set(a["meshMajor"]) & described for a in read}
    new = {str(a["pmid"]) for a in read if int(a["year"]) >= 2005}

    data = BioASQ(str(folder), cache_dir=tmp_path)
    ready(data)
    assert data.meta["counts"]["documents"] == {"train": 4_909, "validation": 546, "test": 1_079}
    names = data.tasks["english"].labels.names
    found = {}
    for split in ("train", "validation", "test"):
        rows = data.split(split).select_columns(["id", "labels"]).to_dict()
        for id, label_ids in zip(rows["id"], rows["labels"], strict=True):
            assert {names[i] for i in label_ids} == labels[id]
            assert len(label_ids) == len(labels[id])
            found[id] = split
    assert {id for id, split in found.items() if split == "test"} == new
    assert found.keys() == labels.keys()

    # labels seen in the documents left for training, most frequent first
    counts = Counter(name for id, split in found.items() if split == "train" for name in labels[id])
    assert names[: len(counts)] == sorted(counts, key=lambda name: (-counts[name], name))
    assert data.tasks["english"].labels.frequencies[: len(counts)] == sorted(
        counts.values(), reverse=True
    )
    assert data.meta["counts"]["seen_labels"] == len(counts) == 8_094
    assert data.meta["counts"]["unseen_labels"] == len(names) - len(counts) == 1_359

    # with the validation documents, as in the published split
    seen = set().union(*(labels[id] for id in labels.keys() - new))
    unseen = set().union(*(labels[id] for id in new)) - seen
    assert seen | unseen == set(names)
    assert (len(seen), len(unseen)) == (8_476, 977)
    assert sum(bool(labels[id] & unseen) for id in new) == 693


def test_invented_headings_have_no_identifiers(builtin, write):
    """Those of MeSH have: http://id.nlm.nih.gov/mesh/ and the unique ID."""
    assert {label.uri for label in builtin.descriptions(Skipped())} == {""}
    descriptors = write("d2014.bin", "*NEWRECORD\nMH = Cells\nUI = D002477\n")
    (label,) = BioASQ(str(descriptors.parent)).descriptions(Skipped())
    assert label.uri == "http://id.nlm.nih.gov/mesh/D002477"
