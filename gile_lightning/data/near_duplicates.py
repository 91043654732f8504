"""Documents that nearly repeat others, by the runs of words that they share."""

import zlib
from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gile_lightning.data.loading.document_hashes import mix

RUN = 5  # words
NEAR = 0.5  # resemblance from which on documents are near-duplicates
_KEPT = 64  # hashes of a document
_SIMILAR = 5  # documents that are compared with one
_BUCKET = 100  # documents looked at of those that share a run

Sketch = NDArray[np.uint64]


class Repeated(NamedTuple):
    """A document, the earlier one that it repeats, and their resemblance; 1 for equal words."""

    id: str
    of: str
    resemblance: float


def sketch(words: Sequence[str]) -> Sketch:
    """Return the 64 smallest hashes of the runs of five words of a text, sorted.

    A shorter text is one run.
    """
    codes = np.fromiter((zlib.crc32(word.encode()) for word in words), np.uint64, len(words))
    size = min(RUN, len(codes))
    hashes = np.zeros(max(0, len(codes) - size + 1), np.uint64)
    for n in range(size):
        hashes = mix(hashes + codes[n : n + len(hashes)])
    return np.unique(hashes)[:_KEPT]


def resemblance(one: Sketch, other: Sketch) -> float:
    """Estimate the share of runs that two texts have in common, of those that either has.

    It is exact where both together have at most 64 runs (Broder, 1997, "On the resemblance and
    containment of documents").
    """
    smallest = np.union1d(one, other)[:_KEPT]
    common = np.isin(smallest, one) & np.isin(smallest, other)
    return float(common.mean()) if len(smallest) else 0.0


class EarlierTexts:
    """Documents to compare others with.

    Equal texts are always found, and near ones unless more than a hundred share their runs.
    """

    def __init__(self) -> None:
        self._ids: list[str] = []
        self._equal: dict[bytes, str] = {}
        self._sketches: list[Sketch] = []
        self._table: tuple[Sketch, NDArray[np.int64]] | None = None

    def add(self, identity: str, words: Sequence[str]) -> None:
        """Add a document by its id and words."""
        self._ids.append(identity)
        self._equal.setdefault(_digest(words), identity)
        self._sketches.append(sketch(words))
        self._table = None

    def repeated_by(self, identity: str, words: Sequence[str]) -> Repeated | None:
        """Return which document another one repeats, and how nearly; None if it repeats none."""
        if (equal := self._equal.get(_digest(words))) is not None:
            return Repeated(identity, equal, 1.0)
        own = sketch(words)
        hashes, places = self._hashes()
        first = np.searchsorted(hashes, own)
        last = np.minimum(np.searchsorted(hashes, own, side="right"), first + _BUCKET)
        shared = Counter(
            int(place)
            for start, end in zip(first, last, strict=True)
            for place in places[start:end]
        )
        best = max(
            ((resemblance(own, self._sketches[i]), -i) for i, _ in shared.most_common(_SIMILAR)),
            default=(0.0, 0),
        )
        return Repeated(identity, self._ids[-best[1]], best[0]) if best[0] >= NEAR else None

    def _hashes(self) -> tuple[Sketch, NDArray[np.int64]]:
        """Return the hashes of all documents, sorted, and the place of the document of each."""
        if self._table is None:
            hashes = np.concatenate([np.empty(0, np.uint64), *self._sketches])
            lengths = [len(kept) for kept in self._sketches]
            order = hashes.argsort(kind="stable")
            self._table = hashes[order], np.repeat(np.arange(len(lengths)), lengths)[order]
        return self._table


def _digest(words: Sequence[str]) -> bytes:
    return blake2b(" ".join(words).encode(), digest_size=16).digest()
