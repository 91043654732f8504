"""Word vectors learned from the corpus itself, in seconds, before training."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
import torch.nn.functional as F
from filelock import FileLock
from numpy.typing import NDArray
from torch import Tensor

from gile_lightning.common.errors import InputError, positive
from gile_lightning.common.factories import Configured
from gile_lightning.common.files import checksum, save_array, write
from gile_lightning.data.loading.ragged import Texts, gather_texts, join
from gile_lightning.network.encoders.singular_vectors import left_singular_vectors

if TYPE_CHECKING:
    from scipy.sparse import csr_array

FORMAT = 1  # of the vectors in the cache; raised when the same texts would get others
ITERATIONS = 4  # of the power method; with 2, the 300th singular value is 7 % too small


@dataclass(frozen=True, kw_only=True)
class CorpusVectors(Configured, ABC):
    """Word vectors from a matrix M [V, n] of counts: the rows of U S^power, scaled to one length.

    M ≈ U S Vᵀ is the truncated singular value decomposition (randomised: Halko, Martinsson &
    Tropp, 2011, SIAM Review 53). All vectors get the same length, because the encoder decides how
    much a word counts; unscaled, frequent words would have vectors many times as long. The same
    texts and seed give the same vectors.

    Args:
        power: of the singular values (Levy, Goldberg & Dagan, 2015, TACL: 0.5 or 0 do better
            than 1).
        norm: length of the vectors. With 100 dimensions, 1 is three times the length of random
            vectors; so Adam, whose steps do not depend on a vector's length, turns them less.
        documents: the largest number of training documents; a random sample of more.
        seed: of the sample of documents and of the decomposition.
    """

    power: float = 0.5
    norm: float = 1.0
    documents: int = 100_000
    seed: int = 1234

    def __post_init__(self) -> None:
        positive(norm=self.norm, documents=self.documents)
        if not 0 <= self.power <= 1:
            raise InputError(f"power is {self.power:g}: from 0 to 1")

    def dimensions(self, texts: int, dim: int) -> int:
        """Return for how many of ``dim`` dimensions a number of texts is enough."""
        return dim

    @abstractmethod
    def matrix(self, texts: Texts, words: int) -> "csr_array":
        """Make the matrix of a vocabulary of V words from texts: M [V, n], float32."""

    def learn(
        self,
        documents: Iterable[Texts],
        labels: Texts,
        words: int,
        dim: int,
        cache: Path | None = None,
    ) -> Tensor:
        """Learn the vectors of a vocabulary, or read them from the cache.

        Args:
            documents: the training documents.
            labels: the label texts.
            words: V, the size of the vocabulary.
            dim: size of the vectors.
            cache: the folder of the cache, which keeps the vectors by a hash of the texts and the
                settings, and learns anew what was damaged there. Of several processes one learns
                them, while the others wait.

        Returns:
            The vectors [V, dim]; zeros for words that no text has, and in the last dimensions if M
            has fewer rows or columns than dim.
        """
        texts = join([*draw(documents, self.documents, self.seed), labels])
        if cache is None:
            return self._learn(texts, words, dim)
        file = cache / "word_vectors" / f"{self._identity(texts, words, dim)}.npy"
        file.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(file.with_suffix(".lock")):
            sums = file.with_suffix(".crc")
            if not (file.is_file() and sums.is_file() and sums.read_bytes() == _sums(file)):
                save_array(file, self._learn(texts, words, dim).numpy())
                write(sums, _sums(file))
            return torch.from_numpy(np.load(file))

    def _identity(self, texts: Texts, words: int, dim: int) -> str:
        digest = hashlib.sha256(f"{FORMAT} {type(self).__module__} {self} {words} {dim}".encode())
        for tensor in texts[:3]:
            digest.update(f" {tensor.dtype} {len(tensor)} ".encode() + tensor.numpy().tobytes())
        return digest.hexdigest()[:20]

    def _learn(self, texts: Texts, words: int, dim: int) -> Tensor:
        matrix = self.matrix(texts, words)
        size = min(dim, *matrix.shape)
        left, values = left_singular_vectors(matrix, size, ITERATIONS, self.seed)
        vectors = torch.from_numpy(left * values**self.power).float()
        vectors = F.pad(vectors, (0, dim - size))
        # an empty row gives a rounding error, not zeros
        empty = torch.from_numpy(np.diff(matrix.indptr) == 0)
        return self.norm * F.normalize(vectors.masked_fill(empty.unsqueeze(1), 0))


def _sums(file: Path) -> bytes:
    return "{} {}".format(*checksum(file)).encode()


def draw(batches: Iterable[Texts], size: int, seed: int) -> list[Texts]:
    """Draw ``size`` texts of a stream, all with the same probability; all texts if it has fewer.

    Every text gets a random number; the texts with the smallest numbers are kept, in order.
    """
    generator = np.random.default_rng(seed)
    kept: list[Texts] = []
    numbers = np.empty(0)
    highest = 1.0
    for texts in batches:
        drawn = generator.random(len(texts.document_lengths))
        chosen = drawn < highest
        if chosen.all():
            kept.append(texts)
        elif chosen.any():
            kept.append(gather_texts(texts, torch.from_numpy(chosen.nonzero()[0])))
        numbers = np.concatenate([numbers, drawn[chosen]])
        if len(numbers) > 2 * size:
            kept, numbers = _smallest(kept, numbers, size)
            highest = float(numbers.max())
    return _smallest(kept, numbers, size)[0] if len(numbers) > size else kept


def _smallest(
    kept: list[Texts], numbers: NDArray[np.float64], size: int
) -> tuple[list[Texts], NDArray[np.float64]]:
    """Keep the texts with the smallest numbers, of more than ``size``."""
    best = np.sort(np.argpartition(numbers, size)[:size])
    return [gather_texts(join(kept), torch.from_numpy(best))], numbers[best]
