import json

import pytest

from gile_lightning.common.errors import InputError
from gile_lightning.data.formats.label_files import read_labels
from gile_lightning.data.formats.skipped import Skipped
from gile_testing.attack import bundle, related, technique


def test_labels(write):
    first = {"name": "a", "description": " d ", "synonyms": ["x", "a", "x"], "parents": ["b"]}
    path = write("l.jsonl", [first, {"name": "b", "uri": "urn:b"}])
    assert list(read_labels(path)) == [
        (f"{path}:1", "a", "d", ("x",), ("b",), ""),
        (f"{path}:2", "b", "", (), (), "urn:b"),
    ]


def test_tables_are_read_as_json_lines_are(write):
    records = [
        {"name": "a", "description": 'said "so",\ntwice', "synonyms": ["x", "y z"], "uri": "urn:a"},
        {"name": "b", "description": "", "parents": ["a"]},
    ]
    table = 'name,description,synonyms,parents,uri\na,"said ""so"",\ntwice",x | y z,,urn:a\n'
    table += "b,,,a,\n"
    tabs = 'name\tdescription\tparents\nc\tsaid "so"\t\n'
    expected = list(read_labels(write("l.jsonl", records)))
    for name in ("l.csv", "l.CSV.gz"):
        found = list(read_labels(write(name, "\ufeff" + table)))
        assert [label[1:] for label in found] == [label[1:] for label in expected]
    assert [label.where.rpartition(":")[2] for label in found] == ["2", "4"]
    path = write("l.tsv", tabs)
    assert list(read_labels(path)) == [(f"{path}:2", "c", 'said "so"', (), (), "")]


@pytest.mark.parametrize("name", ["l.csv", "l.jsonl"])
def test_columns_with_nearly_the_right_name_are_counted(write, name):
    rows = [{"name": n, "parent": "a", "descrizione": "d", "code": "1"} for n in "ab"]
    table = "\n".join([",".join(rows[0]), *(",".join(row.values()) for row in rows)])
    skipped = Skipped()
    assert [
        x.name for x in read_labels(write(name, table if "csv" in name else rows), skipped)
    ] == [*"ab"]
    assert skipped.counts == {
        "column of labels, 'parent'; did you mean 'parents'?": 1,
        "column of labels, 'descrizione'; did you mean 'description'?": 1,
    }


def test_tables_of_annif(write):
    """Those of its documentation (Subject vocabulary formats)."""
    start = "http://example.org/thesaurus/subj"
    english = [("computer network", "1"), ("computer science", "2"), ("Internet Protocol", "3")]
    rows = [f"<{start}{n}>\t{name}" for name, n in english]
    tabs = write("v.tsv", "\n".join(rows) + "\t42.42\n")
    assert [(x.name, x.uri) for x in read_labels(tabs)] == [(x, start + n) for x, n in english]
    csv = (
        "uri,label_en,label_fr,notation\n"
        f"{start}1,computer network,réseau informatique,\n"
        f"{start}2,computer science,,\n"
    )
    commas, skipped = write("v.csv", csv), Skipped()
    assert [x.name for x in read_labels(commas, skipped, language="fr")] == ["réseau informatique"]
    assert skipped.counts == {"labels without a name in 'label_fr'": 1}
    assert [x.name for x in read_labels(commas, language="en")] == [x for x, _ in english[:2]]
    with pytest.raises(InputError, match=r"v.csv: the names are in label_en, label_fr; choose"):
        list(read_labels(commas))


HEADINGS = [  # without the place in the file
    ("Liver", "A large organ.", (), (), "http://id.nlm.nih.gov/mesh/D008099"),
    ("Hepatocytes", "", ("Liver Cells",), ("Liver",), "http://id.nlm.nih.gov/mesh/D022781"),
]


@pytest.mark.parametrize("name", ["d2014.bin", "d2014.bin.gz"])
def test_headings_of_mesh(write, name):
    ascii_format = (
        "*NEWRECORD\nMH = Liver\nMN = A03.620\nMS = A large organ.\nUI = D008099\n\n"
        "*NEWRECORD\nMH = Hepatocytes\nENTRY = Liver Cells|T025\nMN = A03.620.1\nUI = D022781\n"
    )
    assert [tuple(label[1:]) for label in read_labels(write(name, ascii_format))] == HEADINGS


@pytest.mark.parametrize("name", ["desc2014.xml", "MeSH.XML"])
def test_headings_of_mesh_in_xml(write, name):
    record = (
        "<DescriptorRecord><DescriptorUI>{2}</DescriptorUI><DescriptorName><String>{0}</String>"
        "</DescriptorName><TreeNumberList><TreeNumber>{3}</TreeNumber></TreeNumberList>"
        "<ConceptList><Concept>{1}<TermList>{4}</TermList></Concept></ConceptList>"
        "</DescriptorRecord>"
    )
    note, term = (
        "<ScopeNote>A large organ.</ScopeNote>",
        "<Term><String>Liver Cells</String></Term>",
    )
    records = record.format("Liver", note, "D008099", "A03.620", "")
    records += record.format("Hepatocytes", "", "D022781", "A03.620.1", term)
    path = write(name, f"<DescriptorRecordSet>{records}</DescriptorRecordSet>")
    assert [tuple(label[1:]) for label in read_labels(path)] == HEADINGS


def test_techniques_of_attack(write):
    """A bundle is no JSON lines, though both may end in .json."""
    objects = technique("T1", "Phishing"), technique("T1.001", "Link"), technique("T2", "Old")
    objects[2]["revoked"] = True
    path = write(
        "enterprise-attack.json", bundle(*objects, related("subtechnique-of", "T1.001", "T1"))
    )
    skipped = Skipped()
    start = "https://attack.mitre.org/techniques/"
    assert [tuple(label[1:]) for label in read_labels(path, skipped)] == [
        ("Phishing", "About Phishing.", (), (), f"{start}T1"),
        ("Phishing: Link", "About Link.", (), ("Phishing",), f"{start}T1/001"),
    ]
    assert sum(skipped.counts.values()) == 1


@pytest.mark.parametrize("indent", [None, 1])
def test_a_bundle_is_known_whatever_comes_first(write, indent):
    text = "About it. " * 1000
    value = json.loads(bundle(technique("T1", "Phishing", description=text)))
    for keys in (("type", "id", "objects"), ("id", "objects", "type"), ("objects", "type", "id")):
        path = write("bundle.json", json.dumps({key: value[key] for key in keys}, indent=indent))
        assert [label.name for label in read_labels(path)] == ["Phishing"]


@pytest.mark.parametrize("number", [1, 2])
def test_labels_that_speak_of_bundles(write, number):
    records = [{"name": "bundle", "description": "b", "synonyms": ["bundle"]}, {"name": "objects"}]
    path = write("labels.json", records[:number])
    assert [label.name for label in read_labels(path)] == ["bundle", "objects"][:number]
    assert [label.name for label in read_labels(path.as_uri())] == ["bundle", "objects"][:number]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("l.bin", "MH = Liver\n", r"l.bin: no \*NEWRECORD line; is it NLM's ASCII format"),
        ("l.xml", "<DescriptorRecordSet/>", r"l.xml: no DescriptorRecord in the file"),
        ("q.bin", "*NEWRECORD\nSH = surgery\n", r"q.bin: no heading in it; those of MeSH are in d"),
        ("l.json", '{"type": "bundle",\n"id": "b"}', r"l.json: a bundle without 'objects'"),
        ("l.json", bundle(related("uses", "1", "2")), r"l.json: no technique of ATT&CK in force"),
    ],
)
def test_unusable_vocabularies(write, name, content, message):
    with pytest.raises(InputError, match=message):
        list(read_labels(write(name, content)))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("l.csv", "", "l.csv: no row in the file"),
        ("l.csv", "name\n", "l.csv: no label in the file"),
        ("l.csv", "nam,uri\na,b\n", "l.csv: no column 'name'; the columns are nam, uri"),
        ("l.csv", "name,name\na,b\n", "l.csv:1: columns need names, each its own"),
        ("l.csv", "name,uri\na,b,c\n", "l.csv:2: 3 cells, where the header has 2"),
        ("l.csv", 'name,uri\na,"b\n', "l.csv:2: not a row of CSV"),
        ("l.csv", "name,uri\n,b\n", "l.csv:2: a label needs a 'name'"),
        ("l.tsv", "<urn:a>\n", "l.tsv:1: expected <uri>, a tab and the name"),
    ],
)
def test_unusable_tables(write, name, content, message):
    with pytest.raises(InputError, match=message):
        list(read_labels(write(name, content)))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "l: no JSON object in the file"),
        ('{"nam": "a", "text": "b"}\n', "l:1: a label needs a 'name'; the keys are nam, text"),
        ('{"name": 5, "description": "b"}\n', "l:1: 'name' is no text: 5"),
        ('{"name": ""}\n', "l:1: a label needs a 'name'"),
        ('{"name": " ", "description": "b"}\n', "l:1: a label needs a 'name'"),
        ('{"name": "a"}\n{}\n', "l:2: .* the keys are none"),
        ('{"name": "a"}\nbroken\n', "l:2: 1 lines are not JSON"),
        ('{"name": "a"}\n{"name": "b", "synonyms": 5}\n', "l:2: 'synonyms' is not a list"),
        ('{"name": "a", "uri": 5}\n', "l:1: 'uri' is not a string"),
    ],
)
def test_unusable_labels(write, content, message):
    with pytest.raises(InputError, match=message):
        list(read_labels(write("l", content)))


def test_the_first_language_of_a_table_is_an_example(write):
    path = write("l.csv", "uri,label_de,label_en,label_fi\nurn:a,a,b,c\n")
    message = r"label_de, label_en, label_fi; choose one .*\(label_language: de\)"
    with pytest.raises(InputError, match=message):
        list(read_labels(path))
