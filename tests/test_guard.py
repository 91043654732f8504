"""The guard becomes the program that it is given, if its parent is there."""

import os
import subprocess
import sys

from gile_lightning import guard


def run(parent):
    code = "import os; print(os.getpid())"
    command = [sys.executable, guard.__file__, str(parent), "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        return process.communicate()[0], process.pid


def test_it_becomes_the_program():
    printed, pid = run(os.getpid())
    assert int(printed) == pid


def test_it_does_not_without_its_parent():
    assert run(os.getpid() + 1)[0] == ""
