"""Schedules of the learning rate."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from gile_lightning.common.errors import InputError, positive
from gile_lightning.common.factories import Configured


class Schedule(Configured, ABC):
    """A factor of the learning rate.

    It depends on the place in training alone, so a resumed run has the same factors.
    """

    @abstractmethod
    def __call__(self, epoch: float, last: float) -> float:
        """Return the factor at a place in training.

        Args:
            epoch: finished epochs, including the finished part of the current one.
            last: epochs of the whole training; below 0 if it has no end.
        """

    def check(self, last: float) -> None:
        """Check that the schedule fits a training of ``last`` epochs; below 0 means no end.

        Raises:
            InputError: it does not fit.
        """


@dataclass(frozen=True)
class WarmupDecay(Schedule):
    """A factor of the learning rate that rises linearly from 0 to 1, then falls to ``end``.

    Args:
        warmup: the share of the training in which it rises, from 0 to below 1.
        epochs: the number of epochs after which it is ``end``, and stays so; null means
            ``trainer.max_epochs``, or the epochs of ``trainer.max_steps`` if these end before.
        end: the last factor.
    """

    warmup: float = 0.05
    epochs: float | None = None
    end: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.warmup < 1 or not 0 <= self.end <= 1:
            raise InputError(
                f"schedule: warmup is {self.warmup:g} and end {self.end:g}: shares, from 0 to 1"
            )
        if self.epochs is not None:
            positive(epochs=self.epochs)

    def check(self, last: float) -> None:
        """Refuse a decay without an end."""
        if self.epochs is None and last < 0:
            raise InputError(
                "model.schedule has no end: set --trainer.max_epochs, --trainer.max_steps or "
                "model.schedule.epochs"
            )

    def __call__(self, epoch: float, last: float) -> float:
        """Return the factor at a place in training; see `Schedule`."""
        done = epoch / (last if self.epochs is None else self.epochs)
        if done < self.warmup:
            return done / self.warmup
        return 1 - (1 - self.end) * min(1.0, (done - self.warmup) / (1 - self.warmup))
