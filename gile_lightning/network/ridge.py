"""Ridge regression of the labels seen in training, solved before the first step."""

from collections.abc import Iterable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gile_lightning.common.errors import positive
from gile_lightning.common.factories import Part
from gile_lightning.data.loading.ragged import Texts, segment_ids
from gile_lightning.network.encoders import HashedWords
from gile_lightning.network.matchers.matcher import LOGIT_SCALE


class LabelledVectors(NamedTuple):
    """Features [B, d] of documents, their labels [P], flat, and labels per document [B]."""

    vectors: Tensor
    label_ids: Tensor
    label_counts: Tensor


class Ridge(Part, nn.Module):
    """A learned scale times the predictions of a ridge regression on document vectors.

    Φ [N, d] are the vectors of the training documents, each scaled to length 1, and Y [N, K] says
    by 1 and 0 which labels they have. The coefficients are W = (Φᵀ Φ + λ I)⁻¹ Φᵀ Y. They are
    computed once, before training, so training must not change document vectors.

    Training scores a document as if the regression did not know it: f - h (y - f) / (1 - h), with
    its prediction f = φ W and its leverage h = φ (Φᵀ Φ + λ I)⁻¹ φᵀ (Cook and Weisberg, 1982,
    section 2.2). That is the prediction of a regression on all other documents. So the model
    learns how far it can trust the regression on new documents.

    On documents that are new it deserves more trust than training finds. All other parts have seen
    the training documents, and know them by heart to a degree. So scores of new documents are
    multiplied by ``boost``.

    The coefficients, d per seen label, are no trained parameters.

    Args:
        document_dim: size d_h of the document vectors.
        labels: the number K of labels seen in training.
        scale: the scale before training.
        penalty: λ.
        boost: the factor on new documents.
        word_features: how many features stand beside a document vector, into which its words are
            hashed (see `HashedWords`). Then d is the sum of both sizes.
    """

    coefficients: Tensor
    inverse: Tensor

    def __init__(
        self,
        document_dim: int,
        labels: int,
        scale: float = 10.0,
        penalty: float = 0.3,
        boost: float = 1.5,
        word_features: int = 0,
    ) -> None:
        positive(penalty=penalty, boost=boost)
        super().__init__()
        self.words = HashedWords(0, word_features) if word_features else None
        dim = document_dim + word_features
        self.penalty, self.boost = penalty, boost
        self.scale = nn.Parameter(torch.tensor(scale / LOGIT_SCALE))
        self.register_buffer("coefficients", torch.zeros(labels, dim))
        self.register_buffer("inverse", torch.zeros(dim, dim))

    def __len__(self) -> int:
        return len(self.coefficients)

    def features(self, documents: Tensor, texts: Texts) -> Tensor:
        """Return what the regression reads of documents: [B, d].

        Args:
            documents: vectors [B, d_h].
            texts: of the documents.
        """
        if self.words is None:
            return documents
        words = self.words(documents, texts)
        return torch.cat([_unit(documents).to(words.dtype), words], 1)

    @torch.no_grad()
    def fit(self, documents: Iterable[LabelledVectors]) -> None:
        """Solve the regression on all training documents, in one pass over them."""
        gram = self.inverse.new_zeros(self.inverse.shape, dtype=torch.float64)
        sums = torch.zeros_like(self.coefficients, dtype=torch.float64)  # Yᵀ Φ
        for vectors, ids, counts in documents:
            rows = _unit(vectors).double()
            gram += rows.T @ rows
            sums.index_add_(0, ids.long(), rows[segment_ids(counts)])
        gram.diagonal().add_(self.penalty)
        inverse = torch.cholesky_inverse(torch.linalg.cholesky(gram))
        self.inverse.copy_(inverse)
        self.coefficients.copy_(sums @ inverse)

    def forward(self, documents: Tensor, ids: Tensor, targets: Tensor | None = None) -> Tensor:
        """Score documents: [B, K].

        Args:
            documents: features [B, d].
            ids: of K labels that training has seen.
            targets: says by 1 and 0 which of the labels each document has [B, K], if the regression
                was fitted to the documents. They are then scored as if it was not.
        """
        with torch.autocast(documents.device.type, enabled=False):
            rows = _unit(documents)
            predicted = rows @ self.coefficients[ids].to(rows.dtype).T
            scale = self.scale * LOGIT_SCALE
            if targets is None:
                return scale * self.boost * predicted
            leverage = ((rows @ self.inverse.to(rows.dtype)) * rows).sum(1, keepdim=True)
            return scale * (predicted - leverage * (targets - predicted) / (1 - leverage))


def _unit(vectors: Tensor) -> Tensor:
    """Return vectors [B, d] of length 1, in float32 at least."""
    return F.normalize(vectors.to(torch.promote_types(vectors.dtype, torch.float32)))
