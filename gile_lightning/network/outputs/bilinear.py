"""Bilinear output layers: without the unit of GILE."""

from collections.abc import Callable

from torch import Tensor, nn

from gile_lightning.common.errors import positive
from gile_lightning.network.outputs.layer import OutputLayer


class Bilinear(OutputLayer):
    """logit_j = e_j W h, linear in the label and in the document (paper, Eq. 5; Nam et al., 2016).

    All languages of a model share W.

    Args:
        document_dim: size d_h of the document vectors.
        label_dim: size d of the label vectors.
        label_count: unused; labels are vectors.
        matched_dim: unused; there is no joint space.
    """

    called = "bilinear form"
    shared = ("weight",)

    def __init__(
        self, document_dim: int, label_dim: int, label_count: int, matched_dim: int | None = None
    ) -> None:
        super().__init__(document_dim, label_dim)
        self.weight = nn.Linear(label_dim, document_dim, bias=False)

    def project_labels(self, labels: Tensor) -> Tensor:
        """Map label vectors [K, d] into the space of the documents: [K, d_h]."""
        projected: Tensor = self.weight(labels)
        return projected

    def score(self, documents: Tensor, projected: Tensor) -> Tensor:
        """Score document vectors [B, d_h] against projected labels [K, d_h]: logits [B, K]."""
        return documents @ projected.T


class JointBilinear(OutputLayer):
    """logit_j = σ(e_j W_1) · (h W_2): a joint space that is nonlinear for labels alone.

    The form of Yazdani and Henderson (2015), as in the paper's Tables 2 and 5. All languages of a
    model share W_1 and W_2.

    Args:
        document_dim: size d_h of the document vectors.
        label_dim: size d of the label vectors.
        label_count: unused; labels are vectors.
        matched_dim: unused.
        joint_dim: size d_j of the joint space (paper: 100 for BioASQ).
        activation: makes σ.
    """

    called = "joint space"
    shared = ("label_projection", "document_projection")

    def __init__(
        self,
        document_dim: int,
        label_dim: int,
        label_count: int,
        matched_dim: int | None = None,
        joint_dim: int = 100,
        activation: Callable[[], nn.Module] = nn.ReLU,
    ) -> None:
        super().__init__(document_dim, label_dim)
        positive(joint_dim=joint_dim)
        self.label_projection = nn.Linear(label_dim, joint_dim, bias=False)
        self.document_projection = nn.Linear(document_dim, joint_dim, bias=False)
        self.activation = activation()

    def project_labels(self, labels: Tensor) -> Tensor:
        """Project label vectors [K, d] to the joint space: [K, d_j]."""
        projected: Tensor = self.activation(self.label_projection(labels))
        return projected

    def score(self, documents: Tensor, projected: Tensor) -> Tensor:
        """Score document vectors [B, d_h] against projected labels [K, d_j]: logits [B, K]."""
        vectors: Tensor = self.document_projection(documents)
        return vectors @ projected.T
