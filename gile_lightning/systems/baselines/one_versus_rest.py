"""A linear model of scikit-learn's per label, on bags of words."""

import math
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Literal

import numpy as np
import torch
from scipy.sparse import csr_array, vstack
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn

from gile_lightning.common.errors import InputError
from gile_lightning.data.loading.flat import segment_ids
from gile_lightning.data.loading.ragged import RaggedBatch, Texts
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.systems.baselines.bag_of_words import flat_counts, word_counts
from gile_lightning.systems.baselines.coefficient_table import CoefficientTable
from gile_lightning.systems.baselines.linear_fit import fit_labels
from gile_lightning.systems.baselines.one_pass import OnePass
from gile_lightning.systems.task_module import Extra
from gile_lightning.training.checkpoint import STATE

# dual coordinate descent with LIBLINEAR's own tolerance: as good for rare labels as the primal
# method, in a third of the time, and better than scikit-learn's default in half the time
Logistic = partial(LogisticRegression, solver="liblinear", dual=True, tol=0.1)


class OneVersusRest(OnePass):
    """A binary linear model for each label seen in training, on the words of a document.

    Its decision values are the logits. A regressor's prediction of 0 or 1 is no logit but an
    estimate p of the probability: the logit is 4 (p - 1/2), the tangent at one half, which keeps
    the order of labels where p is below 0 or above 1. Other labels than those seen in training
    cannot be scored.

    Args:
        weighting: of the words of a document: 1 each ("binary"; LogReg-BOW of the paper's
            Table 4), or TF-IDF vectors of length 1 with 1 + ln of the counts ("tfidf").
        top: share of the vocabulary that makes features, the most frequent words (paper: 0.1 for
            LogReg-BOW-10%).
        estimator: makes the model of a label: any linear classifier of scikit-learn's, or a linear
            regressor of targets 0 and 1. By default logistic regression by LIBLINEAR.
        prune: coefficients of a smaller absolute value are dropped (Babbar & Schölkopf, 2017,
            WSDM, section 3.3); 0 keeps all.
        n_jobs: processes that fit labels, of an estimator that fits one at a time.
        kwargs: see `System`.
    """

    def __init__(
        self,
        weighting: Literal["binary", "tfidf"] = "binary",
        top: float = 1.0,
        estimator: Callable[[], BaseEstimator] | None = None,
        prune: float = 0.01,
        n_jobs: int = 1,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if not 0 < top <= 1:
            raise InputError(f"model.top is {top:g}; a share above 0, at most 1")
        if prune < 0:
            raise InputError(f"model.prune is {prune:g}; 0, which keeps all, or more")
        self.weighting = weighting
        self.make_estimator = estimator or Logistic
        self.top = top
        self.prune = prune
        self.n_jobs = n_jobs
        self.tables = nn.ModuleDict()

    def build(self, tasks: dict[str, Task], extra: Extra | None = None) -> None:
        """Make a table of coefficients per task, as many as the checkpoint has."""
        sizes = (extra or {}).get("coefficients", {})
        for name, task in tasks.items():
            vocabulary = len(task.tokenizer.vocabulary) - 1
            self.tables[name] = CoefficientTable(
                vocabulary,
                math.ceil(self.top * vocabulary),
                task.labels.seen,
                self.weighting,
                sizes.get(name, 0),
            ).to(self.device)
        self.set_tasks(tasks)

    def extra_state(self) -> dict[str, Any]:
        """Return the number of coefficients that are not zero."""
        sizes = {name: len(self.table(name).linear.values) for name in self.tables}
        return {"coefficients": sizes}

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Make room for as many coefficients as the checkpoint has."""
        super().on_load_checkpoint(checkpoint)
        self.build(self.tasks, checkpoint[STATE]["extra"])

    def check(self, *args: Any, **kwargs: Any) -> None:
        """Try the estimator on a few documents.

        Raises:
            InputError: it cannot be fitted to sparse features, or is not linear.
        """
        super().check(*args, **kwargs)
        try:
            estimator = self.estimator()
            with warnings.catch_warnings(action="ignore", category=UserWarning):  # no convergence
                estimator.fit(csr_array(np.eye(20)), np.arange(20) % 2)
        except (ValueError, TypeError) as error:
            raise InputError(f"model.estimator: {' '.join(str(error).split())}") from error
        if not hasattr(estimator, "coef_"):
            raise InputError(
                f"model.estimator: {type(estimator).__name__} is not linear; give one that is, "
                "such as sklearn.linear_model.LogisticRegression"
            )

    def estimator(self) -> Any:
        """Make the model of a label; one that draws random numbers is seeded."""
        estimator = self.make_estimator()
        if estimator.get_params().get("random_state", 0) is None:
            estimator.set_params(random_state=self.seed)
        return estimator

    def fit(self, name: str, documents: Iterator[RaggedBatch]) -> None:
        """Fit the models of a task's labels."""
        table, counts, targets = self.table(name), [], []
        seen = self.tasks[name].labels.seen
        for batch in documents:
            counts.append(word_counts(batch.texts, table.vocabulary))
            rows = segment_ids(batch.label_counts)
            targets.append(flat_counts(rows, batch.label_ids, (len(batch.label_counts), seen)))
        words = vstack(counts, format="csr")
        table.choose(words)
        features, labels = table.features(words), vstack(targets, format="csc")
        try:
            fitted = fit_labels(self.estimator(), features, labels, self.prune, self.n_jobs)
        except MemoryError as error:
            raise InputError(
                f"{type(self.estimator()).__name__} does not fit into memory with "
                f"{features.shape[0]:,} documents and {features.shape[1]:,} words: use fewer words "
                "(model.top, data.min_count) or another model.estimator"
            ) from error
        table.linear.set(*fitted)

    def scores_unseen(self, name: str) -> bool:
        """Return False: a label without a training document has no model."""
        return False

    def prepare_labels(self, name: str, labels: LabelSet) -> csr_array:
        """Return the coefficients of the labels seen in training: [F, L]."""
        table = self.table(name)
        # by words, of which a document has few
        return csr_array(table.linear.matrix(len(table.words)).T)

    def score(self, name: str, documents: Texts, prepared: csr_array) -> Tensor:
        """Return the decision values: [B, L]."""
        table = self.table(name)
        features = table.features(word_counts(documents, table.vocabulary))
        values = torch.from_numpy((features @ prepared).toarray()).float()
        return values.to(self.device) + table.linear.intercepts

    def sizes(self, name: str) -> dict[str, int]:
        """Return the number of intercepts; coefficients are counted when they are fitted."""
        return {"intercepts": len(self.table(name).linear.intercepts)}

    def table(self, name: str) -> CoefficientTable:
        """Return the coefficients of a task."""
        table: CoefficientTable = self.tables[name]  # type: ignore[assignment]
        return table
