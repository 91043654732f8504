"""Fixtures of all tests. Nothing here or in a test needs a network or writes to the user's home."""

import os
import shutil
import signal
import tempfile
from pathlib import Path

import pytest

collect_ignore = ["mutation"]  # no tests: `tox -e mutants` runs it
if not os.environ.get("GILE_LIGHTNING_FAULTS"):
    collect_ignore.append("faults")  # which takes minutes: `tox -e faults`
pytest_plugins = ["gile_testing.coverage"]

# set before anything imports `datasets`, `wandb` or `matplotlib`, which read these only once
SCRATCH = Path(tempfile.mkdtemp(prefix="gile-lightning-"))
os.environ |= {
    "HF_HOME": str(SCRATCH / "huggingface"),
    "HF_HUB_OFFLINE": "1",
    "MPLCONFIGDIR": str(SCRATCH / "matplotlib"),
    "WANDB_MODE": "disabled",
    "XDG_CACHE_HOME": str(SCRATCH / "cache"),
}


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Let each test, and the processes that it starts, be interrupted.

    Background jobs and `nohup` ignore Ctrl-C, which their processes inherit; Lightning ignores it
    from an interrupt on.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_unconfigure() -> None:
    shutil.rmtree(SCRATCH, ignore_errors=True)


@pytest.fixture(autouse=True)
def environment(monkeypatch) -> None:
    """Keep each test out of the user's home and off the network, whatever the test before did."""
    monkeypatch.setenv("WANDB_MODE", "disabled")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(SCRATCH / "cache"))


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder of development-only real data; tests that need it are skipped without it."""
    root = Path(__file__).parents[1]
    folder = Path(os.environ.get("GILE_LIGHTNING_SHARED") or root.parent / "shared")
    if not folder.is_dir():
        pytest.skip("no development data (GILE_LIGHTNING_SHARED)")
    return folder


@pytest.fixture(scope="session")
def builtin(tmp_path_factory):
    """The built-in corpus with 400 documents, encoded."""
    from gile_lightning.data import BioASQ

    data = BioASQ(
        builtin_documents=400,
        min_count=2,
        validation_size=0.1,
        eval_batch_size=64,
        cache_dir=tmp_path_factory.mktemp("builtin"),
    )
    data.prepare_data()
    data.setup()
    return data
