import re
import signal
from pathlib import Path

import pytest

from gile_lightning import __main__, predict
from gile_lightning.commands.parser import command
from gile_lightning.training.callbacks import StopSignals
from gile_testing import runs

PAGE = (Path(__file__).parents[2] / "docs/commands.md").read_text(encoding="utf-8")
DOCUMENTED = {int(code) for code in re.findall(r"^\| (\d+) \|", PAGE, re.M)}


def left(error):
    @command
    def main(args):
        raise error

    return runs.call(main).status


def signalled(number):
    stop = StopSignals(Path("run"))
    stop.received = number

    @command
    def main(args):
        stop._leave()

    return runs.call(main).status


def test_codes_are_those_of_the_page():
    found = {
        runs.call(__main__.main).status or 0,
        runs.call(predict.main, "--checkpoint", "no-such-run").status,
        left(SystemExit(1)),
        left(KeyboardInterrupt()),
        signalled(signal.SIGTERM),
        signalled(signal.SIGUSR1),
    }
    assert found == DOCUMENTED == {0, 1, 2, 130, 138, 143}


@pytest.mark.parametrize("flag", ["--quiet", "--json"])
def test_errors_are_printed_whatever_the_manners(flag):
    done = runs.call(predict.main, "--checkpoint", "no-such-run", flag)
    assert (done.status, done.printed) == (2, "")
    assert done.errors.startswith("error: no-such-run: ")
