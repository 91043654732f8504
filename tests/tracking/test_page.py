import math
import re
from html.parser import HTMLParser

import pytest

from gile_lightning.tracking import page as pages
from gile_lightning.tracking.page import page, panel, pictures, svg, table, write


class Reader(HTMLParser):
    """Checks that tags are closed in order; keeps the cells of tables and all ids."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.cells, self.tags = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        attrs = dict(attrs)
        if "id" in attrs:
            self.ids.append(attrs["id"])
        if tag not in ("meta", "path", "use"):
            self.open.append(tag)
        if tag in ("td", "th"):
            self.cells.append([attrs.get("class"), ""])

    def handle_endtag(self, tag):
        if tag not in ("path", "use"):
            assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.cells[-1][1] += data


def read(text):
    reader = Reader()
    reader.feed(text)
    assert reader.open == []
    return reader


def curve(title="Loss", y=(3.0, 2.0, 1.5)):
    figure, axes = panel(title, "step", "loss")
    axes.plot([1, 2, 3], y, marker="o", label="train/loss")
    axes.legend(frameon=False)
    return figure


def test_numbers_go_to_the_right_and_texts_are_escaped():
    rows = [
        ["<b>seen</b>", 1234567, 0.123456, "12.50", "5 labels"],
        ["unseen & all", 8, math.nan, "", None],
    ]
    reader = read(table(["labels", "documents", "F1", "P@1", "note"], rows))
    assert reader.cells == [
        [None, "labels"],
        ["number", "documents"],
        ["number", "F1"],
        ["number", "P@1"],
        [None, "note"],
        [None, "<b>seen</b>"],
        ["number", "1,234,567"],
        ["number", "0.1235"],
        ["number", "12.50"],
        [None, "5 labels"],
        [None, "unseen & all"],
        ["number", "8"],
        ["number", "–"],
        ["number", ""],
        [None, "–"],
    ]


@pytest.mark.parametrize("cell", ["-1.5e-05", "12.5 %", "3.3 ×", "21.74 ± 0.57", "−3"])
def test_texts_that_are_numbers(cell):
    assert read(table(["x"], [[cell]])).cells == [["number", "x"], ["number", cell]]


def test_a_table_without_rows():
    assert read(table(["a", "b"], [])).cells == [[None, "a"], [None, "b"]]


def test_a_page_asks_for_no_other_file():
    drawings = pictures([svg(curve()), svg(curve("F1 <&>", (1.0, 2.0, 3.0)))])
    text = page("A & B", [("Curves", drawings), ("Empty", ""), ("x < y", "<p>body</p>")], "1 < 2")
    reader = read(text)
    assert not {"script", "link", "img", "iframe"} & set(reader.tags)
    assert reader.tags.count("style") == 1
    assert "//" not in text  # no address of any kind
    assert not re.search(r"url\((?!#)|@import|\bsrc=", text)
    assert "default-src 'none'" in text
    assert "<h1>A &amp; B</h1>" in text
    assert '<p class="note">1 &lt; 2</p>' in text
    assert re.findall("<h2>(.*?)</h2>", text) == ["Curves", "x &lt; y"]
    assert "prefers-color-scheme: dark" in text
    assert 'content="width=device-width' in text


def test_ids_are_unique_and_lead_somewhere():
    text = page("t", [(str(i), svg(curve(y=(1.0, i, 2.0)))) for i in range(4)])
    ids = read(text).ids
    assert len(ids) == len(set(ids))
    used = re.findall(r'(?:href="|url\()#([^")]+)', text)
    assert len(used) > 8
    assert set(used) <= set(ids)


def test_drawings_have_the_colours_of_the_page_and_are_read_out():
    figure, axes = panel("Bars <1>")
    axes.bar(["a", "b"], [1, 2], edgecolor="white")
    axes.bar(["a", "b"], [3, 4])
    drawing = svg(figure)
    assert drawing.startswith('<svg role="img" aria-label="Bars &lt;1&gt;"')
    assert all(f"fill: {colour}" in drawing for colour in pages.COLOURS[:2])
    assert "stroke: currentColor" in drawing
    assert "stroke: var(--paper)" in drawing
    assert "stroke: var(--line)" in drawing
    assert not re.search("#(000000|ffffff|b0b0b0)", drawing)
    assert ">Bars &lt;1&gt;</text>" in drawing


def test_equal_drawings_are_equal_texts():
    assert svg(curve()) == svg(curve())
    assert svg(curve()) != svg(curve(y=(3.0, 2.0, 1.0)))


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "report.html"
    write(path, "é")
    assert path.read_bytes() == "é".encode()
    with pytest.raises(UnicodeEncodeError):
        write(path, "new \ud800")
    assert path.read_text(encoding="utf-8") == "é"
