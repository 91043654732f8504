"""An offline W&B run of a small fit, made in a process of its own, and read back."""

import functools
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from wandb.util import get_core_path

from gile_testing import children, runs

UNSET = (
    "WANDB_MODE",
    "WANDB_API_KEY",
    "WANDB_BASE_URL",
    "WANDB_DATA_DIR",
    "NETRC",
    "WANDB_ERROR_REPORTING",
)
# of the fit that the tests share
SHARED = ("--wandb.project", "kittens", "--wandb.tags", '["a", "b"]', "--wandb.group", "study")
SHARED += ("--wandb.job_type", "trial", "--wandb.name", "trial-7")
SHARED += ("--trainer.log_every_n_steps", "1")
SHARED += ("--model.metrics+=gile_testing.own_metric.HitAt",)


class Offline(NamedTuple):
    """A run as W&B's file has it, and the fit that made it."""

    folder: Path  # W&B's
    output: Path  # the run folder
    run: dict[str, Any]
    config: dict[str, Any]
    summary: dict[str, Any]
    history: list[dict[str, Any]]
    metrics: dict[str, dict[str, Any]]  # how each is defined

    def table(self, name: str) -> tuple[list[str], list[list[Any]]]:
        """Return the columns and rows of a table that was logged."""
        (path,) = self.folder.glob(f"files/media/table/{name}_[0-9]*.table.json")
        content = json.loads(path.read_text())
        return content["columns"], content["data"]

    def figures(self, name: str) -> dict[int, float]:
        """Return a curve: the values of a metric by training step."""
        found = (row for row in self.history if name in row)
        return {row["trainer/global_step"]: row[name] for row in found}


def records(path: Path) -> list[dict[str, Any]]:
    """Read a run's file with W&B's own reader."""
    options = ["--no-observability", "--json", "--run-file", str(path), str(path.parent)]
    command = [get_core_path(), "leet", "inspect", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def read(output: Path) -> Offline:
    """Read back the one offline run in a run folder, once W&B's own process has written it all."""
    (path,) = output.glob("wandb/offline-run-*/run-*.wandb")
    run: dict[str, Any] = {}
    config, summary, history, metrics = {}, {}, [], {}
    end = time.monotonic() + 60
    while not (found := records(path)) or found[-1]["type"] != "exit":
        assert time.monotonic() < end, found
        time.sleep(0.1)
    for record in found:
        run |= record.get("run", {})
        config |= record.get("config", {}).get("update", {})
        summary |= record.get("summary", {}).get("update", {})
        if item := record.get("history", {}).get("item"):
            history.append(item)
        if metric := record.get("metric"):
            metrics[metric.get("name") or metric["glob_name"]] = metric
    return Offline(path.parent, output, run, config, summary, history, metrics)


@contextmanager
def server() -> Iterator[tuple[str, list[socket.socket]]]:
    """A server that accepts and never answers: its address, and who has called."""
    calls: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def accept() -> None:
            while True:
                try:
                    calls.append(listening.accept()[0])
                except OSError:
                    return

        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", calls
        listening.shutdown(socket.SHUT_RDWR)
    for call in calls:
        call.close()


def commit(folder: Path) -> str | None:
    """Make a git repository with one commit; none without git."""
    if shutil.which("git") is None:
        return None
    git = ["git", "-C", str(folder), "-c", "user.name=me", "-c", "user.email=me@localhost"]
    subprocess.run([*git, "init", "--quiet"], check=True)
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "--message", "first"], check=True)
    done = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    return done.stdout.strip()


class Fit(NamedTuple):
    offline: Offline
    calls: int  # to any server
    home: Path
    commit: str | None


@functools.cache
def fit(*more: str, processes: int = 1) -> Fit:
    """Run a small fit offline, far from the run folder and with proxies that count."""
    folder = Path(tempfile.mkdtemp(dir=runs.folder()))
    home, work, output = (folder / name for name in ("home", "work", "output"))
    home.mkdir()
    work.mkdir()
    made = commit(work)
    arguments = runs.arguments(output, *more)
    arguments[arguments.index("--trainer.logger") + 1] = "null"
    if processes > 1:
        arguments += ["--trainer.devices", str(processes), "--trainer.strategy", "ddp"]
    kept = {name: value for name, value in os.environ.items() if name not in UNSET}
    with server() as (address, calls):
        proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), address)
        proxies |= {"WANDB_BASE_URL": address, "no_proxy": "", "NO_PROXY": ""}
        kept.pop("XDG_DATA_HOME", None)
        variables = kept | proxies | {"HOME": str(home), "PYTHONPATH": os.pathsep.join(sys.path)}
        program = (folder / "log.txt", "gile_lightning.fit", *arguments)
        with children.forked(*program, folder=work, variables=variables) as process:
            assert process.wait(240) == 0, (folder / "log.txt").read_text()[-3000:]
        return Fit(read(output), len(calls), home, made)
