"""The metrics of a set of candidate labels as one torchmetrics metric."""

from typing import Literal

import torch
from torch import Tensor

from gile_lightning.data.loading.flat import count_ids, send
from gile_lightning.metrics.propensity import propensity_scored_at
from gile_lightning.metrics.ranking import rank_positives
from gile_lightning.metrics.ranks import Ranks
from gile_lightning.metrics.summed import SummedMetric
from gile_lightning.metrics.table import COVERAGE, COVERED, DOCUMENT_METRICS, NAM16, PSP, Metrics

_WITH_COLUMN = [i for i, metric in enumerate(DOCUMENT_METRICS) if metric.column]


class RankingMetrics(SummedMetric):
    """Means of document metrics, propensity-scored precision, and the coverage of the labels.

    The means are over documents that have a positive among the candidate labels, as in Pappas &
    Henderson (2019, TACL, section 4.1). `DOCUMENT_METRICS` are the metrics. Propensity-scored
    precision at k is a quotient of two means, see `propensity_scored_at`. Sums are kept in float64
    whatever the precision of the model, so the result does not depend on how documents are spread
    over batches and processes. The state has a few sums, and two integers per label.

    Args:
        without_positive: what becomes of a document without a positive. ``"skip"`` leaves it out.
            ``"released"`` counts it as the authors' released code does: ranking loss 0, average
            precision 1, one-error 1; precision, recall and nDCG 0.
        labels: K, the columns of the scores, for label coverage; 0 leaves it out.
        inverse_propensities: [K] float64, for propensity-scored precision; None leaves it out.
        nam16: whether to add the metrics of Nam et al. (2016).
        added: further metrics.
        keep: whether to keep the values of every document, see `documents`.

    Raises:
        ValueError: an argument is none of the above.
    """

    totals: Tensor
    covered: Tensor
    inverse_propensities: Tensor | None

    def __init__(
        self,
        without_positive: Literal["skip", "released"] = "skip",
        labels: int = 0,
        inverse_propensities: Tensor | None = None,
        nam16: bool = False,
        added: Metrics = (),
        keep: bool = False,
    ) -> None:
        super().__init__()
        if without_positive not in ("skip", "released"):
            raise ValueError(
                f"without_positive must be 'skip' or 'released', not {without_positive!r}"
            )
        self.released = without_positive == "released"
        self.labels, self.keep = labels, keep
        self._documents: list[Tensor] = []
        self.register_buffer("inverse_propensities", inverse_propensities, persistent=False)
        # Summed by groups: the rounding of a sum may depend on the columns beside it, and a metric
        # that is added changes no other.
        self.groups = [
            group for group in (DOCUMENT_METRICS, NAM16 if nam16 else (), added) if group
        ]
        self.metrics = [metric for group in self.groups for metric in group]
        self.cutoffs = tuple(PSP) if inverse_propensities is not None else ()
        # The two counts, then the sums of the metrics: one message between processes for all.
        self.sizes = [2, len(self.metrics), len(self.cutoffs), len(self.cutoffs)]
        self.add_state(
            "totals", torch.zeros(sum(self.sizes), dtype=torch.float64), dist_reduce_fx="sum"
        )
        if labels:  # else processes would exchange a tensor without numbers
            # rows: documents that have the label, those of them where it is among the best
            covered = torch.zeros(2, labels, dtype=torch.long)
            self.add_state("covered", covered, dist_reduce_fx="sum")

    def update(
        self, scores: Tensor, label_ids: Tensor, label_counts: Tensor, finite: bool = False
    ) -> None:
        """Add a batch of documents.

        Args:
            scores: [B, K] scores of the candidate labels, higher is better.
            label_ids: [P] columns of the positives, document after document.
            label_counts: [B] number of positives per document.
            finite: whether it is known that no score is NaN; a device is then not waited for.

        Raises:
            ValueError: as in `ranking_metrics`.
        """
        ranks = rank_positives(scores, label_ids, label_counts, finite)
        lacking = ranks.label_counts == 0
        counts = torch.stack([(~lacking).sum(), lacking.sum()])
        sums = [self._sums(group, ranks, lacking) for group in self.groups]
        if self.inverse_propensities is not None:
            weights = self.inverse_propensities
            pairs = [propensity_scored_at(ranks, k, weights) for k in self.cutoffs]
            sums += [torch.stack(values).sum(1) for values in zip(*pairs, strict=True)]
        self.totals = self.totals + torch.cat([counts, *sums])
        if self.labels:
            ids, best = ranks.label_ids, ranks.within(COVERED)
            found = [count_ids(ids, self.labels, chosen) for chosen in (None, best)]
            self.covered = self.covered + torch.stack(found)

    def _sums(self, group: Metrics, ranks: Ranks, lacking: Tensor) -> Tensor:
        values = torch.stack([metric(ranks).double() for metric in group], 1)
        counted = [(self.released and metric.without_positive) or 0 for metric in group]
        stand_in = send(torch.tensor(counted, dtype=values.dtype), values.device)
        values = values.where(~lacking[:, None], stand_in)
        if self.keep and group is DOCUMENT_METRICS:
            count = torch.ones_like(lacking) if self.released else ~lacking
            # column by column: with a list of columns as an index a device would wait
            kept = [*(values[:, i] for i in _WITH_COLUMN), count]
            self._documents.append(torch.stack([column.float() for column in kept], 1))
        return values.sum(0)

    def documents(self) -> dict[str, Tensor]:
        """Return the terms of the means, of the documents of this process in their order.

        Returns:
            By the name of a metric that has a column in the tables: [N, 2] float32, the value of
            each document and 1, or zeros for a document that does not count.
        """
        if not self._documents:
            return {}
        *values, count = torch.cat(self._documents).cpu().unbind(1)
        names = [DOCUMENT_METRICS[i].name for i in _WITH_COLUMN]
        return {n: torch.stack([x, count], 1) for n, x in zip(names, values, strict=True)}

    def reset(self) -> None:
        """Forget all documents."""
        super().reset()
        self._documents = []

    def compute(self) -> dict[str, Tensor]:
        """Return the metrics of all documents so far, in all processes.

        Returns:
            float64 scalars by name: the means of the metrics. With propensities ``psp_at_<k>`` is
            propensity-scored precision, the share of what is attainable. With ``labels``
            ``coverage_at_5`` is the share of the labels occurring in the documents that are among
            the 5 best of a document that has them. All are NaN if there is no document, and the
            shares 0 if none has a positive. ``documents`` is how many the means are of,
            ``skipped`` how many documents had no positive.
        """
        counts, sums, gained, attainable = torch.split(self.totals, self.sizes)
        positive, skipped = counts
        documents = positive + skipped if self.released else positive

        def ratio(part: Tensor, whole: Tensor) -> Tensor:
            return part / whole.where(whole > 0, documents)

        scores = {
            metric.name: ratio(total, positive if metric.without_positive is None else documents)
            for metric, total in zip(self.metrics, sums, strict=True)
        }
        names = [PSP[k] for k in self.cutoffs]
        scores |= zip(names, ratio(gained, attainable), strict=True)
        if self.labels:
            occurring, hit = (self.covered > 0).sum(1).double()
            scores[COVERAGE] = ratio(hit, occurring)
        return {**scores, "documents": documents, "skipped": skipped}
