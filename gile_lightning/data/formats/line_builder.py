"""Hugging Face's reader of text files, with bounds on what a hostile file can make it read.

`datasets` puts an `open` of its own into this module, which knows URLs and compressed files. So the
module holds nothing else.
"""

from collections.abc import Iterable, Iterator
from io import StringIO
from typing import Any

import pyarrow as pa
from datasets.builder import Key
from datasets.packaged_modules.text.text import Text

from gile_lightning.data.formats.binary_file import RATIO

LONGEST = 2**26  # characters of a line: 64 MB of JSON are no document


class TooMuchError(Exception):
    """A file holds more than a sound one does; the message says what."""


class LineBuilder(Text):  # type: ignore[misc]  # a class without types
    """Streams the lines of text files.

    Attributes:
        most: characters that a file may have; None for any number.
    """

    most: int | None = None
    _read = 0

    def _generate_tables(
        self, base_files: Any, files_iterables: Iterable[Iterable[str]]
    ) -> Iterator[tuple[Key, pa.Table]]:
        """Yield the lines in blocks; one that is too long ends it before the memory is full."""
        for shard, files in enumerate(files_iterables):
            for file in files:
                with open(file, encoding=self.config.encoding) as stream:
                    for number, block in enumerate(self._blocks(stream)):
                        lines = [line.rstrip("\n") for line in StringIO(block).readlines()]
                        yield Key(shard, number), pa.table({"text": pa.array(lines, pa.string())})

    def _blocks(self, stream: Any) -> Iterator[str]:
        while block := stream.read(self.config.chunksize):
            rest = stream.readline(LONGEST)
            if len(rest) == LONGEST:
                raise TooMuchError(
                    f"a line is longer than {LONGEST:,} characters; is the file damaged?"
                )
            self._read += len(block) + len(rest)
            if self.most is not None and self._read > self.most:
                raise TooMuchError(
                    f"it unfolds to more than {self.most:,} characters, over {RATIO} times its "
                    "size; if that is right, unfold it first"
                )
            yield block + rest
