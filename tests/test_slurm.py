"""The batch script of the documentation, which has SLURM start a job again that it has stopped."""

import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import torch

from gile_testing import children, processes

PAGE = Path(__file__).parents[1] / "docs/commands.md"
JOB = "4711"
SMALL = (  # and without vectors of a pretrained model, which take time
    *("--config", "best_scratch", "--data.pretrained", "null", "--test", "false"),
    *("--data.builtin_documents", "120", "--data.batch_size", "8"),
    *("--trainer.max_epochs", "2", "--trainer.accelerator", "cpu", "--trainer.logger", "false"),
    *("--trainer.enable_progress_bar", "false", "--trainer.strategy", "ddp"),
    *("--trainer.devices", "1", "--trainer.num_nodes", "2"),
)


def batch_script() -> str:
    scripts = re.findall(r"(?:^    .*\n)+", PAGE.read_text(encoding="utf-8"), re.M)
    (script,) = (text for text in scripts if "scontrol requeue" in text)
    script = textwrap.dedent(script)
    assert script.startswith("#!")  # sbatch refuses others
    return script


def write_program(path: Path, *lines: str) -> None:
    path.write_text("\n".join(("#!/bin/bash", *lines, "")))
    path.chmod(0o755)


def submit(folder: Path, *more: str) -> list[int]:
    """Run the script, and again whenever it has asked for that; returns its statuses."""
    programs = folder / "programs"
    programs.mkdir(parents=True, exist_ok=True)
    port, given, tasks = processes.free_port(), shlex.join([*SMALL, *more]), []
    for rank in (0, 1):
        told = processes.slurm(rank, 2, port, nodes=2).items()
        variables = " ".join(f"{key}={shlex.quote(value)}" for key, value in told)
        tasks.append(f'{variables} "$@" {given} >> node-{rank}.txt 2>&1 & tasks[{rank}]=$!')
    write_program(
        programs / "srun",
        "while [[ $1 == -* ]]; do shift; done",  # its own options
        *tasks,
        "for task in ${tasks[@]}; do",
        "  wait $task; status=$?; echo $status >> statuses.txt",
        "  (( status > highest )) && highest=$status",
        "done",
        "exit $((highest))",
    )
    write_program(programs / "scontrol", "echo $@ >> requeue.txt")
    (folder / "job.sh").write_text(batch_script())
    path = os.pathsep.join(map(str, (programs, Path(sys.executable).parent, os.environ["PATH"])))
    variables, ended = children.environment(PATH=path, SLURM_JOB_ID=JOB), []
    while len(ended) == requests(folder) < 4:
        with subprocess.Popen(
            ["bash", "job.sh"], cwd=folder, env=variables, start_new_session=True
        ) as job:
            try:
                ended.append(job.wait(processes.TIMEOUT))
            finally:  # its processes, too
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(job.pid, signal.SIGKILL)
    return ended


def requests(folder: Path) -> int:
    file = folder / "requeue.txt"
    found = file.read_text().splitlines() if file.is_file() else []
    assert set(found) <= {f"requeue {JOB}"}
    return len(found)


def recorded(folder: Path, **kill: dict) -> list[str]:
    cache = ("--data.cache_dir", str(folder.with_name("cache")))
    return [*cache, *processes.callbacks(Record={"directory": str(folder / "steps")}, **kill)]


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    folder = tmp_path_factory.mktemp("slurm") / "unbroken"
    assert submit(folder, *recorded(folder)) == [0], printed(folder)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(("sent", "status"), [("SIGUSR1", 138), ("SIGTERM", 143)])
def test_a_job_that_is_stopped_on_one_of_two_nodes_goes_on(unbroken, sent, status):
    """It ends with the weights of a job that nobody has stopped.

    After SIGUSR1 the script asks for its start. After SIGTERM it does not, as `scancel` sends that
    too; there SLURM starts a job that it has stopped for another one, and here the test.

    The script is the page's, and so is the command of a fit, to which options for a small corpus,
    a smaller model and two nodes are added. Stand-ins for `srun` and `scontrol` start two processes
    on this machine, with the variables of two nodes, and write down the wish to start again. SLURM
    itself, the times of its signals and the lines that `sbatch` reads are not tested. The nodes
    have the run folder and the cache in common.
    """
    stopped = unbroken.with_name(sent)
    kill = {"rank": 1, "step": 3, "once": str(stopped / "sent"), "sent": sent}
    given = recorded(stopped, Kill=kill)
    if sent == "SIGTERM":
        assert submit(stopped, *given) == [status], printed(stopped)
        assert submit(stopped, *given) == [0], printed(stopped)
    else:
        assert submit(stopped, *given) == [status, 0], printed(stopped)
    assert (stopped / "statuses.txt").read_text().split() == [*[str(status)] * 2, "0", "0"]
    assert processes.steps(stopped / "steps", 2) == processes.steps(unbroken / "steps", 2)
    for rank in (0, 1):
        found, expected = (
            torch.load(folder / f"steps/rank-{rank}.pt", weights_only=True)
            for folder in (stopped, unbroken)
        )
        assert found.keys() == expected.keys()
        assert all(torch.equal(found[name], expected[name]) for name in found)


def printed(folder: Path) -> list[str]:
    return [file.read_text() for file in sorted(folder.glob("node-*.txt"))]
