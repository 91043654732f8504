"""Equations as MathML, which browsers draw without scripts."""

import html
import re

from latex2mathml.converter import convert

# what the extension `arithmatex` makes of $...$ and $$...$$
_EQUATION = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\[(\[](?P<latex>.*?)\\[)\]]</(?P=tag)>', re.S
)


def to_mathml(page: str) -> str:
    """Turn the LaTeX of a page, which is HTML, into MathML."""

    def equation(match: re.Match[str]) -> str:
        display = "block" if match["tag"] == "div" else "inline"
        latex = html.unescape(match["latex"]).strip()
        made = convert(latex, display=display)
        return f'<div class="equation">{made}</div>' if display == "block" else made

    return _EQUATION.sub(equation, page)
