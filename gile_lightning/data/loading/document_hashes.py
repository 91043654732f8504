"""Hashes of documents, by which a model knows those of its training, validation and test."""

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def table_hashes(table: pa.Table, unknown: int) -> NDArray[np.int64]:
    """Return the hashes of the documents of a shard: [B]; see `document_hashes`."""
    words = table.column("words").combine_chunks()
    offsets = words.offsets.to_numpy()
    flat = words.values.to_numpy()[offsets[0] : offsets[-1]]
    return document_hashes(table.column("id").to_pylist(), flat, np.diff(offsets), unknown)


def document_hashes(
    ids: Sequence[str], words: NDArray[np.integer], lengths: NDArray[np.integer], unknown: int
) -> NDArray[np.int64]:
    """Return a hash of the id and the word ids of each document: [B].

    It has 64 bits, so that two different documents hardly ever have the same.

    Args:
        ids: of the documents.
        words: flat word ids [N].
        lengths: words per document [B].
        unknown: the id of the unknown word; higher ids, of words that were added to a vocabulary,
            count as it.
    """
    ends = np.cumsum(lengths)
    places = np.arange(len(words)) - np.repeat(ends - lengths, lengths)
    values = np.minimum(words, unknown).astype(np.uint64)
    sums = np.cumsum(_hash(places.astype(np.uint64)) * _hash(values))  # modulo 2^64
    sums = np.concatenate([np.zeros(1, np.uint64), sums])
    totals = sums[ends] - sums[ends - lengths]
    digests = b"".join(blake2b(own.encode(), digest_size=8).digest() for own in ids)
    return _hash(totals ^ np.frombuffer(digests, np.uint64)).view(np.int64)


def _hash(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the next numbers of SplitMix64 generators in these states (Steele et al., 2014)."""
    return mix(values + np.uint64(0x9E3779B97F4A7C15))


def mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return well-mixed numbers, each of one value alone: the finalizer of SplitMix64."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        values = (values ^ (values >> np.uint64(shift))) * np.uint64(factor)
    mixed: NDArray[np.uint64] = values ^ (values >> np.uint64(31))
    return mixed
