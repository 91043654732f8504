"""Batches of one language from encoded shards."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gile_lightning.common.errors import InputError
from gile_lightning.data.known import UNUSED
from gile_lightning.data.language_name import check_language
from gile_lightning.data.loading.document_hashes import table_hashes
from gile_lightning.data.loading.loader import RaggedLoader
from gile_lightning.data.loading.ragged import COMPUTED, RaggedBatch
from gile_lightning.data.pretrained.keyed_vectors import VectorsDtype
from gile_lightning.data.pretrained.text_vectors import TextVectors
from gile_lightning.data.pretrained.vectors import VectorStore
from gile_lightning.data.shards.encoded_corpus import EncodedCorpus
from gile_lightning.data.summary import describe
from gile_lightning.data.text_data_module import TextDataModule, TrainingLoader
from gile_lightning.data.tokenizing.task import Task

if TYPE_CHECKING:
    from datasets import Dataset  # which takes a second to import

_HASHED = 10_000  # documents at a time


class ShardDataModule(TextDataModule):
    """One language, whose encoded documents are in shards: `DocumentDataModule` makes these.

    Args: see `DocumentDataModule`.
    """

    def __init__(
        self,
        batch_size: int,
        eval_batch_size: int,
        language: str,
        samples_per_epoch: int | None,
        train_share: float,
        seed: int,
        split_seed: int,
        label_documents: int,
    ) -> None:
        super().__init__()
        check_language(language)
        self.batch_size = batch_size
        self.eval_batch_size = eval_batch_size
        self.language = language
        self.samples_per_epoch = samples_per_epoch
        self.repeat: int | None = None  # documents per epoch, where another language has more
        self.train_share = train_share
        self.seed = seed
        self.split_seed = split_seed
        self.label_documents = label_documents
        self.tasks: dict[str, Task] = {}
        self.meta: dict[str, Any] = {}
        self._corpus: EncodedCorpus | None = None
        self.vectors_dtype: VectorsDtype = "float32"
        self._text_vectors: dict[str, TextVectors] = {}
        self._kept: AbstractSet[str] = frozenset()

    @abstractmethod
    def directory_of_shards(self) -> Path:
        """Return the folder in the local cache that holds the encoded corpus."""

    @property
    def corpus(self) -> EncodedCorpus:
        """The encoded corpus, which `setup` opens."""
        if self._corpus is None:
            self._corpus = EncodedCorpus(
                self.directory_of_shards(), self.train_share, self.split_seed, self.label_documents
            )
        return self._corpus

    def setup(self, stage: str | None = None) -> None:
        """Map the encoded shards into memory."""
        self.meta = self.corpus.meta
        self.tasks = {self.language: self.corpus.task}

    def keep_text_vectors(
        self,
        device: torch.device | str = "cpu",
        fields: AbstractSet[str] = frozenset({"vectors"}),
    ) -> None:
        """Encode the documents with the pretrained model, and add what it makes to the batches.

        The vectors are kept in the cache, so a text is encoded once, also for other corpora. One
        of several processes encodes, while the others wait.
        """
        tokenizer = self.subword_tokenizer()
        reading, fields = tokenizer.reading, fields & COMPUTED
        if reading is None or fields <= self._kept:
            return
        self._kept |= fields
        backend, dtype = tokenizer.pretrained_backend, self.vectors_dtype
        store = VectorStore(reading.name, self.cache_dir, backend, dtype)
        for split, documents in self.corpus.splits.items():
            mark = f"{self.fingerprint()}-{split}-{self.size(self.language, split)}"
            if added := len(documents) - self.size(self.language, split):
                mark += f"-labels-{added}"
            texts, total = self._subwords(split), len(documents)
            rows: NDArray[np.int64] | None
            passages: NDArray[np.int64] | None = None
            if "passages" in self._kept:
                rows, passages = store.fill_with_passages(texts, total, device, mark)
            else:
                rows = store.fill(texts, total, device, mark)
            rows = rows if "vectors" in self._kept else None
            self._text_vectors[split] = TextVectors(store, rows, passages)

    def _subwords(self, split: str) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int64]]]:
        """Yield flat subword ids [N] of documents, and their counts [B], batch after batch."""
        for batch in RaggedLoader(self.split(split), self.language, self.eval_batch_size):
            documents = batch[self.language]
            if documents.subwords is None or documents.subword_counts is None:
                raise InputError("the encoded documents have no subwords: set --data.pretrained")
            yield documents.subwords.numpy(), documents.subword_counts.numpy()

    @property
    def has_test(self) -> bool:
        """Whether there are test documents; known after `setup`."""
        return "test" in self.corpus.splits

    @property
    def names(self) -> list[str]:
        """The name of the language."""
        return [self.language]

    def vectors(self, name: str) -> Tensor | None:
        """Return the word vectors [V, d] that the corpus brings, if any."""
        return self.corpus.vectors()

    def training_documents(self, name: str) -> Iterator[RaggedBatch]:
        """Yield every training document once, in order, in batches."""
        yield from self._batches("train")

    def size(self, name: str, split: str) -> int:
        """Count the documents of a split, without texts of labels."""
        label_texts = self.corpus.label_texts if split == "train" else 0
        return len(self.split(split)) - label_texts

    def some_documents(self, name: str, split: str, rows: Sequence[int]) -> Iterator[RaggedBatch]:
        """Yield the documents at these places of a split, in order, in batches."""
        yield from self._batches(split, np.array(rows, dtype=np.int64))

    def _batches(self, split: str, rows: NDArray[np.int64] | None = None) -> Iterator[RaggedBatch]:
        """Yield the documents of a split, or those at some places of it, in order, in batches."""
        documents, vectors = self.split(split), self._text_vectors.get(split)
        if rows is not None:
            documents = documents.select(rows)
        found: Callable[[NDArray[np.int64]], Any] | None = vectors
        if vectors is not None and rows is not None:
            found = lambda numbers: vectors(rows[numbers])  # noqa: E731
        name = self.language
        for batch in RaggedLoader(documents, name, self.eval_batch_size, text_vectors=found):
            yield batch[name]

    def document_hashes(self, name: str, split: str) -> NDArray[np.int64] | None:
        """Return a hash of each document of a split, in order, without the texts of labels.

        ``unused`` is the split of training documents that ``train_share`` leaves out.
        """
        corpus = self.corpus
        if split == UNUSED and corpus.every is not None:
            # a pass in order is faster than one over what is left
            return np.delete(self._hashes(corpus.every), corpus.drawn)
        if split not in corpus.splits:
            return None
        return self._hashes(self.split(split).select(range(self.size(self.language, split))))

    def _hashes(self, documents: "Dataset") -> NDArray[np.int64]:
        documents = documents.with_format("arrow")
        unknown = len(self.corpus.task.tokenizer.vocabulary) - 1
        starts = range(0, len(documents), _HASHED)
        return np.concatenate([table_hashes(documents[i : i + _HASHED], unknown) for i in starts])

    def training_size(self) -> int:
        """Count the training documents, with the texts of labels."""
        return len(self.split("train"))

    def enlarge_batches(self, factor: int) -> int:
        """Make training batches ``factor`` times as large; return their size."""
        self.batch_size *= factor
        return self.batch_size

    def only(self, name: str) -> TextDataModule:
        """Return this module, which has one language."""
        return self

    def summary(self) -> str:
        """Describe the encoded corpus: sizes, labels, what was left out."""
        return describe(self.meta)

    def shards(self) -> Iterator[Path]:
        """Yield the folder in the local cache that holds the encoded corpus."""
        yield self.directory_of_shards()

    def split(self, name: str) -> "Dataset":
        """Return the encoded documents of train, validation or test."""
        return self.corpus.splits[name]

    def train_dataloader(self) -> TrainingLoader:
        """Return shuffled training batches."""
        return self.prefetched(self._loader("train", self.batch_size, shuffle=True))

    def val_dataloader(self) -> RaggedLoader:
        """Return validation batches, in order."""
        return self._loader("validation", self.eval_batch_size)

    def test_dataloader(self) -> RaggedLoader:
        """Return test batches, in order."""
        return self._loader("test", self.eval_batch_size)

    def _loader(self, split: str, batch_size: int, shuffle: bool = False) -> RaggedLoader:
        trainer = self.trainer
        return RaggedLoader(
            self.split(split),
            self.language,
            batch_size,
            shuffle=shuffle,
            samples=self.samples_per_epoch if shuffle else None,
            repeat=self.repeat if shuffle else None,
            seed=self.seed,
            rank=trainer.global_rank if trainer else 0,
            world_size=trainer.world_size if trainer else 1,
            text_vectors=self._text_vectors.get(split),
        )
