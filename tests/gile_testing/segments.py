"""Lengths of segments, and random numbers for them."""

import pytest
import torch

LENGTHS = {
    "several": [3, 1, 4],
    "empty segments": [0, 2, 0, 0, 3, 0],
    "one segment": [5],
    "only empty": [0, 0],
    "none": [],
}
every_length = pytest.mark.parametrize("sizes", LENGTHS.values(), ids=LENGTHS.keys())


def random(*shape):
    return torch.randn(shape, dtype=torch.double, generator=torch.Generator().manual_seed(5))


def lengths_of(sizes):
    return torch.tensor(sizes, dtype=torch.long)
