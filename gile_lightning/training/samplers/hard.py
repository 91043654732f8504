"""The negatives that the model scores highest."""

from dataclasses import dataclass

import torch
from torch import Tensor

from gile_lightning.common.errors import InputError, positive
from gile_lightning.data.loading.flat import send
from gile_lightning.training.samplers.sampler import LabelSample, LabelSampler
from gile_lightning.training.samplers.shared_uniform import SharedUniformLabels


@dataclass(frozen=True)
class HardLabels(LabelSampler):
    """The labels of a document, and the negatives of a pool that the model scores highest.

    The model scores the whole pool. The loss counts the hardest negatives and, optionally, some
    others drawn uniformly (similar to the semi-hard mining of Schroff et al., 2015). As most
    negatives are left out, the model learns probabilities that are too high. How much is not known,
    and is left to the calibration.

    Args:
        pool: draws the labels to choose from.
        hard: the number of negatives per document with the highest current logits.
        random: the number of further negatives per document, drawn from the rest of the pool.
    """

    pool: LabelSampler = SharedUniformLabels()  # noqa: RUF009 (frozen)
    hard: int = 10
    random: int = 0

    def __post_init__(self) -> None:
        positive(hard=self.hard)
        if self.random < 0:
            raise InputError(f"random is {self.random}: give a number of negatives, or 0")
        if getattr(self.pool, "correction", "none") != "none":
            raise InputError(
                "correction of the pool: it is for random samples, and hard negatives are none; "
                "leave it out"
            )

    def __call__(
        self,
        label_ids: Tensor,
        label_counts: Tensor,
        frequencies: Tensor,
        generator: torch.Generator,
        device: torch.device | None = None,
    ) -> LabelSample:
        """Draw the pool; see `LabelSampler`."""
        device = label_ids.device if device is None else device
        return self.pool.sample(label_ids, label_counts, frequencies, generator, device)

    def refine(
        self, sample: LabelSample, logits: Tensor, generator: torch.Generator
    ) -> LabelSample:
        """Set the weights of easy negatives to 0; see `LabelSampler`."""
        sample = self.pool.refine(sample, logits, generator)
        negatives = (sample.weights > 0) & (sample.targets == 0)
        kept = _best(logits, negatives, self.hard)
        if self.random:
            draws = torch.rand(
                logits.shape,
                generator=generator,
                device=generator.device,
                dtype=torch.float,  # 16 bits have ties
            )
            draws = send(draws, logits.device)
            kept |= _best(draws, negatives & ~kept, self.random)
        return sample._replace(weights=sample.weights * (kept | (sample.targets > 0)))


def _best(scores: Tensor, among: Tensor, count: int) -> Tensor:
    """Mark the ``count`` highest scores of each row where ``among`` is true: [B, K]."""
    candidates = scores.masked_fill(~among, -torch.inf)
    best = candidates.topk(min(count, scores.shape[1]), sorted=False).indices
    return torch.zeros_like(among).scatter_(1, best, True) & among
