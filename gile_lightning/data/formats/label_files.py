"""Files that describe labels."""

from collections.abc import Iterator
from pathlib import Path

from gile_lightning.common.errors import InputError
from gile_lightning.data.formats.descriptions import Described, described
from gile_lightning.data.formats.lines import read_records
from gile_lightning.data.formats.skipped import Skipped


def read_labels(
    path: Path | str, skipped: Skipped | None = None, encoding: str = "utf-8"
) -> Iterator[Described]:
    """Stream labels from JSON lines.

    They have ``name`` and ``description``, and perhaps ``synonyms`` and ``parents``: lists of other
    names of the label, and of the names of the labels right above it.

    Raises:
        InputError: a line has no name, or something else than lists of names.
    """
    for where, fields in read_records([path], skipped or Skipped(), 0, encoding):
        name = fields.get("name")
        if not isinstance(name, str) or not name:
            raise InputError(
                f"{where}: a label needs a 'name'; the keys are {', '.join(fields) or 'none'}"
            )
        yield described(where, name, fields)
