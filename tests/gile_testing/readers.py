"""The readers of files that come from elsewhere, each with a sound file of its kind."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from gile_lightning.commands.cli import Parser
from gile_lightning.commands.documents import DocumentReader, lines_of
from gile_lightning.commands.shipped import with_bases
from gile_lightning.data.formats.attack import Techniques
from gile_lightning.data.formats.descriptions import TextRecipe
from gile_lightning.data.formats.label_files import read_labels
from gile_lightning.data.formats.lines import read_records
from gile_lightning.data.formats.mesh import read_headings, with_parents
from gile_lightning.data.formats.skipped import Skipped
from gile_lightning.data.formats.stix import read_objects
from gile_lightning.data.readers.bioasq import BioASQ
from gile_lightning.data.readers.record_parser import RecordParser
from gile_lightning.data.readers.released_articles import ReleasedArticles
from gile_lightning.training.samplers import LabelSampler


class Reader(NamedTuple):
    """A reader: the name of its file, a sound content, and what reads it to the end."""

    name: str
    sound: str
    read: Callable[[Path], Any]


ARTICLES = [
    {"pmid": str(i), "title": "A title.", "abstractText": "Words, é.", "meshMajor": ["A", "B"],
     "year": "2004", "journal": "J"}
    for i in range(3)
]  # fmt: skip
ALLMESH = '{"articles":[\n' + ",\n".join(map(json.dumps, ARTICLES)) + "]}\n"
ASCII = "".join(
    f"*NEWRECORD\nRECTYPE = D\nMH = {name}\nENTRY = {name}s|T1|EQV\nMN = {tree}\nMS = A note.\n\n"
    for name, tree in [("Calcium", "D01"), ("Ions", "D01.2")]
)
XML = '<?xml version="1.0"?>\n<!DOCTYPE DescriptorRecordSet>\n<DescriptorRecordSet>' + "".join(
    f"<DescriptorRecord><DescriptorName><String>{name}</String></DescriptorName><TreeNumberList>"
    f"<TreeNumber>{tree}</TreeNumber></TreeNumberList><ConceptList><Concept><ScopeNote>A note."
    "</ScopeNote><TermList><Term><String>other</String></Term></TermList></Concept></ConceptList>"
    "</DescriptorRecord>\n"
    for name, tree in [("Calcium", "D01"), ("Ions", "D01.2")]
) + "</DescriptorRecordSet>\n"  # fmt: skip
DW = json.dumps(
    {"X_ids": [[[0, 1], [2]], [[1]]], "Y_ids": [[0, 1], [1]], "label_ids": ["0_1", "2"]}
)
STIX = json.dumps(
    {"type": "bundle", "objects": [
        {"type": "attack-pattern", "id": "attack-pattern--1", "name": "Phishing",
         "description": "<b>It</b> [x](http://y) (Citation: Z).", "modified": "2020-01-01",
         "external_references": [{"source_name": "mitre-attack", "external_id": "T1"}]},
        {"type": "attack-pattern", "id": "attack-pattern--2", "name": "Link", "revoked": False},
        {"type": "relationship", "id": "relationship--1", "relationship_type": "subtechnique-of",
         "source_ref": "attack-pattern--2", "target_ref": "attack-pattern--1"},
        {"type": "relationship", "id": "relationship--2", "relationship_type": "uses",
         "source_ref": "malware--1", "target_ref": "attack-pattern--2", "created": "2021-02-03",
         "description": "Someone sent a link."}]}
)  # fmt: skip
LABELS = "".join(
    json.dumps({"name": name, "description": "d", "synonyms": ["s"], "parents": ["a"]}) + "\n"
    for name in "ab"
)
TEXTS = '{"id": 1, "text": "words"}\n{"title": "t", "abstract": "a", "language": "en"}\n'
YAML = """base: below.yaml
seed_everything: 3
sampler: {class_path: gile_lightning.training.samplers.UniformLabels, init_args: {rate: 0.1}}
trainer: {max_epochs: 2, callbacks: [[1, null], {a: b}]}
"""


def _allmesh(path: Path) -> None:
    parser = RecordParser(BioASQ(str(path.parent), cache_dir=path.parent).columns, 2005)
    for record in read_records([path], Skipped(), max_broken=3):
        parser.parse(record)


def _dw(path: Path) -> None:
    for split in ("train", "dev", "test"):
        (path.parent / split).mkdir(exist_ok=True)
        (path.parent / split / "english.json").write_bytes(path.read_bytes())
    data = ReleasedArticles(str(path.parent), cache_dir=path.parent)
    data._vector_words = ["a", "b", "c", "UNK"]
    data.label_texts(Skipped())
    list(data.documents(Skipped()))


def _stix(path: Path) -> None:
    techniques = Techniques(read_objects([path]))
    list(techniques.labels(Skipped()))
    techniques.sentences(Skipped())


def _labels(path: Path) -> None:
    labels = {label.name: label for label in read_labels(path)}
    recipe = TextRecipe("name_description", True, 2)
    for label in labels.values():
        recipe.label_text(label, labels)


def _texts(path: Path) -> None:
    tokenizer = SimpleNamespace(sentences="en")
    recipe = TextRecipe(columns=("title", "text"), language="language")
    task = SimpleNamespace(tokenizer=tokenizer, recipe=recipe)
    system: Any = SimpleNamespace(tasks={"english": task})
    with open(path, encoding="utf-8") as lines:
        list(DocumentReader(lines_of(lines, str(path)), str(path), "auto", system, "english"))


def _configuration(path: Path) -> None:
    (path.parent / "below.yaml").write_text("seed_everything: 1\n")
    with_bases(str(path))
    parser = Parser(prog="fit")
    parser.add_argument("--config", action="config")
    parser.add_argument("--base", type=str | None, default=None)
    parser.add_argument("--seed_everything", type=int)
    parser.add_subclass_arguments(LabelSampler, "sampler", required=False)
    parser.add_argument("--trainer", type=dict | None)
    parser.parse_args(["--config", str(path)])


READERS = {
    "allMeSH": Reader("allMeSH.json", ALLMESH, _allmesh),
    "MeSH ASCII": Reader("d.bin", ASCII, lambda path: list(with_parents(read_headings(path)))),
    "MeSH XML": Reader("desc.xml", XML, lambda path: list(with_parents(read_headings(path)))),
    "DW": Reader("english.json", DW, _dw),
    "STIX": Reader("enterprise.json", STIX, _stix),
    "labels": Reader("labels.jsonl", LABELS, _labels),
    "texts": Reader("texts.jsonl", TEXTS, _texts),
    "configuration": Reader("mine.yaml", YAML, _configuration),
}
