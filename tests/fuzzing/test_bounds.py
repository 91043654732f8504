"""A file of any kind is refused in little time and memory, however much it unfolds to."""

import json
import subprocess
import sys

import pytest

from fuzzing.bombs import BOMBS
from gile_testing.children import environment

SECONDS = 20  # of CPU; most take a hundredth


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What the readers said, each with its seconds; all in one process with 1.2 GB."""
    folder = tmp_path_factory.mktemp("bombs")
    done = subprocess.run(
        [sys.executable, "-m", "fuzzing.bombs", folder],
        env=environment(TMPDIR=str(folder)),
        capture_output=True,
        text=True,
    )
    found = {name: rest for name, *rest in map(json.loads, done.stdout.splitlines())}
    assert len(found) == len(BOMBS), done.stderr[-2000:]
    return found


@pytest.mark.parametrize("name", BOMBS)
def test_it_is_refused(name, told):
    error, seconds = told[name]
    assert BOMBS[name].told in error
    assert seconds < SECONDS
