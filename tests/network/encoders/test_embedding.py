from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from gile_lightning.common.errors import InputError
from gile_lightning.data.loading.ragged import Texts
from gile_lightning.network.encoders import PPMI, WordEmbedding

WORDS = ["the", "cat", "3", "UNK"]


@pytest.fixture
def load(tmp_path):
    def load(*lines, dim=2, words=WORDS):
        path = tmp_path / "vectors.txt"
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        torch.manual_seed(0)
        embedding = WordEmbedding(words, dim, vectors=path)
        before = embedding.weight.detach().clone()
        embedding.load_vectors(words)
        return embedding, before

    return load


def test_starts_uniform_within_bounds():
    torch.manual_seed(0)
    weight = WordEmbedding([f"w{i}" for i in range(2_000)], 10).weight.detach()
    assert weight.shape == (2_000, 10)
    assert weight.min() >= -0.05
    assert weight.max() <= 0.05
    in_tenths = torch.histc(weight, bins=10, min=-0.05, max=0.05)
    # 2,000 expected in each, standard deviation 42
    assert (in_tenths - 2_000).abs().max() < 200


# the header's first number is a word of this vocabulary
@pytest.mark.parametrize("header", [[], ["3 2"]], ids=["GloVe", "word2vec"])
def test_load_vectors(load, header):
    embedding, before = load(*header, "cat 0.5 -1.25", "dog 9 9", "the 1e-1 2 ")
    expected = before.clone()
    expected[0], expected[1] = torch.tensor([0.1, 2.0]), torch.tensor([0.5, -1.25])
    assert torch.equal(embedding.weight, expected)
    assert embedding.found == 2
    assert embedding.weight.requires_grad


def test_vectors_of_another_size(load):
    with pytest.raises(InputError, match=r"vectors\.txt are 3-dimensional.* dim 2: set .*dim 3"):
        load("the 1 2 3")


@pytest.mark.parametrize("lines", [["dog 1 2", "bird 3 4"], ["2 2"]], ids=["others", "header"])
def test_no_known_word(load, lines):
    with pytest.raises(InputError, match=r"vectors\.txt: none of the corpus' 4 words"):
        load(*lines)


@dataclass(frozen=True)
class Given:
    """Learns what it is given."""

    vectors: list

    def learn(self, documents, labels, words, dim, cache):
        assert [text.words.tolist() for text in (*documents, labels)] == [[0, 1], [1]]
        return torch.tensor(self.vectors)


def test_learned_vectors_of_the_words_that_have_one():
    start = Given([[1.0, 2.0], [0.0, 0.0], [0.0, 3.0], [0.0, 0.0]])
    embedding = WordEmbedding(WORDS, 2, start=start)
    expected = embedding.weight.detach().clone()
    expected[0], expected[2] = torch.tensor([1.0, 2.0]), torch.tensor([0.0, 3.0])
    one = torch.tensor([1])
    documents = Texts(torch.tensor([0, 1]), torch.tensor([2]), one)
    embedding.learn_vectors([documents], Texts(one, one, one))
    assert torch.equal(embedding.weight, expected)
    assert embedding.weight.requires_grad
    assert embedding.found == 2


def test_trainable():
    for trainable in (True, False):
        embedding = WordEmbedding(WORDS, 2, trainable=trainable)
        assert embedding.weight.requires_grad is trainable
        before = embedding.weight.detach().clone()
        embedding.load_vectors(WORDS)  # of no file
        assert embedding.found is None
        assert torch.equal(embedding.weight, before)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dim": 0}, "above 0: dim is 0"),
        ({"vectors": Path("none.txt")}, r"none\.txt: no such file"),
        ({"vectors": Path("a.txt"), "start": PPMI()}, r"a\.txt.*embedding\.start to null"),
    ],
)
def test_refused(options, message):
    with pytest.raises(InputError, match=message):
        WordEmbedding(WORDS, **{"dim": 2} | options).load_vectors(WORDS)
