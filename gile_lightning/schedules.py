"""How the learning rate changes while a model is trained."""

from dataclasses import dataclass

from gile_lightning.errors import InputError, positive


@dataclass(frozen=True)
class WarmupDecay:
    """A factor of the learning rate that rises linearly from 0 to 1, then falls to ``end``.

    It depends on the place in training alone, so a resumed run goes on as it would have.

    Args:
        warmup: epochs, or a part of one, in which it rises.
        epochs: the epoch at whose end it is at ``end``, where it stays; null for the last one
            (``trainer.max_epochs``).
        end: the last factor.
    """

    warmup: float = 0.1
    epochs: float | None = None
    end: float = 0.0

    def __post_init__(self) -> None:
        if self.warmup < 0 or not 0 <= self.end <= 1:
            raise InputError("schedule: warmup is 0 or more, end from 0 to 1")
        if self.epochs is not None:
            positive(epochs=self.epochs)
            self.check(self.epochs)

    def check(self, last: float) -> None:
        """Refuse a training of so many epochs, below 0 without end, that this does not fit."""
        if self.epochs is None and last < 0:
            raise InputError(
                "model.schedule has no end: set --trainer.max_epochs, or model.schedule.epochs"
            )
        end = last if self.epochs is None else self.epochs
        if self.warmup > end:
            raise InputError(
                f"schedule: warmup is {self.warmup:g} epochs, more than the {end:g} of the training"
            )

    def __call__(self, epoch: float, last: float) -> float:
        """Return the factor at a place in training.

        Args:
            epoch: epochs that are done, with the part of the current one.
            last: epochs of the whole training.
        """
        if epoch < self.warmup:
            return epoch / self.warmup
        end = last if self.epochs is None else self.epochs
        done = min(1.0, (epoch - self.warmup) / max(end - self.warmup, 1e-9))
        return 1 - (1 - self.end) * done
