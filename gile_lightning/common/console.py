"""What a command prints: results, messages and errors, for people or as JSON.

Messages and results go to standard output, errors to standard error. With ``--json`` standard
output has the results alone, as one object, and the rest goes to standard error.
"""

import json
import logging
import math
import os
import sys
import unicodedata
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import dataclass, field
from typing import Any, Protocol, TextIO

from gile_lightning.common.grid import TextGrid

MANNERS = (
    "All commands take --quiet, which prints results and errors alone, and --json, which prints "
    "the results as one JSON object and the rest on standard error."
)
FLAGS = ("--quiet", "--json")

_NOISE = (
    *("💡", "`weights_only`", "TPU available", "GPU available", "Seed set", "HPU", "Restoring"),
    *("LOCAL_RANK: ", "You are using a CUDA device"),  # the latter tells of TF32: docs/devices.md
)
_BIDI = frozenset("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_RED = "31"
_LONGEST = 4_000  # characters of a complaint


class Live(Protocol):
    """What is drawn on a terminal again and again, and must make room for lines."""

    def pause(self) -> None:
        """Wipe it off."""

    def resume(self) -> None:
        """Draw it again."""


@dataclass
class _Manners:
    quiet: bool = False
    json: bool = False
    results: dict[str, Any] = field(default_factory=dict)
    live: Live | None = None


_now = _Manners()  # of the command that runs


def take_flags(args: list[str]) -> dict[str, bool]:
    """Remove `FLAGS` that stand before a lone ``--``; return which there were, by name.

    >>> args = ["--a", "1", "--quiet", "--", "--json"]
    >>> take_flags(args), args
    ({'quiet': True, 'json': False}, ['--a', '1', '--', '--json'])
    """
    end = args.index("--") if "--" in args else len(args)
    own, rest = args[:end], args[end:]
    args[:] = [arg for arg in own if arg not in FLAGS] + rest
    return {flag.removeprefix("--"): flag in own for flag in FLAGS}


@contextmanager
def manners(quiet: bool = False, json: bool = False) -> Iterator[None]:
    """Let a command print only results and errors (quiet), or its results as JSON.

    The object is written when the command is done; after an error only if there are results.
    """
    global _now
    before, _now = _now, _Manners(quiet, json)
    target = sys.stdout
    try:
        with ExitStack() as stack:
            if json:
                stack.enter_context(redirect_stdout(sys.stderr))
            if quiet:
                stack.enter_context(_silent_libraries())
            if quiet or not is_terminal(sys.stderr):
                _hide_bars_of_libraries()
            try:
                yield
            except (SystemExit, Exception) as error:
                if _now.results and not isinstance(error, BrokenPipeError):
                    _write_results(target)
                raise
            _write_results(target)
    finally:
        _now = before


def _write_results(stream: TextIO) -> None:
    if _now.json and is_first():
        text = json.dumps(_plain(_now.results), ensure_ascii=False, indent=1)
        stream.write(text.encode("utf-8", "replace").decode() + "\n")
        stream.flush()


def _plain(value: Any) -> Any:
    """Return a value as JSON knows it: null for a number that is not finite, paths as texts."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, str | int | None) else str(value)


def quiet() -> bool:
    """Whether the command prints only results and errors."""
    return _now.quiet


def as_json() -> bool:
    """Whether the command prints its results as JSON."""
    return _now.json


def is_first() -> bool:
    """Whether this is the first of the processes of a run; Lightning knows, once it is imported."""
    module = sys.modules.get("lightning.fabric.utilities.rank_zero")
    return module is None or not getattr(module.rank_zero_only, "rank", 0)


def say(text: str) -> None:
    """Print a message, on the first process, unless the command is quiet."""
    if is_first() and not _now.quiet:
        _print(printed(text))


def show(*blocks: str | TextGrid, **values: Any) -> None:
    """Print a result, on the first process.

    Args:
        blocks: it for people, with a line break after each block.
        values: the same for ``--json``: keys of the object, and plain values.
    """
    if not is_first():
        return
    _now.results.update(values)
    if not _now.json:
        colours, width = coloured(sys.stdout), _width(sys.stdout)
        for block in blocks:
            text = block.shown(width, colours) if isinstance(block, TextGrid) else printed(block)
            _print(text)


def complain(text: str, error: bool = False) -> None:
    """Print on standard error what is wrong, also if the command is quiet.

    Args:
        text: the message.
        error: whether the command ends because of it.
    """
    word = paint("error:", _RED, coloured(sys.stderr)) + " " if error else ""
    if len(text) > _LONGEST:  # it names what a file names, which may be a megabyte
        text = f"{text[: _LONGEST // 2]} ... {text[-_LONGEST // 2 :]}"
    _print(word + printed(text), "stderr")


def note(text: str) -> None:
    """Print a message on standard error, for commands whose standard output has results alone."""
    if not _now.quiet:
        _print(printed(text), "stderr")


def _print(text: str, stream: str = "stdout") -> None:
    live = _now.live
    if live is not None:
        live.pause()
    try:
        file = getattr(sys, stream)
        # of a pipe it may lack signs that names have
        encoding = getattr(file, "encoding", None) or "utf-8"
        text = text.encode(encoding, "backslashreplace").decode(encoding)
        print(text, file=file, flush=True)
    finally:  # also if nobody reads any more
        if live is not None:
            live.resume()


def set_live(live: Live | None) -> None:
    """Set what makes room for lines from now on."""
    _now.live = live


# --- terminals ---


def is_terminal(stream: TextIO) -> bool:
    """Whether a stream is a terminal on which lines can be drawn anew."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def coloured(stream: TextIO) -> bool:
    """Whether lines for a stream have colours.

    They do on a terminal. NO_COLOR, if it is not empty, turns them off, and else FORCE_COLOR turns
    them on (https://no-color.org, https://force-color.org).
    """
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or is_terminal(stream)


def paint(text: str, colour: str, colours: bool) -> str:
    """Return a text in a colour, named by its ANSI code, if there are colours."""
    return f"\x1b[{colour}m{text}\x1b[0m" if colours else text


def _width(stream: TextIO) -> int | None:
    """Return the columns of a terminal; None for another stream."""
    if not is_terminal(stream):
        return None
    try:
        return int(os.environ.get("COLUMNS") or os.get_terminal_size(stream.fileno()).columns)
    except (OSError, ValueError):
        return None


def printable(text: str) -> str:
    r"""Return a text without what a terminal would obey; U+FFFD stands in its place.

    That is control characters, such as the escape character, marks of the direction of writing,
    and what no encoding can write.

    >>> printable("a \x1b[31mlabel\x07")
    'a �[31mlabel�'
    """
    bad = ("Cc", "Cs", "Zl", "Zp")
    return "".join("\ufffd" if c in _BIDI or unicodedata.category(c) in bad else c for c in text)


def printed(text: str) -> str:
    """Return the same of several lines, which stay lines."""
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in text.split("\n"))


# --- libraries ---


def leave_out_noise() -> None:
    """Leave out messages of libraries that tell a user nothing."""
    warnings.filterwarnings("ignore", message=r".*LeafSpec.*")
    warnings.filterwarnings("ignore", message=r"The number of training batches .* is smaller")
    warnings.filterwarnings(
        "ignore", message=r"Checkpoint directory .* is not empty"
    )  # a resumed run
    warnings.filterwarnings("ignore", message=r"Sparse invariant checks are implicitly disabled")
    for name in ["lightning.pytorch", "lightning.fabric", *logging.root.manager.loggerDict]:
        if name.startswith("lightning"):
            logging.getLogger(name).addFilter(_useful)


def _useful(record: logging.LogRecord) -> bool:
    return not record.getMessage().startswith(_NOISE)


@contextmanager
def _silent_libraries() -> Iterator[None]:
    before, silent = logging.root.manager.disable, os.environ.get("WANDB_SILENT")
    logging.disable(logging.WARNING)
    os.environ["WANDB_SILENT"] = "true"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
        os.environ.pop("WANDB_SILENT")
        os.environ.update({} if silent is None else {"WANDB_SILENT": silent})


def _hide_bars_of_libraries() -> None:
    """Let no library draw bars of downloads into a file."""
    for name, variable in (
        ("huggingface_hub.utils", "HF_HUB_DISABLE_PROGRESS_BARS"),
        ("datasets", "HF_DATASETS_DISABLE_PROGRESS_BARS"),
    ):
        os.environ.setdefault(variable, "1")
        if name in sys.modules:
            sys.modules[name].disable_progress_bars()


def clock(seconds: float) -> str:
    """Write a duration as 52 s, 4 min, 3 h 20 min or 2 days 4 h.

    >>> clock(52.4), clock(250), clock(12_000), clock(187_300)
    ('52 s', '4 min', '3 h 20 min', '2 days 4 h')
    """
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 100:
        return f"{minutes} min"
    if minutes < 48 * 60:
        return f"{minutes // 60} h {minutes % 60} min"
    hours = round(minutes / 60)
    return f"{hours // 24} days {hours % 24} h"
