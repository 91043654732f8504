import numpy as np
import pytest
import torch
from torch import nn

import gile_lightning.training.optimizers as optimizers
from gile_lightning.training.optimizers import LazyAdam, clip_gradients, refusal

ROWS, DIM = 11, 3


def random(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def sparse(ids, values):
    return torch.sparse_coo_tensor(torch.tensor([ids]), values, (ROWS, DIM), check_invariants=True)


def numpy_lazy_adam(weight, steps, lr, betas, eps):
    """The equations of the docstring, row by row, in float64."""
    weight = weight.double().numpy().copy()
    m, v = np.zeros_like(weight), np.zeros_like(weight)
    for t, (ids, values) in enumerate(steps, 1):
        gradient = np.zeros_like(weight)
        np.add.at(gradient, ids, values.double().numpy())
        for row in set(ids):
            g = gradient[row]
            m[row] = betas[0] * m[row] + (1 - betas[0]) * g
            v[row] = betas[1] * v[row] + (1 - betas[1]) * g**2
            denominator = np.sqrt(v[row] / (1 - betas[1] ** t)) + eps
            weight[row] -= lr * m[row] / (1 - betas[0] ** t) / denominator
    return weight


STEPS = {
    "distinct rows in order": [[0, 3, 5], [3, 4], [0, 10]],
    "rows out of order": [[5, 0, 3], [4, 3], [10, 0]],
    "a row twice": [[5, 5, 3], [4, 4, 4], [10, 0, 10]],
    "a step without rows": [[1, 2], [], [1]],
}


@pytest.mark.parametrize("ids", STEPS.values(), ids=STEPS.keys())
@pytest.mark.parametrize("rows_at_a_time", [1, 2, 2_048])
def test_rows_follow_the_equations(monkeypatch, ids, rows_at_a_time):
    monkeypatch.setattr(optimizers, "_ROWS", rows_at_a_time)
    settings = {"lr": 0.05, "betas": (0.8, 0.95), "eps": 1e-3}
    weight = nn.Parameter(random(ROWS, DIM))
    steps = [(row, random(len(row), DIM, seed=i)) for i, row in enumerate(ids, 1)]
    expected = numpy_lazy_adam(weight.detach(), steps, **settings)
    optimizer = LazyAdam([weight], **settings)
    for row, values in steps:
        weight.grad = sparse(row, values)
        optimizer.step()
    np.testing.assert_allclose(weight.detach().numpy(), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("rows", "steps"), [([*range(ROWS)], 5), ([2, 7], 1)], ids=["all rows", "first step"]
)
def test_where_it_is_adam(rows, steps):
    lazy, dense = (nn.Parameter(random(ROWS, DIM)) for _ in range(2))
    first, second = LazyAdam([lazy], lr=0.1), torch.optim.Adam([dense], lr=0.1)
    for step in range(steps):
        lazy.grad = sparse(rows, random(len(rows), DIM, seed=step))
        dense.grad = lazy.grad.to_dense()
        first.step()
        second.step()
    torch.testing.assert_close(lazy, dense, rtol=1e-5, atol=1e-6)


def test_dense_gradients_are_adam_and_sparse_ones_are_given_back():
    table, lazy, dense = nn.Parameter(random(ROWS, DIM)), *(nn.Parameter(random(4)) for _ in "ab")
    first, second = LazyAdam([table, lazy], lr=0.1), torch.optim.Adam([dense], lr=0.1)
    for step in range(3):
        gradient = sparse([step], torch.ones(1, DIM))
        table.grad = gradient
        lazy.grad = dense.grad = random(4, seed=step)
        first.step()
        second.step()
        assert table.grad is gradient
    torch.testing.assert_close(lazy, dense, rtol=1e-6, atol=1e-7)


def test_state_goes_on_where_it_was():
    def run(interrupted):
        weight = nn.Parameter(random(ROWS, DIM))
        optimizer = LazyAdam([weight], lr=0.1)
        for step in range(4):
            if interrupted and step == 2:
                state = optimizer.state_dict()
                optimizer = LazyAdam([weight], lr=0.1)
                optimizer.load_state_dict(state)
            weight.grad = sparse([step, 7], random(2, DIM, seed=step))
            optimizer.step()
        return weight.detach()

    assert torch.equal(run(True), run(False))


@pytest.mark.parametrize("limit", [0.5, 100.0])
def test_clipping_by_norm_is_that_of_the_dense_gradients(limit):
    table, dense, other = (nn.Parameter(torch.zeros(ROWS, DIM)) for _ in range(3))
    table.grad = sparse([4, 4, 1], random(3, DIM))  # row 4 is the sum of two
    dense.grad, other.grad = table.grad.to_dense(), random(ROWS, DIM, seed=1)
    twin = nn.Parameter(torch.zeros(ROWS, DIM))
    twin.grad = other.grad.clone()
    nn.utils.clip_grad_norm_([dense, twin], limit)
    clip_gradients([table, other, nn.Parameter(torch.zeros(1))], limit)
    torch.testing.assert_close(table.grad.to_dense(), dense.grad)
    torch.testing.assert_close(other.grad, twin.grad)


def test_clipping_by_value():
    table = nn.Parameter(torch.zeros(ROWS, DIM))
    table.grad = sparse([4, 4, 2], torch.tensor([[0.3, -0.2, 0.1], [0.3, -0.3, 0.1], [-9, 1, 0]]))
    dense = nn.Parameter(torch.zeros(3))
    dense.grad = torch.tensor([-0.7, 0.2, 0.5])
    clip_gradients([table, dense], 0.4, "value")
    torch.testing.assert_close(table.grad.to_dense()[4], torch.tensor([0.4, -0.4, 0.2]))
    torch.testing.assert_close(table.grad.to_dense()[2], torch.tensor([-0.4, 0.4, 0.0]))
    torch.testing.assert_close(dense.grad, torch.tensor([-0.4, 0.2, 0.4]))


def test_a_closure_gives_the_loss_and_other_rows_stay():
    weight = nn.Parameter(torch.ones(ROWS, DIM))

    def closure():
        loss = nn.functional.embedding(torch.tensor([3]), weight, sparse=True).sum()
        loss.backward()
        return loss.item()

    optimizer = LazyAdam([weight])
    assert optimizer.step(closure) == 3.0
    for table in (weight - 1, optimizer.state[weight]["exp_avg"]):
        assert table.any(1).nonzero().flatten().tolist() == [3]


def test_hooks_run_once_a_step():
    torch.optim.Adam([nn.Parameter(torch.zeros(1))])  # which hooks the steps of Adam itself
    table, dense = nn.Parameter(random(ROWS, DIM)), nn.Parameter(random(4))
    optimizer = LazyAdam([table, dense])
    called = []
    optimizer.register_step_post_hook(lambda *args: called.append(1))
    table.grad, dense.grad = sparse([1], torch.ones(1, DIM)), torch.ones(4)
    optimizer.step()
    assert called == [1]


@pytest.mark.parametrize(
    ("optimizer", "able"),
    [
        (LazyAdam, True),
        (torch.optim.SGD, True),
        (torch.optim.Adam, False),  # dense alone
        (torch.optim.SparseAdam, False),  # sparse alone
        (torch.optim.LBFGS, False),  # needs a closure
    ],
)
def test_which_optimizers_take_both(optimizer, able):
    assert (refusal(optimizer) is None) == able
