"""Equations as drawings in the page: they need no script, and no font of the reader's machine."""

import html
import re

import numpy as np
from matplotlib.font_manager import FontProperties
from matplotlib.path import Path
from matplotlib.textpath import TextToPath

# what the extension `arithmatex` makes of $...$ and $$...$$
_EQUATION = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\[(\[](?P<latex>.*?)\\[)\]]</(?P=tag)>', re.S
)
_SIZE = 10.0  # of the drawing; on the page an em is as large
_LETTERS = {Path.MOVETO: "M", Path.LINETO: "L", Path.CURVE3: "Q", Path.CURVE4: "C"}


def draw(page: str) -> str:
    """Draw the equations of a page, which is HTML."""

    def equation(match: re.Match[str]) -> str:
        latex = " ".join(html.unescape(match["latex"]).split())
        if match["tag"] == "span":
            return to_svg(latex)
        # fractions of an equation that stands alone are as large as the rest
        drawing = to_svg(latex.replace(r"\frac", r"\dfrac"))
        return f'<div class="equation">{drawing}</div>'

    return _EQUATION.sub(equation, page)


def to_svg(latex: str) -> str:
    """Draw an equation in the colour of the text around it.

    Raises:
        ValueError: it is none that matplotlib knows.
    """
    font, paths = FontProperties(size=_SIZE, math_fontfamily="stix"), TextToPath()
    text = f"${latex}$"
    width, height, descent = paths.get_text_width_height_descent(text, font, ismath=True)
    points, codes = paths.get_text_path(font, text, ismath=True)
    outline = Path(np.asarray(points) * (_SIZE / paths.FONT_SCALE), codes)
    steps = []
    for corners, code in outline.iter_segments(simplify=False, curves=True):
        pairs = " ".join(f"{x:.2f} {-y:.2f}" for x, y in corners.reshape(-1, 2))
        steps.append("Z" if code == Path.CLOSEPOLY else _LETTERS[code] + pairs)
    box = f"0 {descent - height - 1:.2f} {width + 1:.2f} {height + 2:.2f}"
    style = f"width:{(width + 1) / _SIZE:.3f}em;vertical-align:{-(descent + 1) / _SIZE:.3f}em"
    return (
        f'<svg class="math" role="img" aria-label="{html.escape(latex)}" viewBox="{box}" '
        f'style="{style}" fill="currentColor"><path d="{"".join(steps)}"/></svg>'
    )
