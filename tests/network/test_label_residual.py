"""The residual of single labels."""

import pytest
import torch

from gile_lightning.common.errors import InputError
from gile_lightning.network import NOT_SEEN, LabelResidual

FREQUENCIES = [9, 4, 1]
IDS = torch.tensor([2, 0, 1, 0])


def made(matchers=2, **options):
    """One with numbers that are not those of the start."""
    torch.manual_seed(5)
    residual = LabelResidual(5, FREQUENCIES, matchers, **options).double()
    for parameter in residual.parameters():
        parameter.data.add_(torch.randn_like(parameter))
    return residual


def inputs():
    torch.manual_seed(6)
    return torch.randn(3, 5, dtype=torch.float64)


@pytest.mark.parametrize("ids", [IDS, IDS[:0]], ids=["some", "none"])
def test_residuals_and_their_gradients(ids):
    residual, documents = made(), inputs()
    found = residual(documents, ids)
    vectors, biases = residual.vectors.detach(), residual.biases.detach()
    wanted = torch.zeros(3, len(ids)).double()
    of_vectors, of_biases = torch.zeros_like(vectors), torch.zeros_like(biases)
    for k, i in enumerate(ids.tolist()):
        wanted[:, k] = documents @ vectors[i] / 5**0.5 + biases[i]
        of_vectors[i] += 2 * wanted[:, k] @ documents / 5**0.5
        of_biases[i] += 2 * wanted[:, k].sum()
    torch.testing.assert_close(found, wanted, rtol=1e-12, atol=1e-12)
    # all have a gradient: DDP waits for it
    gradients = torch.autograd.grad(found.square().sum(), (residual.vectors, residual.biases))
    for ours, theirs in zip(gradients, (of_vectors, of_biases), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("matchers", [0, 1, 2])
def test_factors(matchers):
    residual = made(matchers)
    assert residual.matcher_weights.requires_grad == (matchers > 0)
    found = residual.factors(torch.tensor([2, NOT_SEEN, 0, NOT_SEEN]))
    assert found.shape == (matchers, 4)
    weights = residual.matcher_weights.detach()
    torch.testing.assert_close(found[:, [0, 2]], 1 + weights[[2, 0]].T)
    assert found[:, [1, 3]].eq(1).all()
    if matchers:
        none = residual.factors(torch.full((4,), NOT_SEEN))
        (gradient,) = torch.autograd.grad(none.sum(), residual.matcher_weights)
        assert not gradient.any()


def test_the_start():
    """The log of the labels' frequencies over their mean, and nothing of the texts."""
    residual = LabelResidual(5, FREQUENCIES, 2)
    expected = torch.tensor([[3 / 14, 27 / 14, 12 / 14, 27 / 14]]).log().expand(3, -1)
    torch.testing.assert_close(residual(torch.randn(3, 5), IDS), expected)
    assert residual.factors(IDS).eq(1).all()


def test_no_label():
    residual = LabelResidual(5, [], 1)
    assert residual(torch.randn(3, 5), IDS[:0]).shape == (3, 0)


def test_biases_are_not_rounded():
    """Of bfloat16, which has no number between -8 and -7.9375, two frequencies would be one."""
    frequencies = [300, 305, 2_000_000]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = LabelResidual(5, frequencies)(torch.zeros(1, 5), torch.arange(3))
    expected = torch.tensor([frequencies]) * 3 / 2_000_605
    torch.testing.assert_close(found, expected.log())


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_a_share_is_dropped(share):
    residual = LabelResidual(5, [1] * 20_000, dropout=share)
    ids = torch.arange(20_000)
    dropped, same, other = (
        residual.drop(ids, torch.Generator().manual_seed(seed)) for seed in (1, 1, 2)
    )
    assert ((dropped == ids) | (dropped == NOT_SEEN)).all()
    assert float((dropped == NOT_SEEN).float().mean()) == pytest.approx(share, abs=0.02)
    assert torch.equal(dropped, same)
    assert torch.equal(dropped, other) == (share == 0)
    assert torch.equal(ids, torch.arange(20_000))


def test_those_that_rest_are_always_dropped():
    residual = made(dropout=0.0)
    residual.resting = torch.tensor([False, True, False])
    found = residual.drop(IDS, torch.Generator().manual_seed(1))
    assert found.tolist() == [2, 0, NOT_SEEN, 0]


@pytest.mark.parametrize("dropout", [-0.1, 1.0, 2.0])
def test_bad_share(dropout):
    with pytest.raises(InputError, match="a share of the labels, from 0 to below 1"):
        LabelResidual(5, [1], dropout=dropout)


def test_select():
    before, after = made(), LabelResidual(5, [7, 3], 2)
    stored = {f"residual.{key}": value for key, value in before.state_dict().items()}
    selected = after.select(stored, torch.tensor([NOT_SEEN, 2]))
    assert selected.keys() == stored.keys()
    for key, value in after.state_dict().items():
        found = selected[f"residual.{key}"]
        assert found.dtype == torch.float32
        assert torch.equal(found[0], value[0])
        torch.testing.assert_close(found[1].double(), before.state_dict()[key][2])


def test_select_leaves_what_does_not_fit():
    before, after = made(matchers=1), LabelResidual(5, [7, 3], 2)
    selected = after.select(before.state_dict(), torch.tensor([NOT_SEEN, 2]))
    assert selected["matcher_weights"].shape == (3, 1)
    assert selected["vectors"].shape == (2, 5)
