"""Labels by how many training documents have them, whatever the text says."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from gile_lightning.data.loading.ragged import RaggedBatch, Texts
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.systems.baselines.one_pass import OnePass

_TIE = 1e-9  # too little to be seen in a score


class Popularity(OnePass):
    """Scores every document alike: a label's probability is its share p of training documents.

    The logit is ln(p / (1 - p)). Labels that are equally frequent are ranked in the order of their
    numbers, as in the reference "by popularity". Where the number of training documents is
    unknown the logit is minus the rank. Labels that were not seen in training cannot be scored.

    Args:
        kwargs: see `System`.
    """

    calibratable = False  # its probabilities are shares, whatever the text

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)

    def fit(self, name: str, documents: Iterator[RaggedBatch]) -> None:
        """Do nothing: the label set has been counted."""

    def scores_unseen(self, name: str) -> bool:
        """Return False: the frequency of an unseen label says nothing."""
        return False

    def prepare_labels(self, name: str, labels: LabelSet) -> Tensor:
        """Return the logits of the labels seen in training: [L], float64."""
        frequencies = torch.tensor(labels.frequencies[: labels.seen], dtype=torch.double)
        ranks = torch.arange(labels.seen, dtype=torch.double)
        if not labels.documents:
            return -ranks
        # a label that all documents have keeps a finite logit
        share = frequencies / max(labels.documents, 1)
        return share.logit(eps=_TIE) - _TIE * ranks

    def score(self, name: str, documents: Texts, prepared: Tensor) -> Tensor:
        """Repeat the labels' logits for every document: [B, L]."""
        return prepared.to(self.device).expand(len(documents.document_lengths), -1)
