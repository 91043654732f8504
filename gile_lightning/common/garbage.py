"""Python's collector of cycles, kept from looking at what stays."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def unwatched() -> Iterator[None]:
    """Keep the collector from looking at the objects that are there, while many others come and go.

    Imports leave hundreds of thousands of objects. The collector would look through them again and
    again: a sixth of the time that it takes to encode a corpus.
    """
    if gc.get_freeze_count():  # in a forked process, or another call is at work
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
