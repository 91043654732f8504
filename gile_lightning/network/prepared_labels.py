"""Labels prepared for scoring any number of documents, in bounded memory."""

import copy
from collections.abc import Iterable, Iterator

import torch
from torch import Tensor

from gile_lightning.data.loading.ragged import Texts
from gile_lightning.network.encoded_labels import EncodedLabels, LabelBatch
from gile_lightning.network.network import Network

SLAB = 8_192  # labels encoded and projected at a time
KEPT = 2**27  # numbers that the projections of all labels may have: 512 MB in float32


class PreparedLabels:
    """Labels that any number of documents are scored against.

    The projections of the labels are made once: [K, d_j] for GILE. Where these would take more
    than 512 MB, the label vectors [K, d] are kept instead, and projected slab by slab whenever a
    batch of documents is scored. With d = 100 and d_j = 500 that is a fifth of the memory, and
    costs as much as scoring 100 more documents.

    Encoders compute in the trainer's precision. What follows them is float32 at least: rounded
    logits of many labels tie, and ties count against a model.

    Args:
        network: scores documents; what follows its encoders is float32 at least.
        labels: the K labels, without their texts.
        vectors: their vectors in slabs, or ids where the output layer knows its labels by number.
    """

    def __init__(self, network: Network, labels: LabelBatch, vectors: Iterable[Tensor]) -> None:
        self.network = network
        self.labels = labels
        self.projected = True  # what is kept: the projections, or the label vectors
        output, count, start = network.output, len(labels.ids), 0
        for slab in vectors:  # of no labels, there is an empty one
            part = output.project_labels(slab) if self.projected else slab
            if not start:
                dim, vector_dim = (x.numel() // max(1, len(x)) for x in (part, slab))
                self.projected = dim * count <= KEPT or dim <= vector_dim
                part = part if self.projected else slab
                self._table = part.new_empty(count, *part.shape[1:])
            self._table[start : start + len(part)] = part
            start += len(part)

    def __len__(self) -> int:
        return len(self.labels.ids)

    def all(self) -> Tensor:
        """Return the projections of all labels."""
        return torch.cat(list(self._slabs()))

    def score(self, documents: Texts) -> Tensor:
        """Score documents: logits [B, K], float32 at least."""
        documents = self.network.with_vectors(documents)
        encoded = _widened(self.network.encode_documents(documents))
        with torch.autocast(encoded.device.type, enabled=False):
            logits = self._logits(encoded)
            return self.network.extend(logits, documents, encoded, self.labels)

    def _logits(self, documents: Tensor) -> Tensor:
        """Score document vectors [B, d_h] by the output layer alone: [B, K]."""
        output = self.network.output
        if self.projected:
            return output.score(documents, self._table)
        start = 0
        for slab in self._slabs():
            scores = output.score(documents, slab)
            if not start:
                logits = scores.new_empty(len(documents), len(self))
            logits[:, start : start + len(slab)] = scores
            start += len(slab)
        return logits

    def _slabs(self) -> Iterator[Tensor]:
        """Yield the projections of all labels, in order: everything at once, or slab by slab."""
        if self.projected:
            yield self._table
        else:
            yield from map(self.network.output.project_labels, torch.split(self._table, SLAB))


@torch.no_grad()
def prepare_labels(network: Network, labels: EncodedLabels, seen: int) -> PreparedLabels:
    """Prepare labels for scoring, once for all batches.

    These are all the labels, or only those seen in training where the output layer knows no
    others.
    """
    by_text = network.output.scores_unseen
    device = labels.words.device
    ids = torch.arange(len(labels) if by_text else seen, device=device)
    slabs = torch.split(ids, SLAB)
    read = (_widened(network.encode_labels(labels.gather(some))) for some in slabs)
    precise = _precise(network)
    with torch.autocast(device.type, enabled=False):
        batch = labels.select(ids, texts=False)
        return PreparedLabels(precise, batch, read if by_text else slabs)


def _widened(vectors: Tensor) -> Tensor:
    """Return vectors in float32, or in float64 if they are."""
    return vectors.to(torch.promote_types(vectors.dtype, torch.float32))


def _precise(network: Network) -> Network:
    """Return the network; of one in half precision a copy, in float32 from the vectors on."""
    if network.word_vectors.dtype not in (torch.bfloat16, torch.float16):
        return network
    kept = network.embedding, network.encoder, network.label_encoder
    copied = copy.deepcopy(network, {id(part): part for part in kept})
    for part in (copied.output, copied.matchers, copied.label_residual):
        if part is not None:
            part.float()
    if copied.prior is not None:
        copied.prior.data = copied.prior.data.float()
    return copied
