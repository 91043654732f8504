"""The linear output layer."""

import torch
from torch import Tensor, nn

from gile_lightning.data.loading.flat import send
from gile_lightning.network.label_groups import LabelGroups
from gile_lightning.network.outputs.layer import OutputLayer


class Linear(OutputLayer):
    """A weight vector and a bias per label seen in training (paper, Eq. 3).

    Its parameters grow with the label set, and it cannot score other labels.

    Args:
        document_dim: size d_h of the document vectors.
        label_dim: unused; labels are ids.
        label_count: number of labels seen in training.
        matched_dim: unused; there is no joint space.
    """

    called = "linear layer"
    scores_unseen = False

    def __init__(
        self, document_dim: int, label_dim: int, label_count: int, matched_dim: int | None = None
    ) -> None:
        super().__init__(document_dim, label_dim)
        self.linear = nn.Linear(document_dim, label_count)

    def select(self, state: dict[str, Tensor], ids: Tensor) -> dict[str, Tensor]:
        """Return the stored weights and biases of the labels ``ids``."""
        return {key: value[ids] for key, value in state.items()}

    @classmethod
    def regroup(cls, state: dict[str, Tensor], groups: LabelGroups) -> dict[str, Tensor]:
        """Return the stored weights and biases after label changes."""
        return {
            key: groups.bias(value) if key == "linear.bias" else groups.mean(value)
            for key, value in state.items()
        }

    def project_labels(self, labels: Tensor) -> Tensor:
        """Return weights and bias [K, d_h + 1] of the label ids [K]."""
        labels = send(labels, self.linear.weight.device)
        biases = self.linear.bias.index_select(0, labels)
        return torch.cat([self.linear.weight[labels], biases.unsqueeze(1)], 1)

    def score(self, documents: Tensor, projected: Tensor) -> Tensor:
        """Score document vectors [B, d_h] against projected labels [K, d_h + 1]: logits [B, K]."""
        return documents @ projected[:, :-1].T + projected[:, -1]
