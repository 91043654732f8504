"""The contract of label samplers."""

from abc import ABC, abstractmethod
from inspect import signature
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from gile_lightning.common.factories import Configured
from gile_lightning.data.loading.flat import segment_ids, send


class LabelSample(NamedTuple):
    """The labels that one training step scores.

    Shapes: ``labels`` [K] distinct label ids; ``targets`` [B, K], 1 where the document has the
    label; ``weights`` [B, K], how often a pair counts in the document's loss (0: not at all);
    ``offsets`` [K] or None, subtracted from the logits in training.
    """

    labels: Tensor
    targets: Tensor
    weights: Tensor
    offsets: Tensor | None = None


class LabelSampler(Configured, ABC):
    """Chooses the labels that a training step scores among those seen in training.

    It works on the host, where the number of labels is known at once. If its call has a further
    argument ``device``, that is where it makes targets and weights. Else they are sent there.
    """

    _takes_device: ClassVar[bool]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._takes_device = "device" in signature(cls.__call__).parameters

    def sample(
        self,
        label_ids: Tensor,
        label_counts: Tensor,
        frequencies: Tensor,
        generator: torch.Generator,
        device: torch.device,
    ) -> LabelSample:
        """Draw a sample whose targets, weights and offsets are on a device; see the call.

        Raises:
            ValueError: a label is none of those seen in training.
        """
        if len(label_ids) and int(label_ids.max()) >= len(frequencies):
            raise ValueError(
                f"a training document has the label {int(label_ids.max())}, but only the first "
                f"{len(frequencies)} labels of the task are seen in training"
            )
        given = label_ids, label_counts, frequencies, generator
        if self._takes_device:
            return self(*given, device)  # type: ignore[call-arg]
        labels, targets, weights, offsets = self(*given)
        offsets = None if offsets is None else send(offsets, device)
        return LabelSample(labels, send(targets, device), send(weights, device), offsets)

    @abstractmethod
    def __call__(
        self,
        label_ids: Tensor,
        label_counts: Tensor,
        frequencies: Tensor,
        generator: torch.Generator,
    ) -> LabelSample:
        """Draw a sample.

        Args:
            label_ids: the documents' labels [P], flat.
            label_counts: labels per document [B].
            frequencies: training documents of each label seen in training, at least 1. Their
                number is the number of labels that can be drawn.
            generator: source of randomness, on the device of ``label_ids``.
        """

    def negative_rates(self, frequencies: Tensor, labels_per_document: float) -> Tensor | None:
        """Return how often a negative pair counts in a step, relative to `AllLabels`: [K].

        Where binary cross-entropy counts negatives at a rate r and positives always, the logits
        that it learns are too high by -log r (King and Zeng, 2001). By default the rates are not
        known, and probabilities are left to the calibration.

        Args:
            frequencies: training documents of each label seen in training.
            labels_per_document: their mean number.
        """
        return None

    def refine(
        self, sample: LabelSample, logits: Tensor, generator: torch.Generator
    ) -> LabelSample:
        """Change the weights of a sample after its pairs are scored; by default nothing.

        Args:
            sample: what the call returned.
            logits: the current scores [B, K], without a gradient.
            generator: the source of randomness of the call.

        Returns:
            A sample of the same labels and targets.
        """
        return sample


def scatter_pairs(
    rows: Tensor,
    columns: Tensor,
    documents: int,
    labels: int,
    device: torch.device | None = None,
) -> Tensor:
    """Count pairs (row, column) in a float matrix [documents, labels], on a device if given."""
    cells = send(rows * labels + columns, rows.device if device is None else device)
    counts = torch.zeros(documents * labels, device=cells.device)
    counts.scatter_add_(0, cells, torch.ones_like(cells, dtype=counts.dtype))
    return counts.view(documents, labels)


def positives(label_ids: Tensor, label_counts: Tensor) -> tuple[Tensor, Tensor]:
    """Return the documents and the label ids of all pairs of a document and its label: [P] each."""
    return segment_ids(label_counts), label_ids
