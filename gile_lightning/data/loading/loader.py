"""Batches of an epoch, equal in number on every process, resumable at any batch."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from gile_lightning.common.errors import InputError, positive
from gile_lightning.data.loading.ragged import RaggedBatch
from gile_lightning.data.loading.rows import MappedRows

if TYPE_CHECKING:
    from datasets import Dataset  # which takes a second to import


class _Cut(NamedTuple):
    """The documents of an epoch, or the rest of one, cut into the steps of several processes."""

    start: int
    stop: int
    steps: int
    processes: int

    def place(self, step: int, process: int = 0) -> int:
        """Return where a process' batch begins."""
        piece = step * self.processes + process
        return self.start + (self.stop - self.start) * piece // (self.steps * self.processes)

    def step(self, place: int) -> int | None:
        """Return the step that begins at a place, if one does."""
        if place == self.start:
            return 0
        step = -(-(place - self.start) * self.steps // (self.stop - self.start))
        return step if self.place(step) == place else None


class RaggedLoader:
    """Iterates over encoded documents in ragged batches, each gathered at once.

    An epoch visits every document exactly once over all processes. Its order is a permutation
    drawn from (seed, epoch) if ``shuffle``, else the order of the documents. It is cut into global
    batches, whose sizes differ by at most one document, and each of these into one batch per
    process. So every process runs the same number of steps, and no document is doubled or dropped.

    The state holds the position, in documents, so a restored loader goes on at the next batch. With
    another number of processes or another batch size it goes on at the next document: the rest of
    the epoch is cut anew.

    An epoch can have another length than one pass: ``samples`` documents drawn with replacement,
    or ``repeat`` documents from several passes, each in an order of its own.

    Args:
        documents: the encoded documents.
        language: the key of the batches, `{language: RaggedBatch}`.
        batch_size: documents per batch and process; the last ones may have one less.
        shuffle: permute the documents, anew in each epoch.
        samples: documents per epoch, drawn with replacement.
        repeat: documents per epoch, pass after pass.
        seed: of the permutations.
        rank: this process.
        world_size: number of processes.
        text_vectors: finds what a pretrained model has computed of documents by their numbers [B],
            as fields of the batch.
    """

    batch_sampler = None  # Lightning asks for it beside `sampler`

    def __init__(
        self,
        documents: "Dataset",
        language: str,
        batch_size: int,
        *,
        shuffle: bool = False,
        samples: int | None = None,
        repeat: int | None = None,
        seed: int = 0,
        rank: int = 0,
        world_size: int = 1,
        text_vectors: Callable[[NDArray[np.int64]], Mapping[str, Any]] | None = None,
    ) -> None:
        positive(batch_size=batch_size)
        self.rows = MappedRows(documents)
        self.language = language
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.samples = samples
        self.repeat = repeat
        self.seed = seed
        self.rank = rank
        self.world_size = world_size
        self.text_vectors = text_vectors
        self.epoch = 0
        self._start = (0, 0)  # documents before the cut, and before the first batch
        self._next = (0, 0, 0)  # the epoch, and these two, after the last batch

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
        return self._from(0).steps

    @property
    def done(self) -> int:
        """Batches of the epoch before the restored position."""
        cut, step = self._position()
        return len(self) - (cut.steps - step)

    def _from(self, start: int) -> _Cut:
        documents = self.documents - start
        steps = -(-documents // (self.batch_size * self.world_size))
        # a step must have a document for every process: DDP waits for each of them
        steps = max(1, min(steps, documents // self.world_size))
        return _Cut(start, self.documents, steps, self.world_size)

    def _position(self) -> tuple[_Cut, int]:
        """Return the cut and the step to begin with."""
        before, start = self._start
        cut = self._from(before)
        step = cut.step(start)
        # else the cut was that of other processes or batches
        return (self._from(start), 0) if step is None else (cut, step)

    def order(self) -> NDArray[np.int64]:
        """Return the documents of the current epoch, in order, for all processes."""
        if not self.shuffle:
            return np.arange(len(self.rows))
        generator = np.random.default_rng((self.seed, self.epoch))
        if self.samples:
            return generator.integers(len(self.rows), size=self.samples)
        passes = -(-self.documents // len(self.rows))
        orders = [generator.permutation(len(self.rows)) for _ in range(passes)]
        return np.concatenate(orders)[: self.documents]

    def __iter__(self) -> Iterator[dict[str, RaggedBatch]]:
        order, epoch, (cut, first) = self.order(), self.epoch, self._position()
        self._start = (0, 0)

        def own(step: int) -> NDArray[np.int64]:
            return order[cut.place(step, self.rank) : cut.place(step, self.rank + 1)]

        with closing(self.rows.batches(map(own, range(first, cut.steps)))) as batches:
            for step, batch in enumerate(batches, first):
                start, stop = cut.place(step), cut.place(step + 1)
                # before the yield: after the last one nothing is ever run
                if step + 1 == cut.steps:
                    self.epoch = epoch + 1
                    self._next = (epoch + 1, 0, 0)
                else:
                    self._next = (epoch, cut.start, stop)
                rows = own(step)
                weight = len(rows) * self.world_size / max(1, stop - start)
                if self.text_vectors is not None:
                    batch = batch._replace(**self.text_vectors(rows))
                yield {
                    self.language: batch._replace(rows=torch.from_numpy(rows), loss_weight=weight)
                }

    @property
    def sampler(self) -> "RaggedLoader":
        """This loader, which draws its own order: Lightning tells a sampler the epoch."""
        return self

    def set_epoch(self, epoch: int) -> None:
        """Go to the start of an epoch; a restored position within that epoch is kept."""
        if epoch != self.epoch:
            self._go_to(epoch, 0, 0)

    def state_dict(self) -> dict[str, Any]:
        """Return the position: the epoch, and the documents before the next batch.

        ``cut`` is the number of documents before the place where the epoch was cut anew: above 0
        once the number of processes or the batch size has changed within the epoch.
        """
        epoch, cut, documents = self._next
        return {"epoch": epoch, "cut": cut, "documents": documents}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go to a stored position.

        Raises:
            InputError: the rest of the epoch has no document, or fewer than there are processes.
        """
        rest = self.documents - state["documents"]
        if rest <= 0:
            raise InputError(
                f"the epoch has {self.documents:,} documents, and the run has done "
                f"{state['documents']:,} of it already: go on with the data.train_share and "
                "data.samples_per_epoch of the run"
            )
        if rest < self.world_size:
            raise InputError(
                f"{rest} documents are left of the epoch, too few for {self.world_size} processes: "
                f"go on with {rest} at most (trainer.devices, trainer.num_nodes)"
            )
        self._go_to(state["epoch"], state["cut"], state["documents"])

    def _go_to(self, epoch: int, cut: int, documents: int) -> None:
        self.epoch, self._start, self._next = epoch, (cut, documents), (epoch, cut, documents)
