"""What the tests of this folder share; the fuzzer itself is a program (`tox -e fuzz`)."""

import os
import tempfile
from pathlib import Path

import pytest

from fuzzing.confined import confined
from fuzzing.targets import TARGETS, outcome

collect_ignore = ["fuzz.py", "trial.py"]  # which need atheris


@pytest.fixture(scope="session")
def loaded(tmp_path_factory):
    """A model was loaded before, for which a library asks Python for its path, once."""
    content = TARGETS["checkpoint"].sound()[0]
    assert not outcome("checkpoint", content, tmp_path_factory.mktemp("loaded"))


@pytest.fixture
def tried(tmp_path, monkeypatch, loaded):
    """Reads a content by a target; returns the error that names what is wrong, or an empty text.

    All other errors pass, and nothing may be run, asked for, or written elsewhere.
    """
    here, temporary = tmp_path / "below" / "here", tmp_path / "temporary"
    here.mkdir(parents=True)
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    caches = [Path(os.environ[key]) for key in ("HF_HOME", "XDG_CACHE_HOME") if key in os.environ]

    def read(name: str, content: bytes) -> str:
        with confined(here, temporary, *caches):
            return outcome(name, content, here)

    return read
