"""The same seed gives the same numbers, bit by bit; another seed gives others."""

import pytest
import torch

from gile_testing.models import MODELS, NAME, model
from gile_testing.two_languages import DOCUMENTS, ragged

# all that is drawn: weights, dropout, labels, residuals that are left out
RANDOM = [kind for kind in MODELS if kind != "MatchersOnly"]


def trained(kind, seed, threads=1):
    """Return the losses and the weights of three steps with dropout."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        made = model(MODELS[kind] | {"dropout": 0.3, "label_dropout": 0.3}, seed=seed)
        optimizer = torch.optim.SGD(made.parameters(), lr=0.1)
        losses = []
        for _ in range(3):
            optimizer.zero_grad()
            loss = made.train().training_step({NAME: ragged(*DOCUMENTS[NAME][0])}, 0)
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        return torch.stack(losses), [p.detach().clone() for p in made.parameters()]
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("kind", MODELS)
def test_the_same_seed(kind):
    first, second = trained(kind, 1), trained(kind, 1)
    assert torch.equal(first[0], second[0])
    assert all(map(torch.equal, first[1], second[1]))


@pytest.mark.parametrize("kind", RANDOM)
def test_another_seed(kind):
    assert not torch.equal(trained(kind, 1)[0], trained(kind, 2)[0])


@pytest.mark.parametrize("kind", ["WAN, Dense", "HAN, BiGRU", "GILE", "LexicalMatch", "sparse"])
def test_other_threads(kind):
    """Sums may be added up in another order; not more than rounding differs."""
    one, two = trained(kind, 1), trained(kind, 1, threads=2)
    for ours, theirs in zip([one[0], *one[1]], [two[0], *two[1]], strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)
