import io
import re
import sys

import pytest

from gile_lightning.common import progress
from gile_lightning.common.console import manners, say, show
from gile_lightning.common.progress import Progress, track


class Clock:
    """Seconds that pass only when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(progress, "time", made)
    monkeypatch.setattr(progress._screen, "last_line", float("-inf"))
    return made


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def on_terminal(monkeypatch) -> Terminal:
    """Make standard output and error a terminal; in the test itself, or pytest takes them back."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(sys, "stdout", stream)
    return stream


def items(clock, count, seconds):
    for i in range(count):
        yield i
        clock.now += seconds


def test_a_line_a_minute_in_a_file(clock, capsys):
    assert [*track(items(clock, 150, 1), "encoding", 150, "documents")] == [*range(150)]
    # an item is counted when the next one is wanted, one second later
    assert capsys.readouterr().err.splitlines() == [
        "encoding: 61 of 150 documents, 88 s left",
        "encoding: 121 of 150 documents, 29 s left",
    ]


def test_steps_within_steps_share_the_line(clock, capsys):
    with Progress("outer", 10, "fits") as outer:
        for _ in range(2):
            for _ in track(items(clock, 40, 1), "inner"):
                pass
            outer.advance()
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_short_steps_and_quiet_commands_show_nothing(clock, capsys):
    list(track(items(clock, 59, 1), "short", 59))
    with manners(quiet=True):
        list(track(items(clock, 300, 1), "long", 300))
    with Progress("hidden", show=False) as hidden:
        clock.now += 100
        hidden.advance()
    assert capsys.readouterr() == ("", "")


def test_the_time_left_follows_the_recent_pace(clock):
    with Progress("", 1000) as recent, Progress("", 1000, recent=float("inf")) as overall:
        for seconds, count in ((1, 100), (2, 300)):
            for _ in range(count):
                clock.now += seconds
                recent.advance()
                overall.advance()
    assert recent.left(clock.now) == pytest.approx(600 * 2)
    assert overall.left(clock.now) == pytest.approx(600 * 700 / 400)


def test_without_a_total(clock, capsys):
    with Progress("labelling", None, "documents") as step:
        clock.now += 90
        step.advance(5)
    assert capsys.readouterr().err == "labelling: 5 documents, 90 s so far\n"


def test_a_total_that_is_an_estimate(clock, capsys):
    with Progress("encoding", 100, "documents", about=True) as step:
        for count in (90, 20):  # more than were expected: nobody knows how many are left
            clock.now += 90
            step.advance(count)
    assert capsys.readouterr().err.splitlines() == [
        "encoding: 90 of about 100 documents, 10 s left",
        "encoding: 110 documents, 3 min so far",
    ]


def test_a_bar_on_a_terminal_makes_room_for_lines(clock, monkeypatch):
    terminal = on_terminal(monkeypatch)
    with Progress("encoding \x1b[5m[red]", 100, "documents", describe=lambda: "loss 0.5") as step:
        for _ in range(50):
            clock.now += 0.1
            step.advance()
        say("a message")
        show("a result")
        before = terminal.getvalue()
    assert "encoding \ufffd[5m[red]" in before
    assert "50 of 100 documents" in before
    assert "5 s left" in before
    assert "loss 0.5" in before
    # the bar is wiped off before a line, and at its end
    lines = re.sub(r"\x1b\[(?!2K)[?0-9;]*[a-zA-Z]|\r", "", before)
    assert "\x1b[2Ka message\n" in lines
    assert "\x1b[2Ka result\n" in lines
    assert sys.stderr is terminal
    assert terminal.getvalue().endswith("\x1b[2K\x1b[?25h\r")  # and there is a cursor again


def test_nothing_is_drawn_in_the_first_second(clock, monkeypatch):
    terminal = on_terminal(monkeypatch)
    list(track(items(clock, 9, 0.1), "short", 9))
    assert terminal.getvalue() == ""
