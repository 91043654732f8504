"""The keys by which the best passage of a document is found."""

import torch

from gile_lightning.network.matchers import passage_search
from gile_lightning.network.matchers.passage_search import _LAST


def test_keys_have_the_order_of_products_and_then_the_first_passage():
    """Against a loop; values are so few that most have ties, and zeros."""
    generator = torch.Generator().manual_seed(0)
    products = torch.randint(3, (50, 8), generator=generator) * torch.tensor(1e-3)
    rows = torch.tensor([0, 1, 2, 5, 7, 11, 2**20, _LAST - 1])
    for own in products:
        best = int(passage_search._keys(own, rows).max())
        assert _LAST - (best & _LAST) == rows[own.tolist().index(float(own.max()))]
        assert (best > _LAST) == (own.max() > 0)
