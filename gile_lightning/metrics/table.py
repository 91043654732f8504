"""The table of metrics: what is computed, and what of it is logged, shown and drawn.

Evaluation, console, page, W&B and the scores that may be monitored follow it.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from gile_lightning.common.errors import InputError, nearest
from gile_lightning.metrics.at_cutoff import NdcgAt, PrecisionAt, RecallAt
from gile_lightning.metrics.document_metric import DocumentMetric
from gile_lightning.metrics.nam16 import (
    Nam16AveragePrecision,
    Nam16OneError,
    Nam16RankingLoss,
)
from gile_lightning.metrics.ranking import rank_positives
from gile_lightning.metrics.whole_ranking import AveragePrecision, OneError, RankingLoss

Metrics = Sequence[DocumentMetric]

# --- means over documents ---

RANKING_LOSS, AVERAGE_PRECISION, ONE_ERROR = RankingLoss(), AveragePrecision(), OneError()
P_AT_1, P_AT_5, NDCG_AT_5 = PrecisionAt(1), PrecisionAt(5), NdcgAt(5, validated=False)
_PLAIN = {"column": False, "validated": False}

DOCUMENT_METRICS: tuple[DocumentMetric, ...] = (
    RANKING_LOSS,
    AVERAGE_PRECISION,
    ONE_ERROR,
    P_AT_1,
    PrecisionAt(3, **_PLAIN),
    P_AT_5,
    *(RecallAt(k, **_PLAIN) for k in (1, 3, 5)),
    NdcgAt(1, **_PLAIN),
    NdcgAt(3, **_PLAIN),
    NDCG_AT_5,
)
NAM16: tuple[DocumentMetric, ...] = (Nam16RankingLoss(), Nam16AveragePrecision(), Nam16OneError())

# --- other results ---

PSP = {k: f"psp_at_{k}" for k in (1, 3, 5)}  # propensity-scored precision at k
COVERED = 5  # a label is covered that is rightly among so many best ones of some document
COVERAGE = f"coverage_at_{COVERED}"
MACRO_F1 = "macro_f1"
F1 = "f1"  # micro-F1; in validation at the threshold by which the authors choose the epoch
ECE = "expected_calibration_error"  # of the ten best labels of a document
UNSEEN = f"unseen_{AVERAGE_PRECISION.name}"
BOTH = f"seen_{UNSEEN}"  # the mean of that of the seen and that of the unseen labels

COUNTS = ("documents", "skipped", "labels")
THRESHOLDS = ("threshold", "tuned_threshold")

# --- tables: names of results and titles of columns ---

LABEL_COLUMNS = {MACRO_F1: "macro-F1", COVERAGE: f"coverage@{COVERED}"}
F1_COLUMNS = {
    "documents": "documents",
    "labels": "labels",
    "threshold": "threshold",
    "precision": "precision",
    "recall": "recall",
    F1: "F1",
    "tuned_threshold": "tuned threshold",
    f"tuned_{F1}": "F1",
}
FREQUENCY_COLUMNS = {m.name: m.heading for m in (AVERAGE_PRECISION, P_AT_1, NDCG_AT_5)}


def ranking_columns(added: Metrics = ()) -> dict[str, str]:
    """Return the columns of the table of candidate sets: names of results and their titles."""
    return {
        "documents": "documents",
        **{metric.name: metric.heading for metric in DOCUMENT_METRICS if metric.column},
        PSP[5]: "PSP@5",
        ECE: "ECE",
        **{metric.name: metric.heading for metric in added if metric.column},
    }


# --- validation ---

# of the ranking by training frequency, for comparison
POPULARITY = tuple(metric.name for metric in (AVERAGE_PRECISION, ONE_ERROR))


def val(name: str) -> str:
    """Return the name by which a validation score is logged and monitored."""
    return f"val/{name}"


def popularity(name: str) -> str:
    """Return the name by which the score of the ranking by training frequency is logged."""
    return val(f"popularity_{name}")


def validated(added: Metrics = ()) -> tuple[str, ...]:
    """Return the names of the validation scores, without ``val/``; all may be monitored."""
    ours = (metric.name for metric in DOCUMENT_METRICS if metric.validated)
    return (*ours, F1, BOTH, *(metric.name for metric in added if metric.validated))


def lower_is_better(added: Metrics = ()) -> tuple[str, ...]:
    """Return the names of the scores that are errors or losses."""
    every = (*DOCUMENT_METRICS, *added)
    return tuple(metric.name for metric in every if not metric.higher_is_better)


def check_score(key: str, name: str, known: Iterable[str]) -> None:
    """Refuse the name of a score that no fit reports.

    Args:
        key: the key of the configuration that names it.
        name: the score.
        known: the scores that there are.

    Raises:
        InputError: it is none of them. The message names the nearest, or all.
    """
    known = list(known)
    if name not in known:
        remedy = nearest(name, known) or f"; the scores are {', '.join(known)}"
        raise InputError(f"{key} is {name!r}{remedy}")


# --- drawings: titles of panels, and the scores that have a curve in each ---

PANELS = {
    "Average precision": (val(AVERAGE_PRECISION.name), popularity(AVERAGE_PRECISION.name)),
    "Precision and F1": (val(P_AT_1.name), val(P_AT_5.name), val(F1)),
    "Ranking loss and one-error": (val(RANKING_LOSS.name), val(ONE_ERROR.name)),
}


def panels(added: Metrics = ()) -> dict[str, tuple[str, ...]]:
    """Return the panels of validation scores. Each added metric has one of its own."""
    others = {metric.heading: (val(metric.name),) for metric in added if metric.validated}
    return PANELS | others


# the names of curves that share a panel
HEADINGS = {metric.name: metric.heading for metric in DOCUMENT_METRICS} | {F1: F1_COLUMNS[F1]}

# --- metrics of one's own ---


def checked(added: Metrics) -> tuple[DocumentMetric, ...]:
    """Return added metrics; each is tried on three documents, one of them without a positive.

    Raises:
        InputError: one has no name or heading, or those of another metric, or does not return a
            number per document.
    """
    if not added:
        return ()
    names = {
        *PSP.values(),
        COVERAGE,
        MACRO_F1,
        ECE,
        *COUNTS,
        *THRESHOLDS,
        *F1_COLUMNS,
        UNSEEN,
        BOTH,
    }
    titles = {*ranking_columns().values(), *PANELS}
    for metric in (*DOCUMENT_METRICS, *NAM16):
        names.add(metric.name)
        titles.add(metric.heading)
    scores = torch.arange(60.0).reshape(3, 20).sin()
    ranks = rank_positives(scores, torch.tensor([1, 7, 19, 4]), torch.tensor([3, 0, 1]))
    for metric in added:
        kind = f"model.metrics: {type(metric).__name__}"
        for attribute, used in (("name", names), ("heading", titles)):
            value = getattr(metric, attribute, "")
            if not value or (attribute == "name" and not re.fullmatch(r"\w+", value)):
                raise InputError(f"{kind} needs a {attribute}, not {value!r}")
            if value in used:
                raise InputError(f"{kind}: another metric has the {attribute} {value!r} already")
            used.add(value)
        values: Any = metric(ranks)
        found = type(values).__name__
        if isinstance(values, Tensor):
            found = f"{values.dtype} {list(values.shape)}"
            if values.shape == ranks.label_counts.shape and values.is_floating_point():
                continue
        raise InputError(
            f"{kind} must return a number per document, [3] floating point for 3 documents, "
            f"not {found}"
        )
    return tuple(added)
