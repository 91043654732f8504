"""What a study leaves: its best configurations, a table of trials, plots, a page, a W&B run."""

import base64
import html
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import optuna
from optuna.trial import FrozenTrial, TrialState

from gile_lightning.console import say
from gile_lightning.search import plots
from gile_lightning.search import study as studies
from gile_lightning.search.artifacts import keep
from gile_lightning.search.space import Value
from gile_lightning.search.study import CONFIGURATION, LOG_TAIL, OUTCOME, WORKER
from gile_lightning.tracking import page
from gile_lightning.tracking.history import write_csv
from gile_lightning.tracking.wandb_logger import RunLogger, finish

BEST = "best"
_PATH = re.compile(r"[A-Za-z_]\w*(\.\w+)+")

Drawn = Sequence[tuple[plots.Plot, Any]]

_ATTRIBUTES = (LOG_TAIL, "folder", WORKER, OUTCOME)  # no columns of figures


def write_report(
    study: optuna.Study,
    folder: Path,
    objectives: Sequence[str],
    configuration: Callable[[Mapping[str, Value]], str],
    logger: Mapping[str, Any] | None,
) -> None:
    """Write all that a study leaves into its folder, anew each time.

    Args:
        study: the study.
        folder: where its files are.
        objectives: names of its objectives.
        configuration: makes the whole configuration of values, as YAML.
        logger: arguments of the study's own W&B run; None for no such run.
    """
    trials = study.get_trials(deepcopy=False)
    settings = list(dict.fromkeys(name for trial in trials for name in trial.params))
    if not any(trial.state.is_finished() for trial in trials):
        return
    best = _write_best(study, folder, configuration)
    rows = [row(trial, trials, objectives, settings) for trial in trials]
    write_csv(folder / "trials.csv", rows)
    drawn = _draw(study, folder, objectives)
    page.write(folder / "report.html", _page(study, folder, objectives, best, drawn))
    say(f"report: {folder / 'report.html'}")
    if logger is not None:
        try:
            _log(study, folder, objectives, drawn, rows, logger)
        except Exception as error:  # whatever it is: the study is done, and the page is written
            say(f"no W&B run of the study: {' '.join(str(error).split())}")
        finally:
            finish()


def row(
    trial: FrozenTrial,
    trials: Sequence[FrozenTrial],
    objectives: Sequence[str],
    settings: Sequence[str],
) -> dict[str, Any]:
    """Return what is known of a trial, in columns."""
    continued = trial.number in studies.repeated(trials)
    values = trial.values or [None] * len(objectives)
    known = {k: v for k, v in trial.user_attrs.items() if k not in _ATTRIBUTES}
    return {
        "trial": trial.number,
        "state": "continued" if continued else trial.state.name.lower(),
        **dict(zip(objectives, values, strict=True)),
        **{name: trial.params.get(name) for name in settings},
        OUTCOME: studies.ending(trial, trials),
        "folder": trial.user_attrs.get("folder", ""),
        **{key: value for key, value in known.items() if key not in objectives},
    }


def _write_best(
    study: optuna.Study, folder: Path, configuration: Callable[[Mapping[str, Value]], str]
) -> dict[Path, FrozenTrial]:
    """Write the configurations of the best trials: best.yaml, or one of each on the front."""
    for old in folder.glob(f"{BEST}*.yaml"):
        old.unlink()
    found = best_files(study, folder)
    for path, trial in found.items():
        page.write(path, configuration(trial.params))
    return found


def best_files(study: optuna.Study, folder: Path) -> dict[Path, FrozenTrial]:
    """Return the best trials by the files with their configurations."""
    trials = studies.best(study)
    names = [BEST] if len(study.directions) == 1 else [f"{BEST}-{x.number:04d}" for x in trials]
    return {folder / f"{name}.yaml": trial for name, trial in zip(names, trials, strict=False)}


def _short(value: Any) -> Any:
    """Leave the module of an import path out."""
    path = isinstance(value, str) and _PATH.fullmatch(value)
    return value.rpartition(".")[2] if path else value


def _links(folder: Path) -> str:
    """Lead to the pages of the trials that are in this folder."""
    found = sorted(folder.glob("trials/*/report.html"))
    links = (f'<a href="trials/{x.parent.name}/report.html">{x.parent.name}</a>' for x in found)
    return f"<p>Pages of trials: {' '.join(links)}</p>" if found else ""


def _draw(study: optuna.Study, folder: Path, objectives: Sequence[str]) -> Drawn:
    """Draw all plots that there are enough trials for, as PNG and HTML files."""
    if not plots.enough(study):
        return []
    place = folder / "plots"
    place.mkdir(exist_ok=True)
    drawn: list[tuple[plots.Plot, Any]] = []
    for plot in plots.plots(study, objectives):
        try:
            plots.picture(study, plot, place / f"{plot.name}.png")
            figure = plots.interactive(study, plot)
        except (ValueError, RuntimeError) as error:  # such as no variance at all
            say(f"not drawn: {plot.title} ({error})")
            continue
        drawn.append((plot, figure))
        plots.write_page(figure, place / f"{plot.name}.html")
        keep(folder, study, place / f"{plot.name}.png")
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
    cells = [[_short(found.get(column)) for column in columns] for found in rows]
    goals = zip(study.directions, objectives, strict=True)
    note = ", ".join(f"{direction.name.lower()} {name}" for direction, name in goals)
    states = Counter(str(found["state"]) for found in rows)
    counts = ", ".join(f"{number} {state}" for state, number in states.items())
    sections = [
        ("Best", _best(best, objectives, names)),
        ("Plots", _pictures(folder, drawn)),
        ("Trials", page.table(columns, cells) + _links(folder)),
        ("Failed trials", _failures(trials)),
        ("Configuration", _folded("what all trials have in common", _common(study))),
    ]
    return page.page(f"Study {study.study_name}", sections, f"{note}. {counts}.", _STYLE)


_STYLE = """
figure { margin: 0; }
img { width: 100%; background: #fff; border-radius: 6px; }
figcaption a { color: var(--accent); }
"""


def _best(best: Mapping[Path, FrozenTrial], objectives: Sequence[str], names: Sequence[str]) -> str:
    if not best:
        return "<p>No trial is complete.</p>"
    cells = [
        [path.name, trial.user_attrs.get("folder"), *trial.values]
        + [_short(trial.params.get(name)) for name in names]
        for path, trial in best.items()
    ]
    several = "None of these is better than another in all respects. " if len(best) > 1 else ""
    command = f"python -m gile_lightning.fit --config {next(iter(best))}"
    return (
        page.table(["configuration", "folder", *objectives, *names], cells)
        + f"<p>{several}To repeat one:</p><pre>{html.escape(command)}</pre>"
    )


def _pictures(folder: Path, drawn: Drawn) -> str:
    """Show the PNG files, each with a link to its interactive page."""
    figures = []
    for plot, _ in drawn:
        content = base64.b64encode((folder / "plots" / f"{plot.name}.png").read_bytes()).decode()
        title = html.escape(plot.title, quote=True)
        figures.append(
            f'<figure><img alt="{title}" src="data:image/png;base64,{content}">'
            f'<figcaption>{title} (<a href="plots/{plot.name}.html">interactive</a>)</figcaption>'
            "</figure>"
        )
    return page.pictures(figures)


def _failures(trials: Sequence[FrozenTrial]) -> str:
    return "\n".join(
        _folded(
            f"trial {trial.number}: {studies.outcome(trial)}",
            str(trial.user_attrs.get(LOG_TAIL, "no log")),
        )
        for trial in trials
        if trial.state == TrialState.FAIL and trial.number not in studies.repeated(trials)
    )


def _common(study: optuna.Study) -> str:
    return str(study.user_attrs.get(CONFIGURATION, ""))


def _folded(summary: str, text: str) -> str:
    summary, text = html.escape(summary), html.escape(text)
    return f"<details><summary>{summary}</summary><pre>{text}</pre></details>"


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

    given = {**logger, "name": study.study_name, "group": study.study_name}
    run = RunLogger(folder, **given, job_type="study").experiment
    columns: list[str | int] = list(dict.fromkeys(key for found in rows for key in found))
    cells: list[Any] = [[found.get(str(column)) for column in columns] for found in rows]
    logged: dict[str, Any] = {"trials": wandb.Table(columns, cells, allow_mixed_types=True)}
    logged |= {f"plots/{plot.name}": wandb.Plotly(figure) for plot, figure in drawn}
    run.log(logged)
    for trial in studies.best(study)[:1]:
        run.summary.update({f"best/{k}": v for k, v in trial.params.items()})
        run.summary.update(dict(zip(objectives, trial.values, strict=True)))
    run.config.update({CONFIGURATION: _common(study)}, allow_val_change=True)
