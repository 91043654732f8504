"""One trial of a worker: a fit that the launcher runs, and its result."""

import json
import math
import os
import tempfile
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import optuna

from gile_lightning.commands import launcher
from gile_lightning.commands.launcher import exit_reason
from gile_lightning.commands.run_folder import read_metrics
from gile_lightning.common.errors import InputError
from gile_lightning.search import recovery
from gile_lightning.search.outage import with_retries
from gile_lightning.search.plan import Plan
from gile_lightning.search.recovery import INTERRUPTED, LOG_TAIL, OUTCOME, WORKER
from gile_lightning.search.setting import Value
from gile_lightning.search.space import arguments
from gile_lightning.search.storage import host, keep_artifact
from gile_lightning.search.trial import FULL, ORDER, RESULT

BASE = "base.yaml"  # in a trial's folder: the configuration that all trials share
NAME = f"{host()}:{os.getpid()}:{uuid.uuid4().hex[:6]}"  # of this worker alone

_NO_ROOM = (FULL, 120)  # exit statuses; Python has the second where it cannot print its last words
_LINES = 200  # of a log, kept with the trial
_KEPT = ("parameters", "seconds", "documents_per_second", "epochs", "best_epoch")
# of these sets, a trial keeps the scores that validation has too
_SETS = ("val.", "test.seen.", "test.unseen.", "test.all.")


class TrialError(Exception):
    """A trial has ended without a value."""


class Attempt:
    """One trial, tried once.

    Args:
        study: its study.
        trial: the trial.
        plan: what the worker runs.
        program: arguments of Python that run a trial.
    """

    def __init__(
        self, study: optuna.Study, trial: optuna.Trial, plan: Plan, program: Sequence[str]
    ) -> None:
        self.study, self.trial, self.plan, self.program = study, trial, plan, program

    def begin(self) -> IO[str]:
        """Choose the run folder, lock it, and report it to the study; returns the lock.

        A repetition continues in the folder of the first attempt, unless another process is there.

        Raises:
            InputError: another process holds the folder.
        """
        number = self.trial.number
        trials = with_retries(lambda: self.study.get_trials(deepcopy=False))
        first = recovery.first_number(trials[number])
        for name in (first, number):
            self.folder = self.plan.folder / f"trials/{name:04d}"
            if lock := launcher.lock(self.folder):
                break
        else:
            raise InputError(f"{self.folder}: locked by another study in the same folder?")
        self.lock = lock
        lock.truncate(0)
        lock.write(NAME)
        lock.flush()
        with_retries(self._report_begin)
        return lock

    def _report_begin(self) -> None:
        self.trial.set_user_attr("folder", self.folder.name)
        self.trial.set_user_attr(WORKER, NAME)
        self.trial.set_user_attr(OUTCOME, f"begun by {NAME}, which has not reported an end")

    def run(self, values: Mapping[str, Value], slot: int) -> list[float]:
        """Run the fit to its end, and return its scores.

        Raises:
            TrialError: it has failed, was killed or interrupted.
            optuna.TrialPruned: the pruner has ended it.
            InputError: the disk is full, which is no fault of the trial; it is continued later.
        """
        (self.folder / RESULT).unlink(missing_ok=True)
        (self.folder / BASE).write_text(self.plan.configuration, encoding="utf-8")
        self._last_look = time.monotonic()
        status = self.plan.launcher.fit(
            slot,
            self.folder,
            self._arguments(values),
            self.lock,
            self.program,
            {ORDER: self._order()},
            self._watch,
        )
        try:
            return with_retries(lambda: self._result(status))
        finally:
            with_retries(self._keep_log)

    def _watch(self) -> None:
        """End a trial that is interrupted, or that another worker counts as dead and repeats.

        Raises:
            TrialError: to end the trial.
        """
        if self.plan.launcher.stopped.is_set():
            self.trial.set_user_attr(OUTCOME, f"{INTERRUPTED}; the next worker continues it")
            raise TrialError
        if time.monotonic() - self._last_look < self.plan.search.heartbeat:
            return
        self._last_look = time.monotonic()
        with suppress(optuna.exceptions.StorageInternalError):
            if self.study.get_trials(deepcopy=False)[self.trial.number].state.is_finished():
                raise TrialError("another worker repeats it")

    def _arguments(self, values: Mapping[str, Value]) -> list[str]:
        study = self.study.study_name
        args = ["--config", str(self.folder / BASE), "--test", json.dumps(self.plan.search.test)]
        args += ["--wandb.group", study, "--wandb.name", f"{study}-{self.folder.name}"]
        return [*args, "--wandb.job_type", "trial", *arguments(values)]

    def _order(self) -> str:
        order = {
            "storage": self.plan.storage,
            "study": self.study.study_name,
            "trial": self.trial._trial_id,
            "pruner": self.plan.pruner,
            "score": self.plan.objectives[0] if self.plan.pruner is not None else None,
        }
        return json.dumps(order)

    def _keep_log(self) -> None:
        """Keep the end of the log as an artifact of the trial."""
        with tempfile.TemporaryDirectory() as place:
            path = Path(place) / "log-tail.txt"
            path.write_text(launcher.tail(self.folder, _LINES), encoding="utf-8")
            keep_artifact(self.plan.folder, self.trial, path)

    def _result(self, status: int) -> list[float]:
        """Read the scores from the run folder: the status is that of one process alone."""
        found = self._ending(status)
        if found["state"] == INTERRUPTED:
            self.trial.set_user_attr(OUTCOME, f"{INTERRUPTED}: {found['reason']}")
            raise InputError(f"{self.folder}: {found['reason']}; make room, then start again")
        if found["state"] == "complete":
            metrics = read_metrics(self.folder)
            for key, value in metrics.items():
                validated = f"val.{key.rpartition('.')[2]}" in metrics
                if key in _KEPT or (key.startswith(_SETS) and validated):
                    self.trial.set_user_attr(key, value)
            keys = {name: name.replace("/", ".") for name in self.plan.objectives}
            values: dict[str, Any] = {name: metrics.get(key) for name, key in keys.items()}
            missing = [name for name, x in values.items() if x is None or not math.isfinite(x)]
            if not missing:
                self.trial.set_user_attr(OUTCOME, "complete")
                return list(map(float, values.values()))
            found = {"state": "failed", "reason": f"{missing[0]} is no number"}
        self.trial.set_user_attr(OUTCOME, f"{found['state']}: {found['reason']}")
        if found["state"] == "pruned":
            raise optuna.TrialPruned
        self.trial.set_user_attr(LOG_TAIL, launcher.tail(self.folder))
        raise TrialError(found["reason"])

    def _ending(self, status: int) -> dict[str, str]:
        try:
            found: dict[str, str] = json.loads((self.folder / RESULT).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            if status in _NO_ROOM:
                return {"state": INTERRUPTED, "reason": "the disk is full"}
            return {"state": "failed" if status >= 0 else "killed", "reason": exit_reason(status)}
        return found
