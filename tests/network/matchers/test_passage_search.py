"""The best passages of documents, in the two ways in which they are found."""

import pytest
import torch

from gile_lightning.network.matchers import passage_search

SIZES = [3, 0, 1, 4, 0]


@pytest.mark.parametrize("find", [passage_search._one_by_one, passage_search._at_once])
def test_the_first_of_the_highest_rows_of_each_segment(find):
    """By loops; values are so few that most columns have ties, and zeros."""
    generator = torch.Generator().manual_seed(0)
    products = torch.randint(3, (8, 50), generator=generator).float()
    found, places = find(products, torch.tensor(SIZES), True)
    assert torch.equal(find(products, torch.tensor(SIZES), False)[0], found)
    start = 0
    for n, size in enumerate(SIZES):
        for column in range(50):
            own = products[start : start + size, column].tolist()
            assert found[n, column] == max(own, default=0)
            assert not own or places[n, column] == start + own.index(max(own))
            assert 0 <= places[n, column] < len(products)
        start += size
