import gzip
import json
import xml.etree.ElementTree as ET
import zlib
from collections import Counter
from pathlib import Path

import pytest

from gile_lightning import builtin as synthetic
from gile_lightning.builtin import HELD_OUT_FROM, write_bioasq
from gile_lightning.builtin.__main__ import main
from gile_lightning.builtin.articles import ArticleMaker
from gile_lightning.builtin.headings import Heading, headings


def read_articles(path: Path) -> list[dict]:
    """The articles, read as BioASQ files are: one per line, with a comma after all but one."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="ascii") as file:
        lines = file.read().split("\n")
    assert lines[0] == '{"articles":['
    assert lines[-2:] == ["]}", ""]
    assert all(line.endswith("},") for line in lines[1:-3])
    assert lines[-3].endswith("}")
    return [json.loads(line.removesuffix(",")) for line in lines[1:-2]]


def read_ascii(path: Path) -> list[dict[str, list[str]]]:
    """The records, each a mapping of field names to lists of values."""
    records = []
    for block in path.read_text(encoding="ascii").split("\n\n"):
        if block:
            first, *lines = block.split("\n")
            assert first == "*NEWRECORD"
            record: dict[str, list[str]] = {}
            for line in lines:
                key, value = line.split(" = ", 1)
                record.setdefault(key, []).append(value)
            records.append(record)
    return records


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("builtin")
    write_bioasq(path, 12_000, seed=0)
    return path


@pytest.fixture(scope="module")
def articles(folder) -> list[dict]:
    return read_articles(folder / "allMeSH_builtin.json")


# ---------------------------------------------------------------- files


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("descriptors", ["ascii", "xml"])
def test_same_arguments_give_same_bytes(tmp_path, descriptors, compress):
    for name in ("a", "b"):
        write_bioasq(tmp_path / name, 50, seed=3, descriptors=descriptors, compress=compress)
    found = {p.name: p.read_bytes() for p in (tmp_path / "a").iterdir()}
    assert found == {p.name: p.read_bytes() for p in (tmp_path / "b").iterdir()}
    assert set(found) == {
        "desc2016_builtin.xml" if descriptors == "xml" else "d2016_builtin.bin",
        "allMeSH_builtin.json.gz" if compress else "allMeSH_builtin.json",
    }


def test_compressed_file_holds_the_same_and_no_time(tmp_path):
    write_bioasq(tmp_path, 50, seed=3)
    write_bioasq(tmp_path, 50, seed=3, compress=True)
    packed = (tmp_path / "allMeSH_builtin.json.gz").read_bytes()
    assert packed[3:8] == bytes(5)  # no flags (and so no file name), no time
    assert gzip.decompress(packed) == (tmp_path / "allMeSH_builtin.json").read_bytes()


def test_output_is_that_of_this_version(tmp_path):
    """A change of the output must come with another `VERSION`, or caches keep the old one."""
    write_bioasq(tmp_path, 200, seed=0)
    sums = {p.name: zlib.crc32(p.read_bytes()) for p in tmp_path.iterdir()}
    known = {"allMeSH_builtin.json": 2413129680, "d2016_builtin.bin": 7393188}
    assert (synthetic.VERSION, sums) == (1, known)


@pytest.mark.parametrize("documents", [0, -7])
def test_too_few_documents(tmp_path, documents):
    with pytest.raises(ValueError, match=f"at least 1, got {documents}"):
        write_bioasq(tmp_path / "none", documents)
    assert not (tmp_path / "none").exists()


def test_unknown_format(tmp_path):
    with pytest.raises(ValueError, match="'csv'"):
        write_bioasq(tmp_path, 1, descriptors="csv")


def test_failure_leaves_no_file_under_the_final_name(tmp_path, monkeypatch):
    def fail(self):
        raise RuntimeError("stop")

    monkeypatch.setattr(ArticleMaker, "article", fail)
    with pytest.raises(RuntimeError, match="stop"):
        write_bioasq(tmp_path, 5)
    assert not (tmp_path / "allMeSH_builtin.json").exists()


def test_command_line(tmp_path, capsys):
    main([str(tmp_path), "--documents", "20", "--seed", "5", "--descriptors", "xml", "--compress"])
    assert len(read_articles(tmp_path / "allMeSH_builtin.json.gz")) == 20
    assert ET.parse(tmp_path / "desc2016_builtin.xml").getroot().tag == "DescriptorRecordSet"
    assert capsys.readouterr().err == "20 of 20 articles written\n"


# ---------------------------------------------------------------- descriptors


def test_ascii_and_xml_say_the_same(tmp_path, folder):
    write_bioasq(tmp_path, 1, descriptors="xml")
    root = ET.parse(tmp_path / "desc2016_builtin.xml").getroot()
    from_xml = []
    for record in root.iterfind("DescriptorRecord"):
        concept = record.find("ConceptList/Concept[@PreferredConceptYN='Y']")
        name = record.findtext("DescriptorName/String")
        assert concept.findtext("ConceptName/String") == name
        terms = [term.text for term in concept.iterfind("TermList/Term/String")]
        note = concept.findtext("ScopeNote")
        assert terms[0] == name
        found = {"RECTYPE": ["D"], "MH": [name], "ENTRY": terms[1:]}
        found["MN"] = [tree.text for tree in record.iterfind("TreeNumberList/TreeNumber")]
        found["MS"] = [] if note is None else [note.strip()]
        found["UI"] = [record.findtext("DescriptorUI")]
        from_xml.append({key: value for key, value in found.items() if value})
    assert from_xml == read_ascii(folder / "d2016_builtin.bin")
    # Both files hold text which XML must escape.
    text = (tmp_path / "desc2016_builtin.xml").read_text(encoding="ascii")
    assert "&lt;" in text
    assert "&amp;" in text


# ---------------------------------------------------------------- labels


def held_out() -> list[Heading]:
    return [heading for heading in headings() if heading.held_out]


def test_held_out_headings_occur_only_late(articles):
    early: Counter = Counter()
    late: Counter = Counter()
    for article in articles:
        (early if int(article["year"]) < HELD_OUT_FROM else late).update(article["meshMajor"])
    held = {heading.name for heading in held_out()}
    pairs = [heading for heading in headings() if len(heading.concepts) == 2]
    assert 0.15 <= len(held) / len(pairs) <= 0.20
    assert not held & set(early)
    assert len(held & set(late)) >= 60
    assert len(early) >= 300
    # A few frequent labels and a long tail.
    ranked = [number for _, number in (early + late).most_common()]
    assert ranked[0] > 20 * ranked[len(ranked) // 2]
