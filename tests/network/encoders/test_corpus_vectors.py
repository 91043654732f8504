from dataclasses import dataclass

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from gile_lightning.common.errors import InputError
from gile_lightning.data.loading.ragged import Texts, join
from gile_lightning.network.encoders import LSA, PPMI
from gile_lightning.network.encoders.corpus_vectors import CorpusVectors, draw

NOTHING = Texts(torch.tensor([], dtype=torch.int32), *[torch.tensor([], dtype=torch.long)] * 2)


@dataclass(frozen=True, kw_only=True)
class Given(CorpusVectors):
    values: object = None

    def matrix(self, texts, words):
        return csr_array(self.values.astype(np.float32))


def numbered(count, size):
    """Batches of documents; document i has i % 3 + 1 sentences of i % 2 + 1 words i."""
    for start in range(0, count, size):
        ids = torch.arange(start, min(start + size, count))
        counts = ids % 3 + 1
        lengths = (ids % 2 + 1).repeat_interleave(counts)
        yield Texts(ids.repeat_interleave(counts * (ids % 2 + 1)).int(), lengths, counts)


@pytest.mark.parametrize("power", [0, 0.5, 1])
def test_rows_of_the_decomposition(power):
    random = np.random.default_rng(0)
    values = random.normal(size=(30, 6)) @ random.normal(size=(6, 20))  # of rank 6
    values[[3, 7]] = 0
    left, singular, _ = np.linalg.svd(values, full_matrices=False)
    expected = left[:, :6] * singular[:6] ** power
    lengths = np.linalg.norm(expected, axis=1, keepdims=True)
    expected = 2.5 * expected / lengths.clip(1e-9)
    expected[[3, 7]] = 0
    found = Given(values=values, power=power, norm=2.5).learn([NOTHING], NOTHING, 30, 6)
    # columns are determined but for their signs, which their products do not depend on
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-4)
    assert found.dtype == torch.float32
    assert found[[3, 7]].eq(0).all()
    wider = Given(values=values, power=power, norm=2.5).learn([NOTHING], NOTHING, 30, 22)
    assert wider.shape == (30, 22)
    assert wider[:, 20:].eq(0).all()  # the corpus has no more dimensions


@pytest.mark.parametrize("size", [40, 41, 1_000])
def test_few_documents_are_all_drawn(size):
    drawn = join(draw(numbered(40, 7), size, 0))
    (expected,) = numbered(40, 40)
    assert all(torch.equal(*parts) for parts in zip(drawn[:3], expected[:3], strict=True))


@pytest.mark.parametrize("batch", [1, 7, 90])
def test_many_documents_are_drawn_evenly(batch):
    times = np.zeros(90)
    for seed in range(400):
        drawn = join(draw(numbered(90, batch), 10, seed))
        ids = drawn.words.unique()
        assert len(ids) == len(drawn.document_lengths) == 10
        (whole,) = numbered(90, 90)
        kept = torch.isin(whole.words, ids)
        assert torch.equal(drawn.words, whole.words[kept])  # whole, in order
        assert torch.equal(drawn.document_lengths, ids.long() % 3 + 1)
        times[ids] += 1
    # binomial: 400 draws of probability 1/9 have the mean 44.4 and the standard deviation 6.3
    assert abs(times - 400 / 9).max() < 5 * 6.3
    assert abs(times[:45].sum() - 2_000) < 5 * 33


def test_the_same_is_learned_once(tmp_path, monkeypatch):
    documents = list(numbered(90, 7))
    first = LSA().learn(documents, NOTHING, 90, 4, tmp_path)
    assert torch.equal(first, LSA().learn(documents, NOTHING, 90, 4))  # of the same seed
    others = [
        (LSA(power=0), documents, NOTHING, 90, 4),
        (PPMI(), documents, NOTHING, 90, 4),
        (LSA(documents=50, seed=1), documents, NOTHING, 90, 4),
        (LSA(documents=50), documents, NOTHING, 90, 4),
        (LSA(), documents[:-1], NOTHING, 90, 4),
        (LSA(), documents, documents[0], 90, 4),
        (LSA(), documents, NOTHING, 91, 4),
        (LSA(), documents, NOTHING, 90, 3),
    ]
    for kind, *texts in others:
        assert torch.equal(kind.learn(*texts, tmp_path), kind.learn(*texts))
    assert len(list((tmp_path / "word_vectors").glob("*.npy"))) == 1 + len(others)
    monkeypatch.setattr(LSA, "matrix", None)
    assert torch.equal(first, LSA().learn(list(numbered(90, 30)), NOTHING, 90, 4, tmp_path))


@pytest.mark.parametrize("damage", ["a bit", "cut off", "of an earlier version"])
def test_what_was_damaged_in_the_cache_is_learned_anew(tmp_path, damage):
    documents = list(numbered(90, 7))
    first = LSA().learn(documents, NOTHING, 90, 4, tmp_path)
    (file,) = (tmp_path / "word_vectors").glob("*.npy")
    content = bytearray(file.read_bytes())
    if damage == "a bit":
        content[-2] ^= 64
    elif damage == "cut off":
        del content[-9:]
    else:  # without a checksum
        file.with_suffix(".crc").unlink()
    file.write_bytes(content)
    assert torch.equal(first, LSA().learn(documents, NOTHING, 90, 4, tmp_path))
    assert torch.equal(first, torch.from_numpy(np.load(file)))


@pytest.mark.parametrize(
    ("kind", "wrong", "message"),
    [
        (LSA, {"norm": 0}, "above 0: norm"),
        (LSA, {"power": 1.5}, "power is 1.5: from 0 to 1"),
        (LSA, {"texts_per_dimension": 0}, "above 0: texts_per_dimension"),
        (PPMI, {"window": 0}, "above 0: window"),
        (PPMI, {"contexts": 0}, "above 0: contexts"),
        (PPMI, {"shift": 0.5}, "shift is 0.5; 1, for none, or more"),
    ],
)
def test_wrong_settings(kind, wrong, message):
    with pytest.raises(InputError, match=message):
        kind(**wrong)
