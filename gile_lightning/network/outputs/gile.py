"""The generalized input-label embedding."""

import math
from collections.abc import Callable
from typing import Literal

from torch import Tensor, nn

from gile_lightning.common.errors import positive
from gile_lightning.network.outputs.layer import OutputLayer
from gile_lightning.network.outputs.skip_connection import SkipConnection


def matched_dim(hidden_dim: int, label_dim: int, label_count: int) -> int:
    """Return the size of a joint space with as many parameters as a linear layer (paper, Eq. 19).

    Args:
        hidden_dim: size d_h of the encoder's states in one direction. The authors' released
            bidirectional models use 100 here too, though their document vectors have 200.
        label_dim: size d of the label vectors.
        label_count: number of labels k, of all languages that share the space.
    """
    return max(1, hidden_dim * label_count // (hidden_dim + label_dim))


def deep_dim(dim: int, inputs: int, layers: int) -> int:
    """Return the size d_j at which deep projections have as many parameters as single layers.

    It solves 2 (layers - 1) d_j² + inputs * d_j = inputs * dim, which leaves out biases and scales.

    Args:
        dim: size of the joint space with single layers.
        inputs: d_h + d, the sizes of document and label vectors.
        layers: of each of the two projections.
    """
    squares = 2 * (layers - 1)
    if not squares:
        return dim
    root = math.sqrt(inputs**2 + 4 * squares * inputs * dim)
    return max(1, int((root - inputs) / (2 * squares)))


_matched = matched_dim  # an argument of the same name hides it


class GILE(OutputLayer):
    """The generalized input-label embedding: a joint space (paper, Eq. 7 to 14).

    e'_j = σ(e_j U + b_u), h' = σ(h V + b_v), logit_j = (e'_j ⊙ h') w + b. Since
    (e'_j ⊙ h') w = e'_j · (h' ⊙ w), the logits of B documents and K labels are one product of
    [B, d_j] and [d_j, K]; the joint vectors [B, K, d_j] are never made.

    All languages of a model share the joint space (U, b_u, V, b_v); each has its own unit (w, b).

    With more than one layer, e'_j and h' pass through further layers with skip connections; see
    `SkipConnection`.

    Args:
        document_dim: size d_h of the document vectors.
        label_dim: size d of the label vectors.
        label_count: number of labels seen in training.
        matched_dim: what `matched_dim` returns for the whole model; by default for this layer.
        joint_dim: size d_j of the joint space (paper: 500 for BioASQ). ``matched`` chooses it for
            as many parameters as a linear output layer (paper: DW), whatever the number of layers.
        activation: makes σ.
        layers: of each projection (paper: 1).
    """

    called = "joint space"
    shared: tuple[str, ...] = (
        "document_projection",
        "document_layers",
        "label_projection",
        "label_layers",
    )

    def __init__(
        self,
        document_dim: int,
        label_dim: int,
        label_count: int,
        matched_dim: int | None = None,
        joint_dim: int | Literal["matched"] = 500,
        activation: Callable[[], nn.Module] = nn.ReLU,
        layers: int = 1,
    ) -> None:
        super().__init__(document_dim, label_dim)
        positive(layers=layers)
        matched = matched_dim or _matched(document_dim, label_dim, label_count)
        matched = deep_dim(matched, document_dim + label_dim, layers)
        size = matched if joint_dim == "matched" else joint_dim
        positive(joint_dim=size)
        self.document_projection = nn.Linear(document_dim, size)
        self.label_projection = nn.Linear(label_dim, size)
        self.unit = nn.Linear(size, 1)
        self.activation = activation()
        further = range(layers - 1)
        self.document_layers = nn.Sequential(*(SkipConnection(size, activation) for _ in further))
        self.label_layers = nn.Sequential(*(SkipConnection(size, activation) for _ in further))

    def project_labels(self, labels: Tensor) -> Tensor:
        """Project label vectors [K, d] to the joint space: e' [K, d_j]."""
        projected = self.activation(self.label_projection(labels))
        deeper: Tensor = self.label_layers(projected)
        return deeper

    def project_documents(self, documents: Tensor) -> Tensor:
        """Project document vectors [B, d_h] to the joint space: h' [B, d_j]."""
        projected = self.activation(self.document_projection(documents))
        deeper: Tensor = self.document_layers(projected)
        return deeper

    def weighted_documents(self, documents: Tensor) -> Tensor:
        """Project document vectors [B, d_h], and weight them by the unit: h' ⊙ w [B, d_j]."""
        return self.project_documents(documents) * self.unit.weight

    def score(self, documents: Tensor, projected: Tensor) -> Tensor:
        """Score document vectors [B, d_h] against projected labels [K, d_j]: logits [B, K]."""
        logits = self.weighted_documents(documents) @ projected.T
        # in place, as a second [B, K] takes time; under autocast the sum has more bits than these
        same = logits.dtype == self.unit.bias.dtype
        return logits.add_(self.unit.bias) if same else logits + self.unit.bias
