"""Drawings of a run's page: curves over epochs, and bars by label frequency."""

import base64
import io
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gile_lightning.metrics.calibration import Reliability
from gile_lightning.metrics.table import (
    AVERAGE_PRECISION,
    HEADINGS,
    Metrics,
    panels,
    popularity,
    val,
)
from gile_lightning.tracking.history import DATA_WAIT, SPEED
from gile_lightning.tracking.page import Picture
from gile_lightning.training.scores import LOSS, language_score

if TYPE_CHECKING:  # importing matplotlib takes a second
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#3b7dc4", "#c96f1a", "#2f8f5b", "#a657a8", "#cf4f4a", "#6f7f8f", "#1f8a94", "#8a7f2a")

POPULARITY = popularity(AVERAGE_PRECISION.name)  # drawn for comparison

History = Sequence[Mapping[str, float]]

TRAINING = {
    "Training loss": (LOSS,),
    "Training documents per second": (SPEED,),
    "Share of the training steps that waits for data": (DATA_WAIT,),
}


def curves(history: History, languages: Sequence[str] = (), metrics: Metrics = ()) -> list[Picture]:
    """Draw scores and training figures of the epochs against the training step.

    A panel is left out if the history has none of its curves.

    Args:
        history: a row per epoch, as in ``metrics.csv``.
        languages: if there are several, each has a curve.
        metrics: the metrics that `model.metrics` added.
    """
    shown: dict[str, Sequence[str]] = {**panels(metrics)}
    if len(languages) > 1:
        names = [language_score(val(AVERAGE_PRECISION.name), name) for name in languages]
        shown["Average precision of each language"] = names
    shown = {f"{title} (validation, %)": keys for title, keys in shown.items()} | TRAINING
    known = {key for keys in shown.values() for key in keys}
    for key in dict.fromkeys(key for row in history for key in row):
        if key.startswith("train/") and key not in known:  # logged by some systems only
            shown[f"Training {key.removeprefix('train/')}"] = [key]
    drawn = []
    for title, keys in shown.items():
        found = {key: _points(history, key, 100 if "%" in title else 1) for key in keys}
        if any(found.values()):
            drawn.append(_curves(title, {key: points for key, points in found.items() if points}))
    return drawn


def _points(history: History, key: str, factor: float) -> list[tuple[float, float]]:
    return [(row["step"], factor * row[key]) for row in history if key in row]


def _curves(title: str, found: Mapping[str, list[tuple[float, float]]]) -> Picture:
    figure, axes = panel(title, "training step")
    for key, points in found.items():
        reference = key == POPULARITY
        axes.plot(
            *zip(*points, strict=True),
            label=_name(key),
            marker="" if reference else "o",
            markersize=3,
            linewidth=1.5,
            linestyle="--" if reference else "-",
            color=COLOURS[5] if reference else None,
        )
    _from_zero(axes)
    if len(found) > 1:
        columns = 1 if len(found) < 4 else 2
        axes.legend(frameon=False, fontsize=8, labelcolor="black", ncols=columns)
    return picture(figure)


def bars(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Picture:
    """Draw a group of bars for each row: a bar with its value for each column but the first."""
    figure, axes = panel(title, columns[0], "%")
    width = 0.8 / (len(columns) - 1)
    for i, name in enumerate(columns[1:]):
        places = [row + (i - (len(columns) - 2) / 2) * width for row in range(len(rows))]
        drawn = axes.bar(places, [row[i + 1] for row in rows], 0.9 * width, label=name)
        axes.bar_label(drawn, fmt="%.0f", fontsize=7, padding=1)
    axes.set_xticks(range(len(rows)), [str(row[0]) for row in rows])
    axes.tick_params(axis="x", length=0)
    axes.margins(y=0.3)
    axes.legend(frameon=False, fontsize=8, ncols=3, loc="upper left", labelcolor="black")
    return picture(figure)


def reliability(title: str, sets: Mapping[str, Reliability]) -> Picture:
    """Draw the share of right labels against their mean probability, a curve for each set."""
    figure, axes = panel(title, "mean probability", "right")
    axes.plot([0, 100], [0, 100], color=COLOURS[5], linestyle="--", linewidth=1)
    for name, found in sets.items():
        label = f"{name}: expected calibration error {100 * found.error:.1f}"
        points = 100 * found.predicted, 100 * found.correct
        axes.plot(*points, marker="o", markersize=3, linewidth=1.5, label=label)
    axes.legend(frameon=False, fontsize=8, labelcolor="black")
    return picture(figure)


def _name(key: str) -> str:
    if key == POPULARITY:
        return "by popularity"
    *_, language, name = ("", *key.removeprefix("val/").split("/"))
    return language or HEADINGS.get(name, name)


def _from_zero(axes: Any) -> None:
    """Start the vertical axis at zero; put whole numbers on the horizontal one."""
    from matplotlib.ticker import MaxNLocator

    axes.set_ylim(bottom=0)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))


def panel(title: str, x: str = "", y: str = "") -> "tuple[Figure, Axes]":
    """Return an empty drawing in the style of the pages, and its axes.

    matplotlib's global state is neither read nor changed. So a notebook's settings and a missing
    display do not matter.

    Args:
        title: above the axes; a screen reader reads it in place of the picture.
        x: name of the horizontal axis.
        y: name of the vertical axis.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.6, 2.9))  # the page scales it to its width
    figure.set_layout_engine("none")
    figure.set_label(title)
    # fixed: to measure the texts would take longer than all the rest
    axes = figure.subplots(gridspec_kw={"left": 0.14, "right": 0.97, "bottom": 0.17, "top": 0.9})
    axes.set_title(title, fontsize=10, loc="left", fontweight="bold")
    axes.set_xlabel(x, fontsize=9)
    axes.set_ylabel(y, fontsize=9)
    axes.tick_params(labelsize=8, length=3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_prop_cycle(color=list(COLOURS))
    axes.grid(axis="y", color="#b0b0b0", linewidth=0.6)
    axes.set_axisbelow(True)
    return figure, axes


def picture(figure: "Figure") -> Picture:
    """Return a drawing as an SVG picture; equal drawings give equal pictures."""
    import matplotlib

    content = io.BytesIO()
    # text stays text: a browser has the characters that matplotlib's font lacks
    settings: Any = {"svg.fonttype": "none", "svg.hashsalt": "gile_lightning"}
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure.savefig(content, format="svg", metadata={"Date": None})
    encoded = base64.b64encode(content.getvalue()).decode()
    return Picture(str(figure.get_label()), f"data:image/svg+xml;base64,{encoded}")
