"""Labels prepared for scoring any number of documents, in bounded memory."""

import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from gile_lightning.data.loading.ragged import Texts
from gile_lightning.network.encoded_labels import Labels, LabelTexts
from gile_lightning.network.outputs import OutputLayer
from gile_lightning.network.network import Scorer

SLAB = 8_192  # labels encoded and projected at a time
KEPT = 2**27  # numbers that the projections of all labels may have: 512 MB in float32


class ProjectedLabels:
    """The projections of labels, made once: [K, d_j] for GILE.

    Where these would take more than 512 MB, the label vectors [K, d] are kept instead, and
    projected slab by slab whenever a batch of documents is scored. With d = 100 and d_j = 500 that
    is a fifth of the memory, and costs as much as scoring 100 more documents.

    Args:
        output: the output layer.
        vectors: label vectors in slabs, or ids where the layer knows its labels by number.
        labels: their number K.
    """

    def __init__(self, output: OutputLayer, vectors: Iterable[Tensor], labels: int) -> None:
        self.output = output
        self.labels = labels
        self.projected = True  # what is kept: the projections, or the label vectors
        start = 0
        for slab in vectors:  # of no labels, there is an empty one
            part = output.project_labels(slab) if self.projected else slab
            if not start:
                dim, vector_dim = (x.numel() // max(1, len(x)) for x in (part, slab))
                self.projected = dim * labels <= KEPT or dim <= vector_dim
                part = part if self.projected else slab
                self._table = part.new_empty(labels, *part.shape[1:])
            self._table[start : start + len(part)] = part
            start += len(part)

    def __len__(self) -> int:
        return self.labels

    def slabs(self) -> Iterator[Tensor]:
        """Yield the projections of all labels, in order: everything at once, or slab by slab."""
        if self.projected:
            yield self._table
        else:
            yield from map(self.output.project_labels, torch.split(self._table, SLAB))

    def all(self) -> Tensor:
        """Return the projections of all labels."""
        return torch.cat(list(self.slabs()))

    def score(self, documents: Tensor) -> Tensor:
        """Score document vectors [B, d_h] against the labels: logits [B, K]."""
        if self.projected:
            return self.output.score(documents, self._table)
        start = 0
        for slab in self.slabs():
            scores = self.output.score(documents, slab)
            if not start:
                logits = scores.new_empty(len(documents), self.labels)
            logits[:, start : start + len(slab)] = scores
            start += len(slab)
        return logits


@dataclass(frozen=True)
class PreparedLabels:
    """Labels that any number of documents are scored against.

    Encoders compute in the trainer's precision. What follows them is float32 at least: rounded
    logits of many labels tie, and ties count against a model.
    """

    scorer: Scorer
    projected: ProjectedLabels
    labels: Labels

    def __len__(self) -> int:
        return len(self.projected)

    def all(self) -> Tensor:
        """Return the projections of all labels."""
        return self.projected.all()

    def score(self, documents: Texts) -> Tensor:
        """Score documents: logits [B, K], float32 at least."""
        documents = self.scorer.with_vectors(documents)
        encoded = _widened(self.scorer.encode_documents(documents))
        with torch.autocast(encoded.device.type, enabled=False):
            logits = self.projected.score(encoded)
            return self.scorer.extend(logits, documents, encoded, self.labels)


@torch.no_grad()
def project_all(scorer: Scorer, labels: LabelTexts, seen: int) -> PreparedLabels:
    """Prepare labels for scoring, once for all batches.

    These are all the labels, or only those seen in training where the output layer knows no
    others.
    """
    by_text = scorer.output.scores_unseen
    device = labels.words.device
    ids = torch.arange(len(labels) if by_text else seen, device=device)
    slabs = torch.split(ids, SLAB)
    read = (_widened(scorer.encode_labels(labels.take(some))) for some in slabs)
    precise = _precise(scorer)
    with torch.autocast(device.type, enabled=False):
        projected = ProjectedLabels(precise.output, read if by_text else slabs, len(ids))
    return PreparedLabels(precise, projected, labels.select(ids, texts=False))


def _widened(vectors: Tensor) -> Tensor:
    """Return vectors in float32, or in float64 if they are."""
    return vectors.to(torch.promote_types(vectors.dtype, torch.float32))


def _precise(scorer: Scorer) -> Scorer:
    """Return the scorer; of one in half precision a copy, in float32 from the vectors on."""
    if scorer.word_vectors.dtype not in (torch.bfloat16, torch.float16):
        return scorer
    kept = scorer.embedding, scorer.encoder, scorer.label_encoder
    copied = copy.deepcopy(scorer, {id(part): part for part in kept})
    for part in (copied.output, copied.channels, copied.memory):
        if part is not None:
            part.float()
    if copied.prior is not None:
        copied.prior.data = copied.prior.data.float()
    return copied
