"""Documents and label texts as TF-IDF vectors, compared by their cosine."""

from collections.abc import Iterator
from typing import Any

import torch
from scipy.sparse import csr_array
from torch import Tensor, nn

from gile_lightning.common.errors import InputError
from gile_lightning.data.loading.ragged import RaggedBatch, Texts
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.systems.baselines.bag_of_words import TfIdf, label_counts, word_counts
from gile_lightning.systems.baselines.one_pass import OnePass
from gile_lightning.systems.task_module import Extra


class TfidfCosine(OnePass):
    """Scores a label by the cosine of the TF-IDF vectors of document and label text.

    Only the words' document frequencies come from the training documents, so that all labels are
    scored alike, seen in training or not. What a label's text is, data.label_text says. The logit
    is that of the cosine, which `predict` gives as the score; labels that have no word in common
    with a document have the logit -∞, and are all ranked last together.

    Args:
        sublinear_tf: a word that occurs c times in a text counts 1 + ln c times.
        name_weight: how many times the words of a label's name are counted on top of its text.
        kwargs: see `System`.
    """

    calibratable = False  # its scores are cosines

    def __init__(self, sublinear_tf: bool = True, name_weight: int = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if name_weight < 0:
            raise InputError(f"model.name_weight is {name_weight}; 0, for not at all, or more")
        self.sublinear_tf = sublinear_tf
        self.name_weight = name_weight
        self.weightings = nn.ModuleDict()

    def build(self, tasks: dict[str, Task], extra: Extra | None = None) -> None:
        """Make the weighting of each task's words."""
        for name, task in tasks.items():
            words = len(task.tokenizer.vocabulary) - 1
            self.weightings[name] = TfIdf(words, self.sublinear_tf).to(self.device)
        self.set_tasks(tasks)

    def fit(self, name: str, documents: Iterator[RaggedBatch]) -> None:
        """Count the documents that have each word."""
        words = len(self.tasks[name].tokenizer.vocabulary) - 1
        self.weighting(name).fit(word_counts(batch.texts, words) for batch in documents)

    def scores_unseen(self, name: str) -> bool:
        """Return True: a label is its text."""
        return True

    def prepare_labels(self, name: str, labels: LabelSet) -> csr_array:
        """Return the vectors of the labels' texts: [V - 1, K]."""
        counts = label_counts(self.tasks[name].tokenizer, labels, self.name_weight)
        return csr_array(self.weighting(name)(counts).T)

    def score(self, name: str, documents: Texts, prepared: csr_array) -> Tensor:
        """Return the logits of the cosines: [B, K]."""
        counts = word_counts(documents, prepared.shape[0])
        cosines = (self.weighting(name)(counts) @ prepared).toarray()
        # a cosine of 1 may be a little above by rounding
        return torch.from_numpy(cosines).clamp(0, 1).logit().float().to(self.device)

    def sizes(self, name: str) -> dict[str, int]:
        """Return how many words have a weight."""
        return {"idf": self.weighting(name).idf.numel()}

    def weighting(self, name: str) -> TfIdf:
        """Return the weighting of a task's words."""
        weighting: TfIdf = self.weightings[name]  # type: ignore[assignment]
        return weighting
