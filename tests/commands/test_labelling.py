import io
import json
import sys
from contextlib import ExitStack

import pytest

from gile_lightning import predict
from gile_lightning.commands.labelling import _Lines
from gile_testing import runs

LINE = {"id": "a\x1b[31m\x9b2J\u202e", "labels": [{"name": "\ud83d", "score": 0.5}]}


@pytest.mark.parametrize("terminal", [True, False])
def test_a_terminal_gets_names_as_text(terminal, monkeypatch):
    stream = io.StringIO()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(stream, "isatty", lambda: terminal)
    monkeypatch.setattr(sys, "stdout", stream)
    with ExitStack() as stack:
        _Lines("-", None, stack).add(LINE)
    written = stream.getvalue()
    assert "\x1b" not in written  # JSON escapes it
    assert ("\x9b" in written) == ("\u202e" in written) == (not terminal)
    assert written.encode()  # half a character is no text
    assert json.loads(written)["labels"] == [{"name": "?", "score": 0.5}]


def test_a_table_is_a_file():
    done = runs.call(predict.main, "--checkpoint", "run", "--input", "-", "--format", "csv")
    assert "a table is read from a file: give --input FILE.csv" in done.errors
