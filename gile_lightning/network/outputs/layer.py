"""The contract of output layers."""

from abc import ABC, abstractmethod

from torch import Tensor, nn

from gile_lightning.common.errors import InputError
from gile_lightning.common.factories import Part
from gile_lightning.network.label_groups import LabelGroups


class OutputLayer(Part, nn.Module, ABC):
    """Scores document vectors against labels.

    A subclass is made from four sizes, in this order:

    - ``document_dim``: the size of the document vectors,
    - ``label_dim``: the size of the label vectors,
    - ``label_count``: the number of labels seen in training,
    - ``matched_dim``: the size of a joint space with about as many parameters as linear layers
      over the labels of all languages (paper, Eq. 19).

    Attributes:
        scores_unseen: whether labels come as vectors [K, label_dim] of their texts, so that any
            label can be scored. Otherwise they come as ids [K] of labels seen in training.
        called: the part in explanations; its class by default.
        shared: the names of the modules that all languages of a model have in common.
    """

    scores_unseen: bool = True
    called: str = ""
    shared: tuple[str, ...] = ()

    def __init__(self, document_dim: int, label_dim: int) -> None:
        super().__init__()
        self.document_dim = document_dim
        self.label_dim = label_dim

    def share_with(self, other: "OutputLayer") -> None:
        """Hold the same modules as another language's layer."""
        for name in self.shared:
            setattr(self, name, getattr(other, name))

    def select(self, state: dict[str, Tensor], ids: Tensor) -> dict[str, Tensor]:
        """Return the stored state of another layer as that of one for other labels.

        Layers that take label ids have weights of single labels, and override it.

        Args:
            state: parameters and buffers; their names may have a prefix.
            ids: the ids in the other layer of these K labels, all of which it has.

        Raises:
            InputError: the layer takes label ids and does not override it.
        """
        if not self.scores_unseen:
            raise _without("select", type(self))
        return state

    @classmethod
    def regroup(cls, state: dict[str, Tensor], groups: LabelGroups) -> dict[str, Tensor]:
        """Return a stored state after label changes; for layers that take label ids, as `select`.

        Args:
            state: parameters and buffers by name.
            groups: what has become of the labels.

        Raises:
            InputError: the layer takes label ids and does not override it.
        """
        if not cls.scores_unseen:
            raise _without("regroup", cls)
        return state

    @abstractmethod
    def project_labels(self, labels: Tensor) -> Tensor:
        """Compute the part of the scores that depends on labels alone, in rows: [K, ...]."""

    @abstractmethod
    def score(self, documents: Tensor, projected: Tensor) -> Tensor:
        """Score document vectors [B, d_h] against projected labels: logits [B, K]."""

    def forward(self, documents: Tensor, labels: Tensor) -> Tensor:
        """Score document vectors [B, d_h] against labels: logits [B, K].

        Raises:
            ValueError: the vectors have other sizes than those the layer was made for.
        """
        sizes = [("document", documents, self.document_dim, "encoder")]
        if self.scores_unseen:
            sizes.append(("label", labels, self.label_dim, "label_encoder"))
        for what, vectors, size, part in sizes:
            if vectors.shape[1] != size:
                raise ValueError(
                    f"the {what} vectors have {vectors.shape[1]} dimensions, but "
                    f"{type(self).__name__} was made for {size}: output_dim of model.{part} must "
                    "be the size of what it returns"
                )
        return self.score(documents, self.project_labels(labels))


def _without(method: str, kind: type[OutputLayer]) -> InputError:
    return InputError(
        f"the output layer {kind.__name__} knows its labels by number, and has no {method}() that "
        "says which of its weights belong to which label (docs/extending.md)"
    )
