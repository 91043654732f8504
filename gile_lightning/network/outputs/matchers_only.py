"""No joint space."""

from torch import Tensor

from gile_lightning.network.outputs.layer import OutputLayer


class MatchersOnly(OutputLayer):
    """Logits of zero, to which the matchers of a model add their scores.

    Args:
        document_dim: size of the document vectors, which are not looked at.
        label_dim: size of the label vectors, which are not looked at.
        label_count: unused.
        matched_dim: unused; there is no joint space.
    """

    def __init__(
        self, document_dim: int, label_dim: int, label_count: int, matched_dim: int | None = None
    ) -> None:
        super().__init__(document_dim, label_dim)

    def project_labels(self, labels: Tensor) -> Tensor:
        """Return nothing of the labels: [K, 0]."""
        return labels[:, :0]

    def score(self, documents: Tensor, projected: Tensor) -> Tensor:
        """Return zeros [B, K]."""
        return documents[:, :0] @ projected.T
