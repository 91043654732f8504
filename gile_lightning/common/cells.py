"""Cells of CSV files, which spreadsheets would take for formulas."""

from typing import Any

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def as_text(value: Any) -> Any:
    """Return a cell that a spreadsheet shows as it is; numbers stay numbers.

    >>> as_text("=1+1"), as_text("-1.5"), as_text(-1.5), as_text("a=b")
    ("'=1+1", '-1.5', -1.5, 'a=b')
    """
    if not isinstance(value, str) or not value.startswith(_FORMULA):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value
