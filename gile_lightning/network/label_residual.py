"""A residual for every label seen in training."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from gile_lightning.common.errors import InputError
from gile_lightning.common.factories import Part

NOT_SEEN = -1  # the id of a label without a residual


class LabelResidual(Part, nn.Module):
    """A residual for every label seen in training, on top of what its texts tell.

    For a document vector h, of d_h numbers with a mean square of about 1, and the scores s_c of
    the matchers, the logit of label j gets

        r_j · h / sqrt(d_h) + b_j + Σ_c w_jc s_c

    with r_j, b_j and w_j learned for each label by itself. They start at zero, but b_j at the log
    of how often training documents have the label, relative to the mean over the labels. Other
    labels get nothing added. Each of several tasks has residuals of its own.

    A model with residuals soon neglects the texts of labels, by which alone other labels are
    scored. So each training step leaves out the residuals of a random share of the labels: they are
    scored in that step as if they had never been seen.

    This is the only part whose size depends on the label set; a model works without it.

    Args:
        document_dim: size d_h of the document vectors.
        frequencies: training documents of every seen label.
        matchers: the number of matchers.
        dropout: the share of labels whose residual a training step leaves out.
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
        # without matchers there is no gradient, which several processes would wait for
        weights = torch.zeros(labels, matchers)
        self.matcher_weights = nn.Parameter(weights, requires_grad=matchers > 0)
        counts = torch.tensor(frequencies, dtype=torch.get_default_dtype()).clamp(min=1)
        self.biases = nn.Parameter((counts / counts.mean()).log())

    def __len__(self) -> int:
        return len(self.biases)

    def drop(self, ids: Tensor, generator: torch.Generator) -> Tensor:
        """Return the ids [K] with `NOT_SEEN` in place of a random share of them."""
        draws = torch.rand(len(ids), generator=generator, device=ids.device)
        return ids.masked_fill(draws < self.dropout, NOT_SEEN)

    def forward(self, documents: Tensor, scores: Sequence[Tensor], ids: Tensor) -> Tensor:
        """Compute what is added to the logits.

        Args:
            documents: vectors [B, d_h].
            scores: of every matcher [B, K].
            ids: of the labels [K], `NOT_SEEN` for those without a residual.

        Returns:
            The residuals [B, K].
        """
        known = (ids != NOT_SEEN).nonzero().squeeze(1)
        rows = ids[known]
        products = documents @ self.vectors[rows].T / math.sqrt(self.document_dim)
        residuals = products + self.biases[rows]  # not in bfloat16, if the products are
        for score, weight in zip(scores, self.matcher_weights[rows].T, strict=True):
            residuals = residuals + score[:, known] * weight
        return residuals.new_zeros(len(documents), len(ids)).index_copy(1, known, residuals)

    def select(self, state: dict[str, Tensor], ids: Tensor) -> dict[str, Tensor]:
        """Return the stored state of another `LabelResidual` as that of this one's labels.

        Args:
            state: the parameters, perhaps with a prefix to their names.
            ids: of this one's labels in the other [K]; those that are `NOT_SEEN` there begin
                anew.
        """
        known = (ids != NOT_SEEN).nonzero().squeeze(1)
        selected = {}
        for key, value in state.items():
            own = self.state_dict()[key.rpartition(".")[2]]
            fits = value.shape[1:] == own.shape[1:]  # else loading it says what does not
            selected[key] = own.index_copy(0, known, value[ids[known]].to(own)) if fits else value
        return selected
