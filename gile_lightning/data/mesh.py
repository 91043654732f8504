"""Medical Subject Headings: headings and scope notes in NLM's XML and ASCII formats."""

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element, ParseError, iterparse

import fsspec

from gile_lightning.data.lines import read_lines
from gile_lightning.errors import InputError

PATTERNS = ("desc*.xml", "desc*.xml.gz", "d*.bin", "d*.bin.gz")


class Heading(NamedTuple):
    """A MeSH descriptor: its name and its scope note (empty where there is none)."""

    where: str
    name: str
    note: str


def find_descriptors(directory: Path, required: bool = True) -> list[Path]:
    """Find the descriptor file in ``directory``.

    Raises:
        InputError: there is none although it is required, or more than one.
    """
    found = sorted({path for pattern in PATTERNS for path in directory.glob(pattern)})
    if not found and required:
        raise InputError(
            f"{directory}: no MeSH descriptors; put NLM's {' or '.join(PATTERNS)} there, "
            "or name the file with --data.descriptors"
        )
    if len(found) > 1:
        raise InputError(
            f"{directory}: several descriptor files ({', '.join(p.name for p in found)}); "
            "choose one with --data.descriptors"
        )
    return found


def read_headings(path: Path | str) -> Iterator[Heading]:
    """Stream the descriptors of an XML (``*.xml[.gz]``) or ASCII (``*.bin[.gz]``) file.

    The scope note is that of a descriptor's first concept (Nam et al., 2016).
    """
    name = str(path).removesuffix(".gz")
    if name.endswith(".xml"):
        return _read_xml(path)
    if name.endswith(".bin"):
        return _read_ascii(path)
    raise InputError(f"{path}: MeSH descriptors end in .xml, .bin, .xml.gz or .bin.gz")


def _read_xml(path: Path | str) -> Iterator[Heading]:
    if not Path(path).is_file():
        raise InputError(f"{path}: no such file")
    try:
        with fsspec.open(str(path), "rb", compression="infer") as file:
            count = 0
            root: Element | None = None
            for event, element in iterparse(file, events=("start", "end")):
                if root is None:
                    root = element
                if event == "start" or element.tag != "DescriptorRecord":
                    continue
                count += 1
                yield _heading(element, f"{path}: record {count:,}")
                root.clear()  # the records read so far would fill the memory
    except ParseError as error:
        line, column = error.position
        raise InputError(f"{path}:{line}:{column}: not well-formed XML ({error})") from error
    except (EOFError, OSError, zlib.error) as error:
        raise InputError(f"{path}: truncated or damaged gzip file ({error})") from error
    if not count:
        raise InputError(f"{path}: no DescriptorRecord in the file; is it NLM's desc*.xml?")


def _heading(record: Any, where: str) -> Heading:
    name = record.findtext("DescriptorName/String")
    if not name:
        raise InputError(f"{where}: a DescriptorRecord without DescriptorName/String")
    concept = record.find("ConceptList/Concept")
    note = concept.findtext("ScopeNote") if concept is not None else None
    return Heading(where, name.strip(), (note or "").strip())


def _read_ascii(path: Path | str) -> Iterator[Heading]:
    name = note = where = ""
    records = 0
    for number, line in read_lines(path):
        if line.startswith("*NEWRECORD"):
            if records and name:
                yield Heading(where, name, note)
            records += 1
            name, note, where = "", "", f"{path}:{number}"
        elif line.startswith("MH = "):
            name = line[5:].strip()
        elif line.startswith("MS = "):
            note = line[5:].strip()
    if not records:
        raise InputError(f"{path}: no *NEWRECORD line; is it NLM's ASCII format (d*.bin)?")
    if name:
        yield Heading(where, name, note)
