"""The residual of single labels."""

import pytest
import torch

from gile_lightning.common.errors import InputError
from gile_lightning.network.label_residual import NOT_SEEN, LabelResidual

FREQUENCIES = [9, 4, 1]
IDS = torch.tensor([2, NOT_SEEN, 0, NOT_SEEN])


def made(matchers=2, **options):
    """One with numbers that are not those of the start."""
    torch.manual_seed(5)
    residual = LabelResidual(5, FREQUENCIES, matchers, **options).double()
    for parameter in residual.parameters():
        parameter.data.add_(torch.randn_like(parameter))
    return residual


def inputs(matchers=2):
    torch.manual_seed(6)
    documents = torch.randn(3, 5, dtype=torch.float64)
    return documents, [torch.randn(3, 4, dtype=torch.float64) for _ in range(matchers)]


def by_hand(residual, documents, scores, ids):
    columns = []
    for k, i in enumerate(ids.tolist()):
        column = torch.zeros(len(documents), dtype=torch.float64)
        if i != NOT_SEEN:
            column = documents @ residual.vectors[i] / 5**0.5 + residual.biases[i]
            for c, score in enumerate(scores):
                column = column + residual.matcher_weights[i, c] * score[:, k]
        columns.append(column)
    return torch.stack(columns, 1)


@pytest.mark.parametrize("matchers", [0, 1, 2])
@pytest.mark.parametrize("ids", [IDS, torch.full((4,), NOT_SEEN)], ids=["some", "none"])
def test_residuals_and_their_gradients(matchers, ids):
    residual = made(matchers)
    found = []
    for residuals in (residual(*inputs(matchers), ids), by_hand(residual, *inputs(matchers), ids)):
        residual.zero_grad()
        if residuals.requires_grad:
            residuals.square().sum().backward()
        trained = [p for p in residual.parameters() if p.requires_grad]
        zeros = [torch.zeros_like(p) if p.grad is None else p.grad.clone() for p in trained]
        found.append([residuals.detach(), *zeros])
    for ours, expected in zip(*found, strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("matchers", [0, 2])
@pytest.mark.parametrize("ids", [IDS, IDS.clamp(max=NOT_SEEN)], ids=["some", "none"])
def test_every_trained_parameter_has_a_gradient(matchers, ids):
    """Several processes wait for each."""
    residual = made(matchers)
    residual(*inputs(matchers), ids).sum().backward()
    assert all(p.grad is not None for p in residual.parameters() if p.requires_grad)
    assert residual.matcher_weights.requires_grad == (matchers > 0)


def test_the_start():
    """The log of the labels' frequencies over their mean, and nothing of the texts."""
    residuals = LabelResidual(5, FREQUENCIES, 2)(torch.randn(3, 5), [torch.ones(3, 4)] * 2, IDS)
    expected = torch.tensor([[3 / 14, 1.0, 27 / 14, 1.0]]).log().expand(3, -1)
    torch.testing.assert_close(residuals, expected)


def test_no_label():
    residual = LabelResidual(5, [], 1)
    assert residual(torch.randn(3, 5), [torch.ones(3, 4)], torch.full((4,), NOT_SEEN)).eq(0).all()
    assert residual(torch.randn(3, 5), [torch.ones(3, 0)], IDS[:0]).shape == (3, 0)


def test_biases_are_not_rounded():
    """Of bfloat16, which has no number between -8 and -7.9375, two frequencies would be one."""
    frequencies = [300, 305, 2_000_000]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = LabelResidual(5, frequencies)(torch.zeros(1, 5), [], torch.arange(3))
    expected = torch.tensor([frequencies]) * 3 / 2_000_605
    torch.testing.assert_close(found, expected.log())


def test_a_share_is_hidden():
    residual = LabelResidual(5, [1] * 20_000, dropout=0.3)
    ids = torch.arange(20_000)
    dropout = residual.drop(ids, torch.Generator().manual_seed(1))
    assert ((dropout == ids) | (dropout == NOT_SEEN)).all()
    assert float((dropout == NOT_SEEN).float().mean()) == pytest.approx(0.3, abs=0.02)
    assert torch.equal(dropout, residual.drop(ids, torch.Generator().manual_seed(1)))
    assert not torch.equal(dropout, residual.drop(ids, torch.Generator().manual_seed(2)))
    assert torch.equal(ids, torch.arange(20_000))


def test_nothing_is_hidden():
    generator = torch.Generator().manual_seed(1)
    assert torch.equal(LabelResidual(5, [1] * 50, dropout=0.0).drop(IDS, generator), IDS)


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
