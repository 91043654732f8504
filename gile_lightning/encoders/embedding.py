"""Word vectors."""

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from gile_lightning.data.lines import read_lines
from gile_lightning.errors import InputError, positive


class WordEmbedding(nn.Embedding):
    """A vector per word of the vocabulary, shared by documents and label descriptions.

    The vectors start uniform in ±0.05 (as in the authors' code) unless a file gives them, or the
    corpus brings them (``data.word_vectors``).

    Args:
        words: the vocabulary.
        dim: size of the vectors (paper: 100 for BioASQ).
        vectors: a text file with a word and its ``dim`` numbers per line (GloVe, fastText and
            word2vec text formats); words that it lacks keep their random vectors.
        trainable: whether training changes the vectors. Vectors that stay as they are do not
            count as parameters.
        sparse: whether the gradient holds only the rows of the words in a batch, for an optimizer
            that changes only these, such as `LazyAdam`. A dense gradient of a large vocabulary
            costs more time than all the rest of a training step.
    """

    def __init__(
        self,
        words: Sequence[str],
        dim: int = 100,
        vectors: Path | None = None,
        trainable: bool = True,
        sparse: bool = False,
    ) -> None:
        positive(dim=dim)
        super().__init__(len(words), dim, sparse=sparse)
        self.vectors = vectors
        self.found: int | None = None
        if not trainable:
            weight = self.weight.detach()
            del self.weight
            self.register_buffer("weight", weight)

    def reset_parameters(self) -> None:
        """Draw all vectors anew."""
        nn.init.uniform_(self.weight, -0.05, 0.05)

    def set_vectors(self, vectors: Tensor, whose: str = "the corpus' word vectors") -> None:
        """Take over given vectors [V, dim], one per word of the vocabulary.

        Raises:
            InputError: their number or size is another.
        """
        if vectors.shape != self.weight.shape:
            raise InputError(
                f"{whose} are {vectors.shape[1]}-dimensional, the model's embedding has dim "
                f"{self.embedding_dim}: set --model.embedding.dim {vectors.shape[1]} (one "
                "size for all languages)"
            )
        with torch.no_grad():
            self.weight.copy_(vectors)

    def load_vectors(self, words: Sequence[str]) -> None:
        """Read the file of vectors, if one was given, and count the words found.

        Raises:
            InputError: a line has another number of numbers, or no word is found.
        """
        if self.vectors is None:
            return
        ids = {word: i for i, word in enumerate(words)}
        rows: dict[int, list[float]] = {}
        for number, line in read_lines(self.vectors):
            word, _, rest = line.rstrip().partition(" ")
            if word not in ids or (number == 1 and len(rest.split()) == 1):  # word2vec's header
                continue
            values = rest.split()
            try:
                row = [float(value) for value in values]
            except ValueError as error:
                if len(values) > self.embedding_dim:  # a word with spaces, as in GloVe's 840B file
                    continue
                raise InputError(f"{self.vectors}:{number}: not a number ({error})") from error
            if len(row) != self.embedding_dim:
                raise InputError(
                    f"{self.vectors}:{number}: {len(row)} numbers, expected {self.embedding_dim}; "
                    "set the embedding's dim to the size of the vectors"
                )
            rows[ids[word]] = row
        if not rows:
            raise InputError(f"{self.vectors}: none of the corpus' {len(words):,} words is in it")
        with torch.no_grad():
            self.weight[list(rows)] = torch.tensor(list(rows.values()))
        self.found = len(rows)
