"""Inputs that are tried one after another, and how one is changed into the next."""

import contextlib
import gzip
import hashlib
import signal
import traceback
from pathlib import Path
from random import Random

import atheris

from fuzzing.confined import confined
from fuzzing.targets import outcome
from gile_testing.broken import broken

SECONDS = 5  # of CPU, for an input


class TooLong(BaseException):
    """An input took too long; no `except Exception` keeps it."""


def _stop(*_: object) -> None:
    raise TooLong


class Trial:
    """Tries inputs, and keeps the first one of each kind of failure.

    Args:
        target: reads the inputs.
        folder: for those that fail.
        work: for files that are read, which is made.
        temporary: the folder of other temporary files.
    """

    def __init__(self, target: str, folder: Path, work: Path, temporary: Path) -> None:
        self.target, self.folder, self.temporary = target, folder, temporary
        self.reading = work / "here"  # and nothing may be written beside it
        self.reading.mkdir(parents=True)
        self.known: set[tuple[str, str]] = set()
        signal.signal(signal.SIGVTALRM, _stop)

    def __call__(self, content: bytes) -> None:
        """Try an input."""
        try:
            signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
            with confined(self.reading, self.temporary):
                outcome(self.target, content, self.reading)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            self.keep(content, error)
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)

    def keep(self, content: bytes, error: BaseException) -> None:
        """Write an input and its error, unless one of the kind was written before."""
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if "/gile_lightning/" in frame.filename] or frames
        kind = type(error).__name__, f"{own[-1].filename}:{own[-1].lineno}"
        if kind in self.known:
            return
        self.known.add(kind)
        name = hashlib.sha256(repr(kind).encode()).hexdigest()[:12]
        (self.folder / name).write_bytes(content)
        told = "".join(traceback.format_exception(error))
        (self.folder / f"{name}.txt").write_text(told[-6000:], errors="replace")


def mutated(content: bytes, longest: int, seed: int) -> bytes:
    """Change an input as libFuzzer does, or as `broken` does; within a gzip file its content."""
    random = Random(seed)
    if content[:2] == b"\x1f\x8b" and random.random() < 0.8:
        with contextlib.suppress(Exception):
            return gzip.compress(mutated(gzip.decompress(content), longest, seed + 1), mtime=0)
    if random.random() < 0.5:
        return atheris.Mutate(content, longest)
    return broken(random, content)[:longest]
