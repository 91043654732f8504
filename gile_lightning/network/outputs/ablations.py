"""GILE with one of its two projections left out (paper, Tables 2 and 5)."""

from collections.abc import Callable

from torch import Tensor, nn

from gile_lightning.network.outputs.gile import GILE


class GILEOnlyLabel(GILE):
    """GILE that projects the labels alone, to where the documents are: h' = h, so d_j = d_h.

    Args:
        document_dim: size d_h of the document vectors.
        label_dim: size d of the label vectors.
        label_count: unused; labels are vectors.
        matched_dim: unused; d_j is given.
        activation: makes σ.
        layers: of the projection.
    """

    shared = ("label_projection", "label_layers")

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
            joint_dim=document_dim,
            activation=activation,
            layers=layers,
        )
        del self.document_projection, self.document_layers

    def project_documents(self, documents: Tensor) -> Tensor:
        """Return the document vectors [B, d_h] as they are."""
        return documents


class GILEOnlyInput(GILE):
    """GILE that projects the documents alone, to where the labels are: e' = e, so d_j = d.

    Args:
        document_dim: size d_h of the document vectors.
        label_dim: size d of the label vectors.
        label_count: unused; labels are vectors.
        matched_dim: unused; d_j is given.
        activation: makes σ.
        layers: of the projection.
    """

    shared = ("document_projection", "document_layers")

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
            joint_dim=label_dim,
            activation=activation,
            layers=layers,
        )
        del self.label_projection, self.label_layers

    def project_labels(self, labels: Tensor) -> Tensor:
        """Return the label vectors [K, d] as they are."""
        return labels
