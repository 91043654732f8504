"""What the commands and the model ask of every data module."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lightning
import torch
from torch import Tensor

from gile_lightning.common.factories import Configured
from gile_lightning.data.loading.ragged import RaggedBatch
from gile_lightning.data.tokenizing.task import Task


@dataclass(frozen=True)
class TrainingData:
    """What a model is built from, and what it may learn before its first step.

    Attributes:
        languages: vocabulary and labels by the language's name.
        vectors: returns the word vectors [V, d] that the corpus brings for a language, if any.
        documents: yields every training document of a language once, in order, in batches.
        cache_dir: the folder in which what is computed of texts is kept.
    """

    tasks: dict[str, Task]
    vectors: Callable[[str], Tensor | None]
    documents: Callable[[str], Iterator[RaggedBatch]]
    cache_dir: Path


class TextDataModule(Configured, lightning.LightningDataModule, ABC):
    """Documents and labels in one language or several; batches are `{language: RaggedBatch}`.

    Attributes:
        languages: vocabulary and labels by the language's name; known after `setup`.
        meta: counts of what was encoded and what was left out; known after `setup`.
        cache_dir: the folder in which what is computed of texts is kept.
    """

    tasks: dict[str, Task]
    meta: dict[str, Any]
    cache_dir: Path

    @property
    def builtin(self) -> bool:
        """Whether the corpus is an invented one."""
        return False

    @property
    def pretrained(self) -> str | None:
        """The pretrained model for which texts are split into subwords, if there is one."""
        return None

    def keep_text_vectors(self, device: torch.device | str = "cpu") -> None:
        """Let the pretrained model encode the documents, and add its vectors to their batches.

        Args:
            device: where to compute those that are not kept yet.
        """

    @property
    @abstractmethod
    def has_test(self) -> bool:
        """Whether there are test documents, once the corpus is set up."""

    @property
    @abstractmethod
    def names(self) -> list[str]:
        """The languages' names, known from the start."""

    @abstractmethod
    def encode_for_scoring(self, tasks: dict[str, Task], new_words: bool = False) -> None:
        """Encode for scoring a trained model: its vocabularies, its labels, the test documents.

        Args:
            tasks: those of the model.
            new_words: give ids of their own to the words of labels that are new to the model.
        """

    @abstractmethod
    def encode_for_training(self, tasks: dict[str, Task]) -> None:
        """Encode for training a model further: its vocabularies, but the corpus' own labels."""

    @abstractmethod
    def vectors(self, name: str) -> Tensor | None:
        """Return the word vectors [V, d] that the corpus brings for a language's vocabulary."""

    @abstractmethod
    def training_documents(self, name: str) -> Iterator[RaggedBatch]:
        """Yield every training document of a language once, in order, in batches."""

    def training_data(self) -> TrainingData:
        """Return what a model is built from, once the corpus is set up."""
        return TrainingData(self.tasks, self.vectors, self.training_documents, self.cache_dir)

    @abstractmethod
    def only(self, name: str) -> "TextDataModule":
        """Return the data of one of the languages."""

    @abstractmethod
    def fingerprint(self) -> str:
        """Return a hash of all that the encoded corpus depends on: files and settings."""

    @abstractmethod
    def summary(self) -> str:
        """Describe the encoded corpus: sizes, labels, what was left out."""

    @abstractmethod
    def shards(self) -> Iterator[Path]:
        """List the folders in the cache that hold the encoded corpus."""
