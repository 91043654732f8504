"""The contract of a data module: what commands and systems ask of every corpus."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

import lightning
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gile_lightning.common.factories import Configured
from gile_lightning.data.known import Known, KnownDocuments
from gile_lightning.data.label_changes import LabelChanges
from gile_lightning.data.loading.loader import RaggedLoader
from gile_lightning.data.loading.prefetch import PrefetchLoader, PrepareStep
from gile_lightning.data.loading.ragged import RaggedBatch
from gile_lightning.data.loading.side_by_side import SideBySide
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.data.tokenizing.tokenizer import UNKNOWN, Tokenizer
from gile_lightning.data.training_data import TrainingData

TrainingLoader = RaggedLoader | SideBySide | PrefetchLoader


class TextDataModule(Configured, lightning.LightningDataModule, ABC):
    """Documents and labels in one language or several; batches are `{language: RaggedBatch}`.

    To read a corpus of your own, derive from `DocumentDataModule` or `Corpus`, which implement all
    of this.

    Attributes:
        tasks: tokenizer and label set by the name of the language; there after `setup`.
        meta: counts of what was encoded and what was left out; there after `setup`.
        cache_dir: the folder for what is computed from texts.
        prepare_step: if set, training batches are prepared by it, ahead of their step.
    """

    tasks: dict[str, Task]
    meta: dict[str, Any]
    cache_dir: Path
    prepare_step: PrepareStep | None = None

    @property
    def builtin(self) -> bool:
        """Whether the corpus is an invented one."""
        return False

    def subword_tokenizer(self) -> Tokenizer:
        """Return a tokenizer with the settings of subwords; its vocabulary is of no account."""
        return Tokenizer([UNKNOWN])

    def keep_text_vectors(
        self,
        device: torch.device | str = "cpu",
        fields: AbstractSet[str] = frozenset({"vectors"}),
    ) -> None:
        """Encode the documents with the pretrained model, and add what it makes to the batches.

        Args:
            device: computes the vectors that the cache lacks.
            fields: of `Texts`: ``vectors`` and ``passages`` are added if they are among these.
        """

    @property
    @abstractmethod
    def has_test(self) -> bool:
        """Whether there are test documents; known after `setup`."""

    @property
    @abstractmethod
    def names(self) -> list[str]:
        """The names of the languages, known before `setup`."""

    @abstractmethod
    def encode_for_scoring(
        self,
        tasks: dict[str, Task],
        new_words: bool = False,
        known_documents: Mapping[str, KnownDocuments] | None = None,
    ) -> None:
        """Encode the test documents for a trained model, with its vocabularies and labels.

        Args:
            tasks: the model's tasks by language.
            new_words: words of labels that are new to the model get ids of their own.
            known_documents: its documents by language; those of its training do not test it.

        Raises:
            InputError: the model lacks a language of the corpus.
        """

    @abstractmethod
    def encode_for_training(
        self,
        tasks: dict[str, Task],
        known: Mapping[str, Known] | None = None,
        new_words: bool = False,
        known_documents: Mapping[str, KnownDocuments] | None = None,
    ) -> None:
        """Encode for a model that is trained further: its vocabularies, the corpus' labels.

        Args:
            tasks: the model's tasks by language.
            known: what it knows by language: then its labels stay beside the corpus' own.
            new_words: words of labels that are new to the model get ids of their own.
            known_documents: its documents by language; those of its training do not test the new
                one.

        Raises:
            InputError: the model lacks a language of the corpus.
        """

    @abstractmethod
    def vectors(self, name: str) -> Tensor | None:
        """Return the word vectors [V, d] that the corpus brings for a language, if any."""

    @abstractmethod
    def training_documents(self, name: str) -> Iterator[RaggedBatch]:
        """Yield every training document of a language once, in order, in batches."""

    @abstractmethod
    def size(self, name: str, split: str) -> int:
        """Count the documents of a language in a split, without texts of labels."""

    @abstractmethod
    def some_documents(self, name: str, split: str, rows: Sequence[int]) -> Iterator[RaggedBatch]:
        """Yield the documents of a language at these places of a split, in order, in batches."""

    def document_hashes(self, name: str, split: str) -> NDArray[np.int64] | None:
        """Return a hash of each document of a split, in order; None if unknown, or without it.

        ``unused`` is the split of training documents that were counted and train nothing.
        """
        return None

    def training_size(self) -> int:
        """Count the training documents, of the language that has most; for use after `setup`."""
        counts = (
            sum(len(batch.label_counts) for batch in self.training_documents(name))
            for name in self.names
        )
        return max(counts)

    def enlarge_batches(self, factor: int) -> int | None:
        """Make training batches ``factor`` times as large.

        Returns:
            Documents per language, step and process; None if they keep their size.
        """
        return None

    def changes(self) -> LabelChanges:
        """Return what labels were renamed, merged, split or withdrawn; here there are none."""
        return LabelChanges([])

    def training_data(self) -> TrainingData:
        """Return what a system is built from; for use after `setup`."""
        corpora = {name: next(self.only(name).shards()).name for name in self.names}
        return TrainingData(
            self.tasks,
            self.vectors,
            self.training_documents,
            self.cache_dir,
            corpora,
            self.document_hashes,
        )

    @abstractmethod
    def only(self, name: str) -> "TextDataModule":
        """Return the data module of one language."""

    @abstractmethod
    def fingerprint(self) -> str:
        """Return a hash of all that the encoded corpus depends on: files, settings, code."""

    @abstractmethod
    def summary(self) -> str:
        """Describe the encoded corpus: sizes, labels, what was left out."""

    @abstractmethod
    def shards(self) -> Iterator[Path]:
        """Yield the folders in the cache that hold the encoded corpus."""

    def prefetched(self, loader: RaggedLoader | SideBySide) -> TrainingLoader:
        """Have training batches prepared ahead, if that is wanted."""
        return loader if self.prepare_step is None else PrefetchLoader(loader, self.prepare_step)

    def transfer_batch_to_device(
        self, batch: Any, device: torch.device, dataloader_idx: int
    ) -> Any:
        """Move a batch, or leave it on the host for a system that sends what it needs itself."""
        system = getattr(self.trainer, "lightning_module", None)
        if getattr(system, "reads_on_host", False):
            return batch
        return super().transfer_batch_to_device(batch, device, dataloader_idx)
