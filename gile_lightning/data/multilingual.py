"""A corpus of several languages."""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gile_lightning.common.errors import InputError
from gile_lightning.data.document_data_module import DocumentDataModule
from gile_lightning.data.known import Known, KnownDocuments
from gile_lightning.data.language_name import check_language
from gile_lightning.data.loading.loader import RaggedLoader
from gile_lightning.data.loading.one_by_one import OneByOne
from gile_lightning.data.loading.ragged import RaggedBatch
from gile_lightning.data.loading.side_by_side import SideBySide
from gile_lightning.data.shards.fingerprint import hash_of
from gile_lightning.data.text_data_module import TextDataModule, TrainingLoader
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.data.tokenizing.tokenizer import Tokenizer


class Multilingual(TextDataModule):
    """A data module per language; a training step has one batch of each (paper, Eq. 16).

    An epoch is a pass over the language with the most training documents; the others are repeated.
    With ``samples_per_epoch``, each language draws that many documents instead. Evaluation goes
    through one language after the other, every document once.

    Args:
        modules: the data modules by the name of their language.
        seed: of the order of the training documents; by default each module's own.
    """

    def __init__(self, modules: dict[str, DocumentDataModule], seed: int | None = None) -> None:
        super().__init__()
        if not modules:
            raise InputError("a multilingual corpus needs a language at least")
        self.modules = modules
        for number, (name, module) in enumerate(modules.items()):
            check_language(name)
            module.language, module.settings = name, module.settings.of_language(name)
            # another order of documents in each
            module.seed = (module.seed if seed is None else seed) + number
        self.cache_dir = next(iter(modules.values())).cache_dir
        self.tasks: dict[str, Task] = {}
        self.meta: dict[str, Any] = {}

    def subword_tokenizer(self) -> Tokenizer:
        """Return that of a language with a pretrained model, if one has."""
        found = [module.subword_tokenizer() for module in self.modules.values()]
        return next((tokenizer for tokenizer in found if tokenizer.pretrained), found[0])

    def keep_text_vectors(
        self,
        device: torch.device | str = "cpu",
        fields: AbstractSet[str] = frozenset({"vectors"}),
    ) -> None:
        """Encode the documents of all languages with the pretrained models."""
        for module in self.modules.values():
            module.keep_text_vectors(device, fields)

    @property
    def has_test(self) -> bool:
        """Whether every language has test documents; known after `setup`."""
        return all(module.has_test for module in self.modules.values())

    @property
    def names(self) -> list[str]:
        """The names of the languages."""
        return list(self.modules)

    def encode_for_scoring(
        self,
        tasks: dict[str, Task],
        new_words: bool = False,
        known_documents: Mapping[str, KnownDocuments] | None = None,
    ) -> None:
        """Encode the test documents for a trained model, with its vocabularies and labels."""
        for module in self.modules.values():
            module.encode_for_scoring(tasks, new_words, known_documents)

    def encode_for_training(
        self,
        tasks: dict[str, Task],
        known: Mapping[str, Known] | None = None,
        new_words: bool = False,
        known_documents: Mapping[str, KnownDocuments] | None = None,
    ) -> None:
        """Encode for a model that is trained further: its vocabularies, the corpus' labels."""
        for module in self.modules.values():
            module.encode_for_training(tasks, known, new_words, known_documents)

    def prepare_data(self) -> None:
        """Encode every language unless the cache has it."""
        for module in self.modules.values():
            module.prepare_data()

    def setup(self, stage: str | None = None) -> None:
        """Map the encoded shards into memory."""
        if self.meta:
            return
        for name, module in self.modules.items():
            module.setup(stage)
            self.tasks |= module.tasks
            for key, value in module.meta.items():
                self.meta.setdefault(key, {})[name] = value

    def vectors(self, name: str) -> Tensor | None:
        """Return the word vectors [V, d] that the corpus brings for a language."""
        return self.modules[name].vectors(name)

    def training_documents(self, name: str) -> Iterator[RaggedBatch]:
        """Yield every training document of a language once, in order, in batches."""
        return self.modules[name].training_documents(name)

    def size(self, name: str, split: str) -> int:
        """Count the documents of a language in a split, without texts of labels."""
        return self.modules[name].size(name, split)

    def some_documents(self, name: str, split: str, rows: Sequence[int]) -> Iterator[RaggedBatch]:
        """Yield the documents of a language at these places of a split, in order, in batches."""
        return self.modules[name].some_documents(name, split, rows)

    def document_hashes(self, name: str, split: str) -> NDArray[np.int64] | None:
        """Return a hash of each document of a split, in order."""
        return self.modules[name].document_hashes(name, split)

    def training_size(self) -> int:
        """Count the training documents of the language that has most."""
        return max(module.training_size() for module in self.modules.values())

    def enlarge_batches(self, factor: int) -> int:
        """Make the training batches of all languages larger; return the size of one."""
        return max(module.enlarge_batches(factor) for module in self.modules.values())

    def only(self, name: str) -> TextDataModule:
        """Return the data module of one of the languages."""
        return self.modules[name]

    def fingerprint(self) -> str:
        """Return a hash of the languages' fingerprints."""
        own = [[name, module.fingerprint()] for name, module in self.modules.items()]
        return hash_of({"languages": own})  # whose order decides their seeds

    def summary(self) -> str:
        """Describe the corpus, language by language."""
        return "\n".join(f"{name}:\n{module.summary()}" for name, module in self.modules.items())

    def shards(self) -> Iterator[Path]:
        """Yield the folders in the cache that hold the encoded corpus."""
        for module in self.modules.values():
            yield from module.shards()

    def train_dataloader(self) -> TrainingLoader:
        """Return shuffled training batches of all languages."""
        longest = max(len(module.split("train")) for module in self.modules.values())
        for module in self.modules.values():
            module.repeat = longest
        return self.prefetched(SideBySide(self._loaders("train_dataloader")))

    def val_dataloader(self) -> OneByOne:
        """Return validation batches, in order."""
        return OneByOne(self._loaders("val_dataloader"))

    def test_dataloader(self) -> OneByOne:
        """Return test batches, in order."""
        return OneByOne(self._loaders("test_dataloader"))

    def _loaders(self, name: str) -> dict[str, RaggedLoader]:
        for module in self.modules.values():
            module.trainer = self.trainer
        return {language: getattr(module, name)() for language, module in self.modules.items()}
