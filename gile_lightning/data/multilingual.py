"""Several languages at once: one data module each, batches side by side."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from gile_lightning.common.errors import InputError
from gile_lightning.data.document_data_module import DocumentDataModule
from gile_lightning.data.loading.loader import RaggedLoader
from gile_lightning.data.loading.ragged import RaggedBatch
from gile_lightning.data.text_data_module import TextDataModule
from gile_lightning.data.tokenizing.task import Task


class Multilingual(TextDataModule):
    """A data module per language; a training step has one batch of each (paper, Eq. 16).

    An epoch is a pass over the language with the most training documents, while the others begin
    anew as often as it takes; or, where the modules have ``samples_per_epoch``, so many draws of
    each. Evaluation takes one language after the other, every document once.

    Args:
        parts: the data modules by the name of their language.
        seed: of the order of the training documents; by default each module's own.
    """

    def __init__(self, parts: dict[str, DocumentDataModule], seed: int | None = None) -> None:
        super().__init__()
        if not parts:
            raise InputError("a multilingual corpus needs a language at least")
        self.parts = parts
        for number, (name, part) in enumerate(parts.items()):
            part.language = name
            part.seed = (part.seed if seed is None else seed) + number  # not the same order in all
        self.cache_dir = next(iter(parts.values())).cache_dir
        self.tasks: dict[str, Task] = {}
        self.meta: dict[str, Any] = {}

    @property
    def pretrained(self) -> str | None:
        """The pretrained model of a language that has one."""
        return next((p.pretrained for p in self.parts.values() if p.pretrained), None)

    def keep_text_vectors(self, device: torch.device | str = "cpu") -> None:
        """Let the pretrained models encode the documents of all languages."""
        for part in self.parts.values():
            part.keep_text_vectors(device)

    @property
    def has_test(self) -> bool:
        """Whether every language has test documents, once the corpus is set up."""
        return all(part.has_test for part in self.parts.values())

    @property
    def names(self) -> list[str]:
        """The languages' names."""
        return list(self.parts)

    def encode_for_scoring(self, tasks: dict[str, Task], new_words: bool = False) -> None:
        """Encode for scoring a trained model: its vocabularies, its labels, the test documents."""
        for part in self.parts.values():
            part.encode_for_scoring(tasks, new_words)

    def encode_for_training(self, tasks: dict[str, Task]) -> None:
        """Encode for training a model further: its vocabularies, but the corpus' own labels."""
        for part in self.parts.values():
            part.encode_for_training(tasks)

    def prepare_data(self) -> None:
        """Encode every language unless the cache has it."""
        for part in self.parts.values():
            part.prepare_data()

    def setup(self, stage: str | None = None) -> None:
        """Map the encoded shards into memory."""
        if self.meta:
            return
        for name, part in self.parts.items():
            part.setup(stage)
            self.tasks |= part.tasks
            for key, value in part.meta.items():
                self.meta.setdefault(key, {})[name] = value

    def vectors(self, name: str) -> Tensor | None:
        """Return the word vectors [V, d] that the corpus brings for a language."""
        return self.parts[name].vectors(name)

    def training_documents(self, name: str) -> Iterator[RaggedBatch]:
        """Yield every training document of a language once, in order, in batches."""
        return self.parts[name].training_documents(name)

    def only(self, name: str) -> TextDataModule:
        """Return the data module of one of the languages."""
        return self.parts[name]

    def fingerprint(self) -> str:
        """Return a hash of the languages' own ones."""
        own = {name: part.fingerprint() for name, part in self.parts.items()}
        return hashlib.sha256(json.dumps(own).encode()).hexdigest()[:20]

    def summary(self) -> str:
        """Describe the corpus, language by language."""
        return "\n".join(f"{name}:\n{part.summary()}" for name, part in self.parts.items())

    def shards(self) -> Iterator[Path]:
        """List the folders in the cache that hold the encoded corpus."""
        for part in self.parts.values():
            yield from part.shards()

    def train_dataloader(self) -> "SideBySide":
        """Shuffled training batches of all languages."""
        longest = max(len(part.split("train")) for part in self.parts.values())
        for part in self.parts.values():
            part.repeat = longest
        return SideBySide(self._loaders("train_dataloader"))

    def val_dataloader(self) -> "OneByOne":
        """Validation batches, in order."""
        return OneByOne(self._loaders("val_dataloader"))

    def test_dataloader(self) -> "OneByOne":
        """Test batches, in order."""
        return OneByOne(self._loaders("test_dataloader"))

    def _loaders(self, name: str) -> dict[str, RaggedLoader]:
        for part in self.parts.values():
            part.trainer = self.trainer
        return {language: getattr(part, name)() for language, part in self.parts.items()}


class SideBySide:
    """The training batches of all languages, one of each per step, resumable at any step.

    Args:
        loaders: the languages' loaders, equal in the number of batches.
    """

    batch_sampler = None  # Lightning asks for it beside `sampler`

    def __init__(self, loaders: Mapping[str, RaggedLoader]) -> None:
        steps = {name: len(loader) for name, loader in loaders.items()}
        if len(set(steps.values())) > 1:
            raise InputError(
                f"the languages' epochs differ in their number of steps ({steps}): give all the "
                "same batch_size and samples_per_epoch"
            )
        self.loaders = loaders

    def __len__(self) -> int:
        """Steps per epoch and process."""
        return len(next(iter(self.loaders.values())))

    def __iter__(self) -> Iterator[dict[str, RaggedBatch]]:
        for batches in zip(*self.loaders.values(), strict=True):
            step: dict[str, RaggedBatch] = {}
            for batch in batches:
                step |= batch
            yield step

    @property
    def done(self) -> int:
        """Steps before the restored position, of those that an epoch has."""
        return next(iter(self.loaders.values())).done

    @property
    def sampler(self) -> "SideBySide":
        """This loader, whose parts draw their own order: Lightning tells a sampler the epoch."""
        return self

    def set_epoch(self, epoch: int) -> None:
        """Go to the start of an epoch; a restored position within that epoch is kept."""
        for loader in self.loaders.values():
            loader.set_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        """Return the position of every part."""
        return {name: loader.state_dict() for name, loader in self.loaders.items()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go to a stored position.

        Raises:
            InputError: with so many processes the languages differ in what is left of their epochs.
        """
        for name, loader in self.loaders.items():
            loader.load_state_dict(state[name])
        done = {name: loader.done for name, loader in self.loaders.items()}
        if len(set(done.values())) > 1:
            raise InputError(
                f"the languages' positions within the epoch differ ({done} steps): go on with the "
                "number of processes and the batch_size that the run had"
            )


class OneByOne:
    """All batches of one language, then those of the next.

    Args:
        loaders: the languages' loaders.
    """

    batch_sampler = None
    sampler = None

    def __init__(self, loaders: Mapping[str, RaggedLoader]) -> None:
        self.loaders = loaders

    def __len__(self) -> int:
        """Batches of all languages, on each process."""
        return sum(map(len, self.loaders.values()))

    def __iter__(self) -> Iterator[dict[str, RaggedBatch]]:
        for loader in self.loaders.values():
            yield from loader
