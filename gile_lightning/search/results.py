"""The files of a study: best configurations, a table of trials, plots, a page; and its W&B run."""

import base64
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import optuna
from optuna.trial import FrozenTrial, TrialState

from gile_lightning.common.console import say, show
from gile_lightning.common.files import write
from gile_lightning.search import plots, recovery
from gile_lightning.search import study as studies
from gile_lightning.search.recovery import LOG_TAIL, OUTCOME, WORKER
from gile_lightning.search.setting import Value
from gile_lightning.search.storage import keep_artifact
from gile_lightning.search.study import CONFIGURATION
from gile_lightning.tracking import page
from gile_lightning.tracking.history import write_csv
from gile_lightning.tracking.wandb_logger import RunLogger, finish, kept_beside

BEST = "best"
_WRITTEN = re.compile(rf"{BEST}(-\d{{4,}})?\.yaml")

Drawn = Sequence[tuple[plots.Plot, Any]]

_ATTRIBUTES = (LOG_TAIL, "folder", WORKER, OUTCOME)  # these are no figures


def write_results(
    study: optuna.Study,
    folder: Path,
    objectives: Sequence[str],
    configuration: Callable[[Mapping[str, Value]], str],
    logger: Mapping[str, Any] | None,
) -> None:
    """Write all files of a study into its folder, in place of older ones.

    Args:
        study: the study.
        folder: where its files are.
        objectives: names of its objectives.
        configuration: returns the whole configuration with some values, as YAML.
        logger: arguments of the study's own W&B run; None for no run.
    """
    trials = study.get_trials(deepcopy=False)
    settings = list(dict.fromkeys(name for trial in trials for name in trial.params))
    if not any(trial.state.is_finished() for trial in trials):
        return
    best = _write_best(study, folder, configuration)
    rows = [row(trial, trials, objectives, settings) for trial in trials]
    write_csv(folder / "trials.csv", rows)
    drawn = _draw(study, folder, objectives)
    write(folder / "report.html", _page(study, folder, objectives, best, drawn))
    show(f"report: {folder / 'report.html'}", report=folder / "report.html")
    if logger is not None:
        try:
            _log(study, folder, objectives, drawn, rows, logger)
        except Exception as error:  # of any kind: the study is done, and the page is written
            say(f"no W&B run of the study: {' '.join(str(error).split())}")
        finally:
            finish()


def row(
    trial: FrozenTrial,
    trials: Sequence[FrozenTrial],
    objectives: Sequence[str],
    settings: Sequence[str],
) -> dict[str, Any]:
    """Return a trial as a row of the table."""
    continued = trial.number in recovery.repeated(trials)
    values = trial.values or [None] * len(objectives)
    known = {k: v for k, v in trial.user_attrs.items() if k not in _ATTRIBUTES}
    return {
        "trial": trial.number,
        "state": "continued" if continued else trial.state.name.lower(),
        **dict(zip(objectives, values, strict=True)),
        **{name: trial.params.get(name) for name in settings},
        OUTCOME: recovery.ending(trial, trials),
        "folder": trial.user_attrs.get("folder", ""),
        **{key: value for key, value in known.items() if key not in objectives},
    }


def _write_best(
    study: optuna.Study, folder: Path, configuration: Callable[[Mapping[str, Value]], str]
) -> dict[Path, FrozenTrial]:
    """Write the configurations of the best trials: best.yaml, or one of each on the front."""
    found = best_files(study, folder)
    written = {path: configuration(trial.params) for path, trial in found.items()}
    for old in folder.glob(f"{BEST}*.yaml"):
        if _WRITTEN.fullmatch(old.name) and old not in found:  # others are the user's
            old.unlink()
    for path, content in written.items():
        write(path, content)
    return found


def best_files(study: optuna.Study, folder: Path) -> dict[Path, FrozenTrial]:
    """Return the best trials by the files with their configurations."""
    trials = studies.best(study)
    names = [BEST] if len(study.directions) == 1 else [f"{BEST}-{x.number:04d}" for x in trials]
    return {folder / f"{name}.yaml": trial for name, trial in zip(names, trials, strict=False)}


def _draw(study: optuna.Study, folder: Path, objectives: Sequence[str]) -> Drawn:
    """Draw all plots as PNG and HTML files, if there are enough trials."""
    if not plots.enough(study):
        return []
    place = folder / "plots"
    place.mkdir(exist_ok=True)
    drawn: list[tuple[plots.Plot, Any]] = []
    shown = plots.shortened(study)
    for plot in plots.plots(study, objectives):
        try:
            plots.picture(shown, plot, place / f"{plot.name}.png")
            figure = plots.interactive(shown, plot)
        except (ValueError, RuntimeError) as error:  # such as values that are all equal
            say(f"not drawn: {plot.title} ({error})")
            continue
        drawn.append((plot, figure))
        plots.write_page(figure, place / f"{plot.name}.html")
        keep_artifact(folder, study, place / f"{plot.name}.png")
    return drawn


def _page(
    study: optuna.Study,
    folder: Path,
    objectives: Sequence[str],
    best: Mapping[Path, FrozenTrial],
    drawn: Drawn,
) -> str:
    trials = study.get_trials(deepcopy=False)
    names = list(dict.fromkeys(name for trial in trials for name in trial.params))
    columns = ["trial", "state", *objectives, *names, "seconds", OUTCOME, "folder"]
    rows = [row(trial, trials, objectives, names) for trial in trials]
    goals = zip(study.directions, objectives, strict=True)
    aims = ", ".join(f"{direction.name.lower()} {name}" for direction, name in goals)
    states = Counter(str(found["state"]) for found in rows)
    counts = ", ".join(f"{number} {state}" for state, number in states.items())
    chosen = [
        [path.name, trial.user_attrs.get("folder"), *trial.values]
        + [plots.short(trial.params.get(name)) for name in names]
        for path, trial in best.items()
    ]
    return page.render(
        "study.html",
        title=f"Study {study.study_name}",
        note=f"{aims}. {counts}.",
        best=(["configuration", "folder", *objectives, *names], chosen),
        command=f"python -m gile_lightning.fit --config {next(iter(best), None)}",
        plots=[_picture(folder / "plots", plot) for plot, _ in drawn],
        trials=(columns, [[plots.short(found.get(name)) for name in columns] for found in rows]),
        pages=sorted(path.parent.name for path in folder.glob("trials/*/report.html")),
        failed=_failures(trials),
        configuration=_common(study),
    )


def _picture(folder: Path, plot: plots.Plot) -> page.Picture:
    content = base64.b64encode((folder / f"{plot.name}.png").read_bytes()).decode()
    return page.Picture(plot.title, f"data:image/png;base64,{content}", f"plots/{plot.name}.html")


def _failures(trials: Sequence[FrozenTrial]) -> list[tuple[str, str]]:
    """Return how each failed trial ended, and the end of its log."""
    repeated = recovery.repeated(trials)
    return [
        (f"trial {x.number}: {recovery.outcome(x)}", str(x.user_attrs.get(LOG_TAIL, "no log")))
        for x in trials
        if x.state == TrialState.FAIL and x.number not in repeated
    ]


def _common(study: optuna.Study) -> str:
    return str(study.user_attrs.get(CONFIGURATION, ""))


def _log(
    study: optuna.Study,
    folder: Path,
    objectives: Sequence[str],
    drawn: Drawn,
    rows: Sequence[dict[str, Any]],
    logger: Mapping[str, Any],
) -> None:
    """Log the plots, the trials and the best of them as a W&B run of the study's own."""
    import wandb

    options = {**logger, "name": study.study_name, "group": study.study_name}
    run = RunLogger(folder, **options, job_type="study").experiment
    columns: list[str | int] = list(dict.fromkeys(key for found in rows for key in found))
    cells: list[Any] = [[found.get(str(column)) for column in columns] for found in rows]
    logged: dict[str, Any] = {"trials": wandb.Table(columns, cells, allow_mixed_types=True)}
    logged |= {f"plots/{plot.name}": wandb.Plotly(figure) for plot, figure in drawn}
    with kept_beside(run):
        run.log(logged)
    for trial in studies.best(study)[:1]:
        run.summary.update({f"best/{k}": v for k, v in trial.params.items()})
        run.summary.update(dict(zip(objectives, trial.values, strict=True)))
    run.config.update({CONFIGURATION: _common(study)}, allow_val_change=True)
