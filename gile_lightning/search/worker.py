"""A worker: takes trials of a study, each a fit in a process of its own, several at a time."""

import json
import math
import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import optuna
from filelock import FileLock
from optuna.trial import FrozenTrial, TrialState

from gile_lightning import processes
from gile_lightning.base import LOGGED
from gile_lightning.console import say
from gile_lightning.errors import InputError
from gile_lightning.search import study as studies
from gile_lightning.search.artifacts import keep
from gile_lightning.search.settings import Search
from gile_lightning.search.space import Space, Value, arguments, suggest
from gile_lightning.search.storage import has_heartbeats, host
from gile_lightning.search.study import OUTCOME
from gile_lightning.search.trial import ORDER, RESULT

BASE = "base.yaml"  # in a trial's folder: what all trials have in common
LOG = "log.txt"  # there too

_PAUSE = 0.2  # seconds between two looks at a trial
_POLL = 3.0  # seconds between two looks at the trials of other workers
_OUTAGE = 20  # times that a storage may fail in a row, with as many half minutes between them
_HOPELESS = 3  # trials that fail before any succeeds
_LINES = 200  # of a log, kept with the trial
_KEPT = ("parameters", "seconds", "documents_per_second", "epochs", "best_epoch")
_SETS = ("val.", "test.seen.", "test.unseen.", "test.all.")  # all of whose scores would be many


class TrialError(Exception):
    """A trial has ended without a value."""


class KilledError(TrialError):
    """A trial was ended from outside: another one goes on where it was."""


@dataclass(frozen=True)
class Plan:
    """What a worker does, and with what.

    Attributes:
        search: how many trials, for how long, ...
        space: what is varied.
        objectives: names of the scores, in the order of the study's directions.
        configuration: what all trials have in common, as YAML.
        pruner: as plain values, None for none.
        folder: the study's.
        storage: its URL.
        devices: CUDA devices of each slot.
        jobs: trials at a time.
        threads: CPU threads of each process of a trial.
    """

    search: Search
    space: Space
    objectives: Sequence[str]
    configuration: str
    pruner: Any
    folder: Path
    storage: str
    devices: Sequence[str] = ()
    jobs: int = 1
    threads: int = 1


class Worker:
    """Runs trials of a study until there are enough of them, in all its workers together.

    Args:
        study: the study.
        plan: what to do.
        ended: called with every trial of this worker that has ended.
    """

    program = ("-m", "gile_lightning.search.trial")

    def __init__(
        self, study: optuna.Study, plan: Plan, ended: Callable[[FrozenTrial], None]
    ) -> None:
        self.study, self.plan, self._ended = study, plan, ended
        self.folder = plan.folder / "trials"
        self._stop = threading.Event()
        self._lock = threading.Lock()  # of what the threads tell
        self._began = time.monotonic()
        self._waiting = False

    def run(self) -> None:
        """Run trials; an interrupt ends them, and lets a later worker go on with them.

        Raises:
            InputError: the first trials have all failed.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        before = signal.signal(signal.SIGTERM, _terminate)
        with ThreadPoolExecutor(self.plan.jobs) as pool:
            slots = [pool.submit(self._work, slot) for slot in range(self.plan.jobs)]
            try:
                while not all(slot.done() for slot in slots):
                    time.sleep(_PAUSE)
                    if any(slot.done() and slot.exception() for slot in slots):
                        break
            finally:
                self._stop.set()
                for slot in slots:  # which end their trials
                    while not slot.done():
                        time.sleep(_PAUSE)
                signal.signal(signal.SIGTERM, before)
        for slot in slots:
            slot.result()

    def _work(self, slot: int) -> None:
        turn = FileLock(self.plan.folder / "turn.lock")  # one worker at a time looks and takes
        outages = 0
        while not self._stop.is_set():
            try:
                turn.acquire()
                if self._stop.is_set():
                    return
                heartbeats = has_heartbeats(self.plan.storage)
                studies.recover(self.study, self.folder, self.plan.search.retries, heartbeats)
                if not self._room():
                    turn.release()
                    if self._finished():
                        return
                    self._stop.wait(_POLL)
                    continue
                with ExitStack() as held:  # a trial's lock, until the study knows of its end
                    self.study.optimize(
                        lambda trial: self._run(trial, slot, turn, held),
                        n_trials=1,
                        catch=(TrialError,),
                        callbacks=[self._after],
                    )
                outages = 0
                if self.study._stop_flag:  # samplers of finite spaces set it: there is no more
                    return
            except optuna.exceptions.StorageInternalError as error:
                outages += 1
                if outages > _OUTAGE:
                    raise
                say(f"the storage does not answer ({error}); trying again in half a minute")
                self._stop.wait(30)
            finally:
                turn.release(force=True)

    def _room(self) -> bool:
        """Whether there is a trial to take or to add."""
        if (
            self.plan.search.hours
            and time.monotonic() - self._began > 3600 * self.plan.search.hours
        ):
            return False
        trials = self.study.get_trials(deepcopy=False)
        if any(trial.state == TrialState.WAITING for trial in trials):
            return True
        return self.plan.search.trials is None or studies.counted(trials) < self.plan.search.trials

    def _finished(self) -> bool:
        """Whether no other worker is at a trial, which it could leave to this one."""
        if (
            self.plan.search.hours
            and time.monotonic() - self._began > 3600 * self.plan.search.hours
        ):
            return True
        running = self.study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
        others = [trial for trial in running if trial.user_attrs.get("worker") != _name()]
        if others and not self._waiting:
            self._waiting = True
            say(f"waiting for {len(others)} trials of other workers (Ctrl-C to leave)")
        return not others

    def _run(self, trial: optuna.Trial, slot: int, turn: FileLock, held: ExitStack) -> list[float]:
        folder, lock = self._place(trial)
        held.enter_context(lock)
        trial.set_user_attr("folder", folder.name)
        trial.set_user_attr("worker", _name())
        trial.set_user_attr(OUTCOME, f"begun by {_name()}, which has not reported an end")
        turn.release()
        values = suggest(self.plan.space, trial)
        code = self._process(trial, values, folder, lock, slot)
        try:
            return self._result(trial, folder, code)
        finally:
            self._keep_log(trial, folder)

    def _place(self, trial: optuna.Trial) -> tuple[Path, IO[str]]:
        """Return a run folder, locked: that of the trial it repeats, if nobody is there."""
        first = studies.first_number(self.study.get_trials(deepcopy=False)[trial.number])
        for number in (first, trial.number):
            folder = self.folder / f"{number:04d}"
            folder.mkdir(exist_ok=True)
            if lock := processes.lock(folder / studies.LOCK):
                return folder, lock
        raise InputError(f"{folder}: locked, by a process of another study in the same folder?")

    def _process(
        self,
        trial: optuna.Trial,
        values: Mapping[str, Value],
        folder: Path,
        lock: IO[str],
        slot: int,
    ) -> int:
        """Run the fit to its end, and return its status."""
        (folder / RESULT).unlink(missing_ok=True)
        (folder / BASE).write_text(self.plan.configuration, encoding="utf-8")
        name = f"{self.study.study_name}-{folder.name}"
        command = [*self.program, "--config", str(folder / BASE)]
        command += ["--trainer.enable_progress_bar", "false", "--output", str(folder)]
        command += ["--wandb.group", self.study.study_name, "--wandb.name", name]
        command += ["--wandb.job_type", "trial"]
        command += ["--test", json.dumps(self.plan.search.test), *arguments(values)]
        if (folder / "config.yaml").is_file():
            command += ["--ckpt_path", "last"]
        single = len(self.plan.objectives) == 1 and self.plan.pruner is not None
        order = {
            "storage": self.plan.storage,
            "study": self.study.study_name,
            "trial": trial._trial_id,
            "pruner": self.plan.pruner,
            "score": self.plan.objectives[0] if single else None,
        }
        environment = {"OMP_NUM_THREADS": str(self.plan.threads), ORDER: json.dumps(order)}
        if self.plan.devices:
            environment["CUDA_VISIBLE_DEVICES"] = self.plan.devices[slot % len(self.plan.devices)]
        process = processes.start(command, folder / LOG, environment, [lock])
        try:
            while process.poll() is None:
                if self._stop.wait(_PAUSE):
                    trial.set_user_attr(OUTCOME, "interrupted; to be gone on with")
                    raise KilledError
        finally:
            processes.stop([process])
        return process.returncode

    def _keep_log(self, trial: optuna.Trial, folder: Path) -> None:
        """Keep the end of the log as an artifact of the trial."""
        with tempfile.TemporaryDirectory() as place:
            path = Path(place) / "log-tail.txt"
            path.write_text(processes.tail(folder / LOG, _LINES), encoding="utf-8")
            keep(self.plan.folder, trial, path)

    def _result(self, trial: optuna.Trial, folder: Path, code: int) -> list[float]:
        """Read how a trial has ended: from its files, as the status of DDP runs is not safe."""
        try:
            found = json.loads((folder / RESULT).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            found = {"state": "killed" if code < 0 else "failed", "reason": f"status {code}"}
            if code < 0:
                found["reason"] = f"its process was ended by {signal.Signals(-code).name}"
                found["reason"] += ", perhaps for want of memory" if code == -9 else ""
        if found["state"] == "complete":
            metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
            for key, value in metrics.items():
                if key in _KEPT or (key.startswith(_SETS) and key.rpartition(".")[2] in LOGGED):
                    trial.set_user_attr(key, value)
            values = {name: metrics.get(name.replace("/", ".")) for name in self.plan.objectives}
            missing = [name for name, x in values.items() if x is None or not math.isfinite(x)]
            if not missing:
                trial.set_user_attr(OUTCOME, "complete")
                return list(map(float, values.values()))
            found = {"state": "failed", "reason": f"{missing[0]} is no number"}
        trial.set_user_attr(OUTCOME, f"{found['state']}: {found['reason']}")
        if found["state"] != "pruned":
            trial.set_user_attr("log_tail", processes.tail(folder / LOG))
        if found["state"] == "pruned":
            raise optuna.TrialPruned
        raise (KilledError if found["state"] == "killed" else TrialError)(found["reason"])

    def _after(self, study: optuna.Study, trial: FrozenTrial) -> None:
        """Let a trial be repeated that was ended from outside; tell of it; drop checkpoints."""
        outcome = trial.user_attrs[OUTCOME]
        if outcome.startswith("interrupted"):
            studies.repeat(study, trial)
        elif outcome.startswith("killed"):
            studies.repeat(study, trial, self.plan.search.retries)
        with self._lock:
            if self.plan.search.keep_checkpoints == "best":
                self._drop_checkpoints()
            self._ended(trial)
            self._hopeless()

    def _drop_checkpoints(self) -> None:
        """Remove the checkpoints of trials that are over and not among the best."""
        over = {
            studies.first_number(trial): trial.state.is_finished()
            for trial in self.study.get_trials(deepcopy=False)
        }  # by the last of those that repeat the same
        # only now: another worker's trial may have become the best since
        kept = {studies.first_number(trial) for trial in studies.best(self.study)}
        for number, finished in over.items():
            if finished and number not in kept:
                shutil.rmtree(self.folder / f"{number:04d}/checkpoints", ignore_errors=True)

    def _hopeless(self) -> None:
        trials = self.study.get_trials(deepcopy=False)
        over = [x for x in trials if x.state.is_finished()]
        failed = [x for x in over if x.user_attrs.get(OUTCOME, "").startswith("failed")]
        if len(failed) == len(over) >= max(_HOPELESS, self.plan.jobs):
            raise InputError(
                f"the first {len(failed)} trials have all failed, the last because of: "
                f"{failed[-1].user_attrs[OUTCOME].removeprefix('failed: ')} (logs: {self.folder})"
            )


def _name() -> str:
    """Name this worker."""
    return f"{host()}:{os.getpid()}"


def _terminate(*args: object) -> None:
    """Leave as after Ctrl-C."""
    raise KeyboardInterrupt
