"""The contract of a metric that is computed per document."""

from abc import ABC, abstractmethod

from torch import Tensor

from gile_lightning.common.factories import Configured
from gile_lightning.metrics.ranks import Ranks


class DocumentMetric(Configured, ABC):
    """A number per document, from the ranks of its positives. Its mean over documents is reported.

    The mean is over the documents that have a positive among the candidate labels. Each language
    and each set of candidate labels has its own, and several languages are averaged. Because it is
    a mean over documents, the sums over batches and processes are exact. A metric that is no such
    mean, like a quotient of two sums, does not fit here.

    To add one, derive from this class, set ``name`` and ``heading``, define ``__call__``, and name
    the class by its import path in ``model.metrics``. It then is in validation and test: in the
    console, `metrics.json`, `metrics.csv`, the page and W&B, and `early_stopping.monitor` and the
    objectives of a sweep may name it.

    Attributes:
        name: key of the result: ``val/NAME``, ``test.seen.NAME`` and so on. Letters, digits and
            underscores, and no other metric's.
        heading: title of its column, and of its drawing. No other metric's.
        column: whether it has a column in the tables, which show it as a percentage.
        validated: whether it is logged in validation, and may be monitored.
        higher_is_better: false for errors and losses.
        without_positive: what a document without a positive counts where the option
            ``without_positive`` is ``"released"``. None leaves the document out there too.
    """

    name: str
    heading: str
    column: bool = True
    validated: bool = True
    higher_is_better: bool = True
    without_positive: float | None = 0.0

    @abstractmethod
    def __call__(self, ranks: Ranks) -> Tensor:
        """Compute the metric of every document.

        Args:
            ranks: where the positives of B documents stand among the candidate labels.

        Returns:
            [B] floating point, best float64. NaN for a document without a positive, whose value is
            never looked at.
        """
