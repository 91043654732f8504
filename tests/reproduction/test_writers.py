"""Markdown, CSV and HTML of a table that is made up here."""

import csv
import re
from html.parser import HTMLParser

import pytest

from gile_lightning.reproduction.grid import Column, Grid, Row
from gile_lightning.reproduction.tables import Cell, Line
from gile_lightning.reproduction.writers import comma_separated, markdown, page

ROW = Row("GILE <b>", form="σ(E U)", paper=[0.5, 10.0], parameters="52.93M")
GRID = Grid(
    "Table 2",
    "",
    (Column("RL", "rl", better="lower"), Column("F1", "f1")),
    (ROW, Row("none")),
    notes=("a note",),
)
LINES = [
    Line("", ROW, (Cell((1.0, 2.0), "", 0.5), Cell((8.0, 9.0), "", 10.0)), 2, 2, 1234.0, 5.0, 6.5),
    Line("", Row("none"), (Cell((), "n/a"), Cell((), "running")), 0, 2, None, None, None),
]


def test_markdown_has_ours_the_papers_and_the_difference():
    text = markdown(GRID, LINES, "bioasq")
    lines = [[x.strip() for x in line.strip("|").split("|")] for line in text.splitlines()]
    rows = [row for row in lines if len(row) == 9]
    headings = "system layer data seeds RL F1 parameters seconds documents/s"
    assert rows[0] == headings.split()
    assert rows[2][:4] == ["GILE <b>", "σ(E U)", "bioasq", "2/2"]
    assert rows[2][4:] == ["1.50 ± 0.71", "8.50 ± 0.71", "1,234", "5", "6"]
    assert rows[3] == ["paper", "", "", "", "0.50", "10.00", "52.93M", "", ""]
    assert rows[4] == ["difference", "", "", "", "+1.00", "-1.50", "", "", ""]
    assert rows[5] == ["none", "", "bioasq", "0/2", "n/a", "running", "", "", ""]
    assert len({len(line) for line in text.splitlines() if line.startswith("|")}) == 1
    assert "a note" in text
    assert "not comparable" not in text


def test_the_builtin_corpus_is_marked_in_every_output():
    for write in (markdown, comma_separated, page):
        assert "built-in" in write(GRID, LINES, "built-in")
    for write in (markdown, page):
        assert "not comparable" in write(GRID, LINES, "built-in")


def test_blocks_are_parts_of_their_own():
    lines = [Line(block, ROW, LINES[0].cells, 1, 1, None, None, None) for block in ("a", "b")]
    assert [x for x in markdown(GRID, lines, "dw").splitlines() if x.startswith("##")] == [
        "## a",
        "## b",
    ]
    assert page(GRID, lines, "dw").count("<table>") == 2


def test_csv_has_a_line_per_row():
    first, second = csv.DictReader(comma_separated(GRID, LINES, "bioasq").splitlines())
    assert float(first["RL"]) == 1.5
    assert float(first["RL deviation"]) == pytest.approx(0.5**0.5)
    assert float(first["F1 difference"]) == -1.5
    assert float(first["F1 paper"]) == 10
    assert (first["parameters"], first["parameters paper"]) == ("1234", "52.93M")
    assert (second["system"], second["RL"], second["F1"], second["F1 paper"]) == (
        "none",
        "n/a",
        "running",
        "",
    )


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.cells = [], []

    def handle_starttag(self, tag, attrs):
        if tag != "meta":
            self.open.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        if self.open and self.open[-1][0] == "td":
            self.cells.append((data, self.open[-1][1].get("class")))


def parsed(text):
    tags = Tags()
    tags.feed(text)
    assert not tags.open
    return tags.cells


def test_html_marks_what_is_better_and_needs_no_other_file():
    text = page(GRID, LINES, "bioasq")
    cells = parsed(text)
    assert ("GILE <b>", None) in cells
    assert ("+1.00", "worse") in cells  # of a loss
    assert ("-1.50", "worse") in cells  # of a score
    assert "//" not in text
    assert ("+1.00", None) in parsed(page(GRID, LINES, "built-in"))  # nothing to compare


def test_a_mean_over_all_runs_stands_last():
    columns = (Column("mean", "*:f1"), Column("RL", "rl", better="lower"), Column("F1", "a:f1"))
    grid = Grid("T", "", columns, (ROW,))
    cells = [Cell((x,), "", paper) for x, paper in ((3.0, 2.0), (1.0, 0.5), (5.0, 6.0))]
    lines = [Line("", ROW, tuple(cells), 1, 1, 7.0, 8.0, 9.0)]
    rows = [line for line in markdown(grid, lines, "x").splitlines() if line.startswith("| ")]
    found = [[x.strip() for x in row.strip("|").split("|")][4:] for row in rows]
    assert found[0] == ["RL", "F1", "parameters", "seconds", "documents/s", "mean"]
    assert found[2] == ["1.00", "5.00", "7", "8", "9", "3.00"]
    assert found[3] == ["0.50", "6.00", "52.93M", "", "", "2.00"]
    marks = re.findall(r'class="(better|worse)"[^>]*>([^<]*)<', page(grid, lines, "x"))
    assert marks == [("worse", "+0.50"), ("worse", "-1.00"), ("better", "+1.00")]
