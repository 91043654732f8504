"""Which texts share a batch."""

import torch

from gile_lightning.data.pretrained import batches


def test_batches_are_bounded_by_padded_tokens():
    counts = torch.tensor([3, 5, 0, 3, 4, 20, 3, 4])
    order = counts.argsort(stable=True)
    parts = [part.tolist() for part in batches.cut(order, counts, 12)]
    assert parts == [[0, 3, 6], [4, 7], [1], [5]]
    assert list(batches.cut(order[:1], counts, 12)) == []


def test_a_short_text_is_not_padded_to_a_long_one():
    """Two windows of a text: 24 + 256 tokens are less than two times 256."""
    counts = torch.tensor([24, 256, 250, 25])
    order = counts.argsort()
    parts = [part.tolist() for part in batches.cut(order, counts, 600)]
    assert parts == [[0, 3], [2, 1]]
