"""PV-DM beside a plain loop over texts, positions, targets and neighbours."""

import math

import numpy as np
import pytest
import torch

from gile_lightning.common.errors import InputError
from gile_lightning.systems.baselines.paragraph_vectors import ParagraphVectors, TextRows, hashed
from gile_testing.stand_in_device import DeviceTensor, StandInDevice, move

DIM, WORDS, ROWS = 6, 40, 4
COUNTS = [*range(200, 0, -5)]
LR = 0.4


def model(**settings):
    torch.manual_seed(2)
    made = ParagraphVectors(WORDS, DIM, **{"subsampling": 0.01} | settings).double()
    made.counts.copy_(torch.tensor(COUNTS))
    made.inputs.mul_(3)
    made.outputs.mul_(3)
    return made


def table():
    return torch.from_numpy(np.random.default_rng(1).normal(size=(ROWS, DIM)) / 3)


def draws(words, negatives=5, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).random((words, 1 + negatives)))


def text_rows(texts, rows, streams):
    words = [word for text in texts for word in text]
    lengths = [len(text) for text in texts]
    return TextRows(torch.tensor(words).int(), *map(torch.tensor, (lengths, rows, streams)))


def sigmoid(value):
    return 1 / (1 + math.exp(-value))


def limited(vector, limit):
    norm = np.linalg.norm(vector)
    return vector if limit is None or norm <= limit else vector * (limit / norm)


class Loop:
    """word2vec's loop, one position after the other."""

    def __init__(self, words, window=5, subsampling=0.01, max_norm=1.0):
        self.inputs, self.outputs = words.inputs.numpy().copy(), words.outputs.numpy().copy()
        self.reach, self.subsampling, self.max_norm = window // 2, subsampling, max_norm
        self.skipped = 0

    def kept(self, text, uniform):
        total = sum(COUNTS)
        for word, numbers in zip(text, uniform.tolist(), strict=True):
            small = self.subsampling * total
            keep = (math.sqrt(COUNTS[word] / small) + 1) * small / COUNTS[word]
            if numbers[0] < min(1, keep):
                yield word, [self.negative(number) for number in numbers[1:]]

    def negative(self, number):
        weights = [count**0.75 for count in COUNTS]
        sums, below = sum(weights), 0.0
        for word, weight in enumerate(weights):
            below += weight / sums
            if number < below:
                return word
        raise AssertionError(number)

    def read(self, vectors, row, text, uniform, lr, frozen=False):
        kept = list(self.kept(text, uniform))
        self.skipped += len(text) - len(kept)
        words = [word for word, _ in kept]
        for t, (target, negatives) in enumerate(kept):
            around = range(t - self.reach, t + self.reach + 1)
            near = [words[i] for i in around if i != t and 0 <= i < len(words)]
            hidden = vectors[row] + sum(self.inputs[word] for word in near)
            hidden = hidden / (1 + len(near))
            gradient = np.zeros(DIM)
            outputs = self.outputs.copy()
            for word, is_target in [(target, 1), *((n, 0) for n in negatives)]:
                if word == target and not is_target:
                    continue
                step = lr * (is_target - sigmoid(self.outputs[word] @ hidden))
                gradient += step * self.outputs[word]
                outputs[word] += step * hidden
            gradient /= 1 + len(near)
            if not frozen:
                self.outputs = outputs
                for word in near:
                    self.inputs[word] += gradient
                for vectors_of, words_of in ((self.inputs, near), (outputs, [target, *negatives])):
                    for word in words_of:
                        vectors_of[word] = limited(vectors_of[word], self.max_norm)
            vectors[row] = limited(vectors[row] + gradient, self.max_norm)


TEXTS = [[3, 9, 1, 7, 30, 12, 5, 8, 3, 2], [4], [], [11, 6, 2, 9, 38], [0, 39, 20]]


@pytest.mark.parametrize("max_norm", [None, 1.0])
@pytest.mark.parametrize(("window", "negatives"), [(5, 3), (3, 1)])
def test_one_position_at_once_equals_the_loop(max_norm, window, negatives):
    """The texts of one stream, of which two have the same vector."""
    ours = model(window=window, negatives=negatives, max_norm=max_norm, positions_at_once=1)
    loop, vectors = Loop(ours, window, max_norm=max_norm), table()
    expected = vectors.numpy().copy()
    for seed in range(6):
        texts = text_rows(TEXTS, rows := [2, 0, 1, 2, 3], [0] * len(TEXTS))
        uniform = draws(len(texts.words), negatives, seed)
        ours.steps(vectors, texts, uniform, LR)
        pieces = uniform.split([len(text) for text in TEXTS])
        for row, text, numbers in zip(rows, TEXTS, pieces, strict=True):
            loop.read(expected, row, text, numbers, LR)
    np.testing.assert_allclose(vectors.numpy(), expected, rtol=1e-9)
    np.testing.assert_allclose(ours.inputs.numpy(), loop.inputs, rtol=1e-9)
    np.testing.assert_allclose(ours.outputs.numpy(), loop.outputs, rtol=1e-9)
    assert 0 < loop.skipped < 6 * len(texts.words)  # some words were left out
    if max_norm is not None:
        assert np.isclose(np.linalg.norm(expected, axis=1), 1).any()


def test_positions_at_once_add_up():
    """From the same vectors, with the negatives of the chunk's last word."""
    ours = model(max_norm=None, subsampling=0, positions_at_once=4)
    vectors, before = table(), table()
    text, uniform = [3, 9, 1, 7, 30, 12], draws(6)
    expected = vectors.numpy().copy()
    inputs, outputs = ours.inputs.numpy().copy(), ours.outputs.numpy().copy()
    for chunk in ([0, 1, 2, 3], [4, 5]):
        shared = [Loop(ours).negative(number) for number in uniform[chunk[-1], 1:].tolist()]
        changes = np.zeros((3, max(WORDS, ROWS), DIM))
        for t in chunk:
            near = [i for i in range(t - 2, t + 3) if i != t and 0 <= i < 6]
            hidden = (expected[1] + sum(inputs[text[i]] for i in near)) / (1 + len(near))
            negatives = [word for word in shared if word != text[t]]
            gradient = np.zeros(DIM)
            for word, sign in [(text[t], 1), *((word, 0) for word in negatives)]:
                step = LR * (sign - sigmoid(outputs[word] @ hidden))
                gradient += step * outputs[word] / (1 + len(near))
                changes[2, word] += step * hidden
            changes[0, 1] += gradient
            for i in near:
                changes[1, text[i]] += gradient
        expected = expected + changes[0, :ROWS]
        inputs, outputs = inputs + changes[1], outputs + changes[2]
    ours.steps(vectors, text_rows([text], [1], [0]), uniform, LR)
    np.testing.assert_allclose(vectors.numpy(), expected, rtol=1e-9)
    np.testing.assert_allclose(ours.inputs.numpy(), inputs, rtol=1e-9)
    np.testing.assert_allclose(ours.outputs.numpy(), outputs, rtol=1e-9)
    assert torch.equal(vectors[[0, 2, 3]], before[[0, 2, 3]])


def test_a_chunk_follows_the_gradient_of_negative_sampling():
    """Against finite differences of -log σ(o·h) - Σ log σ(-n·h), summed over the positions."""
    ours = model(max_norm=None, subsampling=0, positions_at_once=5)
    text, uniform, size = [3, 9, 1, 7, 30], draws(5), 1e-6
    vectors = table()
    before = [x.numpy().copy() for x in (vectors, ours.inputs, ours.outputs)]
    drawn = [Loop(ours).negative(number) for number in uniform[-1, 1:].tolist()]

    def loss(rows, inputs, outputs):
        total = 0.0
        for t, word in enumerate(text):
            near = [i for i in range(t - 2, t + 3) if i != t and 0 <= i < len(text)]
            hidden = (rows[1] + sum(inputs[text[i]] for i in near)) / (1 + len(near))
            negatives = [other for other in drawn if other != word]
            total -= math.log(sigmoid(outputs[word] @ hidden))
            total -= sum(math.log(sigmoid(-outputs[other] @ hidden)) for other in negatives)
        return total

    ours.steps(vectors, text_rows([text], [1], [0]), uniform, LR)
    for part, after in enumerate((vectors, ours.inputs, ours.outputs)):
        step = (after.numpy() - before[part]) / LR
        for place in np.ndindex(step.shape):
            ends = []
            for sign in (1, -1):
                moved = [one.copy() if i == part else one for i, one in enumerate(before)]
                moved[part][place] += sign * size
                ends.append(loss(*moved))
            gradient = (ends[0] - ends[1]) / (2 * size)
            assert step[place] == pytest.approx(-gradient, rel=1e-5, abs=1e-8)


@pytest.mark.parametrize("size", [1, 4])
def test_streams_add_up(size):
    """Two texts side by side take each step from the same vectors."""
    texts, uniform = [[3, 9, 1], [12, 5, 8]], draws(6)
    settings = {"max_norm": None, "subsampling": 0, "positions_at_once": size}
    together = model(**settings)
    vectors = table()
    start = [x.clone() for x in (vectors, together.inputs, together.outputs)]
    only_first = text_rows([[3], [12]], [0, 1], [0, 1])  # one round
    together.steps(vectors, only_first, uniform[[0, 3]], LR)
    changes = [torch.zeros_like(part) for part in start]
    for row, text in enumerate(([3], [12])):
        alone, own = model(**settings), table()
        alone.steps(own, text_rows([text], [row], [0]), uniform[[3 * row]], LR)
        for change, part, first in zip(
            changes, (own, alone.inputs, alone.outputs), start, strict=True
        ):
            change += part - first
    after = vectors, together.inputs, together.outputs
    for part, first, change in zip(after, start, changes, strict=True):
        torch.testing.assert_close(part, first + change, rtol=1e-10, atol=1e-12)
    # frozen words: texts side by side do not see each other at all
    vectors, fixed = table(), model(**settings)
    fixed.steps(vectors, text_rows(texts, [0, 1], [0, 1]), uniform, LR, frozen=True)
    for row, text in enumerate(texts):
        own = table()
        given = text_rows([text], [row], [0])
        fixed.steps(own, given, uniform[3 * row : 3 * row + 3], LR, frozen=True)
        torch.testing.assert_close(vectors[row], own[row], rtol=1e-12, atol=0)


def test_new_texts_equal_the_loop_and_do_not_depend_on_the_batch():
    ours = model(positions_at_once=1)
    words = torch.tensor([word for text in TEXTS for word in text]).int()
    lengths = torch.tensor([len(text) for text in TEXTS])
    before = ours.inputs.clone(), ours.outputs.clone()
    found = ours.infer(words, lengths, 0.1, LR, 3)
    assert torch.equal(ours.inputs, before[0])
    assert torch.equal(ours.outputs, before[1])
    for text, vector in zip(TEXTS, found, strict=True):
        single = torch.tensor(text).int()
        alone = ours.infer(single, torch.tensor([len(text)]), 0.1, LR, 3)
        torch.testing.assert_close(alone[0], vector, rtol=1e-12, atol=0)
        # the same start and draws, read by the loop
        start = ours.infer(single, torch.tensor([len(text)]), 0.1, LR, 0).numpy()
        loop, key = Loop(ours), sum(_key(word) for word in text) % 2**64
        keys = torch.tensor([key - 2**64 if key >= 2**63 else key])
        for iteration in range(3):
            uniform = hashed(keys.expand(len(text)), iteration, torch.arange(len(text)), 6)
            loop.read(start, 0, text, uniform, LR, frozen=True)
        np.testing.assert_allclose(vector.numpy(), start[0], rtol=1e-9)


def _key(word):
    """splitmix64's finalizer with signed shifts, in Python's integers."""
    value = word + 1
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        value = ((value ^ (value >> shift)) * factor) % 2**64
        value -= 2**64 if value >= 2**63 else 0
    return (value ^ (value >> 31)) % 2**64


def test_new_vectors_begin_normally_distributed():
    ours = ParagraphVectors(WORDS, 50_000)
    (start,) = ours.infer(torch.tensor([3, 1]), torch.tensor([2]), 0.01, LR, 0)
    assert float(start.mean()) == pytest.approx(0, abs=5 * 0.01 / math.sqrt(50_000))
    assert float(start.std()) == pytest.approx(0.01, rel=5 / math.sqrt(2 * 50_000))
    assert float((start.abs() < 0.01).float().mean()) == pytest.approx(0.6827, abs=0.011)


def test_hashed_numbers_are_uniform():
    numbers = hashed(torch.arange(100), 2, torch.arange(100) % 7, 500).flatten()
    assert len(numbers.unique()) == 50_000
    counts = torch.histc(numbers, 100, 0, 1).double()
    assert float((counts - 500).square().sum() / 500) < 99 + 5 * math.sqrt(2 * 99)
    other = hashed(torch.arange(100), 3, torch.arange(100) % 7, 500).flatten()
    assert abs(np.corrcoef(numbers, other)[0, 1]) < 5 / math.sqrt(50_000)


def test_words_are_kept_and_drawn_as_their_counts_say():
    ours, count = model(subsampling=0.001), 400_000
    counts = np.array(COUNTS)
    share = counts / counts.sum()
    keep = np.minimum(1, np.sqrt(0.001 / share) + 0.001 / share)
    np.testing.assert_allclose(ours.keep_probabilities().numpy(), keep, rtol=1e-12)
    assert model(subsampling=0).keep_probabilities().ge(1).all()
    uniform = ours.uniform(count, torch.Generator().manual_seed(0))
    assert uniform.shape == (count, 6)
    drawn = torch.searchsorted(ours.noise(), uniform[:, 1].contiguous(), right=True)
    expected = count * counts**0.75 / (counts**0.75).sum()
    found = torch.bincount(drawn, minlength=WORDS).numpy()
    assert ((found - expected) ** 2 / expected).sum() < 39 + 5 * math.sqrt(2 * 39)
    ours.counts[0] = 0  # a word that never occurred is kept, and is no negative
    assert float(ours.keep_probabilities()[0]) == 1
    assert int(torch.searchsorted(ours.noise(), torch.zeros(1).double(), right=True)) == 1


def test_steps_on_a_device():
    """They are those of the CPU, by no operation that CUDA refuses in deterministic mode."""
    texts = text_rows([[5, 1, 30, 1, 2], [7, 7, 12], [9]], [2, 0, 3], [0, 0, 1])
    found = []
    with StandInDevice():
        for place in (lambda x: x, DeviceTensor):
            ours, vectors = model(), place(table())
            if place is DeviceTensor:
                move(ours)
            given = TextRows(*map(place, texts))
            ours.steps(vectors, given, place(draws(9)), LR)
            parts = vectors, ours.inputs, ours.outputs, ours.noise()
            inferred = ours.infer(given.words, given.lengths, 0.1, LR, 2)
            found.append([part.detach().cpu() for part in (*parts, inferred)])
    torch.testing.assert_close(*found)


@pytest.mark.parametrize("texts", [[], [[]], [[], [5], []]], ids=str)
def test_texts_without_words(texts):
    ours, vectors = model(subsampling=0), table()
    rows = list(range(len(texts)))
    given = TextRows(
        torch.tensor([word for text in texts for word in text]).int(),
        torch.tensor([len(text) for text in texts]).long(),
        torch.tensor(rows).long(),
        torch.tensor(rows).long(),
    )
    before = vectors.clone()
    ours.steps(vectors, given, draws(len(given.words)), LR)
    changed = [row for row in range(ROWS) if not torch.equal(vectors[row], before[row])]
    assert changed == [row for row, text in enumerate(texts) if text]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"window": 4}, "window is 4; an odd number"),
        ({"window": 1}, "window is 1"),
        ({"negatives": 0}, "above 0: negatives is 0"),
        ({"positions_at_once": 0}, "positions_at_once is 0"),
        ({"subsampling": -1}, "subsampling is -1; 0, for none"),
    ],
)
def test_wrong_settings(settings, message):
    with pytest.raises(InputError, match=message):
        ParagraphVectors(3, 2, **settings)
