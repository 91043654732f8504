"""The contract of output layers."""

from abc import ABC, abstractmethod

from torch import Tensor, nn


class OutputLayer(nn.Module, ABC):
    """Scores labels for documents.

    Made from (document_dim, label_dim, label_count): the sizes of the document and label vectors
    and the number of labels seen in training.

    Attributes:
        scores_unseen: whether labels are given as vectors [K, label_dim] of their descriptions,
            so that any label can be scored. If not, they are given as ids [K] of labels seen in
            training.
    """

    scores_unseen: bool = True

    @abstractmethod
    def project_labels(self, labels: Tensor) -> Tensor:
        """Compute what depends on the labels alone, once for any number of documents."""

    @abstractmethod
    def score(self, documents: Tensor, projected: Tensor) -> Tensor:
        """Score document vectors [B, d_h] against projected labels: logits [B, K]."""

    def forward(self, documents: Tensor, labels: Tensor) -> Tensor:
        """Score document vectors [B, d_h] against labels: logits [B, K]."""
        return self.score(documents, self.project_labels(labels))
