"""The drawings of a fit's page: curves over its epochs, bars of label frequencies."""

from collections.abc import Mapping, Sequence
from typing import Any

from gile_lightning.base import LOSS
from gile_lightning.callbacks import POPULARITY, PRECISION, language_score
from gile_lightning.tracking.history import DATA_WAIT, SPEED
from gile_lightning.tracking.page import COLOURS, panel, svg

History = Sequence[Mapping[str, float]]

# the curves that share a panel, by its title, as they are called in W&B and `metrics.csv`
VALIDATION = {
    "Average precision": (PRECISION, POPULARITY),
    "Precision and F1": ("val/precision_at_1", "val/precision_at_5", "val/f1"),
    "Ranking loss and one-error": ("val/ranking_loss", "val/one_error"),
}
TRAINING = {
    "Training loss": (LOSS,),
    "Training documents per second": (SPEED,),
    "Share of the training steps that waits for data": (DATA_WAIT,),
}


def curves(history: History, languages: Sequence[str] = ()) -> list[str]:
    """Draw the scores of the epochs against the training step, as SVG.

    Panels of curves that the history lacks are left out.

    Args:
        history: rows per epoch, as in ``metrics.csv``.
        languages: which have a curve each, if there are several.
    """
    panels: dict[str, Sequence[str]] = {**VALIDATION}
    if len(languages) > 1:
        names = [language_score(PRECISION, name) for name in languages]
        panels["Average precision of each language"] = names
    panels = {f"{title} (validation, %)": keys for title, keys in panels.items()} | TRAINING
    known = {key for keys in panels.values() for key in keys}
    for key in dict.fromkeys(key for row in history for key in row):
        if key.startswith("train/") and key not in known:  # what a system of its own logs
            panels[f"Training {key.removeprefix('train/')}"] = [key]
    drawn = []
    for title, keys in panels.items():
        found = {key: _points(history, key, 100 if "%" in title else 1) for key in keys}
        if any(found.values()):
            drawn.append(_curves(title, {key: points for key, points in found.items() if points}))
    return drawn


def _points(history: History, key: str, factor: float) -> list[tuple[float, float]]:
    return [(row["step"], factor * row[key]) for row in history if key in row]


def _curves(title: str, found: Mapping[str, list[tuple[float, float]]]) -> str:
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
    return svg(figure)


def bars(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Draw a group of bars per row, one bar per column after the first, with their values."""
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
    return svg(figure)


def _name(key: str) -> str:
    if key == POPULARITY:
        return "by popularity"
    *_, language, name = ("", *key.removeprefix("val/").split("/"))
    return language or name.replace("_", " ").replace("precision at ", "P@").replace("f1", "F1")


def _from_zero(axes: Any) -> None:
    """Let the vertical axis begin at zero, and the horizontal one have whole numbers."""
    from matplotlib.ticker import MaxNLocator

    axes.set_ylim(bottom=0)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
