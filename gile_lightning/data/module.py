"""The base of all data modules: encode once, cache, shard, resume."""

import hashlib
import json
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import datasets
import lightning
from filelock import FileLock

from gile_lightning.data.encoding import EncodingSettings, encode
from gile_lightning.data.language import Language
from gile_lightning.data.loader import RaggedLoader
from gile_lightning.data.report import Skipped, describe
from gile_lightning.data.shards import SPLITS, Document
from gile_lightning.errors import InputError, positive

FORMAT = 1  # of the encoded shards; raised when the same input would be encoded differently


def default_cache() -> Path:
    """Return ``$XDG_CACHE_HOME/gile_lightning``, by default ``~/.cache/gile_lightning``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "gile_lightning"


class DocumentDataModule(lightning.LightningDataModule, ABC):
    """Documents with labels that have descriptions, as encoded Arrow shards in a cache.

    A subclass says where the documents and label texts come from (`documents`, `label_texts`) and
    what identifies them (`sources`); everything else is here. The cache is keyed by a fingerprint
    of the sources and the settings, so a second run starts at once and a changed file or setting
    is encoded anew. Encoding that was interrupted starts afresh.

    Args:
        batch_size: documents per training step and process (paper: 64).
        eval_batch_size: documents scored at a time.
        min_count: training occurrences that a word of the vocabulary needs.
        max_document_words: words kept per document (paper: 300).
        max_label_words: words kept per label description (paper: 50).
        validation_size: training documents drawn for validation; a share if below 1.
        test_size: documents drawn for testing where the corpus has no split and no year. Scoring
            a trained model draws the same ones; a number as large as the corpus takes all.
        split_seed: seeds these draws.
        cache_dir: where encoded corpora are kept; by default below ~/.cache/gile_lightning.
        language: the name of the corpus' language.
        seed: of the order of the training documents.
    """

    def __init__(
        self,
        *,
        batch_size: int = 64,
        eval_batch_size: int = 256,
        min_count: int = 5,
        max_document_words: int = 300,
        max_label_words: int = 50,
        validation_size: float = 0.1,
        test_size: float = 0.1,
        split_seed: int = 1234,
        cache_dir: Path | None = None,
        language: str = "english",
        seed: int = 1234,
    ) -> None:
        super().__init__()
        positive(
            batch_size=batch_size,
            eval_batch_size=eval_batch_size,
            min_count=min_count,
            max_document_words=max_document_words,
            max_label_words=max_label_words,
            validation_size=validation_size,
            test_size=test_size,
        )
        self.batch_size = batch_size
        self.eval_batch_size = eval_batch_size
        self.settings = EncodingSettings(
            min_count, max_document_words, max_label_words, validation_size, test_size, split_seed
        )
        self.cache_dir = Path(cache_dir).expanduser() if cache_dir else default_cache()
        self.language = language
        self.seed = seed
        self.known: Language | None = None
        self.languages: dict[str, Language] = {}
        self.meta: dict[str, Any] = {}
        self._splits: dict[str, datasets.Dataset] = {}

    @abstractmethod
    def sources(self) -> dict[str, Any]:
        """Return what the encoding depends on beside `EncodingSettings`, as JSON values."""

    @abstractmethod
    def documents(self, skipped: Skipped) -> Iterable[Document]:
        """Stream the raw documents; count in ``skipped`` those that cannot be used."""

    @abstractmethod
    def label_texts(self, skipped: Skipped) -> Mapping[str, str]:
        """Return the text of every label that can be used, by name."""

    def total(self) -> int | None:
        """Return the number of raw documents where it is known before reading them."""
        return None

    def use(self, languages: dict[str, Language]) -> None:
        """Encode for a trained model: its vocabulary, its labels, the test documents only."""
        if self.language not in languages:
            raise InputError(
                f"the model knows {', '.join(languages)}, not {self.language}: set --data.language"
            )
        self.known = languages[self.language]

    def fingerprint(self) -> str:
        """Return the cache key: a hash of the sources, the settings and the known language."""
        state = {
            "format": FORMAT,
            "class": type(self).__name__,
            "sources": self.sources(),
            "settings": asdict(self.settings),
            "known": self.known and self.known.state(),
        }
        text = json.dumps(state, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:20]

    def prepare_data(self) -> None:
        """Encode the corpus unless the cache has it; on one process only."""
        directory = self.directory_of_shards()
        if (directory / "meta.json").is_file():
            return
        directory.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(directory.with_suffix(".lock")):
            if (directory / "meta.json").is_file():  # another process has just done it
                return
            partial = directory.with_suffix(".partial")
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir()
            skipped = Skipped()
            texts = self.label_texts(skipped)
            counts = encode(
                self.documents(skipped),
                texts,
                partial,
                self.settings,
                skipped,
                self.known,
                self.total(),
            )
            meta = {"counts": counts, "skipped": skipped.state(), "sources": self.sources()}
            (partial / "meta.json").write_text(json.dumps(meta, indent=1, default=str))
            shutil.rmtree(directory, ignore_errors=True)
            partial.replace(directory)

    def setup(self, stage: str | None = None) -> None:
        """Map the encoded shards into memory."""
        if self.meta:
            return
        directory = self.directory_of_shards()
        self.meta = json.loads((directory / "meta.json").read_text())
        self.languages = {self.language: Language.load(directory / "language.json")}
        for split in SPLITS:
            files = sorted(directory.glob(f"{split}-*.arrow"))
            if files:
                shards = [datasets.Dataset.from_file(str(file)) for file in files]
                self._splits[split] = datasets.concatenate_datasets(shards)

    def summary(self) -> str:
        """Describe the encoded corpus: sizes, labels, what was left out."""
        return describe(self.meta)

    def split(self, name: str) -> datasets.Dataset:
        """Return the encoded documents of train, validation or test."""
        return self._splits[name]

    def train_dataloader(self) -> RaggedLoader:
        """Shuffled training batches."""
        return self._loader("train", self.batch_size, shuffle=True)

    def val_dataloader(self) -> RaggedLoader:
        """Validation batches, in order."""
        return self._loader("validation", self.eval_batch_size)

    def test_dataloader(self) -> RaggedLoader:
        """Test batches, in order."""
        return self._loader("test", self.eval_batch_size)

    def _loader(self, split: str, batch_size: int, shuffle: bool = False) -> RaggedLoader:
        trainer = self.trainer
        return RaggedLoader(
            self._splits[split],
            self.language,
            batch_size,
            shuffle=shuffle,
            seed=self.seed,
            rank=trainer.global_rank if trainer else 0,
            world_size=trainer.world_size if trainer else 1,
        )

    def directory_of_shards(self) -> Path:
        """Return the folder in the cache that holds the encoded corpus."""
        return self.cache_dir / self.fingerprint()
