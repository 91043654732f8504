import torch

from gile_lightning.network.outputs import Linear


def test_equals_the_equation():
    """Eq. 3, for the chosen labels only."""
    torch.manual_seed(1)
    linear = Linear(3, 99, 6).double()
    weight, bias = linear.linear.weight.tolist(), linear.linear.bias.tolist()
    documents = torch.randn(4, 3, dtype=torch.double)
    ids = [5, 0, 5, 2]
    expected = [
        [sum(x * w for x, w in zip(h, weight[k], strict=True)) + bias[k] for k in ids]
        for h in documents.tolist()
    ]
    actual = linear(documents, torch.tensor(ids))
    torch.testing.assert_close(actual, torch.tensor(expected, dtype=torch.double))


def test_only_scored_labels_get_a_gradient():
    linear = Linear(3, 99, 6)
    linear(torch.ones(2, 3), torch.tensor([4, 1])).sum().backward()
    assert linear.linear.weight.grad.any(1).tolist() == [False, True, False, False, True, False]
    assert linear.linear.bias.grad.tolist() == [0, 2, 0, 0, 2, 0]
