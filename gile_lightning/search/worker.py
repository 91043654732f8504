"""A worker: takes trials of a study, several at a time, until there are enough."""

import shutil
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack

import optuna
from filelock import FileLock
from optuna.trial import FrozenTrial, TrialState

from gile_lightning.common.console import say
from gile_lightning.common.errors import InputError
from gile_lightning.search import recovery
from gile_lightning.search import study as studies
from gile_lightning.search.attempt import NAME, Attempt, TrialError
from gile_lightning.search.outage import outage, with_retries
from gile_lightning.search.plan import Plan
from gile_lightning.search.recovery import WORKER
from gile_lightning.search.space import suggest
from gile_lightning.search.storage import has_heartbeats

_POLL = 3.0  # seconds between two looks at the trials of other workers
_HOPELESS = 3  # trials that fail before any succeeds
_EXHAUSTED = "exhausted"  # user attribute of a study: a finite space, all of which has been tried


class Worker:
    """Runs trials of a study until all its workers together have run enough.

    Args:
        study: the study.
        plan: what the worker runs.
        ended: called with each trial of this worker at its end.
    """

    program = ("-m", "gile_lightning.search.trial")

    def __init__(
        self, study: optuna.Study, plan: Plan, ended: Callable[[FrozenTrial], None]
    ) -> None:
        self.study, self.plan, self._ended = study, plan, ended
        self.folder = plan.folder / "trials"
        self._lock = threading.Lock()  # one thread at a time reports
        self._began = time.monotonic()
        self._waiting = False
        self._lost: set[int] = set()  # trials of which the storage could not be told the end

    def run(self) -> None:
        """Run trials. An interrupt ends them, and a later worker continues them.

        Raises:
            InputError: the first trials have all failed.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        self.plan.launcher.run(self._work)

    def _work(self, slot: int) -> None:
        stopped = self.plan.launcher.stopped
        turn = FileLock(self.plan.folder / "turn.lock")  # one worker at a time chooses a trial
        while not stopped.is_set():
            with ExitStack() as held:
                turn.acquire()
                held.callback(turn.release, force=True)
                if stopped.is_set():
                    return
                if with_retries(self._has_work):
                    self._try(slot, turn, held)
                    continue
            if self._over or with_retries(self._alone):
                return
            stopped.wait(_POLL)

    def _try(self, slot: int, turn: FileLock, held: ExitStack) -> None:
        """Run a trial; ``held`` is released when the study knows how it ended."""
        number = -1

        def objective(trial: optuna.Trial) -> list[float]:
            nonlocal number
            number = trial.number
            attempt = Attempt(self.study, trial, self.plan, self.program)
            held.enter_context(attempt.begin())
            turn.release()
            return attempt.run(with_retries(lambda: suggest(self.plan.space, trial)), slot)

        try:
            self.study.optimize(objective, n_trials=1, catch=(TrialError,), callbacks=[self._after])
        except (optuna.exceptions.StorageInternalError, UnboundLocalError) as error:
            if (reason := outage(error)) is None:
                raise
            self._lost.add(number)
            say(f"the storage does not answer ({reason}); its trial is repeated unless it ended")
        except (ValueError, optuna.exceptions.UpdateFinishedTrialError) as error:
            # Optuna has no class of its own for the first
            if isinstance(error, ValueError) and "Cannot tell" not in str(error):
                raise
            say("a trial counts as dead, as its heartbeats did not arrive; it is repeated")

    @property
    def _over(self) -> bool:
        """Whether the time for further trials is over."""
        hours = self.plan.search.hours
        return hours is not None and time.monotonic() - self._began > 3600 * hours

    def _has_work(self) -> bool:
        """Whether a trial waits, or one may be added."""
        search = self.plan.search
        heartbeats = has_heartbeats(self.plan.storage)
        recovery.recover(self.study, self.folder, search.retries, heartbeats)
        trials = self.study.get_trials(deepcopy=False)
        if self._over:
            return False
        if any(trial.state == TrialState.WAITING for trial in trials):
            return True
        if self.study.user_attrs.get(_EXHAUSTED) == str(self.plan.space):
            return False
        return search.trials is None or recovery.counted(trials) < search.trials

    def _alone(self) -> bool:
        """Whether no other worker runs a trial, which this one might have to continue."""
        running = self.study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
        others = [
            trial
            for trial in running
            if trial.user_attrs.get(WORKER) != NAME or trial.number in self._lost
        ]
        if others and not self._waiting:
            self._waiting = True
            say(f"waiting for {len(others)} trials of other workers (Ctrl-C to leave)")
        return not others

    def _after(self, study: optuna.Study, trial: FrozenTrial) -> None:
        """Report a trial, and drop checkpoints."""
        if study._stop_flag:  # samplers set it when a finite space has been tried
            study.set_user_attr(_EXHAUSTED, str(self.plan.space))
        with self._lock:
            if self.plan.search.keep_checkpoints == "best":
                self._drop_checkpoints()
            self._ended(trial)
            self._check_failures()

    def _drop_checkpoints(self) -> None:
        """Remove the checkpoints of trials that are over and not among the best."""
        trials = self.study.get_trials(deepcopy=False)
        # only now: another worker's trial may have become the best since
        kept = {trial.user_attrs.get("folder") for trial in studies.best(self.study)}
        kept |= {x.user_attrs.get("folder") for x in trials if not x.state.is_finished()}
        again = recovery.cut_off(trials, self.plan.search.retries)
        kept |= {trial.user_attrs.get("folder") for trial in again}
        for trial in trials:
            folder = trial.user_attrs.get("folder")
            if folder is not None and folder not in kept:
                shutil.rmtree(self.folder / folder / "checkpoints", ignore_errors=True)

    def _check_failures(self) -> None:
        trials = self.study.get_trials(deepcopy=False)
        again = recovery.repeated(trials)
        again |= {x.number for x in recovery.cut_off(trials, self.plan.search.retries)}
        done = [x for x in trials if x.state.is_finished() and x.number not in again]
        over = [*map(recovery.outcome, done)]
        failed = [text for text in over if text.startswith("failed")]
        if len(failed) == len(over) >= max(_HOPELESS, self.plan.launcher.jobs):
            raise InputError(
                f"the first {len(failed)} trials have all failed, the last one because of: "
                f"{failed[-1].removeprefix('failed: ')} (logs: {self.folder})"
            )
