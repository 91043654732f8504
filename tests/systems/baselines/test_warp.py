"""WARP beside a plain loop over documents, positives and trials."""

import math

import numpy as np
import pytest
import torch

from gile_lightning.systems.baselines.warp import find_violations, rank_weights, warp_updates
from gile_testing.stand_in_device import DeviceTensor, StandInDevice

DIM, DOCUMENTS, LABELS = 6, 5, 12
SETTINGS = {"lr": 0.3, "margin": 0.4, "max_norm": 1.0, "weight_decay": 0.05}


def tables(seed=0):
    source = np.random.default_rng(seed)
    documents = source.normal(size=(DOCUMENTS, DIM)) / 2
    return [documents, source.normal(size=(LABELS, DIM)) / 2, source.normal(size=(DIM, DIM)) / 2]


def limited(vector, limit):
    norm = np.linalg.norm(vector)
    return vector if limit is None or norm <= limit else vector * (limit / norm)


def loop(documents, labels, mapping, row, positives, draws, *, lr, margin, max_norm, weight_decay):
    """One document: the positives in the given order, with the labels drawn for each of them."""
    found = []
    for p, drawn in zip(positives, draws, strict=True):
        x = documents[row].copy()
        hidden = mapping @ x
        others = len(labels) - len(positives)
        for q, other in enumerate(drawn[:others], 1):
            if other in positives or margin - labels[p] @ hidden + labels[other] @ hidden <= 0:
                continue
            step = lr * sum(1 / i for i in range(1, others // q + 1)) / len(positives)
            difference = labels[other] - labels[p]
            labels[p] = limited(labels[p] + step * hidden, max_norm)
            labels[other] = limited(labels[other] - step * hidden, max_norm)
            documents[row] = limited(x - step * mapping.T @ difference, max_norm)
            mapping -= step * np.outer(difference, x) + lr * weight_decay * mapping
            found.append((p, other, q))
            break
    return found


def drawn_by(seed, positives, rounds):
    """Return the order of a document's positives, and the labels that are drawn for each."""
    generator = torch.Generator().manual_seed(seed)
    keys = torch.rand(len(positives), generator=generator, dtype=torch.double)
    order = [positives[i] for i in keys.argsort().tolist()]
    draws = [torch.randint(LABELS, (1, 32), generator=generator)[0].tolist() for _ in order]
    return order, draws[:rounds]


@pytest.mark.parametrize("settings", [SETTINGS, SETTINGS | {"max_norm": None, "weight_decay": 0}])
@pytest.mark.parametrize("positives", [[4], [7, 0], [3, 11, 5, 8, 1], list(range(12))], ids=len)
def test_one_document_equals_the_loop(settings, positives):
    expected = tables()
    given = [torch.from_numpy(part.copy()) for part in expected]
    violations = 0
    for seed in range(20):
        row = seed % DOCUMENTS
        generator = torch.Generator().manual_seed(seed)
        ids, counts = torch.tensor(positives), torch.tensor([len(positives)])
        found = warp_updates(*given, torch.tensor([row]), ids, counts, generator, **settings)
        pairs = loop(*expected, row, *drawn_by(seed, positives, None), **settings)
        rows = zip(found.positives, found.labels, found.trials, strict=True)
        assert [tuple(map(int, one)) for one in rows] == pairs
        violations += len(pairs)
        for ours, theirs in zip(given, expected, strict=True):
            np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-9, atol=1e-12)
    if len(positives) < LABELS:
        assert violations > 5
    else:
        assert violations == 0  # there is no other label


def test_documents_of_a_batch_add_up():
    """Two documents with one positive each take their steps from the same vectors."""
    before = [torch.from_numpy(part) for part in tables()]
    together = [part.clone() for part in before]
    ids, counts = torch.tensor([4, 4]), torch.tensor([1, 1])
    settings = {**SETTINGS, "max_norm": None, "margin": 9.0}
    generator = torch.Generator().manual_seed(3)
    found = warp_updates(*together, torch.tensor([1, 3]), ids, counts, generator, **settings)
    assert found.documents.tolist() == [0, 1]
    changes = [torch.zeros_like(part) for part in before]
    for row, other, q in zip([1, 3], found.labels.tolist(), found.trials.tolist(), strict=True):
        single = [part.numpy().copy() for part in before]
        draws = [[4] * (q - 1) + [other]]  # the trials before were none, or the positive
        loop(*single, row, [4], draws, **settings)
        for change, part, first in zip(changes, single, before, strict=True):
            change += torch.from_numpy(part) - first
    for part, first, change in zip(together, before, changes, strict=True):
        torch.testing.assert_close(part, first + change, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("first", [1, 3, 32])
def test_violations_have_the_distribution_of_single_trials(first):
    """4 of 12 labels violate, the last one too; at most 12 trials less the document's own three."""
    count = 200_000
    query, labels = torch.tensor([[1.0]]), torch.zeros(LABELS, 1)
    labels[[0, 1, 4, 5, 8, 9, 11]] = 1
    own = torch.zeros(1, LABELS, dtype=torch.bool)
    own[0, [0, 8, 9]] = True
    found, trials = find_violations(
        query.expand(count, 1),
        labels,
        torch.zeros(count, dtype=torch.long),
        own.expand(count, -1),
        0.5,
        torch.Generator().manual_seed(first),
        first,
    )
    share, limit = 4 / 12, 9
    expected = [(1 - share) ** limit] + [share * (1 - share) ** (q - 1) for q in range(1, 10)]
    counts = torch.bincount(trials, minlength=10)
    assert len(counts) == limit + 1
    for q in range(limit + 1):
        spread = math.sqrt(count * expected[q] * (1 - expected[q]))
        assert abs(float(counts[q]) - count * expected[q]) < 5 * spread
    hits = torch.bincount(found[trials > 0], minlength=LABELS).double()
    assert hits[[1, 4, 5, 11]].sum() == hits.sum()
    even = float(hits.sum()) / 4
    assert all(abs(x - even) < 5 * math.sqrt(even * 3 / 4) for x in hits[[1, 4, 5, 11]].tolist())


def test_a_document_alone_may_need_many_trials():
    """One of 12 labels violates; the search of a document with one label ends after 11 trials."""
    labels, own = torch.zeros(LABELS, 1), torch.eye(LABELS, dtype=torch.bool)[1:2]
    labels[[0, 1]] = 1
    given = torch.ones(1, 1), labels, torch.tensor([1]), own, 0.5
    generator, count = torch.Generator().manual_seed(0), 2_000
    trials = [int(find_violations(*given, generator, 1)[1]) for _ in range(count)]
    share = (11 / 12) ** 2 - (11 / 12) ** 11  # the first is in one of the trials 3 to 11
    spread = math.sqrt(share * (1 - share) / count)
    assert sum(q > 2 for q in trials) / count == pytest.approx(share, abs=5 * spread)


@pytest.mark.parametrize("first", [2, 32])
def test_no_violation(first):
    query, labels = torch.ones(2, 1), torch.tensor([[1.0], [0.5], [0.5], [0.5]])
    own = torch.eye(4, dtype=torch.bool)[[0, 0]]
    generator = torch.Generator().manual_seed(0)
    positives = torch.tensor([0, 0])
    # scored lower by the margin exactly: m - s_p + s_l > 0 does not hold
    _, trials = find_violations(query, labels, positives, own, 0.5, generator, first)
    assert trials.tolist() == [0, 0]


def test_rank_weights_are_harmonic_numbers():
    assert rank_weights(4).tolist() == pytest.approx([0, 1, 3 / 2, 11 / 6, 25 / 12])
    # H_n = ln n + γ + 1/2n - 1/12n² (Euler and Maclaurin)
    expected = math.log(26_104) + 0.577215664901533 + 1 / (2 * 26_104)
    assert rank_weights(26_104)[-1].item() == pytest.approx(expected, rel=1e-6)


def test_each_positive_of_each_document_once():
    """With such a margin every other label violates; the mapping changes by the steps alone."""
    given = [torch.from_numpy(part) for part in tables()]
    ids, counts = torch.tensor([4, 0, 2, 7, 9, 1]), torch.tensor([1, 0, 3, 2])
    plain, decayed = ([part.clone() for part in given] for _ in range(2))
    found, same = (
        warp_updates(
            *parts,
            torch.tensor([1, 0, 3, 2]),
            ids,
            counts,
            torch.Generator().manual_seed(5),
            lr=0.1,
            margin=99.0,
            **more,
        )
        for parts, more in ((plain, {}), (decayed, {"weight_decay": 0.0}))
    )
    pairs = zip(found.documents.tolist(), found.positives.tolist(), strict=True)
    assert sorted(pairs) == [(0, 4), (2, 0), (2, 2), (2, 7), (3, 1), (3, 9)]
    assert found.documents.tolist() == sorted(found.documents.tolist())
    assert found.labels.tolist() == same.labels.tolist()
    assert all(map(torch.equal, plain, decayed))


def test_batch_without_labels():
    given = [torch.from_numpy(part) for part in tables()]
    before = [part.clone() for part in given]
    ids, counts = torch.zeros(0, dtype=torch.long), torch.tensor([0, 0])
    generator = torch.Generator().manual_seed(0)
    found = warp_updates(*given, torch.tensor([0, 1]), ids, counts, generator, **SETTINGS)
    assert [len(part) for part in found] == [0] * 4
    assert all(map(torch.equal, given, before))


def test_a_step_follows_the_gradient_of_the_loss():
    """Against finite differences of the weighted hinge of the pair that is found."""
    rate, margin, decay, row, positive, size = 0.1, 1.0, 0.3, 2, 4, 1e-6
    before = tables(seed=5)
    after = [torch.from_numpy(part.copy()) for part in before]
    given = torch.tensor([row]), torch.tensor([positive]), torch.tensor([1])
    generator = torch.Generator().manual_seed(2)
    settings = {"lr": rate, "margin": margin, "weight_decay": decay}
    found = warp_updates(*after, *given, generator, **settings)
    ((other, trials),) = zip(found.labels.tolist(), found.trials.tolist(), strict=True)
    rank_loss = sum(1 / i for i in range(1, (LABELS - 1) // trials + 1))

    def loss(documents, labels, mapping):
        hidden = mapping @ documents[row]
        hinge = margin - labels[positive] @ hidden + labels[other] @ hidden
        return rank_loss * max(0.0, hinge) + decay / 2 * (mapping**2).sum()

    assert loss(*before) > 0
    for part, changed in enumerate(after):
        gradient = np.zeros_like(before[part])
        for place in np.ndindex(gradient.shape):
            ends = []
            for sign in (1, -1):
                moved = [one.copy() for one in before]
                moved[part][place] += sign * size
                ends.append(loss(*moved))
            gradient[place] = (ends[0] - ends[1]) / (2 * size)
        step = (changed.numpy() - before[part]) / rate
        np.testing.assert_allclose(step, -gradient, rtol=1e-6, atol=1e-8)


def test_steps_on_a_device():
    """They are those of the CPU, by no operation that CUDA refuses in deterministic mode."""
    given = [torch.from_numpy(part) for part in tables()]
    one = torch.tensor([1])
    settings = {**SETTINGS, "margin": 9.0}
    found = []
    with StandInDevice():
        for place in (lambda x: x, DeviceTensor):
            parts = [place(part.clone()) for part in given]
            generator = torch.Generator().manual_seed(3)
            warp_updates(*parts, *map(place, (one, torch.tensor([4]), one)), generator, **settings)
            found.append([part.cpu() for part in parts])
    torch.testing.assert_close(*found)
