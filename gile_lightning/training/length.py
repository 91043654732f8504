"""How long a corpus is trained on, and in batches of what size."""

import math
from dataclasses import dataclass

import lightning

from gile_lightning.common.errors import InputError, positive

_DOUBLED = 3  # times that batches double at most: sixteen times their size was worse than four


@dataclass(frozen=True)
class TrainingLength:
    """A number of epochs that falls with the square root of the number of training documents.

    A small corpus needs more epochs, as an epoch has few steps; a large one needs fewer, as its
    epochs have many. With N documents it is ``epochs`` * sqrt(``documents`` / N), rounded, from
    ``least`` to ``most``. So ten times the documents are seen about three times as often in all.

    Batches double whenever a corpus has four times as many documents, up to eight times their size.
    The labels of a batch are encoded once, so an epoch is then faster; and unseen labels are ranked
    better than after ever more steps.

    Args:
        epochs: for as many documents as ``documents`` says.
        documents: the size of that corpus.
        least: fewest epochs.
        most: most epochs.
        candidates: the best of the last so many epochs is kept. A small corpus has more epochs than
            these, and few validation documents, which an early one could please by chance. See
            `BestCheckpoint`.
        larger_batches: batches grow beyond ``data.batch_size`` for corpora that are at least four
            times as large as ``documents``, in each process.
    """

    epochs: float = 8
    documents: int = 5_000
    least: int = 3
    most: int = 40
    candidates: int = 8
    larger_batches: bool = True

    def __post_init__(self) -> None:
        positive(
            epochs=self.epochs,
            documents=self.documents,
            least=self.least,
            candidates=self.candidates,
        )
        if self.most < self.least:
            raise InputError(f"length: most is {self.most}, fewer epochs than least ({self.least})")

    def __call__(self, documents: int) -> int:
        """Return the number of epochs for a number of training documents.

        >>> [TrainingLength()(n) for n in (300, 1_000, 5_000, 20_000, 1_000_000)]
        [33, 18, 8, 4, 3]
        """
        wanted = self.epochs * math.sqrt(self.documents / max(1, documents))
        return min(self.most, max(self.least, round(wanted)))

    def batch_factor(self, documents: int) -> int:
        """Return how many times as large as ``data.batch_size`` batches are.

        >>> [TrainingLength().batch_factor(n) for n in (300, 19_999, 20_000, 80_000, 10_000_000)]
        [1, 1, 2, 4, 8]
        """
        times = documents // self.documents
        doubled = min(_DOUBLED, max(0, times.bit_length() - 1) // 2)
        return 1 << doubled if self.larger_batches else 1


def validation_is_due(trainer: lightning.Trainer) -> bool:
    """Return whether validation follows the step that is done.

    A run that goes on from a checkpoint of that step would take it for validated.
    """
    fit = trainer.fit_loop
    data = fit._data_fetcher
    return data is not None and bool(fit.epoch_loop._should_check_val_fx(data))


def all_steps_done(trainer: lightning.Trainer) -> bool:
    """Return whether training has done as many steps as ``max_steps`` allows, if it is set."""
    return 0 < trainer.max_steps <= trainer.global_step
