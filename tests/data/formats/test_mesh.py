import gzip
import re
import tracemalloc

import pytest

from gile_lightning.common.errors import InputError
from gile_lightning.data.formats.descriptions import Described
from gile_lightning.data.formats.mesh import Heading, find_descriptors, read_headings, with_parents

ASCII = """\
*NEWRECORD
RECTYPE = D
MH = Calcimycin
PRINT ENTRY = A-23187|T109|T195|LAB|NRW|NLM (1991)|900308|abbcdef
ENTRY = Calcimycin
ENTRY = Antibiotic A, 23187
ENTRY = A-23187
MN = D03.438.221.173
MN = D03.438
MS = An antibiotic from Streptomyces; MH = 5.
UI = D000001

*NEWRECORD
RECTYPE = D
MH = Female
UI = D005260

*NEWRECORD
RECTYPE = D
MH = Behçet Syndrome
ENTRY = Triple-Symptom Complex & more|T047
MS = Rare & chronic.
UI = D001528
"""
# the first concept of a descriptor is its preferred one; its terms have String elements as well
XML = """\
<?xml version="1.0"?>
<!DOCTYPE DescriptorRecordSet SYSTEM "desc2014.dtd">
<DescriptorRecordSet LanguageCode = "eng">
<DescriptorRecord DescriptorClass = "1">
 <DescriptorUI>D000001</DescriptorUI>
 <DescriptorName>
  <String>Calcimycin</String>
 </DescriptorName>
 <AllowableQualifiersList><AllowableQualifier><QualifierReferredTo><QualifierName>
  <String>administration</String></QualifierName></QualifierReferredTo></AllowableQualifier>
 </AllowableQualifiersList>
 <TreeNumberList>
  <TreeNumber>D03.438.221.173</TreeNumber>
  <TreeNumber>D03.438</TreeNumber>
 </TreeNumberList>
 <ConceptList>
  <Concept PreferredConceptYN="Y">
   <ConceptName><String>Concept</String></ConceptName>
   <ScopeNote>An antibiotic from Streptomyces; MH = 5.
   </ScopeNote>
   <TermList>
    <Term ConceptPreferredTermYN="Y"><String>A-23187</String></Term>
    <Term><String>Calcimycin</String></Term>
   </TermList>
  </Concept>
  <Concept PreferredConceptYN="N"><ScopeNote>Another note.</ScopeNote>
   <TermList>
    <Term><String>Antibiotic A, 23187</String></Term>
    <Term><String>A-23187</String></Term>
   </TermList>
  </Concept>
 </ConceptList>
</DescriptorRecord>
<DescriptorRecord DescriptorClass = "1">
 <DescriptorUI>D005260</DescriptorUI>
 <DescriptorName><String>Female</String></DescriptorName>
 <ConceptList>
  <Concept PreferredConceptYN="Y"><ConceptName><String>Female</String></ConceptName></Concept>
  <Concept PreferredConceptYN="N"><ScopeNote>Of the second concept.</ScopeNote></Concept>
 </ConceptList>
</DescriptorRecord>
<DescriptorRecord DescriptorClass = "3">
 <DescriptorUI>D001528</DescriptorUI>
 <DescriptorName><String>Behçet Syndrome</String></DescriptorName>
 <ConceptList><Concept><ScopeNote>Rare &amp; chronic.</ScopeNote>
  <TermList><Term><String>Triple-Symptom Complex &amp; more</String></Term></TermList>
 </Concept></ConceptList>
</DescriptorRecord>
</DescriptorRecordSet>
"""
EXPECTED = [
    (
        "Calcimycin",
        "An antibiotic from Streptomyces; MH = 5.",
        ["A-23187", "Antibiotic A, 23187"],
        ["D03.438.221.173", "D03.438"],
        "D000001",
    ),
    ("Female", "", [], [], "D005260"),
    ("Behçet Syndrome", "Rare & chronic.", ["Triple-Symptom Complex & more"], [], "D001528"),
]


@pytest.mark.parametrize(
    ("name", "content"),
    [("d.bin", ASCII), ("d.bin.gz", ASCII), ("desc.xml", XML), ("desc.xml.gz", XML)],
)
def test_formats_give_the_same_headings(write, name, content):
    assert [heading[1:] for heading in read_headings(write(name, content))] == EXPECTED


def test_parents_have_the_tree_numbers_without_their_last_part():
    headings = [
        Heading("f:1", "Pain", "Hurts.", ["Ache"], ["C23.888", "F02.830"]),
        Heading("f:2", "Neck Pain", "", [], ["C23.888.592", "C10.597.617", "C23.888.600"]),
        Heading("f:3", "Signs", "Seen.", [], ["C10.597", "C10.597.001"]),
        Heading("f:4", "Top", "", [], []),
        Heading("f:5", "Orphan", "", [], ["Z01.058", "V02"]),
    ]
    assert list(with_parents(headings)) == [
        Described("f:1", "Pain", "Hurts.", ("Ache",), ()),
        Described("f:2", "Neck Pain", "", (), ("Pain", "Signs")),
        Described("f:3", "Signs", "Seen.", (), ()),  # it is no parent of its own
        Described("f:4", "Top", "", (), ()),
        Described("f:5", "Orphan", "", (), ()),
    ]


def test_no_or_several_files(write, tmp_path):
    with pytest.raises(InputError, match=rf"{tmp_path}: no MeSH descriptors.*--data\.descriptors"):
        find_descriptors(tmp_path)
    write("desc2014.xml", "")
    write("d2014.bin.gz", "")
    with pytest.raises(
        InputError,
        match=rf"{tmp_path}: several .*\(d2014.bin.gz, desc2014.xml\).*--data\.descriptors",
    ):
        find_descriptors(tmp_path)


@pytest.mark.parametrize("end", ["</DescriptorRecordSet>", "<DescriptorRecord>", "&nothing;"])
def test_malformed_xml_names_the_line(write, end):
    lines = XML.splitlines()
    path = write("desc.xml", "\n".join([*lines[:10], end, ""]))
    found = []
    with pytest.raises(InputError, match=rf"{path}:1[12]:\d+: not well-formed XML"):
        found.extend(read_headings(path))
    assert not found


@pytest.mark.parametrize("name", ["desc.xml.gz", "d.bin.gz"])
@pytest.mark.parametrize("damage", ["cut", "block", "checksum", "not gzip"])
def test_damaged_gzip(write, name, damage):
    lines = "".join(
        f"<!-- {i * 7919} -->\n" if "xml" in name else f"ENTRY = {i * 7919}\n" for i in range(9_999)
    )
    path = write(name, XML + lines if "xml" in name else ASCII + lines)
    data = bytearray(path.read_bytes())
    if damage == "cut":
        data = data[:-99]
    elif damage == "block":
        data[10] |= 0b110  # behind the header: a block of the kind that does not exist
    elif damage == "checksum":
        data[-5] ^= 0xFF
    else:
        data = XML.encode()
    path.write_bytes(data)
    message = "not a gzip file" if damage == "not gzip" else "truncated or damaged"
    with pytest.raises(InputError, match=rf"{path}: .*{message}"):
        list(read_headings(path))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("desc.xml", "<a/>", "no DescriptorRecord in the file"),
        ("desc.xml", "<a><DescriptorRecord/></a>", "record 1: .*without DescriptorName/String"),
        ("d.bin", "MH = A\n", r"no \*NEWRECORD line"),
        ("d.txt", "", r"MeSH descriptors end in \.xml, \.bin"),
    ],
)
def test_other_files(write, name, content, message):
    path = write(name, content)
    with pytest.raises(InputError, match=f"{path}: {message}"):
        list(read_headings(path))


def test_xml_is_streamed(write):
    record = (
        "<DescriptorRecord><DescriptorName><String>A</String></DescriptorName><ConceptList>"
        f"<Concept><ScopeNote>{'note ' * 200}</ScopeNote></Concept></ConceptList>"
        "</DescriptorRecord>"
    )
    path = write("desc.xml", f"<S>{record * 3_000}</S>")
    tracemalloc.start()
    assert sum(1 for _ in read_headings(path)) == 3_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000 < path.stat().st_size


def test_real_formats_agree(shared):
    folder = shared / "data/bioasq"
    headings = {h.name: h for h in read_headings(*find_descriptors(folder))}
    sample = list(read_headings(*find_descriptors(folder / "xml_sample")))
    assert len(headings) == 27_148
    assert sum(bool(heading.note) for heading in headings.values()) == 26_143
    assert len(sample) == 4_000
    assert [h[1:] for h in sample] == [headings[h.name][1:] for h in sample]

    # beside a plain search for the lines
    with gzip.open(folder / "d2014.bin.gz", "rt", encoding="utf-8") as file:
        records = file.read().split("*NEWRECORD\n")[1:]
    for record, heading in zip(records, headings.values(), strict=True):
        entries = re.findall(r"^ENTRY = (.+)$", record, re.MULTILINE)
        terms = dict.fromkeys(entries)  # some are there twice
        assert heading.synonyms == [term for term in terms if term != heading.name]
        assert heading.trees == re.findall(r"^MN = (.+)$", record, re.MULTILINE)
    assert sum(len(heading.synonyms) for heading in headings.values()) == 192_119
    trees = [tree for heading in headings.values() for tree in heading.trees]
    assert len(trees) == len(set(trees)) == 55_610

    # the numbers of all parents are there
    labels = {label.name: label for label in with_parents(headings.values())}
    places = {tree: h.name for h in headings.values() for tree in h.trees}
    for name, label in labels.items():
        above = {places[tree[:-4]] for tree in headings[name].trees if "." in tree} - {name}
        assert set(label.parents) == above
    assert labels["Abdomen, Acute"].parents == ("Abdominal Pain",)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_record_without_a_heading_is_left_out(write, place):
    """It is a qualifier, say."""
    records = ["*NEWRECORD\nMH = One\nUI = D1\n", "*NEWRECORD\nMH = Two\nUI = D2\n"]
    records.insert(place, "*NEWRECORD\nSH = analysis\nUI = Q1\n")
    headings = [*read_headings(write("d.bin", "".join(records)))]
    assert [(heading.name, heading.ui) for heading in headings] == [("One", "D1"), ("Two", "D2")]
