"""Flat segments in operations that ONNX has.

`gile_lightning.network` computes the same with embedding bags and functions with gradients of their
own, which an exporter cannot read.
"""

from typing import NamedTuple

import torch
from torch import Tensor

_ONNX = 20  # the version of the operators that are named here


class Flat(NamedTuple):
    """Texts as flat word ids, with the places of words and sentences.

    Shapes: ``words`` [N]; ``sentences`` [N], the sentence of each word; ``documents`` [S], the
    document of each sentence; ``sentence_lengths`` [S] and ``document_lengths`` [B].
    """

    words: Tensor
    sentences: Tensor
    documents: Tensor
    sentence_lengths: Tensor
    document_lengths: Tensor

    @property
    def owners(self) -> Tensor:
        """The document of each word [N]."""
        return self.documents[self.sentences]

    @property
    def document_words(self) -> Tensor:
        """The number of words of each document [B]."""
        return segment_sum(self.sentence_lengths, self.documents, self.document_lengths)


def flat(words: Tensor, sentence_lengths: Tensor, document_lengths: Tensor) -> Flat:
    """Return texts with the places of their words; the arguments are as in `Texts`."""
    sentences = segment_ids(sentence_lengths, words)
    documents = segment_ids(document_lengths, sentence_lengths)
    return Flat(words, sentences, documents, sentence_lengths, document_lengths)


def segment_ids(lengths: Tensor, values: Tensor) -> Tensor:
    """Return the segment [N] of each of N values, from the lengths [S] of the segments."""
    count = values.shape[0]
    starts = lengths.cumsum(0) - lengths
    begun = starts.new_zeros(count + 1).index_add(0, starts, torch.ones_like(starts))
    return begun[:count].cumsum(0) - 1


def segment_sum(values: Tensor, ids: Tensor, segments: Tensor) -> Tensor:
    """Sum values [N, ...] by the segments [N] that they belong to: [S, ...].

    Args:
        values: the values.
        ids: their segments.
        segments: any tensor [S].
    """
    zeros = values.new_zeros(segments.shape[0], *values.shape[1:])
    return zeros.index_add(0, ids, values)


def segment_softmax(scores: Tensor, ids: Tensor, segments: Tensor) -> Tensor:
    """Compute the softmax of scores [N] in each segment; the arguments are as in `segment_sum`."""
    lowest = scores.new_full((segments.shape[0],), torch.finfo(scores.dtype).min)
    highest = lowest.scatter_reduce(0, ids, scores, "amax")
    exponentials = (scores - highest[ids]).exp()
    return exponentials / segment_sum(exponentials, ids, segments)[ids]


def damping(words: Tensor, owners: Tensor, size: int) -> Tensor:
    """Return (1 + ln c) / c [N] for words [N], below ``size``, that occur c times in a text."""
    # one pair more, as onnxruntime cannot sort nothing
    pairs = torch.cat([owners * size + words, words.new_full((1,), -1)])
    ordered, order = pairs.sort()
    before = torch.cat([ordered[-1:], ordered[:-1]])
    groups = (ordered != before).long().cumsum(0)  # from 1, or 0 where all are the same
    sizes = groups.new_zeros(groups.shape[0] + 1).index_add(0, groups, torch.ones_like(groups))
    counts = torch.zeros_like(pairs).index_add(0, order, sizes[groups])
    counts = counts[:-1].to(torch.get_default_dtype())
    return (1 + counts.log()) / counts


def gru(values: Tensor, lengths: Tensor, ids: Tensor, weights: "GRUWeights") -> Tensor:
    """Return the states [N, D dim] of gated recurrent units over each segment by itself.

    Args:
        values: vectors [N, d].
        lengths: of the segments [S].
        ids: the segment of each vector [N].
        weights: of D directions.
    """
    starts = lengths.cumsum(0) - lengths
    # a last segment of one step: onnxruntime crashes where there is nothing to run over
    lengths = torch.cat([lengths, lengths.new_ones(1)])
    count = lengths.shape[0]
    steps: int = lengths.max().item()  # type: ignore[assignment]
    torch._check(steps >= 1)  # type: ignore[no-untyped-call]
    within = torch.arange(ids.shape[0]) - starts[ids]
    places = within * count + ids
    padded = values.new_zeros(steps * count, values.shape[1]).index_add(0, places, values)
    directions, _, dim = weights.hidden.shape
    (states,) = torch.onnx.ops.symbolic_multi_out(
        "GRU",
        [
            padded.view(steps, count, values.shape[1]),
            weights.inputs,
            weights.hidden,
            weights.biases,
            lengths.clamp(min=1).int(),
        ],
        {
            "hidden_size": dim,
            "linear_before_reset": 1,
            "direction": "bidirectional" if directions > 1 else "forward",
        },
        dtypes=[values.dtype],
        shapes=[(steps, directions, count, dim)],
        version=_ONNX,
    )
    found: Tensor = states.transpose(1, 2).reshape(steps * count, directions * dim)[places]
    return found


class GRUWeights(NamedTuple):
    """Weights as ONNX has them: for gates z, r and h.

    Shapes: ``inputs`` [D, 3 dim, d], ``hidden`` [D, 3 dim, dim], ``biases`` [D, 6 dim].
    """

    inputs: Tensor
    hidden: Tensor
    biases: Tensor
