"""What is fuzzed: a reader of one kind of file, and sound files to begin with."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

Contents = Callable[[], list[bytes]]
Read = Callable[[Path], Any]


class Target(NamedTuple):
    """A reader.

    Attributes:
        name: of its file.
        sound: contents that it reads; made when they are asked for.
        read: reads the file to its end.
    """

    name: str
    sound: Contents
    read: Read

    def write(self, folder: Path, content: bytes) -> Path:
        """Write a content as the file's, in a folder that is empty but for earlier ones."""
        path = folder / self.name
        path.write_bytes(content)
        return path


def part_of(folder: Callable[[], Path], name: str, read: Read) -> Target:
    """Return a target that is one file of a folder, of which all else stays as it was.

    Args:
        folder: makes the folder, once.
        name: of the file in it.
        read: reads the folder.
    """

    def of_folder(path: Path) -> None:
        copy = path.parent / "copy"
        if not copy.is_dir():
            shutil.copytree(folder(), copy)
        (copy / name).write_bytes(path.read_bytes())
        read(copy)

    return Target(Path(name).name, lambda: [(folder() / name).read_bytes()], of_folder)
