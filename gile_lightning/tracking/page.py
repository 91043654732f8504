"""Self-contained web pages: headings, tables and drawings in one file that asks for no other."""

import html
import io
import math
import re
import warnings
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # matplotlib takes a second to import, and most runs never need it so early
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# of curves and bars, in this order; as far from white as from the dark page (4:1)
COLOURS = ("#3b7dc4", "#c96f1a", "#2f8f5b", "#a657a8", "#cf4f4a", "#6f7f8f", "#1f8a94", "#8a7f2a")

_NUMBER = re.compile(r"[-+−]?[\d,]*\.?\d+(?:e[-+]?\d+)?(?: ?[%×])?(?: ± [\d.,]+)?", re.IGNORECASE)
_NOTHING = "–"

_STYLE = """
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1c2126; --soft: #5d6873;
  --line: #dde2e7; --tint: #f4f6f8; --good: #2f8f5b; --bad: #cf4f4a; --accent: #3b7dc4; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #14171a; --ink: #e3e7eb; --soft: #98a4b0; --line: #30373e; --tint: #1c2126;
    --good: #55b583; --bad: #e5736e; --accent: #6aa5e3; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0 auto; max-width: 62rem; padding: 2rem 1.1rem 4rem; background: var(--paper);
  color: var(--ink); font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
  overflow-wrap: break-word; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .4rem; letter-spacing: -.01em; }
h2 { font-size: 1.15rem; margin: 2.6rem 0 .8rem; padding-top: 1rem;
  border-top: 1px solid var(--line); }
h3 { font-size: .95rem; margin: 1.4rem 0 .4rem; }
p { margin: .4rem 0; max-width: 46rem; }
.note, .soft, figcaption { color: var(--soft); font-size: .9rem; }
nav { margin: 1rem 0 0; font-size: .9rem; }
nav a { color: var(--accent); text-decoration: none; margin-right: 1.1em; white-space: nowrap; }
.scroll { overflow-x: auto; margin: .6rem 0 1rem; }
table { border-collapse: collapse; font-size: .87rem; font-variant-numeric: tabular-nums; }
th, td { padding: .32rem .8rem .32rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line); }
th { font-weight: 600; color: var(--soft); vertical-align: bottom; }
tbody tr:hover { background: var(--tint); }
th.number, td.number { text-align: right; white-space: nowrap; }
.pictures { display: grid; gap: 1.2rem 1.6rem; margin: .8rem 0;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); }
svg { display: block; width: 100%; max-width: 34rem; height: auto; }
svg * { stroke-linejoin: round; stroke-linecap: butt; }
svg text { font-family: inherit !important; fill: currentColor; }
pre { overflow-x: auto; background: var(--tint); padding: .8rem 1rem; border-radius: 6px;
  font-size: .8rem; line-height: 1.45; }
details > summary { cursor: pointer; color: var(--accent); }
@media print { nav { display: none; } h2 { break-after: avoid; } tr { break-inside: avoid; } }
"""


def page(title: str, sections: Sequence[tuple[str, str]], note: str = "", style: str = "") -> str:
    """Lay out a page: a title, a note below it, a list of the sections and the sections.

    Nothing in it leads elsewhere, and nothing runs: no script, font, image or style sheet is
    fetched. Browsers choose the light or the dark colours.

    Args:
        title: plain text.
        sections: heading (plain text) and body (HTML) of each; those without a body are left out.
        note: plain text.
        style: CSS for what the bodies hold.
    """
    kept = [(heading, body) for heading, body in sections if body]
    links = "".join(
        f'<a href="#section-{i}">{html.escape(heading)}</a> ' for i, (heading, _) in enumerate(kept)
    )
    parts = "\n".join(
        f'<section id="section-{i}">\n<h2>{html.escape(heading)}</h2>\n{body}\n</section>'
        for i, (heading, body) in enumerate(kept)
    )
    noted = f'\n<p class="note">{html.escape(note)}</p>' if note else ""
    contents = f"\n<nav>{links}</nav>" if len(kept) > 2 else ""
    # default-src 'none': a browser would refuse a request even if a text brought one in
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(title)}</title>
<style>{_STYLE}{style}</style>
</head>
<body>
<h1>{html.escape(title)}</h1>{noted}{contents}
{parts}
</body>
</html>
"""


def table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Lay out a table; texts are escaped, columns of numbers go to the right.

    Whole numbers get separators of thousands, others four significant digits; texts that are
    numbers stay as they are. None and NaN become a dash.
    """
    cells = [[_text(value) for value in row] for row in rows]
    numeric = [
        any(row[i] for row in cells)
        and all(row[i] in ("", _NOTHING) or _NUMBER.fullmatch(row[i]) for row in cells)
        for i in range(len(columns))
    ]
    lines = [_row("th", columns, numeric), *(_row("td", row, numeric) for row in cells)]
    body = "\n".join(lines[1:])
    return (
        f'<div class="scroll"><table>\n<thead>{lines[0]}</thead>\n<tbody>\n{body}\n</tbody>\n'
        "</table></div>"
    )


def _row(tag: str, cells: Sequence[str], numeric: Sequence[bool]) -> str:
    opening = (f'<{tag} class="number">' if right else f"<{tag}>" for right in numeric)
    made = (
        f"{start}{html.escape(cell)}</{tag}>" for start, cell in zip(opening, cells, strict=True)
    )
    return f"<tr>{''.join(made)}</tr>"


def _text(value: object) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return _NOTHING
    if isinstance(value, bool | str):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def panel(
    title: str, x: str = "", y: str = "", size: tuple[float, float] = (4.6, 2.9)
) -> "tuple[Figure, Axes]":
    """Return an empty drawing in the style of the pages, and its axes.

    The figure belongs to nobody else: matplotlib's global state is neither read nor changed, so
    neither a notebook's settings nor a missing display matter.

    Args:
        title: above the axes, and what is read out in place of the picture.
        x: name of the horizontal axis.
        y: name of the vertical axis.
        size: inches; the page scales drawings to its width.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    figure.set_label(title)
    axes = figure.subplots()
    axes.set_title(title, fontsize=10, loc="left", fontweight="bold")
    axes.set_xlabel(x, fontsize=9)
    axes.set_ylabel(y, fontsize=9)
    axes.tick_params(labelsize=8, length=3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_prop_cycle(color=list(COLOURS))
    axes.grid(axis="y", color="#b0b0b0", linewidth=0.6)
    axes.set_axisbelow(True)
    return figure, axes


def svg(figure: "Figure") -> str:
    """Return a drawing as SVG that stands inside a page, small and with texts as texts.

    Black, white and matplotlib's grey of grids become the page's colours, which change in the
    dark. The figure's label is what is read out in its place. Figures drawn alike give equal texts.
    """
    import matplotlib

    content = io.StringIO()
    nothing: dict[str, Any] = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    settings: Any = {"svg.fonttype": "none", "svg.hashsalt": "gile_lightning"}
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        # texts stay texts: what matplotlib's own font lacks, the browser has
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure.savefig(content, format="svg", transparent=True, metadata=nothing)
    text = content.getvalue()
    text = text[text.index("<svg") :]
    # an HTML page needs no name spaces; without them it does not hold a single address
    text = re.sub(r' xmlns(?::\w+)?="[^"]*"', "", text)
    # nor a style sheet of its own, which would hold for the whole page
    text = re.sub(r"<(metadata|style)\b.*?</\1>", "", text, flags=re.DOTALL)
    text = re.sub(r"\s*\n\s*", " ", text)
    used = set(re.findall(r'(?:href="|url\()#([^")]+)', text))
    # ids are unique in a page, not only in a drawing: the others go, these get a name of their own
    own = sha256(text.encode()).hexdigest()[:8]
    text = re.sub(r' id="([^"]*)"', lambda m: f' id="{own}-{m[1]}"' if m[1] in used else "", text)
    text = re.sub(r'(href="|url\()#', rf"\1#{own}-", text)
    for colour, name in (("000000", "currentColor"), ("ffffff", "var(--paper)")):
        text = text.replace(f": #{colour}", f": {name}")
    text = text.replace(": #b0b0b0", ": var(--line)")
    label = html.escape(str(figure.get_label()), quote=True)
    return text.replace("<svg", f'<svg role="img" aria-label="{label}"', 1).strip()


def pictures(drawings: Sequence[str]) -> str:
    """Put drawings side by side, as many as the screen is wide."""
    return "\n".join(['<div class="pictures">', *drawings, "</div>"]) if drawings else ""


def write(path: Path, text: str) -> None:
    """Write a file, whole or not at all."""
    partial = path.with_name(f"{path.name}.partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
