"""A loader that makes the next steps ready while the model trains on this one."""

from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import Any

from gile_lightning.data.loading.loader import RaggedLoader
from gile_lightning.data.loading.ragged import RaggedBatch
from gile_lightning.data.loading.side_by_side import SideBySide

PrepareStep = Callable[[dict[str, RaggedBatch], int], Any]
"""Makes what a training step takes of its batch and its number in the epoch."""

_Batch = tuple[dict[str, RaggedBatch], int, dict[str, Any]]
_Step = tuple[Any, dict[str, Any]]


class PrefetchLoader:
    """Reads and prepares steps in other threads, some steps ahead; resumable at any step.

    A GPU works while the host goes on. Without this loader the host would read documents, draw
    labels and count words only when it has started all work of the step before, and the GPU would
    wait for it.

    Args:
        loader: the training batches.
        prepare_step: what is done to each of them, in other threads.
        ahead: how many steps are prepared at a time, in a thread each.
    """

    batch_sampler = None  # Lightning asks for it beside `sampler`

    def __init__(
        self, loader: RaggedLoader | SideBySide, prepare_step: PrepareStep, ahead: int = 2
    ) -> None:
        self.loader = loader
        self.prepare_step = prepare_step
        self.ahead = ahead
        self._state: dict[str, Any] | None = None  # the loader itself is some steps further

    def __len__(self) -> int:
        """Steps per epoch and process."""
        return len(self.loader)

    def __iter__(self) -> Iterator[Any]:
        left = len(self) - self.done
        with (
            closing(self._batches()) as batches,
            ThreadPoolExecutor(1, "read") as reader,  # which keeps their order
            ThreadPoolExecutor(self.ahead, "prepare") as workers,
        ):

            def begin() -> Future[_Step]:
                return workers.submit(self._step, reader.submit(next, batches))

            coming = deque(begin() for _ in range(min(self.ahead, left)))
            for step in range(left - 1):
                if step + self.ahead < left:
                    coming.append(begin())
                yield self._take(coming)
        # the last one, after which nothing is ever run: here the threads are at their end
        if coming:
            yield self._take(coming)

    def _take(self, coming: "deque[Future[_Step]]") -> Any:
        """Return the next step, which then nothing here refers to: it may be large."""
        prepared, self._state = coming.popleft().result()
        return prepared

    def _batches(self) -> Generator[_Batch, None, None]:
        """Yield the batch of each step, its number, and the position after it."""
        for number, batch in enumerate(self.loader, self.loader.done):
            yield batch, number, self.loader.state_dict()

    def _step(self, coming: "Future[_Batch]") -> _Step:
        """Return a step when its batch has been read, and the position after it."""
        batch, number, state = coming.result()
        return self.prepare_step(batch, number), state

    @property
    def done(self) -> int:
        """Steps of the epoch before the restored position."""
        return self.loader.done

    @property
    def sampler(self) -> "PrefetchLoader":
        """This loader, which draws its own order: Lightning tells a sampler the epoch."""
        return self

    def set_epoch(self, epoch: int) -> None:
        """Go to the start of an epoch; a restored position within that epoch is kept."""
        self.loader.set_epoch(epoch)
        self._state = None

    def state_dict(self) -> dict[str, Any]:
        """Return the position after the last step that was taken."""
        return self.loader.state_dict() if self._state is None else self._state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go to a stored position; see the loader."""
        self.loader.load_state_dict(state)
        self._state = None
