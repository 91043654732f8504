"""An encoded corpus in the cache."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from gile_lightning.common.errors import InputError, of_the_machine
from gile_lightning.common.files import checksum
from gile_lightning.common.processes import cores
from gile_lightning.data.document import SPLITS
from gile_lightning.data.formats.arrow import check_numbers, check_table
from gile_lightning.data.shards.cache import META
from gile_lightning.data.shards.encoding import TASK
from gile_lightning.data.shards.label_documents import label_documents
from gile_lightning.data.tokenizing.task import Task

if TYPE_CHECKING:
    from datasets import Dataset  # which takes a second to import

FILES = "files"  # in what `read_meta` returns: the size and CRC-32 of every other file
VECTORS = "vectors.npy"  # the word vectors that came with a corpus, beside its shards


class EncodedCorpus:
    """The shards of a corpus, mapped into memory.

    Attributes:
        meta: the counts of what was encoded and what was left out.
        task: tokenizer and label set.
        splits: the documents by the name of the split. Texts of labels are the last for training.
        label_texts: how many these are.
        every: all training documents, if ``train_share`` leaves out some.
        drawn: the places of those that it keeps.

    Args:
        directory: a folder that `encode` has written.
        train_share: share of the training documents that is read, or their number if it is above
            1. Smaller shares are subsets of larger ones.
        seed: draws them.
        label_documents: where there are no more training documents than this, as many texts of
            labels are training documents, too.

    Raises:
        FileNotFoundError: the folder is not complete.
        InputError: a file is not what it was when it was written, or there are fewer training
            documents than are asked for.
    """

    def __init__(
        self,
        directory: Path,
        train_share: float = 1.0,
        seed: int = 0,
        label_documents: int = 0,
    ) -> None:
        import datasets  # which takes a second

        self.directory = directory
        self.meta = read_meta(directory)
        _check_files(directory, self.meta.pop(FILES, {}))
        self.task = Task.load(directory / TASK)
        self.splits: dict[str, Dataset] = {}
        for split in SPLITS:
            files = sorted(directory.glob(f"{split}-*.arrow"))
            if files:
                shards = [_read_shard(file, self.task) for file in files]
                self.splits[split] = datasets.concatenate_datasets(shards)
        self.every: Dataset | None = None
        if train_share != 1 and "train" in self.splits:
            documents = self.splits["train"]
            number = train_share if train_share > 1 else train_share * len(documents)
            number = max(1, round(number))
            if number > len(documents):
                raise InputError(
                    f"train_share is {number:,}, but there are {len(documents):,} training "
                    "documents"
                )
            if number < len(documents):  # all of them stay in their order
                order = np.random.default_rng(seed).permutation(len(documents))
                self.every, self.drawn = documents, order[:number]
                self.splits["train"] = documents.select(self.drawn)
            self.meta["counts"]["training_documents_used"] = number
        self.label_texts = 0
        if "train" in self.splits and len(self.splits["train"]) <= label_documents:
            self._add_label_texts(seed)

    def _add_label_texts(self, seed: int) -> None:
        import datasets  # which takes a second

        documents = self.splits["train"]
        table = label_documents(self.task, documents.data.schema, len(documents), seed)
        own = datasets.Dataset(datasets.table.InMemoryTable(table), info=documents.info)
        self.splits["train"] = datasets.concatenate_datasets([documents, own])
        self.meta["counts"]["label_texts"] = self.label_texts = len(own)

    def vectors(self) -> Tensor | None:
        """Return the word vectors [V, d] that came with the corpus, in the vocabulary's order."""
        file = self.directory / VECTORS
        if not file.is_file():
            return None
        try:
            return torch.from_numpy(np.array(np.load(file, mmap_mode="r")))
        except Exception as error:  # a damaged file may raise any
            if of_the_machine(error):
                raise
            raise _damaged(file) from error


def read_meta(directory: Path) -> dict[str, Any]:
    """Read the counts of an encoded corpus.

    Raises:
        FileNotFoundError: the folder is not complete.
        InputError: the file is damaged.
    """
    try:
        meta: dict[str, Any] = json.loads((directory / META).read_text())
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{directory}: not encoded; call prepare_data first") from error
    except (ValueError, RecursionError) as error:
        raise _damaged(directory / META) from error
    if not isinstance(meta, dict) or not isinstance(meta.get(FILES, {}), dict):
        raise _damaged(directory / META)
    return meta


def write_meta(directory: Path, meta: dict[str, Any]) -> None:
    """Write the counts of an encoded corpus, and the checksums of its files, which come before."""
    files = {file.name: checksum(file) for file in sorted(directory.iterdir())}
    content = json.dumps(meta | {FILES: files}, indent=1, default=str)
    (directory / META).write_text(content)


def _check_files(directory: Path, known: dict[str, list[int]]) -> None:
    """Compare files with their checksums; a folder of an earlier version has none.

    It takes a core about a quarter of a second per GB, beside what the disk needs.

    Raises:
        InputError: a file differs, or is not there.
    """
    with ThreadPoolExecutor(cores()) as pool:
        found = pool.map(lambda name: _checksum(directory / name), known)
        for (name, written), now in zip(known.items(), found, strict=True):
            if not isinstance(written, list) or now != tuple(written):
                raise _damaged(directory / name)


def _read_shard(file: Path, task: Task) -> "Dataset":
    """Map a shard into memory, if it is one: hostile numbers would reach beyond the model.

    Raises:
        InputError: it is damaged.
    """
    import datasets

    try:
        shard = datasets.Dataset.from_file(str(file))
        table = shard.data.table
        check_table(table)
        for column, most in (
            ("words", len(task.tokenizer.vocabulary) + len(task.tokenizer.further)),
            ("sentence_lengths", None),
            ("labels", len(task.labels)),
        ):
            check_numbers(table.column(column), most)
    except Exception as error:  # a damaged file may raise any
        if of_the_machine(error):
            raise
        raise _damaged(file) from error
    return shard


def _checksum(file: Path) -> tuple[int, int] | None:
    return checksum(file) if file.is_file() else None


def _damaged(file: Path) -> InputError:
    return InputError(
        f"{file}: damaged, not what was written there; delete the folder {file.parent}, and the "
        "corpus is encoded anew"
    )
