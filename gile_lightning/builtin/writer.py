"""The files of the built-in corpus."""

import gzip
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import BinaryIO, Literal, TextIO, cast, get_args
from xml.sax.saxutils import escape

from gile_lightning.builtin.articles import ArticleMaker
from gile_lightning.builtin.headings import Heading, headings
from gile_lightning.common.console import note

Descriptors = Literal["ascii", "xml"]


def _ascii_record(heading: Heading, ui: str) -> str:
    lines = ["*NEWRECORD", "RECTYPE = D", f"MH = {heading.name}"]
    lines += [f"ENTRY = {entry}" for entry in heading.entries]
    lines += [f"MN = {tree}" for tree in heading.trees]
    lines += [f"MS = {heading.note}"] if heading.note else []
    return "\n".join([*lines, f"UI = {ui}", "", ""])


def _xml_record(heading: Heading, ui: str) -> str:
    trees = "".join(f"<TreeNumber>{tree}</TreeNumber>" for tree in heading.trees)
    terms = "".join(
        f"<Term><String>{escape(term)}</String></Term>" for term in (heading.name, *heading.entries)
    )
    name = f"<String>{escape(heading.name)}</String>"
    note = f"   <ScopeNote>{escape(heading.note)}\n   </ScopeNote>\n" if heading.note else ""
    return (
        '<DescriptorRecord DescriptorClass="1">\n'
        f" <DescriptorUI>{ui}</DescriptorUI>\n"
        f" <DescriptorName>\n  {name}\n </DescriptorName>\n"
        f" <TreeNumberList>{trees}</TreeNumberList>\n"
        ' <ConceptList>\n  <Concept PreferredConceptYN="Y">\n'
        f"   <ConceptName>\n    {name}\n   </ConceptName>\n"
        f"{note}   <TermList>{terms}</TermList>\n"
        "  </Concept>\n </ConceptList>\n</DescriptorRecord>\n"
    )


def descriptor_text(kind: Descriptors) -> Iterator[str]:
    """Yield the parts of the descriptor file."""
    record = _xml_record if kind == "xml" else _ascii_record
    if kind == "xml":
        yield '<?xml version="1.0"?>\n<!DOCTYPE DescriptorRecordSet SYSTEM "desc2016.dtd">\n'
        yield '<DescriptorRecordSet LanguageCode="eng">\n'
    for number, heading in enumerate(sorted(headings(), key=lambda h: h.name), 1):
        yield record(heading, f"D{number:06d}")
    if kind == "xml":
        yield "</DescriptorRecordSet>\n"


@contextmanager
def _writing(path: Path, compress: bool = False) -> Iterator[TextIO]:
    """Open a text file that takes its name only when it is complete."""
    part = path.with_name(path.name + ".part")
    with open(part, "wb") as raw:
        binary = cast(BinaryIO, gzip.GzipFile("", "wb", 6, raw, mtime=0)) if compress else raw
        with TextIOWrapper(binary, encoding="ascii", newline="\n") as text:
            yield text
    os.replace(part, path)


def write_bioasq(
    directory: Path | str,
    documents: int = 12_000,
    seed: int = 0,
    *,
    descriptors: Descriptors = "ascii",
    compress: bool = False,
    progress: bool = False,
) -> None:
    """Write the built-in corpus: the articles and the descriptors of their headings.

    Args:
        directory: where the files go; made if missing.
        documents: number of articles, at least 1.
        seed: decides the articles; the descriptors are always the same.
        descriptors: `"ascii"` writes `d2016_builtin.bin`, `"xml"` writes `desc2016_builtin.xml`.
        compress: write the articles as `allMeSH_builtin.json.gz`, not `allMeSH_builtin.json`.
        progress: report progress on standard error.

    Raises:
        ValueError: if `documents` is below 1 or `descriptors` is not one of the two formats.
    """
    if documents < 1:
        raise ValueError(f"documents must be at least 1, got {documents}")
    if descriptors not in get_args(Descriptors):
        raise ValueError(f"descriptors must be 'ascii' or 'xml', got {descriptors!r}")
    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    name = "desc2016_builtin.xml" if descriptors == "xml" else "d2016_builtin.bin"
    with _writing(folder / name) as out:
        out.writelines(descriptor_text(descriptors))
    maker = ArticleMaker(seed)
    encode = json.JSONEncoder().encode
    with _writing(folder / ("allMeSH_builtin.json" + ".gz" * compress), compress) as out:
        out.write('{"articles":[\n')
        for number in range(1, documents + 1):
            out.write(encode(maker.article()) + (",\n" if number < documents else "\n"))
            if progress and (number % 20_000 == 0 or number == documents):
                note(f"{number} of {documents} articles written")
        out.write("]}\n")
