"""How trials ended, and which of them are tried again."""

import datetime
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import optuna
from optuna.trial import FrozenTrial, TrialState

from gile_lightning.commands.launcher import LOCK, lock

OUTCOME = "outcome"  # user attribute of a trial: how it ended, and why
WORKER = "worker"  # user attribute of a trial: the worker that runs it
LOG_TAIL = "log_tail"  # user attribute of a trial that failed

INTERRUPTED, _FAILED = "interrupted", "failed"  # how outcomes begin
_UNSTARTED = 60.0  # seconds without an outcome, after which a trial has lost its worker


def outcome(trial: FrozenTrial) -> str:
    """Describe how a trial ended, and why."""
    known = str(trial.user_attrs.get(OUTCOME, "its worker vanished before it began"))
    if trial.state == TrialState.FAIL and known.startswith(("complete", "pruned")):
        return "its worker vanished before the storage knew of the end"
    return known


def ending(trial: FrozenTrial, trials: Sequence[FrozenTrial]) -> str:
    """Describe how a trial ended, and which one continues it."""
    after = [x.number for x in trials if trial.number in _history(x)]
    if not after:
        return outcome(trial)
    cause = outcome(trial).partition(";")[0]
    cause = "its worker was killed or vanished" if cause.startswith("begun by") else cause
    return f"{cause}; trial {after[0]} continues it"


def first_number(trial: FrozenTrial) -> int:
    """Return the number of the first attempt at a trial, which may be its own."""
    return int((_history(trial) or [trial.number])[0])


def _history(trial: FrozenTrial) -> list[int]:
    return list(trial.system_attrs.get("retry_history", []))


def counted(trials: Sequence[FrozenTrial]) -> int:
    """Count trials, without repetitions."""
    return len({first_number(trial) for trial in trials})


def repeated(trials: Iterable[FrozenTrial]) -> set[int]:
    """Return the numbers of the trials that another trial repeats."""
    return {number for trial in trials for number in _history(trial)}


def cut_off(trials: Sequence[FrozenTrial], retries: int) -> list[FrozenTrial]:
    """List the trials that were cut off and that no other trial repeats yet.

    Args:
        trials: all trials of a study.
        retries: how often a trial is repeated if its process was killed or its worker vanished.
            An interrupted trial is always repeated.
    """
    done = repeated(trials)
    by_number = {trial.number: trial for trial in trials}

    def killed(trial: FrozenTrial) -> bool:
        return not outcome(trial).startswith((INTERRUPTED, _FAILED))

    found = []
    for trial in trials:
        ended_itself = trial.state != TrialState.FAIL or outcome(trial).startswith(_FAILED)
        if ended_itself or trial.number in done:
            continue
        family = [by_number[number] for number in (*_history(trial), trial.number)]
        if not killed(trial) or sum(map(killed, family)) <= retries:
            found.append(trial)
    return found


def repeat(study: optuna.Study, trial: FrozenTrial) -> None:
    """Queue a trial again, with its values and the scores it has reported."""
    own = (OUTCOME, WORKER, LOG_TAIL)  # the new trial reports its own
    study.add_trial(
        optuna.create_trial(
            state=TrialState.WAITING,
            params=trial.params,
            distributions=trial.distributions,
            user_attrs={key: x for key, x in trial.user_attrs.items() if key not in own},
            system_attrs=trial.system_attrs | {"retry_history": [*_history(trial), trial.number]},
            intermediate_values=trial.intermediate_values,
        )
    )


def recover(study: optuna.Study, folder: Path, retries: int, heartbeats: bool) -> None:
    """Mark trials as failed that no worker runs any more, and repeat those that were cut off.

    In a database, a trial has lost its worker if its heartbeats stop, whatever machine ran it, or
    if none ever came. In a journal file, it has if its worker used this folder and the lock of the
    run folder is free.

    Args:
        study: the study.
        folder: holds the run folders of its trials.
        retries: see `cut_off`.
        heartbeats: whether the storage has heartbeats.
    """
    optuna.storages.fail_stale_trials(study)
    for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
        if OUTCOME not in trial.user_attrs:
            assert trial.datetime_start is not None
            age = (datetime.datetime.now() - trial.datetime_start).total_seconds()
            lost = age > _UNSTARTED
        else:
            place, worker = trial.user_attrs["folder"], trial.user_attrs[WORKER]
            lost = not heartbeats and left_by(worker, folder / place)
        if lost:
            with suppress(optuna.exceptions.UpdateFinishedTrialError, ValueError):
                study.tell(trial.number, state=TrialState.FAIL)
    for trial in cut_off(study.get_trials(deepcopy=False), retries):
        repeat(study, trial)


def left_by(worker: str, folder: Path) -> bool:
    """Whether a worker held the lock of a run folder, and no process holds it now."""
    path = folder / LOCK
    if not path.is_file() or path.read_text() != worker or (file := lock(folder)) is None:
        return False
    file.close()
    return True
