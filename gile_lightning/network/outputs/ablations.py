"""GILE without one of its two projections (paper, Tables 2 and 5)."""

from collections.abc import Callable
from typing import ClassVar

from torch import Tensor, nn

from gile_lightning.network.outputs.gile import GILE


class OneProjection(GILE):
    """Base of GILE without one projection: the joint space is that of the other vectors.

    Args:
        document_dim: size d_h of the document vectors.
        label_dim: size d of the label vectors.
        label_count: unused; labels are vectors.
        matched_dim: unused; d_j is d_h or d.
        activation: makes σ.
        layers: of the projection.
    """

    lacks: ClassVar[str]  # the side without a projection: document or label

    def __init__(
        self,
        document_dim: int,
        label_dim: int,
        label_count: int,
        matched_dim: int | None = None,
        activation: Callable[[], nn.Module] = nn.ReLU,
        layers: int = 1,
    ) -> None:
        super().__init__(
            document_dim,
            label_dim,
            label_count,
            joint_dim={"document": document_dim, "label": label_dim}[self.lacks],
            activation=activation,
            layers=layers,
        )
        for name in (f"{self.lacks}_projection", f"{self.lacks}_layers"):
            delattr(self, name)


class GILEOnlyLabel(OneProjection):
    """GILE that projects labels alone, into the space of the documents: h' = h, so d_j = d_h."""

    shared = ("label_projection", "label_layers")
    lacks = "document"

    def project_documents(self, documents: Tensor) -> Tensor:
        """Return the document vectors [B, d_h] as they are."""
        return documents


class GILEOnlyInput(OneProjection):
    """GILE that projects documents alone, into the space of the labels: e' = e, so d_j = d."""

    shared = ("document_projection", "document_layers")
    lacks = "label"

    def project_labels(self, labels: Tensor) -> Tensor:
        """Return the label vectors [K, d] as they are."""
        return labels
