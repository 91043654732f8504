"""The guard becomes the program that it is given, if its parent is there."""

import os

from gile_lightning.common import guard
from gile_testing.children import started


def run(parent):
    code = "import os; print(os.getpid())"
    with started(guard.__file__, parent, "-c", code) as process:
        return process.communicate()[0], process.pid


def test_it_becomes_the_program():
    printed, pid = run(os.getpid())
    assert int(printed) == pid


def test_it_does_not_without_its_parent():
    assert run(os.getpid() + 1)[0] == ""
