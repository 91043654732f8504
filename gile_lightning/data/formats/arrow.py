"""Arrow tables of files that need not be trusted."""

import copy
from typing import Any


def check_table(table: Any) -> None:
    """Check all that a table says of its own layout, of which reading takes every word.

    Without it, an offset that points out of its buffer ends the process. It takes a core less time
    than to read the table.

    Raises:
        pyarrow.ArrowInvalid: an offset, a length or a text is wrong.
        UnicodeDecodeError: the name of a column is no text.
    """
    copy.deepcopy(table.schema)  # which reads the names at all depths
    for batch in table.to_batches():
        batch.validate(full=True)


def check_numbers(column: Any, most: int | None = None) -> None:
    """Check a column of lists: whole numbers from 0 on, below ``most`` if that is given.

    Raises:
        ValueError: it has others, or is of another type.
    """
    for chunk in column.chunks:
        values = chunk.flatten().to_numpy()  # which refuses what is null, or no list
        if values.dtype.kind not in "iu" or chunk.null_count:
            raise ValueError(f"not lists of whole numbers but {column.type}")
        if len(values) and (values.min() < 0 or (most is not None and values.max() >= most)):
            raise ValueError(f"numbers from {values.min()} to {values.max()}, below {most}")
