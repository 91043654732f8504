"""Gradients of rows that are looked up; the oracle is PyTorch's embedding."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from gile_lightning.network.encoders.sparse_rows import sparse_rows

IDS = [torch.tensor(ids) for ids in ([1, 4, 6], [0, 4, 9], [4, 5, 6], [])]


def gradient(rows, *backwards):
    """Look up rows of each list of ids in a backward pass, one pass after the other."""
    torch.manual_seed(1)
    table = nn.Parameter(torch.randn(10, 3))
    for ids in backwards:
        sum(rows(table, IDS[i].long()).pow(3).sum() for i in ids).backward()
    return table.grad


PASSES = [[[0]], [[0], [1], [2]], [[0, 1]], [[3]], [[0], [3, 2]]]


@pytest.mark.parametrize("passes", PASSES, ids=str)
def test_gradients_are_those_of_an_embedding(passes):
    found = gradient(sparse_rows, *passes)
    assert found.is_sparse
    expected = gradient(lambda table, ids: F.embedding(ids, table), *passes)
    assert torch.equal(found.to_dense(), expected)
    if found.is_coalesced():
        assert (found.indices()[0].diff() > 0).all()


def test_the_gradient_of_one_look_up_is_coalesced():
    """Else the optimizer would have to look whether it is."""
    assert gradient(sparse_rows, [0]).is_coalesced()
