"""Labels prepared for scoring any number of documents, in bounded memory."""

import copy
from collections.abc import Iterable, Iterator

import torch
from torch import Tensor

from gile_lightning.data.loading.flat import send
from gile_lightning.data.loading.ragged import Texts
from gile_lightning.network.encoded_labels import EncodedLabels, LabelBatch
from gile_lightning.network.network import Network

SLAB = 8_192  # labels encoded and projected at a time
KEPT = 2**27  # numbers that the projections of all labels may have: 512 MB in float32


class PreparedLabels:
    """The part of the scores that depends on labels alone, computed once for all documents.

    It keeps the projections of all labels: [K, d_j] for GILE. If these take more than 512 MB, it
    keeps the label vectors [K, d] instead, and projects them slab by slab for every batch of
    documents. With d = 100 and d_j = 500 that is a fifth of the memory, and costs as much as
    scoring 100 more documents.

    Encoders compute in the trainer's precision. All that follows is float32 at least: rounded
    logits of many labels tie, and ties count against a model.

    Args:
        network: scores documents; what follows its encoders is float32 at least.
        encoded: the labels and perhaps more.
        labels: the K labels, without their texts.
        vectors: the label vectors in slabs, or label ids if the output layer takes ids.
    """

    def __init__(
        self,
        network: Network,
        encoded: EncodedLabels,
        labels: LabelBatch,
        vectors: Iterable[Tensor],
    ) -> None:
        self.network = network
        self.encoded = encoded
        self.labels = _settled(network, labels.sent(network.word_vectors.device))
        self.keeps_projections = True  # or the label vectors
        output, count, start = network.output, len(labels.ids), 0
        for slab in vectors:  # of no labels, there is an empty one
            rows = output.project_labels(slab) if self.keeps_projections else slab
            if not start:
                dim, vector_dim = (x.numel() // max(1, len(x)) for x in (rows, slab))
                self.keeps_projections = dim * count <= KEPT or dim <= vector_dim
                rows = rows if self.keeps_projections else slab
                self._table = rows.new_empty(count, *rows.shape[1:])
            self._table[start : start + len(rows)] = rows
            start += len(rows)

    def __len__(self) -> int:
        return len(self.labels.ids)

    def all(self) -> Tensor:
        """Return the projections of all labels."""
        return torch.cat(list(self._slabs()))

    def subset(self, ids: Tensor) -> "PreparedLabels":
        """Return some of the labels, by their distinct places [J] among these."""
        some = copy.copy(self)
        device = self._table.device
        places = self.labels.ids[ids.to(self.labels.ids.device)]
        selected = self.encoded.select(places, texts=False).sent(device)
        some.labels = _settled(self.network, selected)
        some._table = self._table[send(ids, device)]
        return some

    def score(self, documents: Texts, targets: Tensor | None = None) -> Tensor:
        """Score documents: logits [B, K], float32 at least.

        Args:
            documents: B documents.
            targets: says of training documents by 1 and 0 which labels they have [B, K]; these are
                then scored as far as possible as if they were new (`Network.add_to_logits`).
        """
        documents, encoded = self.encode(documents)
        labels = self.labels if targets is None else self.labels._replace(targets=targets)
        with torch.autocast(encoded.device.type, enabled=False):
            logits = self.output_logits(encoded)
            features = self.network.ridge_features(documents, encoded)
            return self.network.add_to_logits(logits, documents, features, encoded, labels)

    def encode(self, documents: Texts) -> tuple[Texts, Tensor]:
        """Encode documents: with a frozen pretrained model's vectors if needed, and as [B, d_h]."""
        documents = self.network.with_vectors(documents)
        return documents, _widened(self.network.encode_documents(documents))

    def output_logits(self, documents: Tensor) -> Tensor:
        """Score document vectors [B, d_h] by the output layer alone: [B, K]."""
        output = self.network.output
        if self.keeps_projections:
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
        if self.keeps_projections:
            yield self._table
        else:
            yield from map(self.network.output.project_labels, torch.split(self._table, SLAB))


@torch.no_grad()
def prepare_labels(network: Network, labels: EncodedLabels, seen: int) -> PreparedLabels:
    """Prepare all labels of a set, or the ``seen`` ones if the output layer knows no others."""
    by_text = network.output.scores_unseen
    device = network.word_vectors.device
    ids = torch.arange(len(labels) if by_text else seen)
    slabs = torch.split(ids, SLAB)
    vectors = (_widened(network.encode_labels(labels.texts_of(some))) for some in slabs)
    precise = _precise(network)
    with torch.autocast(device.type, enabled=False):
        batch = labels.select(ids, texts=False)
        return PreparedLabels(precise, labels, batch, vectors if by_text else slabs)


@torch.no_grad()
def _settled(network: Network, labels: LabelBatch) -> LabelBatch:
    """Return labels with what matchers compute of them while their weights stay."""
    pairs = zip(network.matchers, labels.matcher_labels, strict=True)
    return labels._replace(matcher_labels=tuple(part.settled(own) for part, own in pairs))  # type: ignore[operator]


def _widened(vectors: Tensor) -> Tensor:
    """Return vectors in float32, or in float64 if they are."""
    return vectors.to(torch.promote_types(vectors.dtype, torch.float32))


def _precise(network: Network) -> Network:
    """Return the network, or a copy of one in half precision: float32 but for its encoders."""
    if network.word_vectors.dtype not in (torch.bfloat16, torch.float16):
        return network
    same = network.embedding, network.encoder, network.label_encoder
    copied = copy.deepcopy(network, {id(module): module for module in same})
    for module in (copied.output, copied.matchers, copied.label_residual, copied.ridge):
        if module is not None:
            module.float()
    if copied.prior is not None:
        copied.prior.data = copied.prior.data.float()
    return copied
