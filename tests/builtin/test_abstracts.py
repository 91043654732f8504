import gzip
import json
import math
import re
import string
import xml.etree.ElementTree as ET
import zlib
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from gile_lightning import builtin as synthetic
from gile_lightning.builtin import HELD_OUT_FROM, lexicon, write_bioasq
from gile_lightning.builtin import names as invented
from gile_lightning.builtin.__main__ import main
from gile_lightning.builtin.articles import ArticleMaker
from gile_lightning.builtin.headings import Heading, concepts, headings


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


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("builtin")
    write_bioasq(path, 12_000, seed=0)
    return path


@pytest.fixture(scope="module")
def articles(folder) -> list[dict]:
    return read_articles(folder / "allMeSH_builtin.json")


@pytest.fixture(scope="module")
def counts(articles) -> Counter:
    return Counter(w for a in articles for w in words(f"{a['title']} {a['abstractText']}"))


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


def test_seed_changes_articles_but_not_descriptors(tmp_path, folder):
    write_bioasq(tmp_path, 50, seed=1)
    here = read_articles(tmp_path / "allMeSH_builtin.json")
    there = read_articles(folder / "allMeSH_builtin.json")[:50]
    assert all(a["abstractText"] != b["abstractText"] for a, b in zip(here, there, strict=True))
    name = "d2016_builtin.bin"
    assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()


def test_output_is_that_of_this_version(tmp_path):
    """A change of the output must come with another `VERSION`, or caches keep the old one."""
    write_bioasq(tmp_path, 200, seed=0)
    sums = {p.name: zlib.crc32(p.read_bytes()) for p in tmp_path.iterdir()}
    known = {"allMeSH_builtin.json": 2413129680, "d2016_builtin.bin": 7393188}
    assert (synthetic.VERSION, sums) == (1, known)


def test_one_article(tmp_path):
    write_bioasq(tmp_path / "new" / "folder", 1)
    assert len(read_articles(tmp_path / "new" / "folder" / "allMeSH_builtin.json")) == 1
    assert not list(tmp_path.rglob("*.part"))


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


def test_command_line_quiet(tmp_path, capsys):
    main([str(tmp_path), "--documents", "2", "--quiet"])
    assert capsys.readouterr().err == ""


def test_command_line_error(tmp_path, capsys):
    with pytest.raises(SystemExit) as caught:
        main([str(tmp_path), "--documents", "0"])
    assert caught.value.code == 2
    assert "documents must be at least 1, got 0" in capsys.readouterr().err


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


def test_records(folder):
    records = read_ascii(folder / "d2016_builtin.bin")
    assert 750 <= len(records) <= 900
    names = [record["MH"][0] for record in records]
    assert names == sorted(set(names))
    assert [r["UI"][0] for r in records] == [f"D{i:06d}" for i in range(1, len(records) + 1)]
    assert all(re.fullmatch(r"[A-Z]\d\d(\.\d{3})*", tree) for r in records for tree in r["MN"])
    trees = [tree for record in records for tree in record["MN"]]
    assert len(trees) == len(set(trees))
    without = [record["MH"][0] for record in records if "MS" not in record]
    assert without == sorted(lexicon.GENERAL_HEADINGS)
    notes = [record["MS"][0] for record in records if "MS" in record]
    assert len(set(notes)) == len(notes)
    assert all(15 <= len(note.split()) <= 45 and note.endswith(".") for note in notes)
    synonyms = [entry for record in records for entry in record.get("ENTRY", ())]
    assert len(synonyms) > 300
    assert not set(synonyms) & set(names)


# ---------------------------------------------------------------- articles


def test_fields(articles):
    assert len(articles) == 12_000
    for article in articles:
        assert list(article) == ["abstractText", "journal", "meshMajor", "pmid", "title", "year"]
        assert article["meshMajor"] == sorted(set(article["meshMajor"]))
        assert 1990 <= int(article["year"]) <= 2015
        assert article["year"].isdigit()
        assert article["title"]
        assert article["journal"]
    numbers = [int(article["pmid"]) for article in articles]
    assert all(a < b for a, b in pairwise(numbers))
    assert len({article["year"] for article in articles}) == 26
    assert len({article["abstractText"] for article in articles}) == 12_000


def test_sizes(articles):
    number = len(articles)
    assert 0.60 <= sum(int(a["year"]) < HELD_OUT_FROM for a in articles) / number <= 0.65
    assert 6 <= sum(len(a["meshMajor"]) for a in articles) / number <= 9
    assert 110 <= sum(len(a["abstractText"].split()) for a in articles) / number <= 160


def test_text_is_well_formed(articles):
    for article in articles:
        for text in (article["title"], article["abstractText"]):
            assert text.isascii()
            assert not re.search(r"[{}]|%s", text)
            assert "  " not in text
            assert text[0].isupper() or text[0] in string.digits + "["
        assert article["abstractText"].endswith(".")


def test_no_word_of_the_lexicon_holds_a_slot_or_a_separator():
    for group in lexicon.CONCEPTS.values():
        for concept in group:
            assert len(set(concept.words)) == len(concept.words) >= 6, concept.name
            for text in (*concept.words, concept.gist, concept.name, concept.attr):
                assert text == text.strip() != ""
                assert not set("{}%;=") & set(text), text
    for group in lexicon.WORDS.values():
        assert len(set(group)) == len(group)
    # These words come after "a".
    for key in ("adj", "design"):
        assert not [word for word in lexicon.WORDS[key] if word[0] in "aeiou"]
    # And these after "an".
    assert not [word for word in lexicon.WORDS["role"] if word[0] not in "aeiou"]


# ---------------------------------------------------------------- labels


def held_out() -> list[Heading]:
    return [heading for heading in headings() if heading.held_out]


def test_every_heading_is_a_descriptor(articles, folder):
    names = {record["MH"][0] for record in read_ascii(folder / "d2016_builtin.bin")}
    assert {name for article in articles for name in article["meshMajor"]} <= names


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


def test_concepts_of_held_out_headings_are_known_before(articles):
    before = {n for a in articles if int(a["year"]) < HELD_OUT_FROM for n in a["meshMajor"]}
    known: Counter = Counter()
    for heading in headings():
        if heading.name in before:
            known.update(heading.concepts)
    for heading in held_out():
        assert all(known[number] >= 2 for number in heading.concepts)


def test_words_of_held_out_notes_occur_before(articles):
    vocabulary: set[str] = set()
    for article in articles:
        if int(article["year"]) < HELD_OUT_FROM:
            vocabulary.update(words(article["abstractText"]))
    shares = []
    for heading in held_out():
        own = words(heading.note)
        shares.append(sum(word in vocabulary for word in own) / len(own))
    assert min(shares) > 0.7
    assert sum(shares) / len(shares) > 0.9


def test_text_tells_the_concepts(articles):
    """Articles use the words of their headings' concepts far more than those of others."""
    by_name = {h.name: h.concepts for h in headings()}
    own = other = 0
    for article in articles[:500]:
        text = article["abstractText"].lower()
        about = {number for name in article["meshMajor"] for number in by_name[name]}
        for number, (_, concept) in enumerate(concepts()):
            found = sum(word.lower() in text for word in concept.words)
            if number in about:
                own += found > 0
            else:
                other += found > 1
    total = sum(len({n for x in a["meshMajor"] for n in by_name[x]}) for a in articles[:500])
    assert own / total > 0.9
    assert 0 < other / (500 * len(concepts()) - total) < 0.05


# ---------------------------------------------------------------- vocabulary


def test_vocabulary_is_zipf_like(counts):
    assert 10_000 <= len(counts) <= 20_000
    ranked = [number for _, number in counts.most_common()]
    places = sorted({int(1.3**i) for i in range(60) if 1.3**i < len(ranked)})
    xs = [math.log(place) for place in places]
    ys = [math.log(ranked[place - 1]) for place in places]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    covariance = sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True))
    slope = covariance / sum((a - x) ** 2 for a in xs)
    assert -1.4 < slope < -0.9
    correlation = covariance / math.sqrt(
        sum((a - x) ** 2 for a in xs) * sum((b - y) ** 2 for b in ys)
    )
    assert correlation < -0.95
    assert 0.3 < sum(number == 1 for number in ranked) / len(ranked) < 0.6


def test_vocabulary_grows(articles, counts):
    fewer = {w for a in articles[:3000] for w in words(f"{a['title']} {a['abstractText']}")}
    assert len(fewer) < 0.7 * len(counts)


def test_invented_names():
    assert invented.rare_rank(1.0) == 0
    assert invented.rare_rank(2.0**-53) == 10**9
    ranks = [invented.rare_rank(i / 1000) for i in range(1, 1001)]
    assert ranks == sorted(ranks, reverse=True)
    for make in (invented.gene_name, invented.compound_name, invented.place_name):
        names = [make(rank) for rank in range(300)]
        assert len(set(names)) > 290
        assert all(re.fullmatch(r"[A-Za-z]+-?\d*", name) for name in names)
    assert re.fullmatch(r"[A-Z][a-z]+-\d+", invented.strain_name(7))


def test_lower_keeps_acronyms():
    assert invented.lower("DNA Sequencing") == "DNA sequencing"
    assert invented.lower("Vitamin D") == "vitamin D"
