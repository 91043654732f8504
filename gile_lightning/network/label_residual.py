"""A residual for every label seen in training."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from gile_lightning.common.errors import InputError
from gile_lightning.common.factories import Part
from gile_lightning.network.label_groups import LabelGroups

NOT_SEEN = -1  # the id of a label without a residual


class LabelResidual(Part, nn.Module):
    """A learned vector, bias and matcher weights for every label seen in training.

    With a document vector h of d_h numbers, whose mean square is about 1, it adds to the logit of
    label j

        r_j · h / sqrt(d_h) + b_j

    and the score s_c of a matcher counts 1 + w_jc times. r_j, b_j and w_j belong to the label
    alone. Before training r_j and w_j are zero, and b_j is the log of the label's frequency
    relative to the mean frequency. Tasks do not share residuals.

    A model with residuals soon neglects the texts of labels, and scores unseen labels badly. So
    each training step leaves out the residuals of a random share of the labels, and scores these
    labels as if they were unseen.

    Where training goes on with documents of which none has a label, its residual would only learn
    to lower the score. It rests instead: every step leaves it out, so it stays as it is.

    Its parameters grow with the label set.

    Args:
        document_dim: size d_h of the document vectors.
        frequencies: training documents of each seen label.
        matchers: the number of scores s_c: of matchers, and of a `Ridge` if there is one.
        dropout: the share of labels whose residual a training step leaves out.

    Attributes:
        resting: which residuals [L] all training steps leave out; on the CPU, as labels are drawn.
    """

    def __init__(
        self,
        document_dim: int,
        frequencies: Sequence[int],
        matchers: int = 0,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        if not 0 <= dropout < 1:
            raise InputError(f"dropout is {dropout:g}: a share of the labels, from 0 to below 1")
        self.dropout = dropout
        self.document_dim = document_dim
        labels = len(frequencies)
        self.vectors = nn.Parameter(torch.zeros(labels, document_dim))
        # without matchers there is no gradient, and DDP would wait for one
        weights = torch.zeros(labels, matchers)
        self.matcher_weights = nn.Parameter(weights, requires_grad=matchers > 0)
        counts = torch.tensor(frequencies, dtype=torch.get_default_dtype()).clamp(min=1)
        self.biases = nn.Parameter((counts / counts.mean()).log())
        self.resting = torch.zeros(labels, dtype=torch.bool)  # no buffer: ids are of the host

    def __len__(self) -> int:
        return len(self.biases)

    def drop(self, ids: Tensor, generator: torch.Generator) -> Tensor:
        """Replace a random share of the ids [K], and those that rest, by `NOT_SEEN`."""
        dtype = torch.float  # training in 16 bits has another default type
        draws = torch.rand(len(ids), generator=generator, device=ids.device, dtype=dtype)
        return ids.masked_fill((draws < self.dropout) | self.resting[ids], NOT_SEEN)

    def forward(self, documents: Tensor, ids: Tensor) -> Tensor:
        """Compute the residuals [B, K], which are added to the logits.

        Args:
            documents: vectors [B, d_h].
            ids: of K labels that have a residual.
        """
        products = documents @ self.vectors[ids].T / math.sqrt(self.document_dim)
        # in float32, even if the products are bfloat16
        return products + self.biases.index_select(0, ids)

    def factors(self, ids: Tensor) -> Tensor:
        """Return how much the scores of matchers count for labels: [matchers, K].

        Args:
            ids: of K labels; the factors are 1 for `NOT_SEEN`.
        """
        none = self.matcher_weights.new_zeros(1, self.matcher_weights.shape[1])
        places = ids.where(ids != NOT_SEEN, len(self))
        return 1 + torch.cat([self.matcher_weights, none])[places].T

    def select(self, state: dict[str, Tensor], ids: Tensor) -> dict[str, Tensor]:
        """Turn the stored state of another `LabelResidual` into a state for these labels.

        Args:
            state: the parameters; their names may have a prefix.
            ids: the ids in the other of these K labels; those that are `NOT_SEEN` there keep the
                values that they have here.
        """
        seen = (ids != NOT_SEEN).nonzero().squeeze(1)
        selected = {}
        for key, value in state.items():
            own = self.state_dict()[key.rpartition(".")[2]]
            fits = value.shape[1:] == own.shape[1:]  # else loading it raises the error
            selected[key] = own.index_copy(0, seen, value[ids[seen]].to(own)) if fits else value
        return selected

    @classmethod
    def regroup(cls, state: dict[str, Tensor], groups: LabelGroups) -> dict[str, Tensor]:
        """Return a stored state after label changes."""
        return {
            key: groups.bias(value) if key == "biases" else groups.mean(value)
            for key, value in state.items()
        }
