"""The generalized input-label embedding."""

from collections.abc import Callable
from typing import Literal

from torch import Tensor, nn

from gile_lightning.errors import positive
from gile_lightning.outputs.layer import OutputLayer


def matched_dim(hidden_dim: int, label_dim: int, label_count: int) -> int:
    """Return the size of a joint space with as many parameters as a linear layer (paper, Eq. 19).

    Args:
        hidden_dim: size d_h of the encoder's states, in one direction: the authors' released
            bidirectional models take 100 here too, though their document vectors have 200.
        label_dim: size d of the label vectors.
        label_count: number of labels k, of all languages that share the space.
    """
    return max(1, hidden_dim * label_count // (hidden_dim + label_dim))


_matched = matched_dim  # which an argument hides


class GILE(OutputLayer):
    """Documents and labels meet in a joint space (paper, Eq. 7 to 14).

    e'_j = σ(e_j U + b_u), h' = σ(h V + b_v), logit_j = (e'_j ⊙ h') w + b. Since
    (e'_j ⊙ h') w = e'_j · (h' ⊙ w), the logits of B documents and K labels are one product of
    [B, d_j] and [d_j, K]; the joint vectors [B, K, d_j] are never made.

    The languages of a model share the joint space (U, b_u, V, b_v); each has a unit (w, b) of its
    own.

    Args:
        document_dim: size d_h of the document vectors.
        label_dim: size d of the label vectors.
        label_count: number of labels seen in training.
        matched_dim: what `matched_dim` returns for the whole model; by default for this layer.
        joint_dim: size d_j of the joint space (paper: 500 for BioASQ), or ``matched`` for
            ``matched_dim``, as many parameters as a linear output layer (paper: DW).
        activation: makes σ.
    """

    shared: tuple[str, ...] = ("document_projection", "label_projection")

    def __init__(
        self,
        document_dim: int,
        label_dim: int,
        label_count: int,
        matched_dim: int | None = None,
        joint_dim: int | Literal["matched"] = 500,
        activation: Callable[[], nn.Module] = nn.ReLU,
    ) -> None:
        super().__init__(document_dim, label_dim)
        matched = matched_dim or _matched(document_dim, label_dim, label_count)
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
