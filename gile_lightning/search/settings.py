"""The `sweep` section of a configuration."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from optuna.pruners import BasePruner
from optuna.samplers import BaseSampler

from gile_lightning.common.errors import InputError, positive
from gile_lightning.metrics.table import Metrics, check_score, val, validated

Direction = Literal["maximize", "minimize"]

FIGURES = ("documents_per_second", "parameters", "seconds")  # of a fit, beside its scores
_NAME = re.compile(r"[\w.-]+")


@dataclass
class Search:
    """The search space of a sweep, its objectives and its limits.

    Args:
        study: its name; by default that of `--output`, or of the configuration.
        space: settings, by dotted keys of the configuration: `{type: int, low: 50, high: 2000,
            log: true}`, `{type: float, low: 0.0, high: 0.5, step: 0.1}` or `{choices: [...]}`,
            each perhaps with `when: {KEY: CHOICE}`.
        objectives: one or several scores to `maximize` or `minimize`: validation scores
            (val/average_precision), documents_per_second, parameters, seconds; by default what
            early stopping watches. The scores are those of the checkpoint that a fit keeps.
        trials: their number, of all workers together; null for no limit.
        hours: time after which this command starts no further trial; null for no limit.
        storage: the URL of a database (postgresql://..., mysql://...) or of a journal file
            (journal://PATH); by default an SQLite file in the study's folder.
        sampler: chooses values; by default TPE.
        pruner: ends trials early; by default none. It needs a single objective.
        test: whether to score every trial's checkpoint on the test documents too. No choice
            depends on these scores.
        keep_checkpoints: whether to keep those of the best trials, or of all.
        retries: how often a trial is repeated if its process was killed or its worker vanished.
        heartbeat: seconds between two signs of life of a trial. After four times as long without
            one, the trial counts as dead.

    Raises:
        InputError: a number makes no sense.
    """

    study: str | None = None
    space: dict[str, Any] = field(default_factory=dict)
    objectives: dict[str, Direction] | None = None
    trials: int | None = 50
    hours: float | None = None
    storage: str | None = None
    sampler: BaseSampler | None = None
    pruner: BasePruner | None = None
    test: bool = False
    keep_checkpoints: Literal["best", "all"] = "best"
    retries: int = 2
    heartbeat: int = 15

    def __post_init__(self) -> None:
        limits = {"sweep.trials": self.trials, "sweep.hours": self.hours}
        finite = {name: value for name, value in limits.items() if value is not None}
        positive(**finite, **{"sweep.heartbeat": self.heartbeat})
        if not finite:
            raise InputError("give sweep.trials or sweep.hours: without both, a sweep never ends")
        if self.retries < 0:
            raise InputError(f"sweep.retries is {self.retries}; 0 for none")
        if self.study is not None and not _NAME.fullmatch(self.study):
            raise InputError(
                f"sweep.study is {self.study!r}; it names a folder: letters, digits, '.', '-', '_'"
            )
        if self.pruner is not None and self.objectives is not None and len(self.objectives) > 1:
            raise InputError(
                "sweep.pruner: trials are pruned by a single objective, not by "
                f"{' and '.join(self.objectives)}; set sweep.pruner to null, or choose one"
            )

    def directions(
        self,
        monitor: str,
        mode: Literal["max", "min"],
        languages: Iterable[str],
        metrics: Metrics = (),
    ) -> dict[str, Direction]:
        """Return the objectives with their directions.

        Args:
            monitor: the score that early stopping watches, which is the default.
            mode: whether high (max) or low (min) values of it are better.
            languages: the languages of the data.
            metrics: the system's further metrics.

        Raises:
            InputError: no fit reports such a score.
        """
        scores = validated(metrics)
        if self.objectives is None:
            check_score("early_stopping.monitor", monitor, map(val, scores))
            return {monitor: "maximize" if mode == "max" else "minimize"}
        known = [*map(val, scores), *FIGURES]
        names = list(languages)
        if len(names) > 1:
            known += [val(f"{language}/{name}") for language in names for name in scores]
        for name in self.objectives:
            if name.startswith("test"):
                raise InputError(
                    f"sweep.objectives: {name}: test documents must not choose settings; "
                    f"use a validation score, such as {known[1]}"
                )
            check_score("sweep.objectives", name, known)
        if self.pruner is not None and not next(iter(self.objectives), "val/").startswith("val/"):
            raise InputError(
                f"sweep.pruner: needs a score of every epoch, not {next(iter(self.objectives))}; "
                "set sweep.pruner to null"
            )
        if not self.objectives:
            raise InputError(
                "sweep.objectives is empty; leave it out for what early stopping watches"
            )
        return self.objectives
