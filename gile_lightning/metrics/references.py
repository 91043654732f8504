"""Reference rankings: by popularity and at random. They do not depend on the texts' meaning."""

import torch
from torch import Tensor

from gile_lightning.data.loading.flat import segment_ids
from gile_lightning.data.loading.ragged import RaggedBatch


def popularity_scores(like: Tensor) -> Tensor:
    """Score labels by training frequency: [B, K], the shape and type of ``like``.

    Labels are sorted by falling frequency, so the score is minus the id.
    """
    return -torch.arange(like.shape[1], device=like.device, dtype=like.dtype).expand_as(like)


def random_scores(documents: RaggedBatch, labels: int) -> Tensor:
    """Score labels at random for each document: [B, labels], in [0, 1).

    The scores are hashes of a document's words and a label's id. So they do not depend on the
    number of processes or the size of batches.
    """
    words, counts = documents.words.long(), documents.document_lengths
    sentences = torch.zeros(len(documents.sentence_lengths), dtype=torch.long, device=words.device)
    sentences.index_add_(0, segment_ids(documents.sentence_lengths), mix(words + 1))
    key = torch.zeros_like(counts).index_add_(0, segment_ids(counts), sentences)
    hashed = mix(key.unsqueeze(-1) + mix(torch.arange(labels, device=words.device)))
    return (hashed & (2**53 - 1)).double() / 2**53


def mix(values: Tensor) -> Tensor:
    """Scramble 64-bit integers (multiply and shift, as in splitmix64); overflow wraps."""
    for shift, factor in ((30, -0x40A7B892E31B1A47), (27, -0x6B2FB644ECCEEE15)):
        values = (values ^ (values >> shift)) * factor
    return values ^ (values >> 31)
