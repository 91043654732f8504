"""Runs fits, each as a process of its own, several at a time."""

import json
import textwrap
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from gile_lightning import processes
from gile_lightning.console import say
from gile_lightning.errors import positive
from gile_lightning.reproduction.estimate import clock, estimate
from gile_lightning.reproduction.grid import Fit

DONE, RUNNING, FAILED, WAITING = "done", "running", "failed", "-"
_CONFIG = "config.yaml"  # as `fit` writes it when a run begins
_BEST, _LAST = "checkpoints/best.ckpt", "checkpoints/last.ckpt"  # as it writes them
_PAUSE = 0.2  # seconds between two looks at the running fits


@dataclass
class _Running:
    fit: Fit
    process: processes.Process
    lock: IO[str]
    slot: int


class Runner:
    """The fits below one folder, and those that are running.

    A fit is done when its ``metrics.json`` is whole: `fit` writes it last. Its best checkpoint is
    kept. One that was cut off goes on from its newest checkpoint. A lock per fit, held by the
    fit's own process too, keeps two commands from running the same one.

    Args:
        folder: where the fits' run folders and logs are.
        jobs: fits at a time; by default one per CUDA device, or per CPU core without any.
        group: name of the fits' W&B group.
    """

    program = ("-m", "gile_lightning.fit")

    def __init__(self, folder: Path, jobs: int | None = None, group: str = "") -> None:
        self.devices = processes.devices()
        self.folder, self.group = folder, group
        self.jobs = len(self.devices) or processes.cores() if jobs is None else jobs
        positive(jobs=self.jobs)
        self.threads = processes.threads(self.jobs)
        self._running: list[_Running] = []
        self._elsewhere: set[str] = set()
        self._metrics: dict[str, dict[str, Any]] = {}  # of fits that are done, which stay so
        self.failed: set[str] = set()

    def metrics(self, key: str) -> dict[str, Any] | None:
        """Return the figures of a fit that is done, else None."""
        if key not in self._metrics:
            try:
                text = (self.folder / key / "metrics.json").read_text(encoding="utf-8")
                self._metrics[key] = json.loads(text)
            except (OSError, ValueError):  # not there, or cut off while it was written
                return None
        return self._metrics[key]

    def result(self, key: str) -> tuple[str, dict[str, Any] | None]:
        """Return the state of a fit, and its figures if it is done."""
        if (metrics := self.metrics(key)) is not None:
            return DONE, metrics
        if key in self.failed:
            return FAILED, None
        running = key in self._elsewhere or any(x.fit.key == key for x in self._running)
        return (RUNNING if running else WAITING), None

    def begun(self, key: str) -> bool:
        """Whether a fit has been started before."""
        return (self.folder / key / _CONFIG).is_file()

    def seconds(self, fits: Sequence[Fit]) -> dict[str, float]:
        """Return what the fits took that are done."""
        found = {fit.key: self.metrics(fit.key) for fit in fits}
        return {key: float(x["seconds"]) for key, x in found.items() if x and "seconds" in x}

    def run(self, fits: Sequence[Fit], changed: Callable[[], None]) -> None:
        """Run the fits that are not done; ``changed`` is called whenever one has ended."""
        unique = list({fit.key: fit for fit in reversed(fits)}.values())[::-1]
        waiting = [fit for fit in unique if self.metrics(fit.key) is None]
        total = len(unique)
        self.folder.mkdir(parents=True, exist_ok=True)
        for fit in unique:
            if self.metrics(fit.key) is not None:
                self._tidy(fit.key)
        self._say(f"{total - len(waiting)} of {total} fits are done", unique)
        try:
            while waiting or self._running:
                for ended in [x for x in self._running if x.process.poll() is not None]:
                    self._running.remove(ended)
                    ended.lock.close()
                    self._report(ended, unique)
                    changed()
                if self._start(waiting, total):
                    changed()
                time.sleep(_PAUSE)
        finally:
            self._stop()

    def _start(self, waiting: list[Fit], total: int) -> bool:
        """Start the next fits that nobody else runs; says whether anything is new."""
        if len(self._running) == self.jobs:
            return False
        before, self._elsewhere = self._elsewhere, set()
        known = len(waiting)
        for fit in list(waiting):
            slots = set(range(self.jobs)) - {x.slot for x in self._running}
            if not slots:
                break
            lock = processes.lock(self.folder / f"{fit.key}.lock")
            if lock is None:
                self._elsewhere.add(fit.key)
                continue
            waiting.remove(fit)
            if self.metrics(fit.key) is not None:  # another command has been faster
                lock.close()
                continue
            say(f"[{total - len(waiting)}/{total}] started {fit}: {self.folder / fit.key}")
            slot = min(slots)
            self._running.append(_Running(fit, self._process(fit, lock, slot), lock, slot))
        return len(waiting) != known or self._elsewhere != before

    def _process(self, fit: Fit, lock: IO[str], slot: int) -> processes.Process:
        command = [*self.program, *fit.arguments[:2]]
        command += ["--trainer.enable_progress_bar", "false", *fit.arguments[2:]]
        command += ["--output", str(self.folder / fit.key)]
        if self.begun(fit.key):
            command += ["--ckpt_path", "last"]
        environment = {"OMP_NUM_THREADS": str(self.threads), "WANDB_RUN_GROUP": self.group}
        if self.devices:
            environment["CUDA_VISIBLE_DEVICES"] = self.devices[slot % len(self.devices)]
        return processes.start(command, self._log(fit), environment, [lock])

    def _log(self, fit: Fit) -> Path:
        return self.folder / f"{fit.key}.log"

    def _report(self, ended: _Running, fits: Sequence[Fit]) -> None:
        fit = ended.fit
        metrics = self.metrics(fit.key)
        if metrics is not None:
            self._tidy(fit.key)
            busy = {x.fit.key for x in self._running}
            done = sum(x.key not in busy and self.metrics(x.key) is not None for x in fits)
            self._say(f"[{done}/{len(fits)}] finished {fit} in {clock(metrics['seconds'])}", fits)
            return
        self.failed.add(fit.key)
        say(f"failed: {fit} (status {ended.process.returncode}); {self._log(fit)} ends with")
        say(textwrap.indent(processes.tail(self._log(fit)), "  | ", lambda line: True))

    def _tidy(self, key: str) -> None:
        """Drop the newest checkpoint of a fit that is done: nothing goes on from it."""
        if (self.folder / key / _BEST).is_file():
            (self.folder / key / _LAST).unlink(missing_ok=True)

    def _say(self, text: str, fits: Sequence[Fit]) -> None:
        expected, _ = estimate(fits, self.seconds(fits))
        left = sum(
            seconds
            for key, seconds in expected.items()
            if self.metrics(key) is None and key not in self.failed
        )
        say(f"{text}; about {clock(left / self.jobs)} left" if left else text)

    def _stop(self) -> None:
        """End what is running: fits go on from their newest checkpoints another time."""
        processes.stop([running.process for running in self._running])
        for running in self._running:
            running.lock.close()
        self._running.clear()
