"""The best-matching passage of a document."""

from typing import ClassVar

import torch
from torch import Tensor

from gile_lightning.data.loading.flat import segment_ids, send
from gile_lightning.data.loading.ragged import Texts
from gile_lightning.data.pretrained import backends
from gile_lightning.network.matchers.cosine import Cosine
from gile_lightning.network.matchers.matcher import LOGIT_SCALE

COSINES = 2**24  # of passages and labels that are in memory at once: 64 MB


class BestPassage(Cosine):
    """A learned scale times the highest cosine of a passage of the document with the label.

    The vector of a long text tells little of what only a sentence of it is about. A passage has up
    to `PASSAGE` subwords. Its vector is the mean of what the frozen sentence encoder of the data
    (``data.pretrained``) makes of them in the whole window (late chunking: Günther et al., 2024).
    So the encoder runs once for both. It is MaxP of Dai and Callan (SIGIR 2019), with cosines for
    scores. Where the encoder computes in bfloat16 (``data.pretrained_backend``), so do these.

    Args:
        tokenizer: splits texts into the subwords of the sentence encoder.
        of: what is encoded of a label: its text or its name.
        scale: the scale before training.
    """

    inputs = frozenset({"passages"})
    _called: ClassVar[dict[str, str]] = {
        "text": "best passage",
        "name": "best passage for names",
    }

    def forward(self, documents: Texts, labels: Tensor) -> Tensor:
        """Score documents against the vectors of K labels: [B, K]; 0 for one without a subword."""
        return self.scale * LOGIT_SCALE * self._best(documents, labels).to(self.scale.dtype)

    @torch.no_grad()
    def _best(self, documents: Texts, labels: Tensor) -> Tensor:
        passages, counts = documents.passages, documents.passage_counts
        if passages is None or counts is None:
            _, passages, counts = self.encoder.encode_with_passages(documents, labels.device)
        dtype = backends.rounded_to(self.encoder.backend) or self.scale.dtype
        passages = send(passages, labels.device).to(dtype)
        owners = segment_ids(counts, passages)
        labels = labels.to(dtype)
        # a document may have a hundred passages, and so many times its scores
        slab = max(1, COSINES // max(1, len(passages)))
        if len(labels) <= slab:
            return _highest(passages @ labels.T, owners, len(counts))
        slabs = (labels[start : start + slab] for start in range(0, len(labels), slab))
        best = [_highest(passages @ some.T, owners, len(counts)) for some in slabs]
        return torch.cat(best, 1)


def _highest(cosines: Tensor, owners: Tensor, documents: int) -> Tensor:
    """Return the highest of the cosines [P, K] of the passages of each document: [B, K]."""
    best = cosines.new_zeros(documents, cosines.shape[1])
    places = owners.unsqueeze(1).expand_as(cosines)
    return best.scatter_reduce_(0, places, cosines, "amax", include_self=False)
