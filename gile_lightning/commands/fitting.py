"""Trains the model of a configuration, tests its best checkpoint, and fills its run folder."""

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import lightning
import yaml
from lightning.fabric.utilities.exceptions import MisconfigurationException

from gile_lightning.commands import launcher
from gile_lightning.commands.cli import GileCLI
from gile_lightning.commands.languages import language_warning
from gile_lightning.commands.launcher import CONFIG
from gile_lightning.commands.reporting import observed, write_report
from gile_lightning.commands.run_folder import (
    DOCUMENTS,
    ORIGIN,
    REPORT,
    SKIPPED,
    write_documents,
    write_metrics,
)
from gile_lightning.commands.scoring import say_uncalibrated
from gile_lightning.commands.testing import run_tests
from gile_lightning.common.console import complain, say, show
from gile_lightning.common.errors import InputError, positive
from gile_lightning.common.files import write
from gile_lightning.systems.sizes import count_parameters
from gile_lightning.tracking.run_report import facts
from gile_lightning.tracking.tables import flatten, table
from gile_lightning.tracking.wandb_logger import RunLogger
from gile_lightning.training.callbacks import BestCheckpoint
from gile_lightning.training.checkpoint import LAST, METRICS, read_checkpoint

# of the trainer: validation chooses the epoch and ends training, so it cannot be left out
_ABOVE_ZERO = (
    *("limit_val_batches", "check_val_every_n_epoch", "val_check_interval"),
    "accumulate_grad_batches",
)


def fit(cli: GileCLI) -> dict[str, Any]:
    """Train and test the model of a configuration; returns what `metrics.json` holds.

    Raises:
        InputError: the configuration is wrong, or another fit is at work in the run folder.
    """
    with ExitStack() as held:
        return _fit(cli, held)


def _fit(cli: GileCLI, held: ExitStack) -> dict[str, Any]:
    start = time.perf_counter()
    model, data, history = cli.model, cli.datamodule, cli.history
    cli.check_path(data)
    _check(cli)
    cli.announce(data)
    _prepare(cli, held)
    about = facts(cli)
    _log_configuration(cli, about)
    with _explained(cli.output):
        _train(cli)
    # before testing, which restores the callbacks as they were at the best epoch
    rows, earlier = history.rows, history.earlier
    stopping = cli.config.early_stopping
    kept = next(each for each in cli.trainer.callbacks if isinstance(each, BestCheckpoint))  # type: ignore[attr-defined]
    course = {
        **history.best(stopping.monitor, stopping.mode, kept.first or 0),
        "documents_per_second": round(history.documents_per_second, 1),
        "epochs": len({row["epoch"] for row in rows}),
    }
    sample = observed(cli)
    tested = cli.config.test and data.has_test
    with _explained(cli.output):
        own_epochs, documents = run_tests(cli) if tested else ({}, {})
    figures = {
        "parameters": count_parameters(model),
        "seconds": round(earlier + time.perf_counter() - start, 2),
        **course,
    }
    metrics = flatten(model.results, model.by_language, own_epochs) | figures
    if cli.trainer.is_global_zero:
        try:
            report = write_report(cli, sample, figures, about, rows, own_epochs)
        finally:  # a page that fails must not cost the figures; they come last, as the run is done
            if tested:
                write_documents(cli.output, documents)
            write_metrics(cli.output, metrics)
        if isinstance(cli.trainer.logger, RunLogger):
            cli.trainer.logger.log_report(report, metrics)
    # after they are written: nobody may read any more what is printed
    _show(cli, metrics, figures, own_epochs, tested)
    show(f"run folder: {cli.output}", output=cli.output)
    return metrics


def _check(cli: GileCLI) -> None:
    """Refuse what cannot be trained, before the corpus is encoded."""
    model, trainer = cli.model, cli.trainer
    limits = {key: getattr(trainer, key) for key in _ABOVE_ZERO}
    positive(**{f"trainer.{key}": value for key, value in limits.items() if value is not None})
    if cli.resume is not None and "optimizer_states" not in read_checkpoint(cli.resume):
        raise InputError(
            f"{cli.resume}: weights alone, not a run to go on with; train them further with "
            f"--start_from {cli.resume} instead of --ckpt_path"
        )
    model.config = cli.resolved()
    names, tokenizer = cli.datamodule.names, cli.datamodule.subword_tokenizer()
    unknown = _length_is_open(cli) or trainer.max_steps > 0  # epochs, before the corpus is read
    model.check(names, tokenizer, None if unknown else trainer.max_epochs)
    config = yaml.safe_load(model.config)
    if warning := language_warning(config, names, tokenizer.pretrained):
        say(warning)
    if model.single_process and trainer.world_size > 1:
        raise InputError(
            f"{type(model).__name__} is trained by one process, not {trainer.world_size}: set "
            "trainer.devices and trainer.num_nodes to 1"
        )
    if trainer.world_size > 1 and cli.config.seed_everything is False:
        raise InputError(
            "seed_everything is false, so each process would draw other weights: give a number"
        )
    if trainer.gradient_clip_val and not model.automatic_optimization:
        raise InputError(
            f"{type(model).__name__} follows no gradients that could be clipped: leave "
            "trainer.gradient_clip_val out"
        )


def _length_is_open(cli: GileCLI) -> bool:
    """Return whether the number of documents is to choose the epochs; -1 epochs have no end."""
    given = cli.config.trainer.max_epochs is not None or cli.config.trainer.max_steps != -1
    # fast_dev_run has an epoch
    return cli.config.length is not None and not given and cli.trainer.max_epochs == -1


def _prepare(cli: GileCLI, held: ExitStack) -> None:
    """Encode the corpus, build the model, and begin the run folder, which stays locked."""
    model, data, trainer = cli.model, cli.datamodule, cli.trainer
    # on every process, one of which encodes: the others wait for its lock as long as it takes,
    # where Lightning's own call has them wait for a message that times out; it finds all done
    data.prepare_data()
    data.setup("fit")
    say(data.summary())
    model.attach(data.training_data(), resumed=cli.resume is not None)
    if cli.config.length is not None:
        _set_length(cli)
    # now, as weights of 64 bits are restored before Lightning converts the model
    trainer.precision_plugin.convert_module(model)
    if trainer.is_global_zero:
        held.enter_context(_lock(cli))
        # a resumed run keeps the configuration that it was started with
        if cli.resume is None:
            write(cli.output / CONFIG, model.config)
        else:
            trainer.callbacks.append(_Begin(cli.output, model.config, cli.resume))  # type: ignore[attr-defined]
        write(cli.output / SKIPPED, json.dumps(data.meta["skipped"], indent=1))


class _Begin(lightning.Callback):
    """Makes the folder that of a run which goes on, once its checkpoint is restored.

    Figures of before, where the run was done, are removed: they would be those of other weights.

    Args:
        output: the folder.
        config: the configuration, as YAML.
        origin: the checkpoint.
    """

    def __init__(self, output: Path, config: str, origin: Path) -> None:
        self.output, self.config, self.origin = output, config, origin

    def on_train_start(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule
    ) -> None:
        """Write the configuration, and where the run goes on from if it is killed soon.

        Neither is needed in the folder of the checkpoint.
        """
        for name in (METRICS, DOCUMENTS, REPORT):
            (self.output / name).unlink(missing_ok=True)
        if not (self.output / CONFIG).is_file():
            write(self.output / ORIGIN, f"{self.origin.absolute()}\n")
            write(self.output / CONFIG, self.config)


def _set_length(cli: GileCLI) -> None:
    """Let the number of documents choose the size of batches, and the epochs if nobody did."""
    length, data = cli.config_init.length, cli.datamodule
    if not (length.larger_batches or _length_is_open(cli)):
        return
    documents = data.training_size()
    factor = length.batch_factor(documents)
    if factor > 1 and (size := data.enlarge_batches(factor)):
        say(
            f"batches of {size} documents, {factor} times data.batch_size, as there are many "
            "(--length.larger_batches false leaves them)"
        )
    if _length_is_open(cli):
        epochs = length(documents)
        cli.trainer.fit_loop.max_epochs = epochs
        say(f"training for {epochs} epochs (--trainer.max_epochs sets another number)")


def _lock(cli: GileCLI) -> IO[str]:
    """Make and lock the run folder.

    Raises:
        InputError: another fit is at work there, or was since this one has begun.
    """
    lock = launcher.lock(cli.output, launcher.RUNNING)
    if lock is None:
        raise InputError(f"{cli.output}: another fit is at work there; choose another --output")
    if (cli.output / CONFIG).is_file() and cli.config.ckpt_path is None:
        lock.close()
        raise InputError(f"{cli.output}: another fit has begun there; choose another --output")
    return lock


def _log_configuration(cli: GileCLI, about: dict[str, Any]) -> None:
    """Give W&B the configuration, and what is known before training."""
    model, data, logger = cli.model, cli.datamodule, cli.trainer.logger
    if isinstance(logger, RunLogger):
        sizes = {name: model.sizes(name) for name in model.tasks}
        known = {
            "corpus": data.meta["counts"],
            "skipped": data.meta["skipped"],
            "run": about,
            "parameters": {"all": count_parameters(model), **sizes},
        }
        logger.log_hyperparams(yaml.safe_load(model.config) | known)


@contextmanager
def _explained(output: Path) -> Iterator[None]:
    """Say how to go on when the run is interrupted, which passes on.

    Raises:
        InputError: the trainer refuses its configuration.
    """
    try:
        yield
    except MisconfigurationException as error:
        raise InputError(" ".join(str(error).split())) from error
    except (KeyboardInterrupt, SystemExit) as stop:
        how = "go on" if (output / LAST).is_file() else "no checkpoint yet, so begin again"
        complain(f"interrupted; {how} with --output {output} --ckpt_path last")
        if isinstance(stop.__context__, KeyboardInterrupt):  # which Lightning makes status 1 of
            raise KeyboardInterrupt from None
        raise


def _train(cli: GileCLI) -> None:
    try:
        cli.trainer.fit(cli.model, cli.datamodule, ckpt_path=cli.resume, weights_only=True)
    except ValueError as error:
        if "val_check_interval" in str(error):
            raise InputError(" ".join(str(error).split())) from error
        if "parameter group" not in str(error):
            raise
        raise InputError(
            f"{cli.resume}: the optimizer's state is that of another model; go on with the "
            f"configuration of that run ({CONFIG})"
        ) from error


def _show(
    cli: GileCLI, metrics: dict[str, Any], figures: dict[str, Any], own_epochs: Any, tested: bool
) -> None:
    """Show the tables of scores, or the figures of training alone."""
    if tested:
        shown = {key: value for key, value in figures.items() if not key.startswith("val.")}
        model = cli.model
        tables = table(model.results, shown, model.by_language, own_epochs, model.metrics)
        show(*tables, metrics=metrics)
        say_uncalibrated(model)
        return
    if not cli.datamodule.has_test:
        say("no test documents: score the model on others with gile_lightning.evaluate")
    show(", ".join(f"{key} {value:.6g}" for key, value in figures.items()), metrics=metrics)
