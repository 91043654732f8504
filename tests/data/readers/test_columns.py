from contextlib import nullcontext

import pytest
from jsonargparse import ArgumentParser

from gile_lightning.common.errors import InputError
from gile_lightning.data import Columns, Corpus, DocumentDataModule
from gile_lightning.data.formats.lines import Record
from gile_lightning.data.formats.skipped import Skipped
from gile_lightning.data.readers.column_check import ColumnCheck, year_of


@pytest.mark.parametrize("columns", ["{text: body, lead: title}", "{text: [body], lead: [title]}"])
def test_one_name_is_a_list_of_one(columns):
    parser = ArgumentParser(exit_on_error=False)
    parser.add_subclass_arguments(DocumentDataModule, "data")
    path = f"{Corpus.__module__}.Corpus"
    config = parser.parse_args([f"--data={path}", "--data.path=x", f"--data.columns={columns}"])
    found = parser.instantiate_classes(config).data.columns
    assert (found.text, found.lead) == (("body",), ("title",))
    assert found == Columns(text="body", lead="title")


def test_no_text_column():
    with pytest.raises(InputError, match=r"data\.columns\.text is empty"):
        Columns(text=())


def check(missing, total=6, **columns):
    """Check records, so many of which lack the text; the last one has it."""
    check = ColumnCheck(Columns(**columns))
    for i in range(total):
        lacks = i < missing
        fields = {"id": i, "texts" if lacks else "text": "a text", "year": "2000 Jan"}
        check.add(Record(f"f:{i + 1}", fields), "text" if lacks else None)
    check.finish(Skipped())


def test_most_records_lack_a_column():
    message = (
        r"f:1: no 'text' in this document and in 4 of the first 6; the columns are id, texts, "
        r"year; did you mean 'texts'\? \(set --data.columns\)"
    )
    with pytest.raises(InputError, match=message):
        check(missing=4)
    check(missing=3)


def test_empty_labels_are_no_wrong_column():
    """Of many corpora most documents have no label yet."""
    watched = ColumnCheck(Columns(text="text"))
    for i in range(6):
        watched.add(Record(f"f:{i + 1}", {"id": i, "text": "a", "labels": []}), "labels")
    watched.finish(Skipped())
    for i in range(7):
        watched.add(Record(f"f:{i + 7}", {"id": i + 7, "text": "a", "label": []}), "labels")
    with pytest.raises(InputError, match="f:7: no 'labels' in this document and in 7 of the first"):
        watched.finish(Skipped())


def test_all_records_lack_one_of_the_text_columns():
    with pytest.raises(InputError, match="f:1: no 'body' in this document and in 6 of the first"):
        check(missing=0, text=("text", "body"))


def test_an_optional_column_of_text_may_come_late(monkeypatch):
    """One of nearly that name among the first records is an error at once."""
    monkeypatch.setattr("gile_lightning.data.readers.column_check.CHECK_AFTER", 10)
    for name, error in (("abstract", None), ("abstrakt", "no 'abstract' .* in 10 of the first 10")):
        watched = ColumnCheck(Columns(text=("title", "abstract")))
        late = [{}] * 20 + [{"abstract": "b"}] * 3
        rows = late if name == "abstract" else [{name: "b"}] * 20
        with pytest.raises(InputError, match=error) if error else nullcontext():
            for i, row in enumerate(rows):
                watched.add(Record(f"f:{i + 1}", {"id": i, "title": "a", **row}), None)
            watched.finish(Skipped())


def test_a_column_before_the_text_may_come_late(monkeypatch):
    monkeypatch.setattr("gile_lightning.data.readers.column_check.CHECK_AFTER", 10)
    watched, skipped = ColumnCheck(Columns(lead="subtitle")), Skipped()
    for i in range(30):
        more = {"subtitle": "c"} if i > 20 else {}
        watched.add(Record(f"f:{i + 1}", {"id": i, "text": "a", "title": "b", **more}), None)
    watched.finish(skipped)
    assert not skipped.counts


@pytest.mark.parametrize(
    ("lead", "left_out"),
    [
        (("title", "teaser"), []),
        ("titel", ["column before the text, 'titel', that no document has; did you mean 'title'?"]),
        ("title,teaser", ["column before the text, 'title,teaser', that no document has"]),
    ],
)
def test_columns_before_the_text_that_no_record_has_are_told(lead, left_out):
    watched, skipped = ColumnCheck(Columns(lead=lead)), Skipped()
    for i, name in enumerate(["title", "title", "teaser"]):
        watched.add(Record(f"f:{i + 1}", {"id": i, "text": "a", name: "b"}), None)
    watched.finish(skipped)
    found = skipped.state()
    assert [*found] == [next((x for x in found if x.startswith(part)), part) for part in left_out]
    assert all(case == {"count": 1, "first": "f:1"} for case in found.values())


def test_values_without_a_year():
    watched = ColumnCheck(Columns(year="date", text="text"))
    watched.add(Record("f:1", {"id": 1, "text": "a", "date": "15/03/2018"}), "date")
    with pytest.raises(InputError, match="f:1: no year in 'date' in this document and in 1 of"):
        watched.finish(Skipped())


def test_wrong_column_is_found_early(monkeypatch):
    monkeypatch.setattr("gile_lightning.data.readers.column_check.CHECK_AFTER", 10)
    with pytest.raises(InputError, match="in 10 of the first 10"):
        check(missing=10, total=30)


@pytest.mark.parametrize(
    ("value", "year"),
    [
        (2004, 2004),
        ("2004", 2004),
        ("2005 Jan-Feb", 2005),
        (" 1998-2007", 1998),
        ("2007-03-01", 2007),
        (2004.0, 2004),
        (None, None),
        ("unknown", None),
        ("99", None),
        ("20051231", 2005),
        ("20051231235959", 2005),
        (20051231, 2005),
        ("1066", 1066),
        ("31122014", None),
        ("01052019", None),
        ("12312014", None),
        ("21122014", None),
        ("20051331", None),
        ("2562-03-01", 2562),  # of the Buddhist calendar
        ("200512", 2005),
        ("2014123123", 2014),
        (1600000000, None),  # of Unix
        ("1600000000000", None),
    ],
)
def test_year(value, year):
    assert year_of(value) == year
