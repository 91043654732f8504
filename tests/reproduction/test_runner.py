"""Fits as processes: resumed, in parallel, stopped, killed. A stand-in takes the place of `fit`."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from gile_lightning.commands import launcher
from gile_lightning.commands.shipped import texts_of
from gile_lightning.common import processes
from gile_lightning.common.errors import InputError
from gile_lightning.reproduction import runner as module
from gile_lightning.reproduction.runner import Runner
from gile_testing.children import alive, forked, wait_for
from gile_testing.stand_in_runner import fits

STAND_IN = str(Path(__file__).with_name("stand_in.py"))


@pytest.fixture(autouse=True)
def _stand_in(monkeypatch):
    monkeypatch.setattr(Runner, "program", (STAND_IN,))
    monkeypatch.setattr(module, "_PAUSE", 0.01)
    monkeypatch.setattr(launcher, "_PAUSE", 0.01)


def starts(folder, key="fit-0"):
    return [line.split() for line in (folder / key / "starts").read_text().splitlines()]


@pytest.mark.parametrize("when", ["before", "now"])
@pytest.mark.parametrize("best", [True, False])
def test_a_fit_that_is_done_keeps_its_best_checkpoint(when, best, tmp_path):
    (fit,) = fits("work")
    runner = Runner(tmp_path, jobs=1)
    if when == "before":
        runner.run([fit], lambda: None)
    last = tmp_path / fit.key / "checkpoints/last.ckpt"
    last.parent.mkdir(parents=True)
    last.touch()
    if best:
        last.with_name("best.ckpt").touch()
    runner.run([fit], lambda: None)
    assert runner.result(fit.key)[0] == "done"
    assert {path.name for path in last.parent.iterdir()} == {"best.ckpt" if best else "last.ckpt"}


def test_runs_what_is_not_done_and_nothing_twice(tmp_path, capsys):
    changes = []
    runner = Runner(tmp_path, jobs=2)
    wanted = fits("work", "work")
    runner.run([*wanted, *wanted], lambda: changes.append(1))
    assert [runner.result(fit.key) for fit in wanted] == [("done", {"seconds": 7.0, "f1": 0.5})] * 2
    runner.run(wanted, lambda: None)
    assert [len(starts(tmp_path, fit.key)) for fit in wanted] == [1, 1]
    assert len(changes) >= 2
    printed = capsys.readouterr().out
    assert "0 of 2 fits are done; about 10 s left" in printed  # 2 x 10 s, two at a time
    assert "[2/2] finished HAN, seed" in printed
    assert "2 of 2 fits are done" in printed


def test_fits_of_an_earlier_version_are_kept_and_those_of_a_newer_one_refused(tmp_path):
    (fit,) = fits("work")
    file = tmp_path / fit.key / "metrics.json"
    file.parent.mkdir()
    file.write_text('{"seconds": 7.0, "f1": 0.5}')
    assert Runner(tmp_path, jobs=1).result(fit.key) == ("done", {"seconds": 7.0, "f1": 0.5})
    file.write_text('{"format": 2, "seconds": 7.0, "f1": 0.5}')
    with pytest.raises(InputError, match=rf"{file}: of format 2, .* install a newer one"):
        Runner(tmp_path, jobs=1).run([fit], lambda: None)


def test_one_that_was_begun_goes_on(tmp_path):
    runner = Runner(tmp_path, jobs=1)
    (tmp_path / "fit-0").mkdir()
    (tmp_path / "fit-0/config.yaml").write_text("")
    (tmp_path / "fit-0/metrics.json").write_text('{"seconds": 1')  # cut off
    assert runner.result("fit-0") == ("-", None)
    runner.run(fits("work", "work"), lambda: None)
    assert [starts(tmp_path, key)[0][1] for key in ("fit-0", "fit-1")] == ["last", "None"]


def test_a_configuration_that_is_changed_meanwhile_ends_the_command(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("seed_everything: 1\n")
    first, second = (replace(fit, texts=texts_of([str(file)])) for fit in fits("work", "work"))
    runner = Runner(tmp_path, jobs=1)
    runner.run([first], lambda: None)
    file.write_text("seed_everything: 2\n")
    with pytest.raises(InputError, match=rf"{file}: changed since this command has begun; start"):
        runner.run([first, second], lambda: None)
    assert not (tmp_path / second.key / "starts").exists()
    file.unlink()
    with pytest.raises(InputError, match="changed since"):
        runner.run([second], lambda: None)


def test_a_failed_fit_is_reported_and_the_others_go_on(tmp_path, capsys):
    runner = Runner(tmp_path, jobs=1)
    runner.run(fits("fail", "work"), lambda: None)
    assert [runner.result(key)[0] for key in ("fit-0", "fit-1")] == ["failed", "done"]
    printed = capsys.readouterr().err
    assert "failed: HAN" in printed
    assert "(status 3)" in printed
    assert "| what went wrong" in printed


def test_threads_and_devices_are_shared_out(tmp_path, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(processes, "cores", lambda: 5)
    monkeypatch.setattr(processes, "devices", lambda: ["4", "6"])
    runner = Runner(tmp_path)
    assert (runner.launcher.jobs, runner.launcher.threads) == (2, 2)
    (tmp_path / "go").write_text("")
    runner.run(fits("wait", "wait"), lambda: None)
    found = {(tmp_path / key / "environment").read_text() for key in ("fit-0", "fit-1")}
    assert found == {"2 4", "2 6"}
    monkeypatch.setattr(processes, "devices", list)
    shared = Runner(tmp_path).launcher
    assert (shared.jobs, shared.threads) == (5, 1)
    with pytest.raises(InputError, match="jobs is 0"):
        Runner(tmp_path, 0)


def test_an_interrupt_stops_the_fits(tmp_path):
    def interrupt():
        if (tmp_path / "fit-0/starts").is_file() and (tmp_path / "fit-1/metrics.json").is_file():
            raise KeyboardInterrupt

    runner = Runner(tmp_path, jobs=2)
    with pytest.raises(KeyboardInterrupt):
        runner.run(fits("wait", "work", "work", "work", "work", "work"), interrupt)
    ((pid, _),) = starts(tmp_path)
    assert not alive(pid)
    (tmp_path / "go").write_text("")
    runner.run(fits("wait", "work"), lambda: None)
    assert starts(tmp_path)[1][1] == "last"
    assert runner.result("fit-0")[0] == "done"


def other_command(folder, *what):
    log = folder / "other.txt"
    return forked(log, "gile_testing.stand_in_runner", STAND_IN, folder, *what)


@pytest.mark.skipif(sys.platform != "linux", reason="Linux ends a process with its parent")
def test_a_killed_command_leaves_no_fit_running(tmp_path):
    with other_command(tmp_path, "wait"):
        wait_for((tmp_path / "fit-0/environment").is_file)
        ((pid, _),) = starts(tmp_path)
        assert alive(pid)
    wait_for(lambda: not alive(pid))


def test_two_commands_do_not_run_the_same_fit(tmp_path):
    runner = Runner(tmp_path, jobs=2)
    states = []

    def changed():
        states.append(runner.result("fit-0")[0])
        if runner.result("fit-1")[0] == "done":  # the other one is waiting for the first
            (tmp_path / "go").write_text("")

    with other_command(tmp_path, "wait", "work") as command:
        wait_for((tmp_path / "fit-0/environment").is_file)
        runner.run(fits("wait", "work"), changed)
        assert command.wait(60) == 0
    assert len(starts(tmp_path)) == len(starts(tmp_path, "fit-1")) == 1
    assert "running" in states
    assert runner.result("fit-0")[0] == "done"
