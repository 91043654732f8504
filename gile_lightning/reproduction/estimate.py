"""How long fits will take."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from gile_lightning.reproduction.grid import Fit


def estimate(fits: Sequence[Fit], done: Mapping[str, float]) -> tuple[dict[str, float], bool]:
    """Estimate the seconds of fits from those that are done.

    A fit takes the mean of the finished fits of its row and block. If there are none, it takes the
    seconds that its row states, times a factor: the seconds of all finished fits over those that
    their rows state.

    Args:
        fits: the fits of a table.
        done: seconds of those that are done, by key.

    Returns:
        Seconds by key, and whether any of them rests on a fit that is done.
    """
    finished = [(fit, done[fit.key]) for fit in fits if fit.key in done]
    stated = sum(fit.row.seconds for fit, _ in finished)
    factor = sum(seconds for _, seconds in finished) / stated if stated else 1.0
    rows: dict[tuple[str, str], list[float]] = {}
    for fit, seconds in finished:
        rows.setdefault((fit.block, fit.row.name), []).append(seconds)
    means = {key: fmean(seconds) for key, seconds in rows.items()}
    expected = {
        fit.key: done.get(fit.key, means.get((fit.block, fit.row.name), factor * fit.row.seconds))
        for fit in fits
    }
    return expected, bool(finished)
