"""Pages and their tables ask for no other file, and show texts as texts."""

import base64
import math
import re
from html.parser import HTMLParser

import pytest

from gile_lightning.tracking.drawings import COLOURS, panel, picture
from gile_lightning.tracking.page import breakable, cell, numeric, render

EVIL = "<b>&\"'"
EMPTY = {"tables": {}, "by_language": None, "bars": [], "examples": [], "skipped": None}
EMPTY |= {"reliability": [], "explained": []}


class Reader(HTMLParser):
    """Checks that tags are closed in order; keeps the tags and what they refer to."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.ids, self.links = [], [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.ids += [value for name, value in attrs if name == "id"]
        self.links += [value for name, value in attrs if name in ("href", "src")]
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def curve(title="Loss", y=(3.0, 2.0, 1.5)):
    figure, axes = panel(title, "step", "loss")
    axes.plot([1, 2, 3], y, marker="o", label="train/loss")
    return figure


def fit(**more):
    given = {"title": EVIL, "facts": {EVIL: EVIL}, "config": EVIL, "parameters": 5, "parts": None}
    counts = {"counts": ([EVIL, "documents"], [[EVIL, 1234567]])}
    return render("run.html", **EMPTY | given | counts | {"curves": [picture(curve(EVIL))]} | more)


def test_a_page_asks_for_no_other_file_and_texts_are_escaped():
    text = fit()
    read = Reader(text)
    assert not {"script", "link", "iframe", "b"} & set(read.tags)
    assert "default-src 'none'" in text
    pictures = [link for link in read.links if not link.startswith("#")]
    assert [link[:26] for link in pictures] == ["data:image/svg+xml;base64,"]
    assert {link[1:] for link in read.links if link not in pictures} == set(read.ids)
    for link in pictures:
        text = text.replace(link, "")
    assert "//" not in text  # no address of any kind
    assert not re.search(r"url\(|@import", text)
    assert "1,234,567" in text


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        *((1234567, "1,234,567"), (0.123456, "0.1235"), (math.nan, "–"), (None, "–")),
        *(("12.50", "12.50"), (True, "True")),
    ],
)
def test_cells(value, shown):
    assert cell(value) == shown


def test_a_key_may_be_broken_and_is_escaped():
    shown = str(breakable("val/a_b.<i>"))
    assert shown == "val/<wbr>a_<wbr>b.<wbr>&lt;i&gt;"


def test_columns_of_numbers():
    rows = [
        ["seen", 1234567, 0.5, "12.50", "1,234", "5 labels", "", "-1.5e-05"],
        ["all", 8, math.nan, "", None, None, "", "3"],
    ]
    assert numeric(rows, 8) == [False, True, True, True, True, False, False, True]
    assert numeric([], 2) == [False, False]


def test_a_picture_has_its_texts_and_equal_drawings_are_equal():
    drawn = picture(curve("中文 <1>"))
    assert drawn.title == "中文 <1>"
    content = base64.b64decode(drawn.source.partition(",")[2]).decode()
    assert ">中文 &lt;1&gt;</text>" in content  # also where the drawing's own font lacks them
    assert COLOURS[0] in content
    assert picture(curve()) == picture(curve())
    assert picture(curve()) != picture(curve(y=(3.0, 2.0, 1.0)))


def luminance(colour):
    """As WCAG 2.2 defines it, of #rrggbb."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_all_colours_of_text_can_be_read_in_both_schemes():
    schemes = re.findall(r":root \{([^}]*)\}", fit())
    assert len(schemes) == 2  # light and dark
    for scheme in schemes:
        colour = dict(re.findall(r"--(\w+): (#\w{6})", scheme))
        for text in ("ink", "soft", "good", "bad", "accent"):
            for ground in ("paper", "tint"):
                dark, light = sorted((luminance(colour[text]), luminance(colour[ground])))
                assert (light + 0.05) / (dark + 0.05) >= 4.5, (text, ground)  # level AA
