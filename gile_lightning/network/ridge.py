"""Ridge regression of the labels seen in training, solved before the first step."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gile_lightning.common.errors import InputError, positive
from gile_lightning.common.factories import Part
from gile_lightning.common.progress import Progress
from gile_lightning.data.loading.flat import segment_ids
from gile_lightning.data.loading.ragged import Texts
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.network.encoders import HashedWords
from gile_lightning.network.hashed_ngrams import HashedNgrams
from gile_lightning.network.label_groups import LabelGroups
from gile_lightning.network.label_residual import NOT_SEEN
from gile_lightning.network.matchers.matcher import LOGIT_SCALE

BLOCK = 256  # columns that are solved at once
COPIED = 2**22  # coefficients that are copied at once: 16 MB
LEAST_PENALTY = 0.001
_BOOST_BEFORE = 1.5


class LabelledVectors(NamedTuple):
    """Features [B, d] of documents, their labels [P], flat, and labels per document [B].

    ``new`` [B], if given, says which documents the regression was not fitted to yet. The labels of
    the others are those alone that it does not know.
    """

    vectors: Tensor
    label_ids: Tensor
    label_counts: Tensor
    new: Tensor | None = None


class Ridge(Part, nn.Module):
    """A learned scale times the predictions of a ridge regression on document vectors.

    Φ [N, d] are the vectors of the training documents, each scaled to length 1, and Y [N, K] says
    by 1 and 0 which labels they have. The coefficients are W = (Φᵀ Φ + λ I)⁻¹ Φᵀ Y. They are
    computed once, before training, so training must not change document vectors.

    Training scores a document as if the regression did not know it: f - h (y - f) / (1 - h), with
    its prediction f = φ W and its leverage h = φ (Φᵀ Φ + λ I)⁻¹ φᵀ (Cook and Weisberg, 1982,
    section 2.2). That is the prediction of a regression on all other documents. So the model
    learns how far it can trust the regression on new documents.

    On new documents it may have to count more than training finds, as all other parts have seen
    the training documents, and know them by heart to a degree. It may have to count less, as where
    documents are few and long. So scores of new documents are multiplied by ``boost``, which
    validation documents choose (`gile_lightning.systems.boost`).

    The coefficients, d per seen label, are no trained parameters.

    W and P = (Φᵀ Φ + λ I)⁻¹, which a checkpoint has, are all that the regression needs to know of
    its documents: Φᵀ Φ = P⁻¹ - λ I, and Φᵀ Y = P⁻¹ W. So a regression that is fitted to further
    documents has the coefficients of one that is fitted to all at once.

    Args:
        document_dim: size d_h of the document vectors.
        labels: the number K of labels seen in training.
        scale: the scale before training.
        penalty: λ, 0.001 or more: with less, float32 cannot tell what a document that the
            regression was fitted to would score without it.
        boost: the factor on new documents; by default validation documents choose it, and it is
            1 before the first validation.
        word_features: how many features stand beside a document vector, into which its words are
            hashed (see `HashedWords`).
        ngram_features: how many features stand there for the character n-grams of its words (see
            `HashedNgrams`). Then d is the sum of all sizes.
    """

    coefficients: Tensor
    inverse: Tensor
    boost: Tensor

    def __init__(
        self,
        document_dim: int,
        labels: int,
        scale: float = 10.0,
        penalty: float = 0.3,
        boost: float | None = None,
        word_features: int = 0,
        ngram_features: int = 0,
    ) -> None:
        positive(**({} if boost is None else {"boost": boost}))
        if penalty < LEAST_PENALTY:
            raise InputError(f"penalty is {penalty}; it must be {LEAST_PENALTY} or more")
        super().__init__()
        self.words = HashedWords(0, word_features) if word_features else None
        self.ngrams: HashedNgrams | None = None
        self.ngram_features = ngram_features
        dim = document_dim + word_features + ngram_features
        self.penalty, self.chooses_boost = penalty, boost is None
        self.scale = nn.Parameter(torch.tensor(scale / LOGIT_SCALE))
        self.register_buffer("coefficients", torch.zeros(labels, dim))
        self.register_buffer("inverse", torch.zeros(dim, dim))
        self.register_buffer("boost", torch.tensor(1.0 if boost is None else boost))

    def set_tokenizer(self, tokenizer: Tokenizer) -> None:
        """Receive the tokenizer of the texts to come, for their n-grams."""
        if self.ngram_features:
            self.ngrams = HashedNgrams(self.ngram_features, tokenizer)

    def __len__(self) -> int:
        return len(self.coefficients)

    def _apply(self, fn: Any, recurse: bool = True) -> "Ridge":
        """Move and convert, but keep float32 where all else gets 16 bits."""
        before = {name: getattr(self, name) for name in ("coefficients", "inverse")}
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        for name, exact in before.items():
            buffer = getattr(self, name)
            if buffer.dtype in (torch.half, torch.bfloat16):
                setattr(self, name, exact.to(buffer.device, torch.float32))
        return self

    def _load_from_state_dict(self, state: dict[str, Any], prefix: str, *args: Any) -> None:
        key, boost = f"{prefix}boost", self.boost
        if self.chooses_boost:  # otherwise what is named here counts
            # checkpoints of earlier versions have none, which was 1.5 unless it was named
            boost = state.get(key, torch.tensor(_BOOST_BEFORE))
        super()._load_from_state_dict({**state, key: boost}, prefix, *args)

    def features(self, documents: Tensor, texts: Texts) -> Tensor:
        """Return what the regression reads of documents: [B, d].

        Args:
            documents: vectors [B, d_h].
            texts: of the documents.
        """
        parts = [] if self.words is None else [self.words(documents, texts)]
        if self.ngrams is not None:
            parts.append(self.ngrams.features(texts))
        if not parts:
            return documents
        return torch.cat([_unit(documents).to(parts[0].dtype), *parts], 1)

    @torch.no_grad()
    def fit(self, documents: Iterable[LabelledVectors], known: float | None = None) -> None:
        """Solve the regression in one pass over documents.

        Args:
            documents: the documents.
            known: the penalty with which it was fitted to earlier documents, which it keeps. None
                for a regression on these documents alone.

        Raises:
            InputError: the inverse lost its precision over too many documents.
        """
        gram = self.inverse.new_zeros(self.inverse.shape, dtype=torch.float64)
        sums = torch.zeros_like(self.coefficients, dtype=torch.float64)  # Yᵀ Φ
        if known is not None:
            before = _inverse((self.inverse.double() + self.inverse.double().T) / 2)
            sums += self.coefficients.double() @ before
            gram += before
            gram.diagonal().sub_(known)
        for vectors, ids, counts, new in documents:
            rows = _unit(vectors).double()
            added = rows if new is None else rows[new]
            gram += added.T @ added
            sums.index_add_(0, ids.long(), rows[segment_ids(counts)])
        gram.diagonal().add_(self.penalty)
        inverse = _inverse(gram)
        self.inverse.copy_(inverse)
        self.coefficients.copy_(sums @ inverse)

    def select(self, state: dict[str, Tensor], ids: Tensor) -> dict[str, Tensor]:
        """Turn the stored state of another `Ridge` into a state for these labels.

        Args:
            state: the parameters and buffers; their names may have a prefix.
            ids: the ids in the other of these K labels; those that are `NOT_SEEN` there have no
                document yet.
        """
        seen = (ids != NOT_SEEN).nonzero().squeeze(1)
        selected = dict(state)
        for key, value in state.items():
            if key.endswith("coefficients"):
                rows = value.new_zeros(len(ids), *value.shape[1:])
                selected[key] = rows.index_copy_(0, seen, value[ids[seen]])
        return selected

    @classmethod
    def regroup(cls, state: dict[str, Tensor], groups: LabelGroups) -> dict[str, Tensor]:
        """Return a stored state after label changes; the regression is linear in the targets."""
        changed = {k: groups.sum(value) for k, value in state.items() if k == "coefficients"}
        return state | changed

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
            predicted = self._predict(rows, ids)
            scale = self.scale * LOGIT_SCALE
            if targets is None:
                return scale * self.boost * predicted
            leverage = ((rows @ self.inverse.to(rows.dtype)) * rows).sum(1, keepdim=True)
            return scale * (predicted - leverage * (targets - predicted) / (1 - leverage))

    def _predict(self, rows: Tensor, ids: Tensor) -> Tensor:
        """Multiply rows [B, d] with the coefficients of K labels: [B, K].

        Some labels at a time: to copy 100 MB of coefficients takes longer than to multiply them.
        """
        some = torch.split(ids, max(1, COPIED // rows.shape[1]))
        # `index_select` copies rows several times as fast as an index
        read = (self.coefficients.index_select(0, each).to(rows.dtype) for each in some)
        found = [rows @ coefficients.T for coefficients in read]
        return found[0] if len(found) == 1 else torch.cat(found, 1)


def _inverse(matrix: Tensor) -> Tensor:
    """Return the inverse of a positive definite matrix A = L Lᵀ, as (L⁻¹)ᵀ L⁻¹, by blocks."""
    try:
        lower = torch.linalg.cholesky(matrix)
    except RuntimeError as error:  # torch.linalg.LinAlgError is one
        raise InputError(
            "the ridge regression of that run cannot be continued: it has too many documents for "
            "the precision of its checkpoint; set --keep false, or train on all documents anew"
        ) from error
    blocks = [slice(start, start + BLOCK) for start in range(0, len(matrix), BLOCK)]
    half, inverse = torch.zeros_like(matrix), torch.empty_like(matrix)
    unit = torch.eye(len(matrix), dtype=matrix.dtype, device=matrix.device)
    with Progress("solving the ridge regression", 2 * len(blocks), "blocks") as progress:
        for block in blocks:
            below = slice(block.start, None)  # above, L⁻¹ is 0
            rest = unit[below, block]
            half[below, block] = torch.linalg.solve_triangular(
                lower[below, below], rest, upper=False
            )
            progress.advance()
        for block in blocks:
            below, left = slice(block.start, None), slice(block.stop)
            rows = half[below, block].T @ half[below, left]
            inverse[block, left] = rows
            inverse[left, block] = rows.T
            progress.advance()
    return inverse


def _unit(vectors: Tensor) -> Tensor:
    """Return vectors [B, d] of length 1, in float32 at least."""
    return F.normalize(vectors.to(torch.promote_types(vectors.dtype, torch.float32)))
