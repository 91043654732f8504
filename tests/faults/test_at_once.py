"""Commands that are started in the same second, on one cache, one run folder, one study."""

import contextlib
import json
import os

import pytest

from gile_testing import children
from gile_testing.stages import STAGES, TIMEOUT, Stage

COUNT = int(os.environ.get("GILE_LIGHTNING_AT_ONCE", "10"))


def together(stage: Stage, folders, work) -> list[tuple[int, str]]:
    """Run a stage in each of the folders at once; returns status and what was printed."""
    logs = [work / f"log-{number}.txt" for number in range(len(folders))]
    with contextlib.ExitStack() as stack:
        started = []
        for folder, log in zip(folders, logs, strict=True):
            folder.mkdir(exist_ok=True)
            program = (log, "gile_testing.faults", "{}", stage.module, *stage.arguments(folder))
            started.append(stack.enter_context(children.forked(*program, folder=folder)))
        ended = [process.wait(TIMEOUT) for process in started]
    return [(status, log.read_text()) for status, log in zip(ended, logs, strict=True)]


def alone(stage, folder):
    folder.mkdir()
    ((status, printed),) = together(stage, [folder], folder.parent)
    assert status == 0, printed
    return stage.result(folder)


@pytest.mark.parametrize("name", ["fit", "vectors"])
def test_fits_on_one_cold_cache(name, tmp_path):
    cache, folders = tmp_path / "cache", [tmp_path / f"fit-{n}" for n in range(COUNT)]
    own = STAGES[name].arguments

    def shared(folder):
        given = own(folder)
        given[given.index("--data.cache_dir") + 1] = str(cache)
        return given

    ended = together(STAGES[name]._replace(arguments=shared), folders, tmp_path)
    assert [status for status, _ in ended] == [0] * COUNT, ended
    expected = alone(STAGES[name], tmp_path / "alone")
    for folder in folders:
        assert STAGES[name].result(folder) == expected
    assert not list(cache.glob("*.partial"))


@pytest.mark.parametrize(("name", "output"), [("fit", "run"), ("export", "model")])
def test_fits_in_one_run_folder(name, output, tmp_path):
    """One writes it; the others are refused, and nothing of theirs is in the folder."""
    folder, stage = tmp_path / "work", STAGES[name]
    ended = together(stage, [folder] * COUNT, tmp_path)
    assert sorted(status for status, _ in ended) == [0] + [2] * (COUNT - 1), ended
    for status, printed in ended:
        assert "Traceback" not in printed
        if status:
            assert f"error: {folder / output}: " in printed
    assert stage.result(folder) == alone(stage, tmp_path / "alone")


def test_predictions_into_one_file(tmp_path):
    """It has the lines of one command, not of several."""
    folder, stage = tmp_path / "work", STAGES["predict"]
    folder.mkdir()
    given = stage.arguments(folder)  # which writes the texts once
    ended = together(stage._replace(arguments=lambda folder: given), [folder] * COUNT, tmp_path)
    assert [status for status, _ in ended] == [0] * COUNT, ended
    assert stage.result(folder) == alone(stage, tmp_path / "alone")


def test_workers_on_one_study(tmp_path):
    """Together they run every trial, and none of them twice."""
    folder = tmp_path / "work"
    folder.mkdir()
    stage = STAGES["sweep"]
    given = stage.arguments(folder)  # which writes a file once
    ended = together(stage._replace(arguments=lambda folder: given), [folder] * COUNT, tmp_path)
    assert [status for status, _ in ended] == [0] * COUNT, ended
    assert STAGES["sweep"].result(folder) == alone(STAGES["sweep"], tmp_path / "alone")
    results = list(folder.glob("study/trials/*/trial.json"))
    assert [json.loads(file.read_text())["state"] for file in results] == ["complete"] * 2
