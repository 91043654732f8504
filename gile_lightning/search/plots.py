"""Optuna's plots of a study, as pictures and as interactive pages."""

import json
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import optuna
from optuna.distributions import CategoricalDistribution
from optuna.trial import FrozenTrial, TrialState

_DPI = 80
_CLASS_PATH = re.compile(r"\b(?:[A-Za-z_]\w*\.)+([A-Z]\w*)")
_LONG = 8  # characters of a name on the horizontal axis, above which it is turned


class Plot(NamedTuple):
    """One of Optuna's plots, which has a function of the same name in both of its packages.

    Attributes:
        name: of its files.
        title: what it shows.
        function: of `optuna.visualization` and `optuna.visualization.matplotlib`.
        arguments: beside the study.
    """

    name: str
    title: str
    function: str
    arguments: dict[str, Any]


def plots(study: optuna.Study, objectives: Sequence[str]) -> Iterator[Plot]:
    """List the plots of a study: the front of two or three objectives, then those of each."""
    several = len(objectives) > 1
    if 2 <= len(objectives) <= 3:
        names = {"target_names": list(objectives)}
        yield Plot("pareto", "Pareto front", "plot_pareto_front", names)
    for i, objective in enumerate(objectives):
        suffix = f"-{objective.replace('/', '-')}" if several else ""
        for name, (title, function) in _EACH.items():
            target: dict[str, Any] = {"target_name": objective}
            if several:
                # of a target of our own, Optuna gives the importance for low values
                high = study.directions[i] == optuna.study.StudyDirection.MAXIMIZE
                target["target"] = _value(i, -1 if high and name == "importance" else 1)
            yield Plot(f"{name}{suffix}", f"{title}: {objective}", function, target)
    if any(trial.intermediate_values for trial in study.get_trials(deepcopy=False)):
        yield Plot("epochs", "Scores after every epoch", "plot_intermediate_values", {})
    yield Plot("timeline", "Timeline", "plot_timeline", {})


_EACH = {
    "history": ("History", "plot_optimization_history"),
    "importance": ("Importance", "plot_param_importances"),
    "parallel": ("Parallel coordinates", "plot_parallel_coordinate"),
    "slice": ("Slices", "plot_slice"),
}


def _value(i: int, sign: int) -> Callable[[FrozenTrial], float]:
    return lambda trial: sign * float(trial.values[i])


def enough(study: optuna.Study) -> bool:
    """Whether two trials have a value: fewer give no plots."""
    return len(study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))) > 1


def short(value: Any) -> Any:
    """Leave out the modules of classes.

    >>> short("gile_lightning.network.outputs.GILE"), short("data/dw.txt"), short(0.5)
    ('GILE', 'data/dw.txt', 0.5)
    >>> short('{"class_path": "gile_lightning.network.outputs.GILE", "init_args": {"layers": 2}}')
    'GILE(layers=2)'
    """
    if not isinstance(value, str):
        return value
    if value.startswith('{"class_path":'):  # a search space writes a part with arguments so
        found = json.loads(value)
        args = [f"{key}={short(x)}" for key, x in found.get("init_args", {}).items()]
        return f"{short(found['class_path'])}({', '.join(args)})"
    return _CLASS_PATH.sub(r"\1", value)


def shortened(study: optuna.Study) -> optuna.Study:
    """Copy a study for drawing, with choices shortened by `short`.

    Choices that would then be the same keep their modules.
    """
    made = optuna.create_study(study_name=study.study_name, directions=study.directions)
    if study.metric_names:
        made.set_metric_names(study.metric_names)
    for trial in study.get_trials():
        for key, known in trial.distributions.items():
            if not isinstance(known, CategoricalDistribution):
                continue
            choices = [short(choice) for choice in known.choices]
            if len(set(choices)) == len(choices):
                trial.params[key] = short(trial.params[key])
                trial.distributions[key] = CategoricalDistribution(choices)
        made.add_trial(trial)
    return made


def picture(study: optuna.Study, plot: Plot, path: Path) -> None:
    """Draw a plot as a PNG file."""
    import matplotlib.pyplot as plt
    from optuna.visualization import matplotlib as pictures

    with (
        plt.rc_context(),
        warnings.catch_warnings(),
    ):  # Optuna sets a global style
        warnings.simplefilter("ignore", UserWarning)  # about targets, which are right
        plt.switch_backend("agg")
        axes = getattr(pictures, plot.function)(study, **plot.arguments)
        figure = plt.gcf() if hasattr(axes, "__len__") else axes.figure
        figure.set_size_inches(7.5, 4.5)  # letters that can be read at half a page
        figure.canvas.draw()  # this makes the names
        if plot.function == "plot_parallel_coordinate":
            names = [x for drawn in figure.axes[2:] for x in drawn.get_yticklabels()]
            longest = max((len(name.get_text()) for name in names), default=0)
            bar = figure.axes[1]  # of colours; the choices of the last setting would cover it
            bar.set_position(bar.get_position().translated(0.007 * longest, 0))
        if plot.function == "plot_slice":
            for drawn in figure.axes:
                _narrow(drawn)
        for names in (drawn.get_xticklabels() for drawn in figure.axes):
            if any(len(name.get_text()) > _LONG and name.get_visible() for name in names):
                for name in names:
                    name.set(rotation=30, horizontalalignment="right")
        figure.savefig(path, dpi=_DPI, bbox_inches="tight")
        plt.close("all")


def _narrow(drawn: Any) -> None:
    """Make the names at the horizontal axis of a narrow picture fit beside those of the next."""
    from matplotlib.ticker import NullFormatter

    drawn.set_xlabel(drawn.get_xlabel().replace(".", ".\n"))
    low, high = drawn.get_xlim()
    if any(low <= tick <= high for tick in drawn.get_xticks()):
        drawn.xaxis.set_minor_formatter(NullFormatter())


def interactive(study: optuna.Study, plot: Plot) -> Any:
    """Return a plot as a figure of Plotly."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # as above
        figure = getattr(optuna.visualization, plot.function)(study, **plot.arguments)
    figure.update_layout(template="plotly_white")
    return figure


def write_page(figure: Any, path: Path) -> None:
    """Write an interactive page, beside the one script that all pages of its folder load."""
    figure.write_html(path, include_plotlyjs="directory", config={"displaylogo": False})
