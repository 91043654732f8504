"""Encoders that compute what those of a network do, in operations that ONNX has.

A layer that reads each word by itself makes the same state of a word in every text. So its states
of the whole vocabulary are computed here, and the graph looks them up.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gile_lightning.common.errors import InputError
from gile_lightning.data.loading.flat import segment_ids
from gile_lightning.exporting.graph_segments import (
    Flat,
    GRUWeights,
    damping,
    gru,
    segment_softmax,
    segment_sum,
)
from gile_lightning.network.encoders import (
    GRU,
    HAN,
    HNN,
    WAN,
    AttentionPooling,
    AveragePooling,
    BiGRU,
    Concatenation,
    Dense,
    Encoder,
    HashedWords,
    IdfMean,
    Mean,
    SumPooling,
)
from gile_lightning.network.encoders.hashed import hashed
from gile_lightning.network.hashed_ngrams import HashedNgrams, scattered


def graph_encoder(encoder: Encoder, table: Tensor) -> nn.Module:
    """Return the encoder for a graph: a module that maps `Flat` texts to vectors [B, d].

    Args:
        encoder: of the network.
        table: the word vectors [V, d].

    Raises:
        InputError: it cannot be part of a graph. A subclass cannot, as it may compute otherwise.
    """
    kind = type(encoder)
    if isinstance(encoder, Concatenation) and kind is Concatenation:
        return GraphConcatenation([graph_encoder(part, table) for part in encoder.encoders])  # type: ignore[arg-type]
    make = _GRAPHS.get(kind)
    if make is None:
        names = ", ".join(known.__name__ for known in _GRAPHS)
        raise InputError(
            f"the encoder {kind.__name__} cannot be exported to ONNX: {names} can, and a "
            "Concatenation of these; --format hub takes any"
        )
    return make(encoder, table)


# --- means ---


class GraphMean(nn.Module):
    """`Mean`, with the word vectors [V, d]."""

    table: Tensor

    def __init__(self, encoder: Mean, table: Tensor) -> None:
        super().__init__()
        self.register_buffer("table", table)

    def forward(self, texts: Flat) -> Tensor:
        """Encode texts of B documents as [B, d]."""
        summed = segment_sum(self.table[texts.words], texts.owners, texts.document_lengths)
        return summed / texts.document_words.clamp(min=1).unsqueeze(1).to(summed.dtype)


class GraphIdfMean(nn.Module):
    """`IdfMean`, with the word vectors [V, d]."""

    table: Tensor
    weights: Tensor

    def __init__(self, encoder: IdfMean, table: Tensor) -> None:
        super().__init__()
        self.sublinear_tf = encoder.sublinear_tf
        self.register_buffer("table", table)
        self.register_buffer("weights", encoder.idf(torch.arange(len(table))).to(table.dtype))

    def forward(self, texts: Flat) -> Tensor:
        """Encode texts of B documents as [B, d]."""
        weights, owners = self.weights[texts.words], texts.owners
        if self.sublinear_tf:
            weights = weights * damping(texts.words, owners, len(self.table))
        totals = segment_sum(weights, owners, texts.document_lengths)
        vectors = self.table[texts.words] * weights.unsqueeze(1)
        summed = segment_sum(vectors, owners, texts.document_lengths)
        return summed / totals.where(totals > 0, 1.0).unsqueeze(1)


class GraphHashedWords(nn.Module):
    """`HashedWords`, with the two features of each word and their signed weights [V]."""

    places: Tensor
    weights: Tensor

    def __init__(self, encoder: HashedWords, table: Tensor) -> None:
        super().__init__()
        self.dim, count = encoder.output_dim, len(encoder.idf.weights)
        places, signs = hashed(torch.arange(count), self.dim)
        self.register_buffer("places", places)
        weights = encoder.idf.weights.to(torch.get_default_dtype())
        self.register_buffer("weights", signs * weights)

    def forward(self, texts: Flat) -> Tensor:
        """Encode texts of B documents as [B, dim]."""
        owners, documents = texts.owners, texts.document_lengths
        damped = damping(texts.words, owners, self.weights.shape[1])
        rows = owners * self.dim
        features = damped.new_zeros(documents.shape[0] * self.dim)
        for places, weights in zip(self.places, self.weights, strict=True):
            features = features.index_add(
                0, rows + places[texts.words], weights[texts.words] * damped
            )
        return F.normalize(features.view(documents.shape[0], self.dim))


class GraphHashedNgrams(nn.Module):
    """`HashedNgrams`, with the n-grams of each word in a row, and nothing behind the last [V, n].

    ``places`` and ``weights`` are the two features of each n-gram and their signed weights; those
    of nothing weigh 0.
    """

    grams: Tensor
    places: Tensor
    weights: Tensor

    def __init__(self, encoder: HashedNgrams) -> None:
        super().__init__()
        self.dim, table, count = encoder.dim, encoder.table, len(encoder.table.ids)
        rows = torch.full((len(table.lengths) + 1, int(F.pad(table.lengths, (0, 1)).amax())), count)
        owners = segment_ids(table.lengths)
        rows[owners, torch.arange(len(owners)) - table.starts[owners]] = table.grams.long()
        self.register_buffer("grams", rows)
        places, signs = hashed(scattered(torch.arange(count + 1)), self.dim)
        weights = F.pad(encoder.weights, (0, 1)).to(torch.get_default_dtype())
        self.register_buffer("places", places)
        self.register_buffer("weights", signs * weights)

    def forward(self, texts: Flat) -> Tensor:
        """Encode texts of B documents as [B, dim]."""
        owners, documents = texts.owners, texts.document_lengths
        damped = damping(texts.words, owners, len(self.grams)).unsqueeze(1)
        grams = self.grams[texts.words]
        rows = (owners * self.dim).unsqueeze(1)
        features = damped.new_zeros(documents.shape[0] * self.dim)
        for places, weights in zip(self.places, self.weights, strict=True):
            added = (weights[grams] * damped).flatten()
            features = features.index_add(0, (rows + places[grams]).flatten(), added)
        return F.normalize(features.view(documents.shape[0], self.dim))


class GraphConcatenation(nn.Module):
    """`Concatenation` of encoders for a graph."""

    def __init__(self, encoders: list[nn.Module]) -> None:
        super().__init__()
        self.encoders = nn.ModuleList(encoders)

    def forward(self, texts: Flat) -> Tensor:
        """Encode texts of B documents as [B, d]."""
        return torch.cat([encoder(texts) for encoder in self.encoders], 1)


# --- layers and poolings ---


class GraphWords(nn.Module):
    """A layer over words and its pooling: maps words [N] of segments [S] to [S, dim]."""

    states: Tensor
    scores: Tensor | None

    def __init__(self, layer: nn.Module, pooling: nn.Module, table: Tensor) -> None:
        super().__init__()
        self.pooling = pooling
        self.layer: nn.Module | None = None
        scores = None
        if type(layer) is Dense:
            table = layer(table, torch.ones(len(table), dtype=torch.long))
            if type(pooling) is AttentionPooling:
                scores = pooling.scores(table)
        else:
            self.layer = graph_layer(layer)
        self.register_buffer("states", table)
        self.register_buffer("scores", scores)

    def forward(self, words: Tensor, ids: Tensor, lengths: Tensor) -> Tensor:
        """Pool words [N] by the segments [N] that they belong to, of the lengths [S]."""
        states = self.states[words]
        if self.layer is not None:
            states = self.layer(states, lengths, ids)
        scores = None if self.scores is None else self.scores[words]
        return _pooled(self.pooling, scores, states, ids, lengths)


class GraphGRU(nn.Module):
    """`GRU` or `BiGRU`, with its weights as ONNX has them."""

    inputs: Tensor
    hidden: Tensor
    biases: Tensor

    def __init__(self, layer: GRU) -> None:
        super().__init__()
        inputs, hidden, *biases = (
            torch.stack([_gates(weight) for weight in kind])
            for kind in zip(*layer.gru.all_weights, strict=True)
        )
        self.register_buffer("inputs", inputs)
        self.register_buffer("hidden", hidden)
        self.register_buffer("biases", torch.cat(biases, 1))

    def forward(self, values: Tensor, lengths: Tensor, ids: Tensor) -> Tensor:
        """Map vectors [N, d] of segments of the lengths [S] to states [N, dim]."""
        return gru(values, lengths, ids, GRUWeights(self.inputs, self.hidden, self.biases))


class GraphDense(nn.Module):
    """`Dense` over sentences."""

    def __init__(self, layer: Dense) -> None:
        super().__init__()
        self.linear = layer.linear

    def forward(self, values: Tensor, lengths: Tensor, ids: Tensor) -> Tensor:
        """Map vectors [N, d] to states [N, dim]."""
        states: Tensor = self.linear(values).relu()
        return states


def graph_layer(layer: nn.Module) -> nn.Module:
    """Return a layer for a graph.

    Raises:
        InputError: it cannot be part of a graph.
    """
    if type(layer) in (GRU, BiGRU):
        return GraphGRU(layer)  # type: ignore[arg-type]
    if type(layer) is Dense:
        return GraphDense(layer)
    raise InputError(
        f"the layer {type(layer).__name__} cannot be exported to ONNX: Dense, GRU and BiGRU can; "
        "--format hub takes any"
    )


class GraphWAN(nn.Module):
    """`WAN` for a graph."""

    def __init__(self, encoder: WAN, table: Tensor) -> None:
        super().__init__()
        self.words = GraphWords(encoder.layer, _known(encoder.pooling), table)

    def forward(self, texts: Flat) -> Tensor:
        """Encode texts of B documents as [B, d]."""
        pooled: Tensor = self.words(texts.words, texts.owners, texts.document_words)
        return pooled


class GraphHAN(nn.Module):
    """`HAN` or `HNN` for a graph. No sentence may be empty."""

    def __init__(self, encoder: HAN, table: Tensor) -> None:
        super().__init__()
        self.words = GraphWords(encoder.word_layer, _known(encoder.word_pooling), table)
        self.layer = graph_layer(encoder.sentence_layer)
        self.pooling = _known(encoder.sentence_pooling)

    def forward(self, texts: Flat) -> Tensor:
        """Encode texts of B documents as [B, d]."""
        sentences = self.words(texts.words, texts.sentences, texts.sentence_lengths)
        states = self.layer(sentences, texts.document_lengths, texts.documents)
        return _pooled(self.pooling, None, states, texts.documents, texts.document_lengths)


def _pooled(
    pooling: nn.Module, scores: Tensor | None, states: Tensor, ids: Tensor, lengths: Tensor
) -> Tensor:
    """Pool states [N, d] by their segments [N], of the lengths [S]: [S, d].

    ``scores`` [N] are those of attention, where they are known.
    """
    if type(pooling) is AttentionPooling:
        scores = pooling.scores(states) if scores is None else scores
        states = states * segment_softmax(scores, ids, lengths).unsqueeze(1)
    summed = segment_sum(states, ids, lengths)
    if isinstance(pooling, AveragePooling):
        summed = summed / lengths.clamp(min=1).unsqueeze(1).to(summed.dtype)
    return summed


def _known(pooling: object) -> nn.Module:
    if type(pooling) in (AttentionPooling, AveragePooling, SumPooling):
        return pooling  # type: ignore[return-value]
    raise InputError(
        f"the pooling {type(pooling).__name__} cannot be exported to ONNX: AttentionPooling, "
        "AveragePooling and SumPooling can; export --format hub"
    )


def _gates(weights: Tensor) -> Tensor:
    """Return weights or biases [3 dim, ...] of gates r, z and h in the order z, r, h."""
    r, z, h = weights.detach().chunk(3)
    return torch.cat([z, r, h])


_GRAPHS: dict[type, Callable[[Any, Tensor], nn.Module]] = {
    Mean: GraphMean,
    IdfMean: GraphIdfMean,
    HashedWords: GraphHashedWords,
    WAN: GraphWAN,
    HAN: GraphHAN,
    HNN: GraphHAN,
}
