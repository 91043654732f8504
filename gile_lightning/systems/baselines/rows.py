"""Sums added to a few rows of a table of vectors."""

import torch
from torch import Tensor

from gile_lightning.data.loading.flat import distinct, sum_by_id


def add_to_rows(
    table: Tensor,
    ids: Tensor,
    values: Tensor,
    sources: Tensor | None = None,
    weights: Tensor | None = None,
    max_norm: float | None = None,
) -> None:
    """Add ``weights[i] * values[sources[i]]`` to row ``ids[i]`` of a table, for all i at once.

    A row that occurs several times gets the sum. A changed row that is then longer than
    ``max_norm`` is scaled to that length.

    Args:
        table: vectors [V, d], changed in place.
        ids: rows [N].
        values: vectors [S, d].
        sources: the places of the values to add [N]; by default i.
        weights: factors [N]; by default 1.
        max_norm: the largest Euclidean norm.
    """
    if not len(ids):
        return
    # one sum per row is twice as fast as adding value by value
    rows, places = distinct(ids, len(table))
    sources = torch.arange(len(ids), device=ids.device) if sources is None else sources
    sums = sum_by_id(values, sources, places, len(rows), weights)
    table.index_add_(0, rows, sums)
    if max_norm is not None:
        norms = torch.linalg.vector_norm(table.index_select(0, rows), dim=1)
        long = norms > max_norm
        rows = rows[long]
        table[rows] *= (max_norm / norms[long]).unsqueeze(1)
