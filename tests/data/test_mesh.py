import tracemalloc

import pytest

from gile_lightning.data.mesh import find_descriptors, read_headings
from gile_lightning.errors import InputError

ASCII = """\
*NEWRECORD
RECTYPE = D
MH = Calcimycin
ENTRY = A-23187
MS = An antibiotic from Streptomyces; MH = 5.
UI = D000001

*NEWRECORD
RECTYPE = D
MH = Female
UI = D005260

*NEWRECORD
RECTYPE = D
MH = Behçet Syndrome
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
 <ConceptList>
  <Concept PreferredConceptYN="Y">
   <ConceptName><String>Concept</String></ConceptName>
   <ScopeNote>An antibiotic from Streptomyces; MH = 5.
   </ScopeNote>
  </Concept>
  <Concept PreferredConceptYN="N"><ScopeNote>Another note.</ScopeNote></Concept>
 </ConceptList>
</DescriptorRecord>
<DescriptorRecord DescriptorClass = "1">
 <DescriptorName><String>Female</String></DescriptorName>
 <ConceptList>
  <Concept PreferredConceptYN="Y"><ConceptName><String>Female</String></ConceptName></Concept>
  <Concept PreferredConceptYN="N"><ScopeNote>Of the second concept.</ScopeNote></Concept>
 </ConceptList>
</DescriptorRecord>
<DescriptorRecord DescriptorClass = "3">
 <DescriptorName><String>Behçet Syndrome</String></DescriptorName>
 <ConceptList><Concept><ScopeNote>Rare &amp; chronic.</ScopeNote></Concept></ConceptList>
</DescriptorRecord>
</DescriptorRecordSet>
"""
EXPECTED = [
    ("Calcimycin", "An antibiotic from Streptomyces; MH = 5."),
    ("Female", ""),
    ("Behçet Syndrome", "Rare & chronic."),
]


def names_and_notes(path):
    return [(heading.name, heading.note) for heading in read_headings(path)]


@pytest.mark.parametrize(
    ("name", "content"),
    [("d.bin", ASCII), ("d.bin.gz", ASCII), ("desc.xml", XML), ("desc.xml.gz", XML)],
)
def test_formats_give_the_same_headings(write, name, content):
    assert names_and_notes(write(name, content)) == EXPECTED


def test_places(write):
    ascii_file, xml_file = write("d.bin", ASCII), write("desc.xml", XML)
    assert [h.where for h in read_headings(ascii_file)] == [f"{ascii_file}:{n}" for n in (1, 8, 13)]
    assert [h.where for h in read_headings(xml_file)] == [
        f"{xml_file}: record {n}" for n in (1, 2, 3)
    ]


def test_descriptor_without_concepts_has_no_note(write):
    text = (
        "<S><DescriptorRecord><DescriptorName><String>A</String></DescriptorName>"
        "<ScopeNote>not here</ScopeNote></DescriptorRecord></S>"
    )
    assert names_and_notes(write("desc.xml", text)) == [("A", "")]


@pytest.mark.parametrize("name", ["desc2016.xml", "desc.xml.gz", "d2014.bin", "d2014.bin.gz"])
def test_find_the_one_file(write, name):
    path = write(name, "")
    write("allMeSH.json", "")
    assert find_descriptors(path.parent) == [path]


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
@pytest.mark.parametrize("damage", ["cut", "flip", "not gzip"])
def test_damaged_gzip(write, name, damage):
    lines = "".join(
        f"<!-- {i * 7919} -->\n" if "xml" in name else f"ENTRY = {i * 7919}\n" for i in range(9_999)
    )
    path = write(name, XML + lines if "xml" in name else ASCII + lines)
    data = bytearray(path.read_bytes())
    if damage == "cut":
        data = data[:-99]
    elif damage == "flip":
        data[len(data) // 2] ^= 0xFF
    else:
        data = XML.encode()
    path.write_bytes(data)
    with pytest.raises(InputError, match=rf"{path}: .*gzip"):
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


@pytest.mark.parametrize("name", ["desc.xml", "desc.xml.gz", "d.bin", "d.bin.gz"])
def test_missing_file(tmp_path, name):
    with pytest.raises(InputError, match=f"{name}: no such file"):
        list(read_headings(tmp_path / name))


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
    notes = dict(names_and_notes(*find_descriptors(folder)))
    sample = names_and_notes(*find_descriptors(folder / "xml_sample"))
    assert len(notes) == 27_148
    assert sum(map(bool, notes.values())) == 26_143
    assert len(sample) == 4_000
    assert sample == [(name, notes[name]) for name, _ in sample]
