"""Batches of an epoch, equal in number on every process, resumable at any batch."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from numpy.typing import NDArray

from gile_lightning.data.ragged import RaggedBatch
from gile_lightning.data.rows import MappedRows, Rows
from gile_lightning.errors import InputError, positive


class RaggedLoader:
    """Iterates over encoded documents in ragged batches, each gathered at once.

    An epoch visits every document exactly once over all processes. Its order is a permutation
    drawn from (seed, epoch) if ``shuffle``, else that of the documents. The order is cut into
    global batches whose sizes differ by one document at most, and each of these into one batch
    per process, so every process takes the same number of steps and no document is doubled or
    dropped. The position is part of the state, so a restored loader goes on at the next batch.

    An epoch can have another length than one pass: ``samples`` documents drawn with replacement,
    or ``repeat`` documents from as many passes as that takes, each in an order of its own.

    Args:
        documents: encoded documents: a dataset, or `Rows` that lie elsewhere.
        language: the key of the batches, `{language: RaggedBatch}`.
        batch_size: documents per batch and process; the last ones may have one less.
        shuffle: permute the documents, anew in each epoch.
        samples: documents per epoch, drawn with replacement.
        repeat: documents per epoch, pass after pass.
        seed: of the permutations.
        rank: this process.
        world_size: number of processes.
    """

    batch_sampler = None  # Lightning asks for it beside `sampler`

    def __init__(
        self,
        documents: Dataset | Rows,
        language: str,
        batch_size: int,
        *,
        shuffle: bool = False,
        samples: int | None = None,
        repeat: int | None = None,
        seed: int = 0,
        rank: int = 0,
        world_size: int = 1,
    ) -> None:
        positive(batch_size=batch_size)
        self.rows = documents if isinstance(documents, Rows) else MappedRows(documents)
        self.language = language
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.samples = samples
        self.repeat = repeat
        self.seed = seed
        self.rank = rank
        self.world_size = world_size
        self.epoch = 0
        self._start = 0
        self._next = (0, 0)  # the epoch and batch after the one last given out

        if shuffle and self.documents < world_size:
            raise InputError(
                f"{self.documents} training documents are too few for {world_size} processes"
            )

    @property
    def documents(self) -> int:
        """Documents per epoch, over all processes."""
        return self.samples or self.repeat or len(self.rows)

    def __len__(self) -> int:
        """Batches per epoch and process."""
        documents = self.documents
        steps = -(-documents // (self.batch_size * self.world_size))
        # a step must have a document for every process: DDP waits for each of them
        return max(1, min(steps, documents // self.world_size))

    def order(self) -> NDArray[np.int64]:
        """Return the documents of the current epoch, in order, for all processes."""
        if not self.shuffle:
            return np.arange(len(self.rows))
        generator = np.random.default_rng((self.seed, self.epoch))
        if self.samples:
            return self.rows.draws(generator, self.samples)
        passes = -(-self.documents // len(self.rows))
        orders = [self.rows.permutation(generator) for _ in range(passes)]
        return np.concatenate(orders)[: self.documents]

    def indices(self, order: NDArray[np.int64], batch: int) -> NDArray[np.int64]:
        """Return the documents of this process in global batch number ``batch``."""
        pieces = len(self) * self.world_size
        piece = batch * self.world_size + self.rank
        start, stop = (len(order) * i // pieces for i in (piece, piece + 1))
        return order[start:stop]

    def __iter__(self) -> Iterator[dict[str, RaggedBatch]]:
        epoch, start, steps = self.epoch, self._start, len(self)
        order = self.order()
        self._start = 0
        places = (self.indices(order, step) for step in range(start, steps))
        with closing(self.rows.batches(places)) as batches:
            for step, batch in enumerate(batches, start):
                # before the yield: after the last one nothing is ever run
                if step + 1 == steps:
                    self.epoch = epoch + 1
                    self._next = (epoch + 1, 0)
                else:
                    self._next = (epoch, step + 1)
                rows = torch.from_numpy(self.indices(order, step))
                yield {self.language: batch._replace(rows=rows)}

    @property
    def sampler(self) -> "RaggedLoader":
        """This loader, which draws its own order: Lightning tells a sampler the epoch."""
        return self

    def set_epoch(self, epoch: int) -> None:
        """Go to the start of an epoch; a restored position within that epoch is kept."""
        if epoch != self.epoch:
            self.load_state_dict({"epoch": epoch, "batch": 0})

    def state_dict(self) -> dict[str, Any]:
        """Return the position: the epoch and the next batch."""
        return {"epoch": self._next[0], "batch": self._next[1]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go to a stored position."""
        self.epoch, self._start = self._next = state["epoch"], state["batch"]
