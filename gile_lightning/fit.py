"""Train one model, test its best checkpoint, leave a run folder.

python -m gile_lightning.fit --config sweeps/bioasq.yaml
"""

import json
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import yaml

from gile_lightning.commands.cli import CONFIG, GileCLI, best_of, option, stored_configuration
from gile_lightning.commands.parser import command
from gile_lightning.common.console import count_parameters, say
from gile_lightning.common.errors import InputError
from gile_lightning.tracking.examples import TestSample
from gile_lightning.tracking.fit_page import fit_page
from gile_lightning.tracking.fit_report import FitReport, facts
from gile_lightning.tracking.page import write
from gile_lightning.tracking.tables import flatten, table
from gile_lightning.tracking.wandb_logger import RunLogger, finish
from gile_lightning.training.checkpoint import BEST, read_checkpoint, start_from

REPORT = "report.html"

DESCRIPTION = (
    "Train one model, test its best checkpoint on seen, unseen and all labels, and leave a run "
    "folder with the configuration, checkpoints and metrics. --start_from RUN trains a model "
    "further, on the same or other data: it begins with that checkpoint's weights, vocabulary and "
    "configuration, every key of which can be set here."
)

_START = "--start_from"


@command
def main(args: list[str] | None = None) -> dict[str, Any]:
    """Run the command; returns what `metrics.json` holds."""
    args = list(sys.argv[1:] if args is None else args)
    with ExitStack() as stack:
        start = option(args, _START)
        if start is not None:
            config = stack.enter_context(stored_configuration(read_checkpoint(start, _START)))
            args = ["--config", config, *args]
        cli = GileCLI(args, "python -m gile_lightning.fit", DESCRIPTION)
    if cli.config.start_from is not None:  # perhaps from the configuration of such a run
        start_from(cli.model, cli.datamodule, read_checkpoint(cli.config.start_from, _START))
    try:
        return fit(cli)
    finally:
        finish()


def fit(cli: GileCLI) -> dict[str, Any]:
    """Train and test what a configuration describes."""
    start = time.perf_counter()
    output, data, model, trainer = cli.output, cli.datamodule, cli.model, cli.trainer
    if cli.resume is not None and "optimizer_states" not in read_checkpoint(cli.resume):
        raise InputError(
            f"{cli.resume}: weights alone, not a run to go on with; train them further with "
            f"--start_from {cli.resume} instead of --ckpt_path"
        )
    model.config = cli.resolved()
    model.check(data.names, data.pretrained, trainer.max_epochs)
    if model.single_process and trainer.world_size > 1:
        raise InputError(
            f"{type(model).__name__} is trained by one process, not {trainer.world_size}: set "
            "trainer.devices and trainer.num_nodes to 1"
        )
    if trainer.gradient_clip_val and not model.automatic_optimization:
        raise InputError(
            f"{type(model).__name__} follows no gradients that could be clipped: leave "
            "trainer.gradient_clip_val out"
        )
    announce(data)
    # on every process, one of which encodes: the others wait for its lock as long as it takes,
    # where Lightning's own call has them wait for a message that times out; it finds all done
    data.prepare_data()
    data.setup("fit")
    say(data.summary())
    model.attach(data.training_data(), resumed=cli.resume is not None)
    # now, as weights of 64 bits are restored before Lightning makes the model's as long
    trainer.precision_plugin.convert_module(model)
    if trainer.is_global_zero:
        output.mkdir(parents=True, exist_ok=True)
        if cli.resume is None:  # a run that goes on keeps what it was started with
            (output / CONFIG).write_text(model.config, encoding="utf-8")
        (output / "skipped.json").write_text(json.dumps(data.meta["skipped"], indent=1))
    about = facts(cli)
    if isinstance(trainer.logger, RunLogger):
        known = {"corpus": data.meta["counts"], "skipped": data.meta["skipped"], "run": about}
        sizes = {name: model.sizes(name) for name in model.tasks}
        known["parameters"] = {"all": count_parameters(model), **sizes}
        trainer.logger.log_hyperparams(yaml.safe_load(model.config) | known)
    try:
        trainer.fit(model, data, ckpt_path=cli.resume, weights_only=True)
    except (KeyboardInterrupt, SystemExit):  # Lightning makes the first the second
        say(f"interrupted; go on with --output {output} --ckpt_path last")
        raise
    except ValueError as error:
        if "parameter group" not in str(error):
            raise
        raise InputError(
            f"{cli.resume}: the optimizer's state is that of another model; go on with the "
            f"configuration of that run ({CONFIG})"
        ) from error
    history, earlier = cli.history.rows, cli.history.earlier
    course = {  # before testing, which restores the callbacks as they were at the best epoch
        **cli.history.best(cli.config.early_stopping.monitor, cli.config.early_stopping.mode),
        "documents_per_second": round(cli.history.documents_per_second, 1),
        "epochs": len(cli.history.rows),
    }
    sample = TestSample()
    tested = cli.config.test and data.has_test
    own_epochs = _test(cli, sample) if tested else {}
    figures = {
        "parameters": count_parameters(model),
        "seconds": round(earlier + time.perf_counter() - start, 2),
        **course,
    }
    metrics = flatten(model.results, model.by_language, own_epochs) | figures
    if tested:
        shown = {key: value for key, value in figures.items() if not key.startswith("val.")}
        say(table(model.results, shown, model.by_language, own_epochs, model.metrics))
    else:
        if not data.has_test:
            say("no test documents: score the model on others with gile_lightning.evaluate")
        say(", ".join(f"{key} {value:.6g}" for key, value in figures.items()))
    if trainer.is_global_zero:
        report = FitReport(
            title=output.name,
            facts=about,
            figures=figures,
            history=history,
            results=model.results,
            by_language=model.by_language,
            own_epochs=own_epochs,
            examples=sample.examples(data.tasks),
            confusions=sample.confusions(data.tasks),
            sizes={name: model.sizes(name) for name in data.tasks},
            counts=data.meta["counts"],
            skipped=data.meta["skipped"],
            config=model.config,
            metrics=model.metrics,
        )
        write(output / REPORT, fit_page(report))
        write(output / "metrics.json", json.dumps(metrics, indent=1))
        if isinstance(trainer.logger, RunLogger):
            trainer.logger.log_report(report, metrics)
    say(f"run folder: {output}")
    return metrics


def _test(cli: GileCLI, sample: TestSample) -> dict[str, Any]:
    """Test the best checkpoint; returns the scores of languages at their own best epochs."""
    model, data, trainer = cli.model, cli.datamodule, cli.trainer
    names = data.names if len(data.names) > 1 else []
    paths = {None: cli.output / BEST, **{name: cli.output / best_of(name) for name in names}}
    # of several processes the first one has the run folder, and knows its name
    kept = trainer.strategy.broadcast({k: path for k, path in paths.items() if path.is_file()})
    best = kept.pop(None, None)  # none without an epoch
    model.observer = sample.update if trainer.is_global_zero else None
    trainer.test(model, data, ckpt_path=best, verbose=False, weights_only=True)
    model.observer = None
    by_language = model.by_language
    own_epochs = _test_own_epochs(cli, kept)
    model.by_language = by_language
    return own_epochs


def _test_own_epochs(cli: GileCLI, checkpoints: dict[str, Path]) -> dict[str, Any]:
    """Test every language at the epoch that was best for it (the authors' protocol)."""
    model = cli.model
    scores: dict[str, Any] = {}
    for name, path in checkpoints.items():
        only = cli.datamodule.only(name)
        cli.trainer.test(model, only, ckpt_path=path, verbose=False, weights_only=True)
        scores |= model.by_language
    return scores


def announce(data: Any) -> None:
    """Say when the corpus is the built-in one."""
    if getattr(data, "builtin", False):
        say(
            "No --data.path: using the built-in corpus of invented texts. Its figures say nothing "
            "about real ones."
        )


if __name__ == "__main__":
    main()
