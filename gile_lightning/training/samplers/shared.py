"""One draw of labels for all documents of a batch, and its corrections."""

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Literal, get_args

import torch
from torch import Tensor

from gile_lightning.common.errors import InputError, positive
from gile_lightning.data.loading.flat import distinct, send
from gile_lightning.training.samplers.sampler import (
    LabelSample,
    LabelSampler,
    positives,
    scatter_pairs,
)

Correction = Literal["none", "importance", "log_q"]


@dataclass(frozen=True)
class SharedLabels(LabelSampler):
    """The labels of all documents of a batch, and one draw of M labels for all of them.

    Label k is drawn with the probability π_k. Without a ``correction`` every document is scored
    once against every label of the step. With one, the negatives of a document are the drawn labels
    that it lacks. A label that is there only because other documents have it gets the weight 0, as
    its probability is not π_k.

    ``importance`` makes the binary cross-entropy an estimate of the one over all K labels (Horvitz
    and Thompson, 1952; Bengio and Senécal, 2008). A document's own labels P have the weight 1, as
    they are always scored. Its negatives have weights proportional to 1 / π_k that sum to K - |P|,
    so that all weights sum to K, by which the loss is divided. The estimate is exact in expectation
    if all π_k are equal and a negative is drawn; otherwise its error is of the order of 1 / M, as
    the normalised mean is a quotient of two sums. In a softmax the weights correct the sum over
    labels (the importance sampling of Bengio and Senécal).

    ``log_q`` subtracts log π_k from all logits of the step. In a softmax this is the log-Q
    correction of sampled softmax (Jean et al., 2015; Yi et al., 2019). In binary cross-entropy
    negatives are scored with the probability π_k and positives always, which multiplies the odds
    of a label by 1 / π_k. So the loss is least where the uncorrected logits are the true ones (King
    and Zeng, 2001). It estimates no loss over all labels, but its weights of 1 have less variance.

    Args:
        rate: M as a share of the labels seen in training, in (0, 1].
        correction: ``none``, ``importance`` or ``log_q``.
        most: the largest M, however many labels there are; None for any.
    """

    rate: float = 0.1
    correction: Correction = "none"
    most: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_rate(self.rate)
        if self.most is not None:
            positive(most=self.most)
        if self.correction not in get_args(Correction):
            raise InputError(
                f"correction is {self.correction!r}: give one of {', '.join(get_args(Correction))}"
            )

    @abstractmethod
    def draw(
        self, count: int, frequencies: Tensor, generator: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        """Draw distinct labels.

        Args:
            count: how many, M.
            frequencies: training documents of each label [K].
            generator: source of randomness.

        Returns:
            Label ids [M], and the probability π [K] with which each label is among them.
        """

    def __call__(
        self,
        label_ids: Tensor,
        label_counts: Tensor,
        frequencies: Tensor,
        generator: torch.Generator,
        device: torch.device | None = None,
    ) -> LabelSample:
        """Draw labels for the batch; see `LabelSampler`."""
        rows, columns = positives(label_ids, label_counts)
        total = len(frequencies)
        drawn, probabilities = self.draw(self._count(total), frequencies, generator)
        labels, position = distinct(torch.cat([columns, drawn]), total)
        targets = scatter_pairs(rows, position[: len(rows)], len(label_counts), len(labels), device)
        if self.correction == "none":
            return LabelSample(labels, targets, torch.ones_like(targets))
        negatives = torch.zeros_like(targets).index_fill_(
            1, send(position[len(rows) :], targets.device), 1
        )
        negatives *= 1 - targets
        likely = send(probabilities[labels].to(targets.dtype), targets.device)
        if self.correction == "log_q":
            return LabelSample(labels, targets, targets + negatives, likely.log())
        weights = negatives / likely
        # no weight is below 1
        weights *= (
            (total - send(label_counts, weights.device)) / weights.sum(1).clamp(min=1)
        ).unsqueeze(1)
        return LabelSample(labels, targets, targets + weights)

    def negative_rates(self, frequencies: Tensor, labels_per_document: float) -> Tensor:
        """Return π_k without a correction, else ones; see `LabelSampler`.

        A label that other documents of the batch have counts more often. This depends on the batch
        size and the frequency, and is left to the calibration.
        """
        if self.correction != "none" or not len(frequencies):
            return torch.ones(len(frequencies))
        return self.draw(self._count(len(frequencies)), frequencies, torch.Generator())[1]

    def _count(self, labels: int) -> int:
        count = max(1, round(self.rate * labels))
        return count if self.most is None else min(count, self.most)


def check_rate(rate: float | None) -> None:
    """Raise `InputError` unless the sampling rate is in (0, 1]."""
    if rate is None or not 0 < rate <= 1:
        raise InputError(f"rate is {rate}: a label sampling rate is above 0 and at most 1")
