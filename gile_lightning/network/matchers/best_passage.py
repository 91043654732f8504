"""The best-matching passage of a document."""

from typing import Literal

import torch
from torch import Tensor

from gile_lightning.data.loading.ragged import Texts, segment_ids, send
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.network.matchers.cosine import Cosine
from gile_lightning.network.matchers.matcher import LOGIT_SCALE


class BestPassage(Cosine):
    """A learned scale times the highest cosine of a passage of the document with the label.

    The vector of a long text tells little of what only a sentence of it is about. A passage has up
    to `PASSAGE` subwords; its vectors are those of the frozen sentence encoder of the data
    (``data.pretrained``). It is MaxP of Dai and Callan (SIGIR 2019), with cosines for scores.

    Passages are encoded beside the whole text, which takes as long once more.

    Args:
        tokenizer: splits texts into the subwords of the sentence encoder.
        of: what is encoded of a label: its text or its name.
        scale: the scale before training.
    """

    called = "best passage"

    def __init__(
        self, tokenizer: Tokenizer, of: Literal["text", "name"] = "text", scale: float = 10.0
    ) -> None:
        super().__init__(tokenizer, of, scale)
        self.inputs = {"passages"}

    def forward(self, documents: Texts, labels: Tensor) -> Tensor:
        """Score documents against the vectors of K labels: [B, K]; 0 for one without a subword."""
        return self.scale * LOGIT_SCALE * self._best(documents, labels).to(self.scale.dtype)

    @torch.no_grad()
    def _best(self, documents: Texts, labels: Tensor) -> Tensor:
        passages, counts = documents.passages, documents.passage_counts
        if passages is None or counts is None:
            passages, counts = self.encoder.encode_passages(documents, labels.device)
        passages = send(passages, labels.device).to(labels.dtype)
        cosines = passages @ labels.T
        owners = segment_ids(counts, passages).unsqueeze(1).expand_as(cosines)
        best = cosines.new_zeros(len(counts), labels.shape[0])
        return best.scatter_reduce_(0, owners, cosines, "amax", include_self=False)
