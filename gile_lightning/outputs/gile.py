"""The generalized input-label embedding."""

from collections.abc import Callable
from typing import Literal

from torch import Tensor, nn

from gile_lightning.errors import positive
from gile_lightning.outputs.layer import OutputLayer


class GILE(OutputLayer):
    """Documents and labels meet in a joint space (paper, Eq. 7 to 14).

    e'_j = σ(e_j U + b_u), h' = σ(h V + b_v), logit_j = (e'_j ⊙ h') w + b. Since
    (e'_j ⊙ h') w = e'_j · (h' ⊙ w), the logits of B documents and K labels are one product of
    [B, d_j] and [d_j, K]; the joint vectors [B, K, d_j] are never made.

    Args:
        document_dim: size d_h of the document vectors.
        label_dim: size d of the label vectors.
        label_count: number of labels seen in training; used by ``matched`` only.
        joint_dim: size d_j of the joint space (paper: 500 for BioASQ), or ``matched`` for the
            size that gives about as many parameters as a linear output layer,
            d_h k / (d_h + d) (paper, Eq. 19).
        activation: makes σ.
    """

    def __init__(
        self,
        document_dim: int,
        label_dim: int,
        label_count: int,
        joint_dim: int | Literal["matched"] = 500,
        activation: Callable[[], nn.Module] = nn.ReLU,
    ) -> None:
        super().__init__()
        matched = max(1, document_dim * label_count // (document_dim + label_dim))
        size = matched if joint_dim == "matched" else joint_dim
        positive(joint_dim=size)
        self.document_projection = nn.Linear(document_dim, size)
        self.label_projection = nn.Linear(label_dim, size)
        self.unit = nn.Linear(size, 1)
        self.activation = activation()

    def project_labels(self, labels: Tensor) -> Tensor:
        """Project label vectors [K, d] to the joint space: e' [K, d_j]."""
        projected: Tensor = self.activation(self.label_projection(labels))
        return projected

    def project_documents(self, documents: Tensor) -> Tensor:
        """Project document vectors [B, d_h] to the joint space: h' [B, d_j]."""
        projected: Tensor = self.activation(self.document_projection(documents))
        return projected

    def score(self, documents: Tensor, projected: Tensor) -> Tensor:
        """Score document vectors [B, d_h] against projected labels [K, d_j]: logits [B, K]."""
        weighted = self.project_documents(documents) * self.unit.weight
        return weighted @ projected.T + self.unit.bias
