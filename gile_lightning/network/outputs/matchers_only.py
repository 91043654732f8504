"""No output layer: the matchers score alone."""

from torch import Tensor

from gile_lightning.network.outputs.layer import OutputLayer


class MatchersOnly(OutputLayer):
    """Logits of zero, to which a network adds the scores of its matchers.

    Args:
        document_dim: unused.
        label_dim: unused.
        label_count: unused.
        matched_dim: unused; there is no joint space.
    """

    def __init__(
        self, document_dim: int, label_dim: int, label_count: int, matched_dim: int | None = None
    ) -> None:
        super().__init__(document_dim, label_dim)

    def project_labels(self, labels: Tensor) -> Tensor:
        """Return vectors without a number: [K, 0]."""
        return labels[:, :0]

    def score(self, documents: Tensor, projected: Tensor) -> Tensor:
        """Return zeros [B, K]."""
        return documents[:, :0] @ projected.T
