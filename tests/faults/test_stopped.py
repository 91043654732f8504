"""Commands that are ended by a signal at a write to the disk, and started again."""

import signal

import pytest

from gile_testing.stages import STAGES, run

# of the writes of an unbroken command; tests/faults/kills.py draws any number of them
PLACES = (0.15, 0.5, 0.95)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    """What a stage comes to when nothing happens, and the number of its writes."""
    known = {}

    def find(name):
        if name not in known:
            folder = tmp_path_factory.mktemp(name) / "work"
            folder.mkdir()
            log = folder.parent / "writes.txt"
            ended = run(STAGES[name], folder, below=str(folder), log=str(log))
            assert ended.status == 0, ended.printed
            writes = log.read_text().splitlines()
            known[name] = STAGES[name].result(folder), len(writes)
        return known[name]

    return find


@pytest.mark.parametrize("sent", ["SIGKILL", "SIGTERM", "SIGUSR1"])
@pytest.mark.parametrize("name", STAGES)
def test_a_command_that_is_stopped_comes_to_the_same(name, sent, tmp_path, unbroken):
    expected, writes = unbroken(name)
    number = getattr(signal, sent)
    for place in PLACES if sent == "SIGKILL" else PLACES[1:2]:
        folder = tmp_path / f"{place}/work"
        folder.mkdir(parents=True)
        fault = {"below": str(folder), "log": str(folder.parent / "writes.txt"), "sent": sent}
        stopped = run(STAGES[name], folder, **fault, write=max(1, round(place * writes)))
        assert stopped.status in (-number, 128 + number), stopped.printed
        assert "Traceback" not in stopped.printed
        ended = run(STAGES[name], folder)
        assert ended.status == 0, ended.printed
        assert STAGES[name].result(folder) == expected
