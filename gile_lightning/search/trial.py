"""One trial: a fit that reports to its study after every epoch, and says how it ended.

GILE_LIGHTNING_TRIAL='{"storage": ...}' python -m gile_lightning.search.trial ARGUMENTS OF FIT
"""

import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import lightning
import optuna
from lightning.pytorch.utilities.exceptions import SIGTERMException
from optuna.pruners import BasePruner
from optuna.trial import Trial

from gile_lightning.commands.cli import GileCLI
from gile_lightning.commands.fitting import fit
from gile_lightning.commands.options import option
from gile_lightning.commands.parser import command
from gile_lightning.common.console import complain
from gile_lightning.common.errors import InputError, memory_error
from gile_lightning.common.factories import instantiate
from gile_lightning.common.files import no_room
from gile_lightning.search.storage import open_storage, quiet_optuna
from gile_lightning.tracking.wandb_logger import finish

ORDER = "GILE_LIGHTNING_TRIAL"  # environment variable: the study of this process, as JSON
RESULT = "trial.json"  # in the run folder: the state and its reason
FULL = os.EX_IOERR  # exit status: the disk is full, so that there is no room for a result either


class Report(lightning.Callback):
    """Reports a score to a study after every epoch with a validation; ends what its pruner prunes.

    Only the first process reads and writes the storage; it broadcasts the decision.

    Args:
        score: the validation score.
        trial: the trial, on the first process.
    """

    def __init__(self, score: str, trial: Trial | None) -> None:
        self.score = score
        self.trial = trial
        self.validated = -1  # the last epoch with a validation
        self.reported: set[int] = set()  # epochs that an earlier attempt has reported
        if trial is not None:
            frozen = trial.storage.get_trial(trial._trial_id)
            self.reported = set(frozen.intermediate_values)

    def on_validation_end(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule
    ) -> None:
        """Remember the epoch: the trainer keeps the scores of a validation in later epochs too."""
        if not trainer.sanity_checking:
            self.validated = trainer.current_epoch

    def on_train_epoch_end(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule
    ) -> None:
        """Report the epoch's score.

        Raises:
            optuna.TrialPruned: on every process, as the study's pruner has decided.
        """
        epoch, prune = trainer.current_epoch, False  # epochs count from 0, as pruners expect
        if self.trial is not None and self.validated == epoch and epoch not in self.reported:
            with suppress(optuna.exceptions.StorageInternalError):  # pruning can wait
                self.trial.report(float(trainer.callback_metrics[self.score]), epoch)
                prune = self.trial.should_prune()
        if trainer.strategy.broadcast(prune):
            raise optuna.TrialPruned(f"after epoch {epoch}")


@command
def main(args: list[str] | None = None) -> None:
    """Run the fit, and leave `trial.json` in its folder."""
    args = list(sys.argv[1:] if args is None else args)
    quiet_optuna()
    order = json.loads(os.environ[ORDER])
    folder = Path(str(option(args, "--output")))
    try:
        cli = GileCLI(args, "python -m gile_lightning.fit", "One trial of a sweep.")
        if order["score"] is not None:
            trial = _trial(order) if cli.trainer.is_global_zero else None
            callbacks = cli.trainer.callbacks  # type: ignore[attr-defined]
            callbacks.insert(callbacks.index(cli.history) + 1, Report(order["score"], trial))
        fit(cli)
        _write_result(folder, "complete")
    except optuna.TrialPruned as pruned:
        _write_result(folder, "pruned", str(pruned))
    except SIGTERMException:
        _write_result(folder, "killed", "its process was ended by SIGTERM")
        raise
    except BaseException as error:
        if no_room(error):
            complain(reason(error), error=True)
            sys.exit(FULL)
        _write_result(folder, "failed", reason(error))
        raise
    finally:
        finish()


def _trial(order: dict[str, Any]) -> Trial:
    storage = open_storage(order["storage"])
    pruner = instantiate(_Pruned, {"pruner": order["pruner"]}).pruner
    study = optuna.load_study(study_name=order["study"], storage=storage, pruner=pruner)
    return Trial(study, order["trial"])


class _Pruned:
    """Holds a pruner: the parser makes one only as an argument of a class."""

    def __init__(self, pruner: BasePruner) -> None:
        self.pruner = pruner


def reason(error: BaseException) -> str:
    """Describe in one line why a fit failed."""
    cause = memory_error(error)
    told = error if cause is None else cause
    text = " ".join(str(told).split()) or type(told).__name__
    if cause is not None:
        return f"out of memory: {text}"
    if isinstance(error, SystemExit):
        return f"ended with status {text}"
    return text if isinstance(error, InputError) else f"{type(error).__name__}: {text}"


def _write_result(folder: Path, state: str, why: str = "") -> None:
    """Write the result, whole or not at all, from the first process."""
    if os.environ.get("LOCAL_RANK", "0") == "0":
        folder.mkdir(parents=True, exist_ok=True)
        partial = folder / f"{RESULT}.partial"
        partial.write_text(json.dumps({"state": state, "reason": why}), encoding="utf-8")
        partial.replace(folder / RESULT)


if __name__ == "__main__":
    main()
