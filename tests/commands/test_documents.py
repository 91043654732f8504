import gzip
import io
import json
import math
from dataclasses import replace
from types import SimpleNamespace

import pytest

from gile_lightning.commands import documents
from gile_lightning.commands.documents import DocumentReader, lines_of, text_of
from gile_lightning.common.errors import InputError
from gile_lightning.data.formats.descriptions import TextRecipe
from gile_lightning.data.tokenizing.tokenizer import Tokenizer

COLUMNS = ("title", "abstractText")


def system(**codes):
    """Stand in for a model of languages, with their codes and the column of a language."""
    return SimpleNamespace(
        tasks={
            name: SimpleNamespace(
                recipe=TextRecipe(columns=COLUMNS, language=None),
                tokenizer=Tokenizer(["UNK"], sentences=code),
            )
            for name, code in (codes or {"english": "en"}).items()
        }
    )


def reader(*lines, kind="auto", model=None, default="english"):
    return DocumentReader(lines, "in", kind, model or system(), default)


def records(*fields, **options):
    return list(reader(*map(json.dumps, fields), **options))


@pytest.mark.parametrize(
    ("columns", "fields", "text"),
    [
        (COLUMNS, {"text": "t"}, "t"),
        (COLUMNS, {"title": "t"}, ["t"]),
        (COLUMNS, {"title": "t", "abstractText": ""}, ["t"]),
        (COLUMNS, {"abstractText": "a"}, ["a"]),
        (COLUMNS, {"title": "t", "text": "x"}, ["t", "x"]),
        (("body", "end"), {"title": "t", "text": "x"}, "x"),
        (COLUMNS, {"title": math.nan, "text": "x"}, "x"),
        (("text",), {"text": math.nan}, []),
        (COLUMNS, {"title": "t", "abstractText": "a", "text": "x"}, ["t", "a"]),
        (COLUMNS, {"title": "t", "abstract": "a"}, ["t", "a"]),
        (COLUMNS, {"title": "", "abstractText": None}, []),
        (("body", "end"), {"body": "b", "end": "", "title": "t"}, ["b"]),
        (("title",), {"title": "t", "abstract": "a"}, ["t"]),
        (("title", "text"), {"title": "t", "text": "x", "abstract": "a"}, ["t", "x"]),
        (("title", "text"), {"title": "t", "abstract": "a"}, ["t", "a"]),
        (("body",), {"body": ""}, []),
    ],
)
def test_text_of_a_record(columns, fields, text):
    assert text_of(fields, columns, "in:1") == text


def test_a_record_without_a_text():
    of_training = r"in:1: no 'title', 'abstractText' \(as in training\), nor 'text' \(or .*"
    with pytest.raises(InputError, match=f"{of_training}; the keys are txt, year"):
        records({"txt": "Liver", "year": 1999})


@pytest.mark.parametrize("columns", [COLUMNS, ("text",), ("body", "end")])
def test_a_list_is_no_text(columns):
    assert text_of({"text": 12}, columns, "in:1") in ("12", ["12"])
    for value in (["Title", "Body"], {"a": 1}):
        with pytest.raises(InputError, match=r"in:1: 'text' is no text: "):
            text_of({"text": value}, columns, "in:1")


def test_a_later_record_without_a_text_is_left_out(monkeypatch, capsys):
    fields = [{"text": "a"}, {"text": ["a"]}, {"txt": "a"}, {"text": "b", "id": 7}]
    model = system()
    made = reader(*map(json.dumps, fields), model=model)
    assert [(x.id, x.text) for x in made] == [(1, "a"), (7, "b")]
    assert made.broken == 2
    said = capsys.readouterr().err
    assert "in:2: 'text' is no text: ['a']: left out" in said
    assert "in:3: no 'title'" in said
    made.report()
    assert "in: left out 2 broken and 0 empty lines" in capsys.readouterr().err
    monkeypatch.setattr("gile_lightning.commands.documents._MAX_BROKEN", 1)
    with pytest.raises(InputError, match="in:3: more than 1 records have no text that can be lab"):
        records(*fields, model=model)


def test_ids():
    fields = [{}, {"id": "a"}, {"pmid": 77}, {"id": 0, "pmid": 5}, {"id": ""}]
    assert [x.id for x in records(*({"text": "t"} | x for x in fields))] == [1, "a", 77, 0, 5]
    model = system()
    recipe = replace(model.tasks["english"].recipe, id="code")
    model.tasks["english"].recipe = recipe
    assert [x.id for x in records({"text": "t", "id": 1, "code": "T9"}, model=model)] == ["T9"]


def test_a_table(tmp_path):
    file = tmp_path / "in.csv"
    file.write_text("title;abstractText;id\nOn livers;A, b;7\n;c;\n")
    found = list(DocumentReader([], str(file), "auto", system(), "english"))
    assert [(x.id, x.text) for x in found] == [("7", ["On livers", "A, b"]), (2, ["c"])]
    file.write_text("titel\nOn livers\n")
    with pytest.raises(InputError, match=r"in\.csv:2: no 'title', .* did you mean 'titel'\?"):
        list(DocumentReader([], str(file), "auto", system(), "english"))


def test_short_texts_of_annif(tmp_path, capsys):
    file = tmp_path / "in.tsv.gz"
    rows = 'On livers\t<http://a.org/1> <http://a.org/2>\n\n\t<http://a.org/1>\nOn "mice\n'
    file.write_bytes(gzip.compress(rows.encode()))
    made = DocumentReader([], str(file), "auto", system(), "english")
    assert [(x.id, x.text) for x in made] == [(1, "On livers"), (4, 'On "mice')]
    made.report()
    assert f"{file}: left out 0 broken and 1 empty lines" in capsys.readouterr().err
    other = tmp_path / "in.txt"
    other.write_text("On cats, mice\t<http://a.org/1>\n")
    made = DocumentReader([], str(other), "tsv", system(), "english")
    assert [x.text for x in made] == ["On cats, mice"]
    other.rename(tmp_path / "c.tsv").write_text("text,id\na,7\n")
    made = DocumentReader([], str(tmp_path / "c.tsv"), "csv", system(), "english")
    assert [(x.id, x.text) for x in made] == [("7", "a")]
    (tmp_path / "c.tsv").write_text("text\tid\na, b\t7\n")
    made = DocumentReader([], str(tmp_path / "c.tsv"), "csv", system(), "english")
    assert [(x.id, x.text) for x in made] == [("7", "a, b")]
    file.write_bytes(gzip.compress(b"text\tlabels\nOn livers\tLiver\n"))
    with pytest.raises(InputError, match=r"in\.tsv\.gz:1: 'labels' is no URI; .* is a \.csv"):
        list(DocumentReader([], str(file), "auto", system(), "english"))


@pytest.mark.parametrize(
    ("kind", "first", "text"),
    [
        ("auto", '\ufeff{"text": "a"}', "a"),
        ("auto", "plain", "plain"),
        ("text", '{"text": "a"}', '{"text": "a"}'),
    ],
)
def test_kinds_of_lines(kind, first, text):
    assert [x.text for x in reader(first, kind=kind)] == [text]


@pytest.mark.parametrize("first", ["[", '[{"text": "a"}, {"text": "b"}]', ' [ {"text": "a"},'])
def test_a_json_list_is_no_text(first):
    with pytest.raises(InputError, match=r"in: a JSON list; .*\(--format text for plain text\)"):
        list(reader(first))
    assert [x.text for x in reader(first, kind="text")] == [first.strip()]
    assert [x.text for x in reader("[1] Smith writes")] == ["[1] Smith writes"]


def test_broken_and_empty_lines_are_left_out_and_counted(capsys):
    found = reader('{"text": "one"}', '{"text": "tw', "", "[3]", '{"text": "four"}', "  ")
    assert [document.id for document in found] == [1, 5]
    found.report()
    errors = capsys.readouterr().err.splitlines()
    assert [error.split(":")[1] for error in errors[:2]] == ["2", "4"]
    assert errors[-1] == "in: left out 2 broken and 2 empty lines"


def test_records_with_an_empty_text_are_answered():
    found = reader('{"text": ""}', '{"text": null}', '{"title": " "}', '{"text": "a"}')
    assert [x.id for x in found] == [1, 2, 3, 4]


def test_too_many_broken_lines():
    with pytest.raises(InputError, match=r"in:102: more than 100 lines .*--format text"):
        list(reader('{"text": "one"}', *["plain"] * 101))


def test_other_encoding(tmp_path):
    (tmp_path / "latin.txt").write_bytes("Ménière".encode("latin-1"))
    with (tmp_path / "latin.txt").open(encoding="utf-8") as lines:
        found = DocumentReader(lines, "latin.txt", "auto", system(), "english")
        with pytest.raises(InputError, match=r"latin\.txt: not UTF-8 text near line 1"):
            list(found)


def test_languages():
    """By name or code, in any order, and the default where a record says nothing."""
    several = system(english="en", german="de")
    given = ["German", "en", None, "", "de"]
    fields = [{"text": "t", "language": x} for x in given]
    found = records(*fields, model=several)
    assert [x.language for x in found] == ["german", "english", "english", "english", "german"]
    with pytest.raises(InputError, match=r"in:3: the model has several languages \(english, ger"):
        records(*fields, model=several, default=None)
    with pytest.raises(InputError, match=r"in:1: the model has no 'fr'; its languages are"):
        records({"text": "t", "language": "fr"}, model=several)
    assert records({"text": "t", "language": "fr"})[0].language == "english"  # no such column


def test_a_line_without_end_is_refused(monkeypatch):
    monkeypatch.setattr(documents, "LONGEST", 8)
    assert [*lines_of(io.StringIO("a\n123456\n\nb"), "in")] == ["a\n", "123456\n", "\n", "b"]
    with pytest.raises(InputError, match="in:2: a line is longer than 8 characters"):
        list(lines_of(io.StringIO("a\n123456789\n"), "in"))


def test_a_damaged_gzip_file():
    whole = gzip.compress(b"Liver\nHeart\n" * 100)
    for content, found in ((whole, 200), (whole[:-20], None), (b"Liver\n", None)):
        source = io.TextIOWrapper(gzip.GzipFile(fileobj=io.BytesIO(content)))
        if found:
            assert len(list(lines_of(source, "in.gz"))) == found
            continue
        with pytest.raises(InputError, match=r"in\.gz: a damaged gzip file"):
            list(lines_of(source, "in.gz"))
