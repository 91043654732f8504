"""Word vectors."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from gile_lightning.common.errors import InputError, positive
from gile_lightning.common.factories import Part
from gile_lightning.data.formats.vector_files import find_vectors, vector_size
from gile_lightning.data.loading.ragged import Texts
from gile_lightning.network.encoders.corpus_vectors import CorpusVectors


class WordEmbedding(Part, nn.Embedding):
    """A vector per word of the vocabulary, for documents and label texts.

    The vectors start uniform in ±0.05, as in the authors' code, or come from the corpus
    (``data.word_vectors``, which comes first), from a file, or from `CorpusVectors`.

    Args:
        words: the vocabulary.
        dim: size of the vectors (paper: 100 for BioASQ); of learned ones the largest size, as few
            texts have vectors of fewer dimensions (`LSA`).
        vectors: a file of pretrained vectors of this size: GloVe, fastText (.vec) and word2vec
            text, or word2vec's binary format (.bin), plain or gzipped; see `find_vectors`. Words
            that the file lacks keep their random vectors.
        trainable: whether training changes the vectors. Frozen vectors do not count as parameters.
        sparse: whether the gradient holds only the rows of the words in a batch. It needs an
            optimizer that changes only these rows, such as `LazyAdam`. A dense gradient of a large
            vocabulary takes more time than the rest of a training step.
        start: learns the vectors from training documents and label texts before training: `PPMI`
            or `LSA`.

    Attributes:
        found: how many words have a vector of the file, or a learned one; None without both.
    """

    def __init__(
        self,
        words: Sequence[str],
        dim: int = 100,
        vectors: Path | None = None,
        trainable: bool = True,
        sparse: bool = False,
        start: CorpusVectors | None = None,
    ) -> None:
        positive(dim=dim)
        if vectors is not None and start is not None:
            raise InputError(
                f"word vectors either come from a file ({vectors}) or are learned from the corpus: "
                "set model.embedding.vectors or model.embedding.start to null"
            )
        super().__init__(len(words), dim, sparse=sparse)
        self.vectors = vectors and Path(vectors).expanduser()
        self.start = start
        self.found: int | None = None
        if not trainable:
            weight = self.weight.detach()
            del self.weight
            self.register_buffer("weight", weight)

    def narrow(self, dim: int) -> None:
        """Keep the first dimensions, before the vectors are set."""
        weight = self.weight.detach()[:, :dim].clone()
        self.weight = nn.Parameter(weight) if isinstance(self.weight, nn.Parameter) else weight
        self.embedding_dim = weight.shape[1]

    def reset_parameters(self) -> None:
        """Draw all vectors anew."""
        nn.init.uniform_(self.weight, -0.05, 0.05)

    def set_vectors(self, vectors: Tensor, whose: str = "the corpus' word vectors") -> None:
        """Set the vectors [V, dim], one per word of the vocabulary.

        Args:
            vectors: the vectors.
            whose: names their source in the error message.

        Raises:
            InputError: they have another size.
        """
        self._check_size(vectors.shape[1], whose)
        with torch.no_grad():
            self.weight.copy_(vectors)

    def check_file(self) -> None:
        """Check the file of vectors, if there is one.

        Raises:
            InputError: it is missing, or its vectors have another size.
        """
        if self.vectors is not None:
            if not Path(self.vectors).is_file():
                raise InputError(f"{self.vectors}: no such file (model.embedding.vectors)")
            self._check_size(vector_size(self.vectors), f"the vectors of {self.vectors}")

    def load_vectors(self, words: Sequence[str]) -> None:
        """Read the file of vectors, if there is one, and count the words found.

        Raises:
            InputError: `find_vectors` cannot read the file, or finds no word in it.
        """
        if self.vectors is None:
            return
        self.check_file()
        found = find_vectors(self.vectors, words)
        if not found:
            raise InputError(f"{self.vectors}: none of the corpus' {len(words):,} words is in it")
        with torch.no_grad():
            self.weight[list(found)] = torch.from_numpy(np.stack(list(found.values())))
        self.found = len(found)

    def learn_vectors(
        self, documents: Iterable[Texts], labels: Texts, cache: Path | None = None
    ) -> None:
        """Learn the vectors from training documents and label texts, if ``start`` is set.

        Words that occur in no text keep their random vectors. The folder ``cache``, if there is
        one, keeps the learned vectors.
        """
        if self.start is None:
            return
        words, dim = self.weight.shape
        vectors = self.start.learn(documents, labels, words, dim, cache)
        learned = vectors.any(dim=1)
        with torch.no_grad():
            self.weight[learned] = vectors[learned]
        self.found = int(learned.sum())

    def _check_size(self, size: int, whose: str) -> None:
        if size != self.embedding_dim:
            raise InputError(
                f"{whose} are {size}-dimensional, the model's embedding has dim "
                f"{self.embedding_dim}: set --model.embedding.dim {size} (one size for all "
                "languages)"
            )
