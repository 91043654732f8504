"""How far a step of a command is, and how long it still takes.

On a terminal each step is a bar on standard error, which goes away at its end. In a file it is a
line, one a minute at most in all. A quiet command shows nothing.
"""

import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from threading import RLock
from typing import Any, TypeVar

from gile_lightning.common import console
from gile_lightning.common.console import clock

MINUTE = 60.0
_APPEARS = 1.0  # seconds after the beginning: shorter steps need no bar
_REDRAWN = 0.2
_LOOKS = 1.0  # between two looks at the clock for a line

T = TypeVar("T")


class Progress:
    """Shows how far a step is, from ``with`` to its end.

    Nothing runs in the background: what is shown changes when the step advances.

    Args:
        what: name of the step.
        total: of what is counted, if known.
        unit: what is counted.
        recent: seconds by whose pace the time left is estimated; ``inf`` for all of the step.
        describe: what else to show, asked for when something is shown.
        show: whether to show anything.
        about: whether the total is an estimate.

    Attributes:
        done: how much is counted.
    """

    def __init__(
        self,
        what: str,
        total: float | None = None,
        unit: str = "",
        recent: float = MINUTE,
        describe: Callable[[], str] | None = None,
        show: bool = True,
        about: bool = False,
    ) -> None:
        self.what, self.total, self.unit, self.done = what, total, unit, 0.0
        self._recent, self._describe = recent, describe
        self._asked, self._about = show, about
        self._task: Any = None

    def __enter__(self) -> "Progress":
        now = time.monotonic()
        self._shown = self._asked and not console.quiet() and console.is_first()
        self._terminal = console.is_terminal(sys.stderr)
        self._began = self._line = now
        self._paces = deque([(now, self.done)])
        self._next = now + (_APPEARS if self._terminal else _LOOKS)
        return self

    def __exit__(self, *error: object) -> None:
        if self._task is not None:
            _screen.remove(self._task)
            self._task = None

    def advance(self, count: float = 1) -> None:
        """Count more, and show it if it is time."""
        self.done += count
        now = time.monotonic()
        if self._shown and now >= self._next:
            self._next = now + (_REDRAWN if self._terminal else _LOOKS)
            if self._terminal:
                self._draw(now)
            elif now - max(self._line, _screen.last_line) >= MINUTE:
                self._line = _screen.last_line = now
                console.note(f"{self.what}: {', '.join(filter(None, self._figures(now)))}")

    def left(self, now: float) -> float | None:
        """Return the seconds to the end by the pace so far; None if they are not known."""
        while len(self._paces) > 2 and now - self._paces[1][0] > self._recent:
            self._paces.popleft()
        then, before = self._paces[0]
        if now - self._paces[-1][0] > self._recent / MINUTE:
            self._paces.append((now, self.done))
        if self._total() is None or self.done <= before:
            return None
        return max(0.0, (self._total() or 0.0) - self.done) * (now - then) / (self.done - before)

    def _total(self) -> float | None:
        """Return the total; None once there is more than was estimated."""
        return None if self._about and self.done > (self.total or 0) else self.total

    def _figures(self, now: float) -> tuple[str, str, str]:
        """Return what is done, the time left, and what else is to be shown."""
        done = _amount(self.done, self.unit)
        if (total := self._total()) is not None:
            of = "of about" if self._about else "of"
            done = f"{_amount(self.done, self.unit, '')} {of} {_amount(total, self.unit)}"
        left = self.left(now)
        time_left = f"{clock(now - self._began)} so far" if left is None else f"{clock(left)} left"
        return done, time_left, self._describe() if self._describe else ""

    def _draw(self, now: float) -> None:
        done, left, more = self._figures(now)
        fields = {"done": done, "left": left, "more": console.printable(more)}
        if self._task is None:
            self._task = _screen.add(console.printable(self.what), self._total(), fields)
        _screen.update(self._task, self.done, fields)


def track(
    items: Iterable[T],
    what: str,
    total: float | None = None,
    unit: str = "",
    size: Callable[[T], float] = lambda item: 1,
    about: bool = False,
) -> Iterator[T]:
    """Yield items, and show how far they are; see `Progress`.

    Args:
        items: the items.
        what: name of the step.
        total: the sum of their sizes, if known.
        unit: of the sizes.
        size: returns that of an item; by default items are counted.
        about: whether the total is an estimate.
    """
    with Progress(what, total, unit, about=about) as progress:
        for item in items:
            yield item
            progress.advance(size(item))


def _amount(count: float, unit: str, name: str | None = None) -> str:
    """Write an amount with its unit.

    >>> _amount(12_000, "documents"), _amount(3_456_789, "B")
    ('12,000 documents', '3.5 MB')
    """
    if unit == "B":
        return f"{count / 1e6:,.1f} MB"
    return f"{count:,.0f} {unit if name is None else name}".rstrip()


class _Screen:
    """The bars of a terminal, by rich, and when the last line was written into a file."""

    def __init__(self) -> None:
        self.last_line = float("-inf")
        self._bars: Any = None
        self._count = 0
        self._lock = RLock()

    def add(self, what: str, total: float | None, fields: dict[str, str]) -> Any:
        with self._lock:
            if self._bars is None:
                self._bars = _make_bars()
                self._bars.start()
                console.set_live(self)
            self._count += 1
            return self._bars.add_task(what, total=total, **fields)

    def update(self, task: Any, done: float, fields: dict[str, str]) -> None:
        with self._lock:
            self._bars.update(task, completed=done, **fields)
            self._bars.refresh()

    def remove(self, task: Any) -> None:
        with self._lock:
            self._bars.remove_task(task)
            self._count -= 1
            if not self._count:
                self._bars.stop()
                self._bars = None
                console.set_live(None)

    def pause(self) -> None:
        self._lock.acquire()
        if self._bars is not None:
            self._bars.stop()

    def resume(self) -> None:
        if self._bars is not None:
            self._bars.start()
        self._lock.release()


def _make_bars() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bars

    colours = console.coloured(sys.stderr)
    names = ("{task.description}", "{task.fields[done]}", "{task.fields[left]}")
    what, done, left = (TextColumn(name, markup=False) for name in names)
    more = TextColumn("{task.fields[more]}", markup=False)
    return Bars(
        *(what, BarColumn(bar_width=20), done, left, more),
        console=Console(file=sys.stderr, force_terminal=True, no_color=not colours),
        auto_refresh=False,
        transient=True,
        redirect_stdout=sys.stdout.isatty(),
    )


_screen = _Screen()
