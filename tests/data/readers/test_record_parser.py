import math

import pytest

from gile_lightning.common.errors import InputError
from gile_lightning.data import Columns
from gile_lightning.data.document import Document
from gile_lightning.data.formats.lines import Record
from gile_lightning.data.readers.record_parser import RecordParser

PLAIN = {"id": 1, "text": "a text", "labels": ["x", "y"], "year": 2000}
BY_YEAR = {"year": "year"}


def parse(values=(), split_year=2005, **columns):
    return RecordParser(Columns(**columns), split_year).parse(Record("f:1", PLAIN | dict(values)))


def test_document():
    assert parse() == Document("f:1", "1", ["a text"], ["x", "y"], "")
    assert parse(lead="title") == parse()
    assert parse({"labels": "x"}).labels == ["x"]  # one name is a list of one
    columns = {"lead": ("title", "teaser"), "text": ("text", "end")}
    whole = parse({"title": "A title.", "end": "the end", "teaser": " "}, **columns)
    assert whole.pieces == ["A title.", "a text", "the end"]
    assert parse({"text": None, "end": "the end"}, **columns).pieces == ["the end"]


@pytest.mark.parametrize(
    ("values", "column"),
    [
        ({"id": None}, "id"),
        ({"id": ""}, "id"),
        ({"id": math.nan}, "id"),
        ({"labels": math.nan}, "labels"),
        ({"text": None}, "text"),
        ({"text": " \n", "title": "a lead alone"}, "text"),
        ({"text": math.nan}, "text"),
        ({"labels": None}, "labels"),
        ({"labels": []}, "labels"),
        ({"year": None}, "year"),
        ({"year": "unknown"}, "year"),
    ],
)
def test_missing_column(values, column):
    assert parse(values, lead="title", **BY_YEAR) == column


def test_a_text_is_no_list_and_no_object():
    assert parse({"text": 5}).pieces == ["5"]
    for name, value in (("text", ["a", "b"]), ("text", {"en": "a"}), ("title", [])):
        with pytest.raises(InputError, match=rf"f:1: {name!r} is no text: .*; join its parts"):
            parse({name: value}, lead="title")


@pytest.mark.parametrize("labels", [{"x": 1}, [1, 2], ["x", None], [["x"]], 3])
def test_labels_must_be_a_list_of_names(labels):
    with pytest.raises(InputError, match="f:1: 'labels' is not a list of label names"):
        parse({"labels": labels})


@pytest.mark.parametrize(("year", "split"), [(2004, "train"), ("2005 Jan", "test")])
def test_split_by_year(year, split):
    assert parse({"year": year}, **BY_YEAR).split == split
    assert parse({"year": year}, split_year=None, **BY_YEAR).split == ""
    assert (
        parse({"year": year, "part": "validation"}, split="part", **BY_YEAR).split == "validation"
    )


def test_years_of_documents_that_a_year_splits():
    parser = RecordParser(Columns(**BY_YEAR), 2005)
    for values in ({"year": 2004}, {"year": "2011 Jan"}, {"year": None}, {"year": 1, "text": ""}):
        parser.parse(Record("f:1", PLAIN | values))
    assert parser.years == {2004, 2011}


@pytest.mark.parametrize("value", ["dev", "", None])
def test_split_column_with_another_value(value):
    message = "f:1: 'part' is .*expected one of train, validation, test"
    with pytest.raises(InputError, match=message):
        parse({"part": value}, split="part")
