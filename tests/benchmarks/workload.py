"""Invented data with the sizes of the paper's BioASQ experiments: ids alone, no texts."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray

from gile_lightning.data.loading.ragged import RaggedBatch, Texts
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.data.tokenizing.tokenizer import UNKNOWN, Tokenizer
from gile_lightning.network.encoded_labels import EncodedLabels
from gile_lightning.systems import NeuralSystem

NAME = "english"


@dataclass
class Workload:
    """Documents and label texts of random words.

    Words follow Zipf's law. Documents have 214 words on average, at most 300, and 13 labels; label
    texts have 27 words on average, at most 50, as MeSH scope notes have.
    """

    vocabulary: int = 528_156
    labels: int = 26_104
    dim: int = 100
    joint_dim: int = 500
    batch_size: int = 64
    seed: int = 0
    random: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(self.seed)
        self.words = _zipf(self.vocabulary, 1.0)
        self.popularity = _zipf(self.labels, 0.7)
        lengths = self.random.gamma(3.5, 27 / 3.5, self.labels).round().clip(3, 50).astype(int)
        ids = self.draw(self.words, int(lengths.sum()))
        self.label_texts = Texts.from_flat(ids.astype(np.int32), lengths)

    def draw(self, cumulative: NDArray[np.float64], size: int) -> NDArray[np.int64]:
        """Draw ids from a cumulative distribution."""
        return np.searchsorted(cumulative, self.random.random(size)).clip(max=len(cumulative) - 1)

    def batches(self, count: int) -> Iterator[RaggedBatch]:
        """Draw batches of documents."""
        for _ in range(count):
            size = self.batch_size
            lengths = self.random.normal(214, 55, size).round().clip(20, 300).astype(int)
            words = self.draw(self.words, int(lengths.sum())).astype(np.int32)
            counts = self.random.poisson(12, size) + 1
            labels = [np.unique(self.draw(self.popularity, n)) for n in counts]
            texts = Texts.from_flat(words, lengths)
            yield RaggedBatch(
                *texts[:3],
                torch.from_numpy(np.concatenate(labels)),
                torch.tensor([len(ids) for ids in labels]),
            )

    def model(self, **parts: object) -> NeuralSystem:
        """Make GILE-WAN for these sizes, without a trainer."""
        model = NeuralSystem(**parts)  # type: ignore[arg-type]
        names = [str(i) for i in range(self.labels)]
        counts = [1] * self.labels
        task = Task(
            Tokenizer([str(i) for i in range(1, self.vocabulary)] + [UNKNOWN]),
            LabelSet(names, ["1"] * self.labels, counts),
        )
        model.build({NAME: task})
        model.encoded_labels[NAME] = EncodedLabels(self.label_texts, frequencies=counts)
        model.log = lambda *args, **kwargs: None  # type: ignore[method-assign]
        return model


def _zipf(size: int, exponent: float) -> NDArray[np.float64]:
    weights = np.arange(1, size + 1) ** -exponent
    return np.cumsum(weights / weights.sum())
