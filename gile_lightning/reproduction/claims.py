"""Statements about the rows of a table, held against its figures: is it more than chance?

A statement is judged by two intervals. That over test documents says whether other documents could
turn it; that over seeds, or over columns where there are three at least, whether other fits could.
"""

import fnmatch
import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, stdev
from typing import Any, NamedTuple

from torch import Tensor

from gile_lightning.metrics.bootstrap import Pair, paired_bootstrap
from gile_lightning.metrics.document_scores import GOLD
from gile_lightning.reproduction.grid import Claim, Column, Fit, Grid, filled, runs_of
from gile_lightning.reproduction.tables import Line

_FEWEST = 3  # differences for which Student's interval says something
_SAME = 0.01  # points that the mean over documents may differ by, as figures are rounded

Documents = Callable[[str, str], Mapping[str, Tensor]]
"""Returns what each test document of a fit contributes to figures, by the key of the fit and the
pattern of the figures' keys; nothing if it is not known."""


NOTE = (
    "The difference is the mean over columns, whose figures are means over seeds. Over documents: "
    "the 95 % interval of a paired bootstrap over test documents; empty where a figure is no sum "
    "over documents, or fits are of an older version. Over fits: Student's 95 % interval over "
    "columns or seeds, if there are three; a row that draws nothing at random stands beside every "
    "seed of the other. A claim holds if every interval that there is lies above 0, and does not "
    "if every one lies below; a margin m takes -m in place of 0. What one or two seeds tell may "
    "not be so with others."
)
"""What stands below the table of claims."""


class ClaimPart(NamedTuple):
    """A statement on some blocks; ``name`` is that of the block."""

    claim: Claim
    name: str
    blocks: tuple[str, ...]


def parts(grid: Grid) -> list[ClaimPart]:
    """Return all statements: one for each block, or one for all together."""
    found = []
    for claim in grid.claims:
        blocks = claim.blocks or grid.blocks
        if claim.together:
            found.append(ClaimPart(claim, "all", tuple(blocks)))
        else:
            found += [ClaimPart(claim, block, (block,)) for block in blocks]
    return found


def over_documents(grid: Grid, fits: Sequence[Fit], documents: Documents) -> list[dict[str, Any]]:
    """Return the intervals over test documents of the statements, as plain values.

    They have ``says`` and ``part``, and ``mean``, ``low`` and ``high`` in percent. A statement is
    left out if a fit lacks what its documents contribute, or both rows were tested on different
    documents. Columns that are no sums over documents have no part in it.

    Args:
        grid: the table.
        fits: its fits.
        documents: of a fit.
    """
    found = []
    for claim, name, blocks in parts(grid):
        pairs = [pair for block in blocks for pair in _pairs(grid, claim, block, fits, documents)]
        if pairs and None not in pairs:
            interval = paired_bootstrap([pair for pair in pairs if pair is not None])
            mean, low, high = (round(x, 4) for x in interval.percent[:3])
            found.append({"says": claim.says, "part": name, "mean": mean, "low": low, "high": high})
    return found


def _pairs(
    grid: Grid, claim: Claim, block: str, fits: Sequence[Fit], documents: Documents
) -> list[Pair | None]:
    """Return the fits of both rows, by column and by what they were tested on.

    There is None for a column that cannot be told, and nothing where a row has no figure.
    """
    found: list[Pair | None] = []
    sides = [
        [fit for fit in fits if fit.block == block and fit.row.name == name]
        for name in (claim.over, claim.row)
    ]
    for column in _telling(grid, claim):
        over, row = (_terms(column, side, documents) for side in sides)
        if over == {} or row == {}:
            continue
        if over is None or row is None or over.keys() != row.keys():
            found.append(None)
            continue
        for tested in over:
            pair = over[tested], row[tested]
            found.append(Pair(*(pair if column.better == "higher" else pair[::-1]), drawn=tested))
    return found


def _telling(grid: Grid, claim: Claim) -> list[Column]:
    """Return the columns that tell."""
    if claim.columns:
        return [column for column in grid.columns if column.heading in claim.columns]
    return [column for column in grid.columns if not column.mean]


def _terms(
    column: Column, fits: Sequence[Fit], documents: Documents
) -> dict[int, list[Tensor]] | None:
    """Return what documents contribute to a column, by a number made of the documents.

    Languages of a parallel corpus, whose documents have the same labels one by one, have the same
    number: they share their draws. None if it is not known of a fit.
    """
    found: dict[int, list[Tensor]] = {}
    for fit in fits:
        whole = filled(column.key_of(fit.row), fit.block)
        if not runs_of(whole, [fit.run]):
            continue
        pattern = whole.rpartition(":")[2]
        arrays = documents(fit.key, pattern)
        if not arrays:
            return None
        for key in fnmatch.filter(arrays, pattern):
            gold = arrays.get(f"{key.partition('.')[0]}.{GOLD}", arrays.get(GOLD))
            if gold is not None:
                tested = zlib.crc32(gold.numpy().tobytes())
                found.setdefault(tested, []).append(arrays[key])
    return found


def claims_table(
    grid: Grid, lines: Sequence[Line], documents: Sequence[Mapping[str, Any]] = ()
) -> str:
    """Hold statements about rows against the figures; empty if none can be.

    The difference is the mean over columns, whose figures are means over seeds. The interval over
    seeds or columns is Student's. That over documents is shown if its mean is the difference: it is
    not where a column is no sum over documents, or a seed lacks a fit. A statement holds, or does
    not, if every interval that there is leaves out 0, or the margin of the statement.

    Args:
        grid: the table.
        lines: its rows.
        documents: what `over_documents` returned.
    """
    known = {(x["says"], x["part"]): x for x in documents}
    found = []
    for claim, name, blocks in parts(grid):
        if differences := _differences(grid, claim, blocks, lines):
            told = _told(differences, known.get((claim.says, name)), claim.margin)
            margin = f" (margin {claim.margin:g})" if claim.margin else ""
            found.append([f"{claim.says}{margin}", name, *told])
    if not found:
        return ""
    first = ["claim", "part"] if any(row[1] for row in found) else ["claim"]
    last = ["difference", "over documents", "over fits", "fits are", "better in", "holds"]
    rows = [[*first, *last], ["---"] * len(first) + ["---:"] * 3 + ["---", "---:", "---"]]
    rows += [[*row[: len(first)], *row[2:]] for row in found]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _differences(
    grid: Grid, claim: Claim, blocks: Sequence[str], lines: Sequence[Line]
) -> list[list[float]]:
    """Return by how much a row is better than another, by seed, per block and column of both.

    A row that draws nothing at random has one figure, which stands beside every seed of the other.
    Where the rows may have different seeds, as a fit has failed or is still to come, a column has
    the difference of the means alone.
    """
    found = []
    by_name = {(line.block, line.row.name): line for line in lines}
    telling = _telling(grid, claim)
    for block in blocks:
        if (block, claim.row) not in by_name or (block, claim.over) not in by_name:
            continue
        better, worse = by_name[block, claim.row], by_name[block, claim.over]
        whole = all(line.done == line.seeds for line in (better, worse))
        for column, one, other in zip(grid.columns, better.cells, worse.cells, strict=True):
            if column in telling and one.mean is not None and other.mean is not None:
                sign = 1 if column.better == "higher" else -1
                ones, others = one.values, other.values
                if better.row.seeds == 1:
                    ones = ones * len(others)
                if worse.row.seeds == 1:
                    others = others * len(ones)
                if len(ones) != len(others) or not whole:
                    ones, others = (one.mean,), (other.mean,)
                found.append([sign * (x - y) for x, y in zip(ones, others, strict=True)])
    return found


def _told(
    differences: Sequence[Sequence[float]], documents: Mapping[str, Any] | None, margin: float
) -> list[str]:
    """Return the mean, its intervals, what fits they are over, how many are better, the verdict."""
    values, over = [fmean(column) for column in differences], "columns"
    mean, bounds = fmean(values), None  # of all seeds, also where columns have different numbers
    if documents is not None and abs(documents["mean"] - mean) < _SAME:
        bounds = documents["low"], documents["high"]
    if len(values) < _FEWEST:
        # the mean of the columns, seed by seed
        values, over = [fmean(seed) for seed in zip(*differences, strict=False)], "seeds"
    wins = f"{sum(x > 0 for x in values)} of {len(values)}"
    intervals = [bounds, _student(values)]
    known = [interval for interval in intervals if interval is not None]
    verdict = ""
    if known:
        low, high = min(x for x, _ in known), max(x for _, x in known)
        verdict = "yes" if low > -margin else "no" if high < -margin else "not clear"
        if intervals[1] is None:
            verdict += f" ({len(values)} {over if len(values) > 1 else over.removesuffix('s')})"
    shown = ["" if x is None else f"{x[0]:+.1f} to {x[1]:+.1f}" for x in intervals]
    return [f"{mean:+.1f}", *shown, over, wins, verdict]


def _student(values: Sequence[float]) -> tuple[float, float] | None:
    """Return Student's 95 % interval of a mean; None of too few values."""
    if len(values) < _FEWEST:
        return None
    from scipy.stats import t as student  # which takes a second

    width = float(student.ppf(0.975, len(values) - 1)) * stdev(values) / math.sqrt(len(values))
    return fmean(values) - width, fmean(values) + width
