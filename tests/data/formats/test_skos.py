"""One small vocabulary in three serializations, and what it says by hand."""

import builtins
import json

import pytest

from gile_lightning.common.errors import InputError
from gile_lightning.data.formats.label_files import read_labels
from gile_lightning.data.formats.skipped import Skipped

V = "http://example.org/v/"
TURTLE = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix v: <http://example.org/v/> .

v:scheme a skos:ConceptScheme ; skos:prefLabel "Animals"@en .
v:cat a skos:Concept ; skos:prefLabel "Cats"@en, "Katzen"@de ;
    skos:altLabel "Moggies"@en-GB, "Stubentiger"@de ;
    skos:definition "Small hunters."@en ; skos:scopeNote [ rdf:value "Pets alone."@en ] ;
    skos:broader v:animal, v:beast .
v:animal a skos:Concept ; skos:prefLabel "Animals"@en, "Tiere"@de ; skos:narrower v:bank1 .
v:beast a skos:Concept ; skos:prefLabel "Beasts"@en ; owl:deprecated true .
v:bank1 a skos:Concept ; skos:prefLabel "Bank"@en ; skos:definition "A fish\\n  bank."@en .
v:bank2 a skos:Concept ; skos:prefLabel "Bank"@en ; skos:definition "Of a river."@en, "Ufer."@de .
"""
SKOS, OWL = "http://www.w3.org/2004/02/skos/core#", "http://www.w3.org/2002/07/owl#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
XML = f"""<?xml version="1.0" encoding="utf-8"?>
<rdf:RDF xmlns:rdf="{RDF}" xmlns:skos="{SKOS}" xmlns:owl="{OWL}" xml:lang="en">
  <skos:ConceptScheme rdf:about="{V}scheme">
    <skos:prefLabel>Animals</skos:prefLabel></skos:ConceptScheme>
  <skos:Concept rdf:about="{V}cat">
    <skos:prefLabel>Cats</skos:prefLabel><skos:prefLabel xml:lang="de">Katzen</skos:prefLabel>
    <skos:altLabel xml:lang="en-GB">Moggies</skos:altLabel>
    <skos:altLabel xml:lang="de">Stubentiger</skos:altLabel>
    <skos:definition>Small hunters.</skos:definition>
    <skos:scopeNote><rdf:Description><rdf:value>Pets alone.</rdf:value></rdf:Description>
    </skos:scopeNote>
    <skos:broader rdf:resource="{V}animal"/><skos:broader rdf:resource="{V}beast"/>
  </skos:Concept>
  <skos:Concept rdf:about="{V}animal">
    <skos:prefLabel>Animals</skos:prefLabel><skos:prefLabel xml:lang="de">Tiere</skos:prefLabel>
    <skos:narrower rdf:resource="{V}bank1"/></skos:Concept>
  <skos:Concept rdf:about="{V}beast"><skos:prefLabel>Beasts</skos:prefLabel>
    <owl:deprecated rdf:datatype="http://www.w3.org/2001/XMLSchema#boolean">true</owl:deprecated>
  </skos:Concept>
  <skos:Concept rdf:about="{V}bank1"><skos:prefLabel>Bank</skos:prefLabel>
    <skos:definition>A fish
      bank.</skos:definition></skos:Concept>
  <skos:Concept rdf:about="{V}bank2"><skos:prefLabel>Bank</skos:prefLabel>
    <skos:definition>Of a river.</skos:definition>
    <skos:definition xml:lang="de">Ufer.</skos:definition></skos:Concept>
</rdf:RDF>
"""


def concept(name, english, german=None, **more):
    names = {"en": english} | ({"de": german} if german else {})
    return {"@id": f"v:{name}", "@type": "Concept", "prefLabel": names, **more}


def in_english(text):
    return {"@value": text, "@language": "en"}


JSON_LD = json.dumps(
    {
        "@context": {
            **{"@vocab": SKOS, "owl": OWL, "rdf": RDF, "v": V},
            "prefLabel": {"@container": "@language"},
            "altLabel": {"@container": "@language"},
            "broader": {"@type": "@id"},
            "narrower": {"@type": "@id"},
        },
        "@graph": [
            {"@id": "v:scheme", "@type": "ConceptScheme", "prefLabel": {"en": "Animals"}},
            concept(
                *("cat", "Cats", "Katzen"),
                altLabel={"en-GB": "Moggies", "de": "Stubentiger"},
                definition=in_english("Small hunters."),
                scopeNote={"rdf:value": in_english("Pets alone.")},
                broader=["v:animal", "v:beast"],
            ),
            concept("animal", "Animals", "Tiere", narrower="v:bank1"),
            concept("beast", "Beasts", **{"owl:deprecated": True}),
            concept("bank1", "Bank", definition=in_english("A fish\n  bank.")),
            concept(
                *("bank2", "Bank"),
                definition=[
                    in_english("Of a river."),
                    {"@value": "Ufer.", "@language": "de"},
                ],
            ),
        ],
    }
)
FILES = {"v.ttl": TURTLE, "v.rdf": XML, "v.jsonld": JSON_LD, "v.ttl.gz": TURTLE}
ENGLISH = [
    ("Animals", "", (), (), f"{V}animal"),
    ("Bank (bank1)", "A fish bank.", ("Bank",), ("Animals",), f"{V}bank1"),
    ("Bank (bank2)", "Of a river.", ("Bank",), (), f"{V}bank2"),
    ("Cats", "Small hunters. Pets alone.", ("Moggies",), ("Animals",), f"{V}cat"),
]
GERMAN = [
    ("Tiere", "", (), (), f"{V}animal"),
    ("Katzen", "", ("Stubentiger",), ("Tiere",), f"{V}cat"),
]


@pytest.mark.parametrize("name", FILES)
def test_serializations_say_the_same(write, name):
    path, skipped = write(name, FILES[name]), Skipped()
    labels = list(read_labels(path, skipped, language="EN"))
    assert [label[1:] for label in labels] == ENGLISH
    assert labels[0].where == f"{path}: {V}animal"
    assert skipped.state() == {
        "deprecated concepts": {"count": 1, "first": f"{path}: {V}beast"},
        "links to broader concepts that are left out": {"count": 1, "first": f"{path}: {V}cat"},
    }
    skipped = Skipped()
    assert [label[1:] for label in read_labels(path, skipped, language="de")] == GERMAN
    assert skipped.counts["concepts without a preferred label in 'de'"] == 2


def test_relative_uris_do_not_depend_on_the_place_of_the_file(write, tmp_path):
    start = TURTLE.partition("v:scheme")[0]
    text = start + "<#c1> a skos:Concept ; skos:prefLabel 'Pets' . [] a skos:Concept ."
    skipped = Skipped()
    (label,) = read_labels(write("one.ttl", text), skipped)
    assert (label.name, label.uri, label.where) == ("Pets", "#c1", f"{tmp_path}/one.ttl: #c1")
    assert skipped.counts == {"concepts without a URI": 1}
    (other,) = read_labels(write("two.ttl", text))
    assert other[1:] == label[1:]
    (based,) = read_labels(write("based.ttl", "@base <http://example.org/v> .\n" + text))
    assert based.uri == "http://example.org/v#c1"


def test_the_only_language_need_not_be_named(write):
    end = "'Pets' ; skos:definition 'Kept.' ."
    plain = TURTLE.partition("v:scheme")[0] + "v:a a skos:Concept ; skos:prefLabel " + end
    (label,) = read_labels(write("plain.ttl", plain))
    assert label[1:3] == ("Pets", "Kept.")
    (label,) = read_labels(write("one.ttl", plain.replace("'Pets'", "'Pets'@en")))
    assert label[1:3] == ("Pets", "Kept.")  # a text without a language is one in any
    (label,) = read_labels(write("plain.ttl", plain), language="fr")
    assert label.name == "Pets"


@pytest.mark.parametrize(
    ("name", "content", "language", "message"),
    [
        ("v.ttl", TURTLE, None, "v.ttl: the names are in de, en; choose one .label_language: de"),
        ("v.ttl", TURTLE, "fr", "no concept has a skos:prefLabel in 'fr'; the names are in de, en"),
        ("v.ttl", "", None, "v.ttl: no skos:Concept with a URI in the file"),
        ("v.ttl", "v:a a", None, "v.ttl: no RDF in the format turtle"),
        ("v.rdf", "<a>", None, "v.rdf: no RDF in the format xml"),
        ("v.jsonld", "{", None, "v.jsonld: no RDF in the format json-ld"),
    ],
)
def test_unusable_vocabularies(write, name, content, language, message):
    with pytest.raises(InputError, match=message):
        list(read_labels(write(name, content), language=language))


def test_many_concepts_of_one_name(write):
    lines = "<%sc{0}> <%stype> <%sConcept> .\n<%sc{0}> <%sprefLabel> 'Bank' .\n"
    text = (lines % (V, RDF, SKOS, V, SKOS)).replace("'", '"')
    labels = read_labels(write("v.nt", "".join(text.format(i) for i in range(300))))
    assert {label.name for label in labels} == {f"Bank (c{i})" for i in range(300)}


def test_missing_file_and_library(tmp_path, monkeypatch):
    with pytest.raises(InputError, match=r"v.ttl: no such file"):
        list(read_labels(tmp_path / "v.ttl"))
    found = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "rdflib":
            raise ImportError
        return found(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InputError, match="needs rdflib: pip install rdflib"):
        list(read_labels(tmp_path / "v.ttl"))


@pytest.mark.parametrize(
    "context",
    ["http://127.0.0.1:1/skos.jsonld", [{}, "skos.jsonld"], {"@import": "file:///etc/passwd"}],
    ids=["address", "file in a list", "import"],
)
def test_a_context_from_elsewhere_is_refused(context, tmp_path):
    """The library would fetch it."""
    path = tmp_path / "v.jsonld"
    path.write_text(json.dumps({"@graph": [{"@context": context, "@id": "http://x.org/a"}]}))
    with pytest.raises(InputError, match="is not in the file, and no file from elsewhere is read"):
        list(read_labels(path, Skipped()))
