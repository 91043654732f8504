"""Web pages from templates. A page is one file and refers to no other."""

import math
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

_NOTHING = "–"


class Picture(NamedTuple):
    """A picture on a page.

    Attributes:
        title: what a screen reader reads.
        source: the picture as a data URI.
        page: the address of an interactive version, beside the page.
    """

    title: str
    source: str
    page: str = ""


def render(template: str, **values: Any) -> str:
    """Render a template; texts are escaped.

    Args:
        template: a file of the folder ``templates``.
        values: the template's variables.
    """
    return _environment().get_template(template).render(values)


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"cell": cell, "numeric": numeric, "breakable": breakable}
    return made


def breakable(name: object) -> "Markup":
    """Return a key, such as ``model.output.joint_dim``, that may go on in the next line."""
    from markupsafe import Markup, escape

    pieces = re.split(r"(?<=[./_])", str(name))
    return Markup("<wbr>").join(map(escape, pieces))


def cell(value: object) -> str:
    """Format a value for a table.

    Integers get separators of thousands, other numbers four significant digits. None and NaN
    become a dash.
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return _NOTHING
    if isinstance(value, bool | str):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def numeric(rows: Sequence[Sequence[object]], columns: int) -> list[bool]:
    """Return for each column whether all its values are numbers."""
    cells = [[cell(value) for value in row] for row in rows]
    return [
        any(row[i] for row in cells)
        and all(row[i] in ("", _NOTHING) or _is_number(row[i]) for row in cells)
        for i in range(columns)
    ]


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", ""))
    except ValueError:
        return False
    return True
