"""Averages of results over languages."""

from collections.abc import Mapping

import numpy as np

from gile_lightning.metrics.table import COUNTS, THRESHOLDS

Scores = dict[str, dict[str, float]]  # results by candidate set, then by metric


def average(by_language: Mapping[str, Scores]) -> Scores:
    """Average results over languages; numbers of documents and labels are added up.

    A language without a document for a set of labels does not count there. A result that one of the
    others lacks is left out, as are thresholds that differ.
    """
    sets = dict.fromkeys(key for scores in by_language.values() for key in scores)
    return {key: _average([s[key] for s in by_language.values() if key in s]) for key in sets}


def _average(scores: list[dict[str, float]]) -> dict[str, float]:
    scored = [score for score in scores if score["documents"]] or scores
    averaged = {}
    for name in scored[0]:
        values = [score[name] for score in (scores if name in COUNTS else scored) if name in score]
        if len(values) < len(scored):
            continue
        if name in THRESHOLDS and len(set(values)) > 1:
            continue
        averaged[name] = float(sum(values) if name in COUNTS else np.mean(values))
    return averaged
