"""Runs the fits of tables: several at a time, each of them once."""

import textwrap
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

from torch import Tensor

from gile_lightning.commands import launcher
from gile_lightning.commands.launcher import CONFIG, FIT, LOG, Launcher, exit_reason
from gile_lightning.commands.run_folder import read_documents, read_metrics
from gile_lightning.commands.shipped import check_unchanged
from gile_lightning.common import processes
from gile_lightning.common.console import clock, complain, say
from gile_lightning.common.errors import positive
from gile_lightning.reproduction.estimate import estimate
from gile_lightning.reproduction.grid import Fit

FITS = "fits"  # the folder of all run folders
DONE, RUNNING, FAILED, WAITING = "done", "running", "failed", "-"
_BEST, _LAST = "checkpoints/best.ckpt", "checkpoints/last.ckpt"  # as `fit` writes them
_PAUSE = 0.2  # seconds between two looks at the fits of other commands


class Runner:
    """The fits below one folder, and those that are running.

    A fit is done when its ``metrics.json`` is whole: `fit` writes that file last. Its best
    checkpoint is kept. Two commands never run the same fit at once.

    Args:
        folder: holds the run folders of the fits.
        jobs: fits at a time; by default one per CUDA device, or per CPU core without any.
        group: the name of the fits' W&B group.
    """

    program = FIT

    def __init__(self, folder: Path, jobs: int | None = None, group: str = "") -> None:
        devices = processes.devices()
        jobs = len(devices) or processes.cores() if jobs is None else jobs
        positive(jobs=jobs)
        self.launcher = Launcher(jobs, devices, processes.threads(jobs))
        self.folder, self.group = folder, group
        self._states: dict[str, str] = {}  # of fits that are running, here or elsewhere, or failed
        self._metrics: dict[str, dict[str, Any]] = {}  # of fits that are done
        self._turn = threading.Lock()  # one slot at a time chooses a fit, or reports one

    @property
    def failed(self) -> bool:
        """Whether any fit has failed."""
        return FAILED in self._states.values()

    def metrics(self, key: str) -> dict[str, Any] | None:
        """Return the figures of a fit; None if it is not done."""
        if key not in self._metrics:
            try:
                self._metrics[key] = read_metrics(self.folder / key)
            except (OSError, ValueError):  # no such file, or half of one
                return None
        return self._metrics[key]

    def documents(self, key: str, pattern: str) -> dict[str, Tensor]:
        """Return what each test document of a fit contributes to some figures, if it is known.

        Args:
            key: of the fit.
            pattern: of the keys of the figures.
        """
        return read_documents(self.folder / key, pattern)

    def result(self, key: str) -> tuple[str, dict[str, Any] | None]:
        """Return the state of a fit, and its figures if it is done."""
        if (metrics := self.metrics(key)) is not None:
            return DONE, metrics
        return self._states.get(key, WAITING), None

    def begun(self, key: str) -> bool:
        """Whether a fit has been started before."""
        return (self.folder / key / CONFIG).is_file()

    def seconds(self, fits: Sequence[Fit]) -> dict[str, float]:
        """Return the seconds of the fits that are done."""
        found = {fit.key: self.metrics(fit.key) for fit in fits}
        return {key: float(x["seconds"]) for key, x in found.items() if x and "seconds" in x}

    def run(self, fits: Sequence[Fit], changed: Callable[[], None]) -> None:
        """Run the fits that are not done; calls ``changed`` whenever a state has changed.

        Raises:
            InputError: a configuration of a fit has changed since the fits were listed.
        """
        unique = list({fit.key: fit for fit in reversed(fits)}.values())[::-1]
        waiting = [fit for fit in unique if self.metrics(fit.key) is None]
        for fit in unique:
            if fit not in waiting:
                self._tidy(fit.key)
        self._say(f"{len(unique) - len(waiting)} of {len(unique)} fits are done", unique)

        def work(slot: int) -> None:
            while found := self._next_fit(waiting, len(unique), changed):
                fit, lock = found
                folder, group = self.folder / fit.key, {"WANDB_RUN_GROUP": self.group}
                with lock:
                    try:
                        check_unchanged(fit.texts)
                        status = self.launcher.fit(
                            slot, folder, fit.arguments, lock, self.program, group
                        )
                    finally:
                        del self._states[fit.key]
                    with self._turn:
                        self._report(fit, status, unique)
                        changed()

        self.launcher.run(work)

    def _next_fit(
        self, waiting: list[Fit], total: int, changed: Callable[[], None]
    ) -> tuple[Fit, IO[str]] | None:
        """Lock the next fit that nobody else runs; wait while others run all that are left."""
        while waiting and not self.launcher.stopped.is_set():
            with self._turn:
                before = dict(self._states)
                if found := self._lock_one(waiting):
                    fit, _ = found
                    say(f"[{total - len(waiting)}/{total}] started {fit}: {self.folder / fit.key}")
                if self._states != before:
                    changed()
            if found:
                return found
            self.launcher.stopped.wait(_PAUSE)
        return None

    def _lock_one(self, waiting: list[Fit]) -> tuple[Fit, IO[str]] | None:
        for fit in list(waiting):
            self._states[fit.key] = RUNNING  # here, or by another command
            if lock := launcher.lock(self.folder / fit.key):
                waiting.remove(fit)
                if self.metrics(fit.key) is None:
                    return fit, lock
                lock.close()  # another command has just run it
                del self._states[fit.key]
        return None

    def _report(self, fit: Fit, status: int, fits: Sequence[Fit]) -> None:
        if (metrics := self.metrics(fit.key)) is not None:
            self._tidy(fit.key)
            done = sum(x.key not in self._states and self.metrics(x.key) is not None for x in fits)
            self._say(f"[{done}/{len(fits)}] finished {fit} in {clock(metrics['seconds'])}", fits)
            return
        self._states[fit.key] = FAILED
        folder = self.folder / fit.key
        complain(f"failed: {fit} ({exit_reason(status)}); {folder / LOG} ends with")
        complain(textwrap.indent(launcher.tail(folder), "  | ", lambda line: True))

    def _tidy(self, key: str) -> None:
        """Remove the newest checkpoint of a fit that is done: nothing continues from it."""
        if (self.folder / key / _BEST).is_file():
            (self.folder / key / _LAST).unlink(missing_ok=True)

    def _say(self, text: str, fits: Sequence[Fit]) -> None:
        expected, _ = estimate(fits, self.seconds(fits))
        over = (DONE, FAILED)
        left = sum(x for key, x in expected.items() if self.result(key)[0] not in over)
        say(f"{text}; about {clock(left / self.launcher.jobs)} left" if left else text)
