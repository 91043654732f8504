"""Kills fits of two processes, and workers of a study, at random points, and starts them again.

python tests/faults/kills.py --points 50 --seed 1

Fits must end bit-equal to one that nobody killed. Of studies every trial must end, and none twice:
each trial of three workers is a stand-in for a fit, which writes down every start.
"""

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

TRIALS, WORKERS, KILLS = 12, 3, 5  # kills of one study
PROCESSES = 2


def fit_of_two(folder: Path, write: int = 0, rank: int = 0) -> tuple[list[int], int]:
    """Run a fit of two processes, of which one is killed at a write; returns their statuses.

    The other one waits for the lost one, and is killed as torchrun would.
    """
    from gile_testing import children, processes, stages

    arguments = stages.fitting(folder, "--trainer.devices", "2", "--trainer.strategy", "ddp")
    if (folder / "run/config.yaml").is_file():
        arguments += ["--ckpt_path", "last"]
    port, log = processes.free_port(), folder.parent / "writes.txt"
    log.unlink(missing_ok=True)
    with contextlib.ExitStack() as stack:
        started = []
        for own in range(PROCESSES):
            fault = {"below": str(folder), "log": str(log)} if own == rank else {}
            fault |= {"write": write} if write and own == rank else {}
            program = ("gile_testing.faults", json.dumps(fault), "gile_testing.processes")
            variables = children.environment(**processes.torchrun(own, PROCESSES, port))
            output = folder.parent / f"rank-{own}.txt"
            started.append(
                stack.enter_context(
                    children.forked(
                        output, *program, *arguments, folder=folder, variables=variables
                    )
                )
            )
        end = time.monotonic() + stages.TIMEOUT
        while any(p.poll() is None for p in started) and time.monotonic() < end:
            if any(p.poll() not in (None, 0) for p in started):
                for process in started:
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGKILL)
            time.sleep(0.05)
        status = [process.wait(60) for process in started]
    return status, len(log.read_text().splitlines()) if log.is_file() else 0


def kill_fits(points: int, chance: random.Random, place: Path) -> int:
    """Kill fits at random writes until there are enough kills; returns the number of fits."""
    from gile_testing import stages

    unbroken, writes = place / "unbroken/work", []
    unbroken.mkdir(parents=True)
    for rank in range(PROCESSES):
        shutil.rmtree(unbroken)
        unbroken.mkdir()
        status, count = fit_of_two(unbroken, rank=rank)
        assert status == [0, 0], f"{unbroken.parent}: {status}"
        writes.append(count)
    expected = stages.of_run(unbroken)
    killed = fits = 0
    while killed < points:
        folder = place / f"fit-{fits}/work"
        folder.mkdir(parents=True)
        fits += 1
        for _ in range(chance.randint(1, 3)):  # some are killed again as they go on
            rank = chance.randrange(PROCESSES)
            write = chance.randint(1, max(1, writes[rank]))
            status, _ = fit_of_two(folder, write, rank)
            if status == [0, 0]:  # it had fewer writes to make
                break
            assert status[rank] == -signal.SIGKILL, f"{folder.parent}: {status}"
            killed += 1
            print(f"{killed}/{points}: process {rank} killed at write {write}", flush=True)
        if not (folder / "run/metrics.json").is_file():
            status, _ = fit_of_two(folder)
            assert status == [0, 0], f"{folder.parent}: {status}"
        assert stages.of_run(folder) == expected, f"{folder} differs from {unbroken}"
        shutil.rmtree(folder.parent)
    return fits


def kill_workers(points: int, chance: random.Random, place: Path) -> int:
    """Kill workers of studies at random times; returns the number of studies."""

    from gile_lightning.search.storage import quiet_optuna

    quiet_optuna()
    killed = made = 0
    while killed < points:
        folder = place / f"study-{made}"
        folder.mkdir(parents=True)
        made += 1
        with contextlib.ExitStack() as stack:
            crew = Crew(folder, stack)
            time.sleep(1)
            for _ in range(min(KILLS, points - killed)):
                time.sleep(chance.random())
                victim = chance.randrange(WORKERS)
                if not crew.replace(victim):  # the study is over
                    break
                killed += 1
                print(f"{killed}/{points}: worker {victim} killed", flush=True)
            status = [worker.wait(300) for worker in crew.workers]
        assert status == [0] * WORKERS, f"{folder}: {status}"
        check_study(crew.url, folder)
        shutil.rmtree(folder)
    return made


class Crew:
    """The workers of a study, all in processes of their own."""

    def __init__(self, folder: Path, stack: contextlib.ExitStack) -> None:
        from gile_testing import studies

        self.folder, self.stack, self.count = folder, stack, 0
        self.url = f"sqlite:///{folder}/study.db"
        studies.study(self.url)
        self.workers = [self.start() for _ in range(WORKERS)]

    def start(self):
        from gile_testing import children, studies

        self.count += 1
        log = self.folder / f"worker-{self.count}.txt"
        program = (log, studies.__name__, self.url, self.folder, TRIALS, self.count)
        return self.stack.enter_context(children.forked(*program))

    def replace(self, number: int) -> bool:
        """Kill a worker and start another one; whether it was at work still."""
        if self.workers[number].poll() is not None:
            return False
        os.kill(self.workers[number].pid, signal.SIGKILL)
        self.workers[number].wait(60)
        self.workers[number] = self.start()
        return True


def check_study(url: str, folder: Path) -> None:
    """Fail unless every trial has ended, none twice, and none was started without need."""
    from gile_lightning.search.recovery import counted, first_number
    from gile_testing import studies

    trials = studies.study(url).get_trials()
    studies.close()
    assert all(trial.state.is_finished() for trial in trials), folder
    assert counted(trials) == TRIALS, folder
    again = Counter(first_number(x) for x in trials if x.system_attrs.get("retry_history"))
    ended = [x for x in trials if x.state.name in ("COMPLETE", "PRUNED")]
    assert max(Counter(map(first_number, ended)).values()) == 1, folder
    for starts in folder.glob("trials/*/starts"):
        count = len(starts.read_text().splitlines())
        assert count <= 1 + again[int(starts.parent.name)], starts


def main(args: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--points", type=int, default=50, help="kills of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=["fits", "workers"])
    given = parser.parse_args(args)
    os.environ["OMP_NUM_THREADS"] = "1"
    place = Path(tempfile.mkdtemp(prefix="gile-lightning-kills-"))
    if given.only != "workers":
        fits = kill_fits(given.points, random.Random(given.seed), place)
        print(f"{given.points} kills of {fits} fits: all ended bit-equal")
    if given.only != "fits":
        studies = kill_workers(given.points, random.Random(given.seed), place)
        print(f"{given.points} kills in {studies} studies: every trial ended, and none twice")
    shutil.rmtree(place)


if __name__ == "__main__":
    main()
