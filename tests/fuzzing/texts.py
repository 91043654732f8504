"""Readers of texts: corpora, labels, label changes, word vectors."""

import gzip
from pathlib import Path

from fuzzing.target import Contents, Read, Target
from gile_lightning.data import Columns, Corpus
from gile_lightning.data.formats.label_files import read_labels
from gile_lightning.data.formats.skipped import Skipped
from gile_lightning.data.formats.vector_files import find_vectors, vector_size
from gile_lightning.data.formats.word_vectors import read_word_vectors
from gile_lightning.data.label_changes import read_changes
from gile_lightning.released.arguments import layout_of, read_arguments
from gile_testing.readers import LABELS, READERS

_BY_YEAR = Columns(year="year")
SKOS = "http://www.w3.org/2004/02/skos/core#"
TURTLE = f"""@prefix skos: <{SKOS}> .
<http://x.org/1> a skos:Concept ; skos:prefLabel "Cats"@en, "Katzen"@de ;
  skos:altLabel "Felines"@en ; skos:definition "Small animals."@en ; skos:broader <http://x.org/2> .
<http://x.org/2> a skos:Concept ; skos:prefLabel "Animals"@en ; skos:narrower <http://x.org/1> .
"""
RDF = f"""<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:skos="{SKOS}">
<skos:Concept rdf:about="http://x.org/1"><skos:prefLabel xml:lang="en">Cats</skos:prefLabel>
<skos:broader rdf:resource="http://x.org/2"/></skos:Concept>
<skos:Concept rdf:about="http://x.org/2"><skos:prefLabel>Animals</skos:prefLabel></skos:Concept>
</rdf:RDF>
"""
JSON_LD = f"""{{"@context": {{"s": "{SKOS}", "@language": "en"}}, "@graph": [
{{"@id": "http://x.org/1", "@type": "s:Concept", "s:prefLabel": "Cats",
 "s:broader": {{"@id": "http://x.org/2"}}}},
{{"@id": "http://x.org/2", "@type": "s:Concept", "s:prefLabel": [{{"@value": "Animals"}}]}}]}}
"""
TRIPLES = "".join(
    f"<http://x.org/{i}> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <{SKOS}Concept> .\n"
    f'<http://x.org/{i}> <{SKOS}prefLabel> "Cats {i}"@en .\n'
    for i in (1, 2)
)
TABLE = "name,description,synonyms,parents,uri\nCats,Small ones,cat|puss,Pets,\nPets,p,,,urn:1\n"
ANNIF = "<http://x.org/1>\tCats\n<http://x.org/2>\tDogs\n"
LANGUAGES = "uri,label_en,label_de\nhttp://x.org/1,Cats,Katzen\nhttp://x.org/2,Dogs,\n"
CHANGES = '{"old": "a", "new": ["b", "c"]}\n{"old": "d", "new": null}\n{"old": "e", "new": "f"}\n'
DOCUMENTS = "".join(
    f'{{"id": {i}, "text": "one {i}. Two", "labels": ["a", "b"], "year": "{2000 + i}-01"}}\n'
    for i in range(9)
)
ROWS = 'id,text,labels,year\n1,"a text, or two",a|b,2001\n2,text,c,2007\n'
NAMED = "".join(
    f'{{"name": "{name}", "uri": "http://x.org/{i}"}}\n' for i, name in enumerate("abc", 1)
)
SHORT = "A text\tx:cats\nAnother\tx:dogs\n"
VECTORS = "3 2\nthe 0.5 -1\ncat 1e-3 .5\ndog 2 3\n"
GLOVE = "the 0.5 -1 2\nNew York 1 2 3\ndog 2 3 nan\n"
ARGUMENTS = """{"languages": ["english", "german"], "share": "att", "enc": "attgru", "la": true,
"gruact": "tanh", "wdim": 40, "sdim": 100, "ladim": null, "lashare": true}"""


def _labels(path: Path) -> None:
    list(read_labels(path, language="en"))


def _changes(path: Path) -> None:
    read_changes(path).resolve(["a", "b", "d", "e"], {"b": "urn:1"})


def _documents(path: Path, columns: Columns = _BY_YEAR) -> None:
    """Read documents as they are read for encoding: with labels, and with labels by name."""
    labels = path.parent / "labels.jsonl"
    labels.write_text(NAMED)
    for file in (labels, None):
        data = Corpus(
            str(path),
            file,
            columns=columns,
            undescribed_labels="name",
            max_broken_lines=3,
            cache_dir=path.parent,
        )
        data.label_texts(Skipped())
        list(data.documents(Skipped()))


def _annif(path: Path) -> None:
    _documents(path, Columns())


def _encoded(path: Path) -> None:
    labels = path.parent / "labels.jsonl"
    labels.write_text(LABELS)
    data = Corpus(str(path), labels, split_year=None, test_size=0.3, cache_dir=path.parent)
    data.prepare_data()
    data.setup()
    for batch in data.train_dataloader():
        assert batch


def _in_a_folder(name: str) -> Read:
    """Read a folder of texts, of which one file is that of the target."""

    def read(path: Path) -> None:
        folder = path.parent / "corpus"
        folder.mkdir(exist_ok=True)
        (folder / "0.txt").write_text("A text. And more.")
        (folder / "0.key").write_text("a")
        (folder / "1.txt").write_text("A text. And more.")
        (folder / name).write_bytes(path.read_bytes())
        _annif(folder)

    return read


def found_vectors(path: Path) -> None:
    assert vector_size(path) > 0
    find_vectors(path, ["the", "cat", "new"])


def _arguments(path: Path) -> None:
    layout_of(read_arguments(path), path)


def _texts(*contents: str) -> Contents:
    return lambda: [content.encode() for content in contents]


def _zipped(*contents: str) -> Contents:
    return lambda: [gzip.compress(content.encode(), mtime=0) for content in contents]


TARGETS = {
    name: Target(reader.name, _texts(reader.sound), reader.read) for name, reader in READERS.items()
} | {
    "allMeSH gzip": Target("a.jsonl.gz", _zipped(DOCUMENTS), _documents),
    "STIX gzip": Target("enterprise.json.gz", _zipped(READERS["STIX"].sound), READERS["STIX"].read),
    "labels CSV": Target("labels.csv", _texts(TABLE, LANGUAGES), _labels),
    "labels TSV": Target("labels.tsv", _texts(ANNIF, TABLE.replace(",", "\t")), _labels),
    "SKOS Turtle": Target("labels.ttl", _texts(TURTLE), _labels),
    "SKOS RDF/XML": Target("labels.rdf", _texts(RDF), _labels),
    "SKOS JSON-LD": Target("labels.jsonld", _texts(JSON_LD), _labels),
    "SKOS N-Triples": Target("labels.nt", _texts(TRIPLES), _labels),
    "label changes": Target("changes.jsonl", _texts(CHANGES), _changes),
    "label changes CSV": Target("changes.csv", _texts("old,new\na,b|c\nd,\ne,f\n"), _changes),
    "corpus JSONL": Target("corpus.jsonl", _texts(DOCUMENTS), _documents),
    "corpus encoded": Target("corpus.jsonl", _texts(DOCUMENTS), _encoded),
    "corpus CSV": Target("corpus.csv", _texts(ROWS), _documents),
    "corpus TSV": Target("corpus.tsv", _texts(SHORT), _annif),
    "corpus folder, text": Target("some.txt", _texts("A text. More"), _in_a_folder("2.txt")),
    "corpus folder, names": Target("1.key", _texts("cats\nsmall dogs\n"), _in_a_folder("1.key")),
    "corpus folder, URIs": Target("1.tsv", _texts(ANNIF), _in_a_folder("1.tsv")),
    "vectors of words": Target("english.txt", _texts(VECTORS, GLOVE), read_word_vectors),
    "vectors file": Target("vectors.vec", _texts(VECTORS, GLOVE), found_vectors),
    "Keras arguments": Target("args.json", _texts(ARGUMENTS), _arguments),
}
