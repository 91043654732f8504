import io
import json
import logging
import os
import sys
import warnings
from pathlib import Path

import pytest
from lightning.pytorch.utilities import rank_zero_only

from gile_lightning.common import console
from gile_lightning.common.console import (
    coloured,
    complain,
    leave_out_noise,
    manners,
    note,
    printable,
    say,
    show,
)

ESCAPE = "a \x1b[31mname\x07"
SHOWN = "a \ufffd[31mname\ufffd"


def test_only_the_first_process_speaks(monkeypatch, capsys):
    say("one")
    show("result")
    monkeypatch.setattr(rank_zero_only, "rank", 1)
    with manners(json=True):
        say("two")
        show("result", result=2)
    assert capsys.readouterr().out == "one\nresult\n"


def test_signs_that_the_output_lacks_are_escaped(monkeypatch):
    content = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(content, encoding="latin-1"))
    say("café, наука")
    expected = b"caf\xe9, \\u043d\\u0430\\u0443\\u043a\\u0430\n"
    assert content.getvalue() == expected


def test_names_are_shown_as_text(capsys):
    say(f"{ESCAPE}\n\tb")
    show(ESCAPE)
    complain(ESCAPE, error=True)
    assert capsys.readouterr() == (f"{SHOWN}\n\tb\n{SHOWN}\n", f"error: {SHOWN}\n")


def speak():
    say("message")
    note("note")
    logging.getLogger("a library").warning("logged")
    show("ten", score=10)
    complain("left out")


def test_a_quiet_command_prints_results_and_errors(capsys, caplog):
    with manners(quiet=True):
        speak()
        warnings.warn("look out", stacklevel=1)
    assert capsys.readouterr() == ("ten\n", "left out\n")
    assert not caplog.records
    speak()  # as before
    assert capsys.readouterr() == ("message\nten\n", "note\nleft out\n")
    assert [record.getMessage() for record in caplog.records] == ["logged"]


def test_results_as_json(capsys):
    with manners(json=True):
        speak()
        print("of a library")
        show(more={"not a number": float("nan"), "path": Path("a/b")}, name=ESCAPE)
    printed, errors = capsys.readouterr()
    more = {"not a number": None, "path": "a/b"}
    assert json.loads(printed) == {"score": 10, "more": more, "name": ESCAPE}
    assert "\x1b" not in printed
    assert errors == "message\nnote\nleft out\nof a library\n"


def test_json_of_a_command_that_fails(capsys):
    def run(error, **results):
        with manners(json=True):
            show(**results)
            raise error

    for error in (SystemExit(0), BrokenPipeError()):  # as --help does, and as nobody reads on
        with pytest.raises(type(error)):
            run(error, **({} if isinstance(error, SystemExit) else {"score": 1}))
    with pytest.raises(OSError, match="No space"):
        run(OSError(28, "No space left on device"))
    assert capsys.readouterr().out == ""
    # as some of the fits failed, or a file could not be written
    for error in (SystemExit(1), OSError(28, "No space left on device")):
        with pytest.raises(type(error)):
            run(error, score=1)
        assert json.loads(capsys.readouterr().out) == {"score": 1}


def test_printable():
    assert printable("naïve 中文 \u200c\U0001f600") == "naïve 中文 \u200c\U0001f600"
    assert printable("\x00\ud800\u2028\n\t") == "\ufffd" * 5


@pytest.mark.parametrize(
    ("terminal", "variables", "expected"),
    [
        *((True, {}, True), (False, {}, False)),
        *((True, {"NO_COLOR": "1"}, False), (True, {"NO_COLOR": ""}, True)),
        *((True, {"TERM": "dumb"}, False), (False, {"FORCE_COLOR": "1"}, True)),
        (False, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_colours_on_a_terminal(terminal, variables, expected, monkeypatch):
    for key in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(key, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for key, value in variables.items():
        monkeypatch.setenv(key, value)
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: terminal)
    assert coloured(stream) is expected
    monkeypatch.setattr(sys, "stderr", stream)
    complain("x", error=True)
    assert stream.getvalue() == ("\x1b[31merror:\x1b[0m x\n" if expected else "error: x\n")


def test_libraries_draw_no_bars_into_files(monkeypatch):
    monkeypatch.delenv("HF_DATASETS_DISABLE_PROGRESS_BARS", raising=False)
    with manners():
        assert os.environ["HF_DATASETS_DISABLE_PROGRESS_BARS"] == "1"
    assert not console.quiet()


def test_messages_that_tell_nothing_are_left_out(caplog):
    leave_out_noise()
    logger = logging.getLogger("lightning.pytorch.utilities.rank_zero")
    with caplog.at_level(logging.INFO):
        for message in (
            *("GPU available: False", "Seed set to 3", "LOCAL_RANK: 0 - CUDA_VISIBLE_DEVICES: [0]"),
            "`Trainer.fit` stopped",
        ):
            logger.info(message)
    assert [record.getMessage() for record in caplog.records] == ["`Trainer.fit` stopped"]


def test_warnings_that_tell_nothing_are_left_out():
    leave_out_noise()
    warnings.warn("Checkpoint directory x exists and is not empty.", stacklevel=1)
    warnings.warn("Sparse invariant checks are implicitly disabled. Memory errors", stacklevel=1)
    with pytest.raises(UserWarning, match="look out"):  # an error in these tests
        warnings.warn("look out", stacklevel=1)


def test_a_complaint_that_names_a_megabyte_is_short(capsys):
    complain(f"a.csv:1: {'x' * 1_000_000}: the fix", error=True)
    told = capsys.readouterr().err
    assert len(told) < 5_000
    assert told.startswith("error: a.csv:1: xxx")
    assert told.endswith("xxx: the fix\n")
