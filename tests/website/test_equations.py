"""Equations are drawn, all of them, and as large as the text."""

import re

import pytest

from gile_site.equations import draw, to_svg
from gile_site.links import ROOT

TEXT = (ROOT / "docs/concepts.md").read_text()
EQUATIONS = re.findall(r"\$\$(.*?)\$\$", TEXT, re.S)
EQUATIONS += re.findall(r"\$([^$]+)\$", re.sub(r"\$\$.*?\$\$", "", TEXT, flags=re.S))


def test_every_equation_is_understood():
    assert len(EQUATIONS) > 20
    for latex in EQUATIONS:
        width = float(re.search(r"width:([\d.]+)em", to_svg(" ".join(latex.split())))[1])
        assert 0.2 < width < 45, latex


def test_the_outline_lies_in_the_box():
    svg = to_svg(r"\frac{e'_j}{2}")
    left, top, width, height = map(float, re.search(r'viewBox="([^"]+)"', svg)[1].split())
    numbers = re.findall(r"(-?\d+\.\d+) (-?\d+\.\d+)", re.search(r' d="([^"]+)"', svg)[1])
    across, down = zip(*((float(x), float(y)) for x, y in numbers), strict=True)
    assert left <= min(across) < max(across) <= left + width
    assert top <= min(down) < max(down) <= top + height
    assert max(down) - min(down) > height / 2


def test_equations_of_a_page_are_replaced():
    page = (
        '<p>a <span class="arithmatex">\\(x &lt; 1\\)</span>.</p>'
        '<div class="arithmatex">\\[\ny\n\\]</div>'
    )
    drawn = draw(page)
    assert drawn.count("<svg") == 2
    assert 'aria-label="x &lt; 1"' in drawn
    assert drawn.count('<div class="equation">') == 1
    assert "arithmatex" not in drawn


def test_an_unknown_command_is_refused():
    with pytest.raises(ValueError, match="nosuch"):
        to_svg(r"\nosuch{1}")
