"""Corpora in the formats that Annif documents, and tables; JSON lines are the reference."""

import bz2
import json
import lzma

import pytest

from gile_lightning.common.errors import InputError
from gile_lightning.data import Columns, Corpus
from gile_lightning.data.formats.skipped import Skipped
from gile_lightning.data.readers.document_files import read_document_files

URI = "http://example.org/thesaurus/subj"
VOCABULARY = [
    {"name": name, "description": f"on {name}", "uri": f"{URI}{i}"}
    for i, name in enumerate(["networking", "computer science", "Internet Protocol"], 1)
]
TEXTS = ["a first, short text", 'A "second" text', "no labels at all"]
LABELS = [["networking", "Internet Protocol"], ["computer science"], []]


@pytest.fixture
def read(write):
    """Reads a corpus; returns its documents as (text, labels), their ids and what is left out."""

    def read(path, columns=None, labels=VOCABULARY, **options):
        labels = labels and write("vocabulary.jsonl", labels)
        data = Corpus(str(path), labels, columns=columns or Columns(), **options)
        skipped = Skipped()
        if data.label_texts(skipped):
            found = list(data.documents(skipped))
        assert data.files()["documents"]
        pairs = [("".join(document.pieces).strip(), document.labels) for document in found]
        return pairs, [document.id for document in found], skipped.counts

    return read


@pytest.fixture
def short(write):
    """Writes the documents as lines of a text, a tab and URIs."""

    def short(name):
        uris = {label["name"]: f"<{label['uri']}>" for label in VOCABULARY}
        rows = zip(TEXTS, LABELS, strict=True)
        lines = (f"{text}\t{' '.join(uris[x] for x in labels)}\n" for text, labels in rows)
        return write(name, "".join(lines))

    return short


EXPECTED = list(zip(TEXTS, LABELS, strict=True))[:2]


@pytest.mark.parametrize("name", ["short.tsv", "short.TSV.gz"])
def test_short_texts(read, short, name):
    pairs, ids, left_out = read(short(name))
    assert pairs == EXPECTED
    assert ids == [f"{name}:1", f"{name}:2"]
    assert left_out == {"documents without labels": 1}


def test_full_texts(read, write, tmp_path):
    write("texts/b.txt", TEXTS[1] + "\n")
    write("texts/b.tsv", f"<{URI}2>\ta name of earlier\t42.42\n\n")
    write("texts/b.key", "Internet Protocol\n")  # of no account: URIs outlive names
    write("texts/a.txt", "\ufeff" + TEXTS[0])
    write("texts/a.key", "networking\nInternet Protocol\n\n")
    write("texts/c.txt", TEXTS[2])
    pairs, ids, left_out = read(tmp_path / "texts")
    assert (pairs, ids) == (EXPECTED, ["a", "b"])
    assert left_out == {"documents without labels": 1}
    stamps = Corpus(str(tmp_path / "texts")).files()["documents"]
    names = [stamp["file"].rpartition("/")[2] for stamp in stamps]
    assert names == ["a.txt", "b.txt", "c.txt", "a.key", "b.tsv"]


def test_tables(read, write):
    header = "id,title,body,topics\n"
    rows = '7,,"a first, short text",networking | Internet Protocol\n'
    rows += f'8,"two\nlines",and a body,<{URI}2>\n'
    rows += f'9,"A ""second"" text",,{URI}2\n10,no labels at all,,\n'
    path = write("table.csv", header + rows)
    pairs, ids, left_out = read(path, Columns(text=("title", "body"), labels="topics"))
    assert [pairs[0], pairs[2]] == EXPECTED
    assert pairs[1] == ("two\nlinesand a body", ["computer science"])
    assert (ids, left_out) == (["7", "8", "9"], {"documents without topics": 1})


def test_a_file_or_folder_names_the_split(short, write, tmp_path):
    columns = Columns(split="split")

    def splits(pattern):
        data = Corpus(str(tmp_path / pattern), columns=columns)
        return {document.id: document.split for document in data.documents(Skipped())}

    for name in ("train", "test"):
        short(f"{name}.tsv")
        write(f"{name}/one.txt", "a text")
        write(f"{name}/one.key", "networking")
    assert splits("*.tsv") == {f"{x}.tsv:{i}": x for x in ("test", "train") for i in (1, 2)}
    assert splits("*/*.txt") == {"test/one": "test", "train/one": "train"}
    short("other.tsv")
    with pytest.raises(InputError, match=r"other.tsv:1: 'split' is '', expected one of train"):
        splits("*.tsv")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("d.tsv", "a\t<urn:a>\tb\n", "d.tsv:1: 3 cells; expected a text, a tab, and URIs"),
        ("d.tsv", "text\tlabels\na\tcats\n", "d.tsv:1: 'labels' is no URI; .* is a .csv"),
        ("d.tsv", "a\t<urn:a>\n", "d.tsv:1: labels are named by URI .urn:a., .* --data.labels"),
        ("d.csv", "id,txt,labels\n1,a,b\n", "d.csv:2: no 'text' in this document"),
        ("d.txt", b"\xff", "d.txt: not utf-8 text"),
        ("d.csv", "", "d.csv: no row in the file"),
    ],
)
def test_mistakes(read, write, name, content, message):
    with pytest.raises(InputError, match=message):
        read(write(name, content), labels=None)


def test_a_subject_file_without_uris(read, write):
    write("d.tsv", "networking\n")
    with pytest.raises(InputError, match=r"d.tsv:1: expected <uri>, a tab and the label's name"):
        read(write("d.txt", "a text"))


def test_endings_in_capitals(read, write):
    write("texts/a.txt", TEXTS[0])
    write("texts/a.KEY", LABELS[0][0])
    write("texts/b.TXT", TEXTS[1])
    folder = write("texts/b.key", LABELS[1][0]).parent
    pairs, ids, _ = read(folder)
    assert pairs == [(TEXTS[0], LABELS[0][:1]), (TEXTS[1], LABELS[1])]
    assert ids == ["a", "b"]


@pytest.mark.parametrize(("ending", "pack"), [(".bz2", bz2.compress), (".xz", lzma.compress)])
def test_compressed_tables(read, write, ending, pack):
    table = pack(f"id,text,labels\n7,{TEXTS[2]},{LABELS[1][0]}\n".encode())
    names = pack(b"name,description\n" + f"{LABELS[1][0]},what it is\n".encode())
    labels = write(f"names.csv{ending}", names)
    data = Corpus(str(write(f"d.CSV{ending}", table)), labels)
    assert data.label_texts(Skipped()) == {LABELS[1][0]: "what it is"}
    assert [document.labels for document in data.documents(Skipped())] == [LABELS[1]]


def test_a_folder_without_texts(read, tmp_path):
    with pytest.raises(InputError, match=r"a folder without a saved dataset and without .txt"):
        read(tmp_path)


def test_json_lines_may_name_labels_by_uri(read, write):
    rows = [{"id": 1, "text": TEXTS[0], "labels": [f"{URI}1", "Internet Protocol"]}]
    path = write("d.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    assert read(path)[0] == EXPECTED[:1]


def test_tables_between_json_lines(write):
    files = [
        write("a.jsonl", [{"id": "1"}]),
        write("b.csv", "id,labels\n2,x|y\n"),
        write("c.jsonl", [{"id": "3"}]),
    ]
    found = read_document_files(files, Columns(), Skipped(), 0, "utf-8")
    assert [record.fields["id"] for record in found] == ["1", "2", "3"]


@pytest.mark.parametrize("sign", [" ", "|", " | "])
def test_tables_with_several_uris_in_a_cell(read, write, sign):
    cell = sign.join(f"{URI}{i}" for i in (1, 3))
    pairs, _, _ = read(write("d.csv", f"id,text,labels\n7,{TEXTS[2]},{cell}\n"))
    assert pairs == [(TEXTS[2], LABELS[0])]


def test_names_of_labels_end_with_their_last_letter(read, write):
    rows = [{"id": i, "text": f"text {i}", "labels": [name]} for i, name in enumerate(["x ", " x"])]
    pairs, _, _ = read(write("d.jsonl", rows), labels=None, undescribed_labels="name")
    assert [labels for _, labels in pairs] == [["x"], ["x"]]


def test_numbers_are_no_names(read, write):
    rows = [{"id": 1, "text": "a text", "labels": [1, 2]}]
    with pytest.raises(InputError, match=r"'labels' is not a list of label names: \[1, 2\]"):
        read(write("d.jsonl", rows), labels=None, undescribed_labels="name")
