"""Medical Subject Headings: names, scope notes and trees in NLM's XML and ASCII formats."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element, ParseError, iterparse

from gile_lightning.common.errors import InputError
from gile_lightning.data.formats.binary_file import BinaryFile
from gile_lightning.data.formats.descriptions import Described, composed, other_names
from gile_lightning.data.formats.lines import read_lines

_URI = "http://id.nlm.nih.gov/mesh/"  # before an identifier, as in NLM's linked data
DEEPEST = 100  # elements within each other; in NLM's file there are ten
PATTERNS = ("desc*.xml", "desc*.xml.gz", "d*.bin", "d*.bin.gz")


class Heading(NamedTuple):
    """A MeSH descriptor.

    Attributes:
        where: the place in the file, for messages.
        name: the heading.
        note: its scope note; empty where there is none.
        synonyms: its entry terms, without the name.
        trees: its tree numbers, such as A01.923.047.
        ui: its unique identifier, such as D001921, which outlives the name; empty where there is
            none.
    """

    where: str
    name: str
    note: str
    synonyms: list[str]
    trees: list[str]
    ui: str = ""


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
    name = str(path).lower().removesuffix(".gz")
    if name.endswith(".xml"):
        return _read_xml(path)
    if name.endswith(".bin"):
        return _read_ascii(path)
    raise InputError(f"{path}: MeSH descriptors end in .xml, .bin, .xml.gz or .bin.gz")


def with_parents(headings: Iterable[Heading]) -> Iterator[Described]:
    """Yield the headings as labels.

    The parents of a heading have its tree numbers without their last number: A01.923 is the parent
    of A01.923.047. All headings are read before the first is yielded.
    """
    headings = list(headings)
    names = {tree: composed(heading.name) for heading in headings for tree in heading.trees}
    for where, name, note, synonyms, trees, ui in headings:
        above = (names.get(tree.rpartition(".")[0], name) for tree in trees)
        parents, uri = tuple(other_names(name, above)), f"{_URI}{ui}" if ui else ""
        yield Described(where, composed(name), note, tuple(synonyms), parents, uri)


def _read_xml(path: Path | str) -> Iterator[Heading]:
    count = depth = 0
    root: Element | None = None
    try:
        with BinaryFile(path) as file:
            for event, element in iterparse(file, events=("start", "end")):
                root = element if root is None else root
                depth += 1 if event == "start" else -1
                if depth > DEEPEST:
                    raise InputError(f"{path}: more than {DEEPEST} elements within each other")
                if event == "start":
                    continue
                if element.tag == "DescriptorRecord":
                    count += 1
                    yield _heading(element, f"{path}: record {count:,}")
                root.clear()  # else the records would fill the memory
    except ParseError as error:
        line, column = error.position
        raise InputError(f"{path}:{line}:{column}: not well-formed XML ({error})") from error
    if not count:
        raise InputError(f"{path}: no DescriptorRecord in the file; is it NLM's desc*.xml?")


def _heading(record: Any, where: str) -> Heading:
    name = record.findtext("DescriptorName/String")
    if not name:
        raise InputError(f"{where}: a DescriptorRecord without DescriptorName/String")
    concept = record.find("ConceptList/Concept")
    note = concept.findtext("ScopeNote") if concept is not None else None
    name = name.strip()
    return Heading(
        where,
        name,
        (note or "").strip(),
        other_names(name, _texts(record, "ConceptList/Concept/TermList/Term/String")),
        other_names("", _texts(record, "TreeNumberList/TreeNumber")),
        (record.findtext("DescriptorUI") or "").strip(),
    )


def _texts(record: Any, path: str) -> list[str]:
    return [element.text or "" for element in record.findall(path)]


def _read_ascii(path: Path | str) -> Iterator[Heading]:
    name = note = where = ui = ""
    terms: list[str] = []
    trees: list[str] = []
    records = 0
    for number, line in read_lines(path):
        key, _, value = line.partition(" = ")
        if line.startswith("*NEWRECORD"):
            if records and name:
                yield _listed(where, name, note, terms, trees, ui)
            records += 1
            name, note, where, ui = "", "", f"{path}:{number}", ""
            terms, trees = [], []
        elif key == "MH":
            name = value.strip()
        elif key == "MS":
            note = value.strip()
        elif key in ("ENTRY", "PRINT ENTRY"):
            terms.append(value.partition("|")[0])  # semantic types, dates and the like may follow
        elif key == "MN":
            trees.append(value)
        elif key == "UI":
            ui = value.strip()
    if not records:
        raise InputError(f"{path}: no *NEWRECORD line; is it NLM's ASCII format (d*.bin)?")
    if name:
        yield _listed(where, name, note, terms, trees, ui)


def _listed(
    where: str, name: str, note: str, terms: list[str], trees: list[str], ui: str
) -> Heading:
    return Heading(where, name, note, other_names(name, terms), other_names("", trees), ui)
