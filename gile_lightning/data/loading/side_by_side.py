"""A loader that joins the training batches of several languages."""

from collections.abc import Iterator, Mapping
from typing import Any

from gile_lightning.common.errors import InputError
from gile_lightning.data.loading.loader import RaggedLoader
from gile_lightning.data.loading.ragged import RaggedBatch


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
        """Steps of the epoch before the restored position."""
        return next(iter(self.loaders.values())).done

    @property
    def sampler(self) -> "SideBySide":
        """This loader, whose loaders draw their own orders: Lightning tells a sampler the epoch."""
        return self

    def set_epoch(self, epoch: int) -> None:
        """Go to the start of an epoch; a restored position within that epoch is kept."""
        for loader in self.loaders.values():
            loader.set_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        """Return the position of every loader."""
        return {name: loader.state_dict() for name, loader in self.loaders.items()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go to a stored position.

        Raises:
            InputError: with so many processes the languages differ in the rest of their epochs.
        """
        for name, loader in self.loaders.items():
            loader.load_state_dict(state[name])
        done = {name: loader.done for name, loader in self.loaders.items()}
        if len(set(done.values())) > 1:
            raise InputError(
                f"the languages' positions within the epoch differ ({done} steps): go on with the "
                "number of processes and the batch_size that the run had"
            )
