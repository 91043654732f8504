"""The features and coefficients of the linear models of all labels."""

from typing import Literal

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor, nn

from gile_lightning.systems.baselines.bag_of_words import TfIdf
from gile_lightning.systems.baselines.linear_fit import SparseLinear


class CoefficientTable(nn.Module):
    """The words that are features, their weighting, and the coefficients of all labels.

    Args:
        vocabulary: words of the vocabulary, `UNKNOWN` left out.
        words: F, the number of them that are features.
        labels: L, those seen in training.
        weighting: as for `OneVersusRest`.
        coefficients: how many are not zero.
    """

    words: Tensor

    def __init__(
        self,
        vocabulary: int,
        words: int,
        labels: int,
        weighting: Literal["binary", "tfidf"],
        coefficients: int = 0,
    ) -> None:
        super().__init__()
        self.vocabulary = vocabulary
        self.register_buffer("words", torch.arange(words))
        self.tfidf = TfIdf(words) if weighting == "tfidf" else None
        self.linear = SparseLinear(labels, coefficients)

    def choose(self, counts: csr_array) -> None:
        """Have the most frequent words of the training documents' counts as features."""
        most = np.argsort(-counts.sum(axis=0), kind="stable")[: len(self.words)]
        self.words.copy_(torch.from_numpy(np.sort(most)))
        if self.tfidf is not None:
            self.tfidf.fit([counts[:, self.words.cpu().numpy()]])

    def features(self, counts: csr_array) -> csr_array:
        """Weight word counts [B, vocabulary]: features [B, F]."""
        if len(self.words) < self.vocabulary:
            counts = counts[:, self.words.cpu().numpy()]
        if self.tfidf is not None:
            weighted: csr_array = self.tfidf(counts)
            return weighted
        return counts.sign()
