"""The ranking metrics as one torchmetrics metric: means over documents, batches and processes."""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from gile_lightning.metrics.nam16 import Nam16Scores, of_ranks
from gile_lightning.metrics.ranking import rank_positives
from gile_lightning.metrics.ranks import RankingScores, Ranks
from gile_lightning.metrics.summed import SummedMetric

COVERAGE = 5  # a label is covered that is rightly among so many best ones of some document


class RankingMetrics(SummedMetric):
    """Ranking metrics over documents: means per document, and the coverage of the labels.

    The means are over documents that have a positive among the candidate labels, as in Pappas &
    Henderson (2019, TACL, section 4.1); `ranking_metrics` defines ranking loss, average precision
    and one-error of one document, `Ranks` precision, recall and nDCG at k. Propensity-scored
    precision at k is a quotient of two means, see `Ranks.propensity_scored_at`. Sums are kept in
    float64 whatever the precision of the model, so the result does not depend on how documents are
    spread over batches and processes. The state has a few sums, and two integers per label.

    Args:
        cutoffs: The values of k, distinct and at least 1.
        without_positive: What becomes of a document without a positive. ``"skip"`` leaves it out.
            ``"released"`` counts it as the authors' released code does: ranking loss 0, average
            precision 1, one-error 1; precision, recall and nDCG 0.
        labels: K, the columns of the scores, for label coverage; 0 leaves it out.
        inverse_propensities: [K] float64, for propensity-scored precision; None leaves it out.
        nam16: Whether to add the metrics of `nam16_metrics`, always without the documents that
            have no positive.

    Raises:
        ValueError: An argument is none of the above.
    """

    totals: Tensor
    covered: Tensor
    inverse_propensities: Tensor | None

    def __init__(
        self,
        cutoffs: Sequence[int] = (1, 3, 5),
        without_positive: Literal["skip", "released"] = "skip",
        labels: int = 0,
        inverse_propensities: Tensor | None = None,
        nam16: bool = False,
    ) -> None:
        super().__init__()
        if any(k < 1 for k in cutoffs) or len(set(cutoffs)) != len(cutoffs):
            raise ValueError(f"cutoffs must be distinct numbers of at least 1, not {list(cutoffs)}")
        if without_positive not in ("skip", "released"):
            raise ValueError(
                f"without_positive must be 'skip' or 'released', not {without_positive!r}"
            )
        self.cutoffs = tuple(cutoffs)
        self.without_positive = without_positive
        self.labels = labels
        self.nam16 = nam16
        self.register_buffer("inverse_propensities", inverse_propensities, persistent=False)
        kinds = ("precision", "recall", "ndcg")
        means = [*RankingScores._fields, *(f"{x}_at_{k}" for x in kinds for k in self.cutoffs)]
        nam16_means = Nam16Scores._fields if nam16 else ()
        quotients = self.cutoffs if inverse_propensities is not None else ()
        # The two counts, then the sums of the metrics: one message between processes for all.
        self.parts = [2, len(means), len(nam16_means), len(quotients), len(quotients)]
        self.names = (*means, *nam16_means, *(f"psp_at_{k}" for k in quotients))
        self.add_state(
            "totals", torch.zeros(sum(self.parts), dtype=torch.float64), dist_reduce_fx="sum"
        )
        # rows: documents that have the label, those of them where it is among the best
        self.add_state("covered", torch.zeros(2, labels, dtype=torch.long), dist_reduce_fx="sum")

    def update(self, scores: Tensor, label_ids: Tensor, label_counts: Tensor) -> None:
        """Add a batch of documents.

        Args:
            scores: [B, K] scores of the candidate labels, higher is better.
            label_ids: [P] columns of the positives, document after document.
            label_counts: [B] number of positives per document.

        Raises:
            ValueError: As in `ranking_metrics`.
        """
        ranks = rank_positives(scores, label_ids, label_counts)
        lacking = ranks.label_counts == 0
        means = [*ranks.metrics(), *self._at_cutoffs(ranks)]
        stand_in = torch.zeros(len(means), dtype=torch.float64, device=lacking.device)
        if self.without_positive == "released":
            stand_in[1:3] = 1  # average precision and one-error
        # NaN without a positive
        sums = [torch.stack(means, 1).where(~lacking[:, None], stand_in).sum(0)]
        if self.nam16:
            sums.append(torch.stack(of_ranks(ranks), 1).nansum(0))
        if self.inverse_propensities is not None:
            pairs = [ranks.propensity_scored_at(k, self.inverse_propensities) for k in self.cutoffs]
            sums += [torch.stack(part).sum(1) for part in zip(*pairs, strict=True)]
        counts = torch.stack([(~lacking).sum(), lacking.sum()])
        self.totals = self.totals + torch.cat([counts, *sums])
        if self.labels:
            ids = ranks.label_ids, ranks.label_ids[ranks.within(COVERAGE)]
            self.covered = self.covered + torch.stack(
                [part.bincount(minlength=self.labels) for part in ids]
            )

    def _at_cutoffs(self, ranks: Ranks) -> list[Tensor]:
        kinds = (ranks.precision_at, ranks.recall_at, ranks.ndcg_at)
        return [kind(k) for kind in kinds for k in self.cutoffs]

    def compute(self) -> dict[str, Tensor]:
        """Return the metrics of all documents so far, in all processes.

        Returns:
            float64 scalars: ``ranking_loss``, ``average_precision``, ``one_error`` and, for each k,
            ``precision_at_<k>``, ``recall_at_<k>`` and ``ndcg_at_<k>`` are means, fractions in
            [0, 1]; with ``nam16`` three more means, ``nam16_ranking_loss`` and its like. With
            propensities ``psp_at_<k>`` is propensity-scored precision, the share of what is
            attainable. With ``labels`` ``coverage_at_5`` is the share of the labels occurring in
            the documents that are among the 5 best of a document that has them. All are NaN if
            there is no document, and the shares 0 if none has a positive. ``documents`` is how many
            the means are of, ``skipped`` how many documents had no positive.
        """
        counts, means, nam16, gained, attainable = torch.split(self.totals, self.parts)
        positive, skipped = counts
        documents = positive + skipped if self.without_positive == "released" else positive

        def share(part: Tensor, whole: Tensor) -> Tensor:
            return part / whole.where(whole > 0, documents)

        values = [*means / documents, *share(nam16, positive), *share(gained, attainable)]
        scores = dict(zip(self.names, values, strict=True))
        if self.labels:
            occurring, hit = (self.covered > 0).sum(1).double()
            scores[f"coverage_at_{COVERAGE}"] = share(hit, occurring)
        return {**scores, "documents": documents, "skipped": skipped}
