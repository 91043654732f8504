"""A table of figures as text."""

import unicodedata
from dataclasses import dataclass
from itertools import compress


def columns(text: str) -> int:
    """Return the columns of a terminal that a text takes.

    Letters and signs of East Asia and emoji take two, marks on them and characters without a width
    none.

    >>> columns("Zürich"), columns("Zu\u0308rich"), columns("東京"), columns("😀")
    (6, 6, 4, 2)
    """
    return len(text) if text.isascii() else sum(map(_width, text))


def _width(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 1 + (unicodedata.east_asian_width(character) in "WF")


def padded(text: str, width: int) -> str:
    """Return a text with spaces behind it up to a number of columns."""
    return text + " " * (width - columns(text))


@dataclass(frozen=True)
class TextGrid:
    """A table: its first column is text, the others are figures. Empty columns are left out.

    Attributes:
        header: the titles of the columns.
        rows: the cells.
    """

    header: list[str]
    rows: list[list[str]]

    def __str__(self) -> str:
        header, *rows = self._filled()
        widths = [max(map(columns, column)) for column in zip(header, *rows, strict=True)]
        lines = [
            "  ".join([padded(row[0], widths[0]), *map(str.rjust, row[1:], widths[1:])])
            for row in (header, *rows)
        ]
        return "\n".join([lines[0], "-" * columns(lines[0]), *lines[1:]])

    def _filled(self) -> list[list[str]]:
        filled = [
            not self.rows or any(row[i] for row in self.rows) for i in range(len(self.header))
        ]
        return [list(compress(row, filled)) for row in (self.header, *self.rows)]

    def shown(self, width: int | None, colours: bool) -> str:
        """Return the table for a terminal; its titles are folded if it is too wide otherwise.

        Args:
            width: columns of the terminal; None if it is none.
            colours: whether titles are bold.
        """
        plain = str(self)
        title, rule, *rest = plain.split("\n")
        if width is None or len(rule) <= width:
            return "\n".join([f"\x1b[1m{title}\x1b[0m" if colours else title, rule, *rest])
        return self._folded(width, colours)

    def _folded(self, width: int, colours: bool) -> str:
        """Fold titles and the first column at spaces; if that is too wide, the table as it is.

        No figure is ever cut off.
        """
        from rich.box import SIMPLE_HEAD
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        header, *rows = self._filled()
        words = [" ".join(column).split() for column in zip(header, *rows, strict=True)]
        least = [max(map(columns, column), default=1) for column in words]
        if sum(least) + len(least) - 1 > width:
            return str(self)
        table = Table(box=SIMPLE_HEAD, padding=0, show_edge=False, header_style="bold")
        for i, title in enumerate(header):
            justify = "right" if i else "left"
            table.add_column(Text(title), justify=justify, width=least[i])
        for row in rows:
            table.add_row(*map(Text, row))
        console = Console(width=width, force_terminal=colours, no_color=not colours)
        with console.capture() as captured:
            console.print(table)
        return str(captured.get()).rstrip("\n")
