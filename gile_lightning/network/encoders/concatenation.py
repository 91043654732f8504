"""Several encoders side by side."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from gile_lightning.common.errors import InputError
from gile_lightning.data.loading.ragged import Texts
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.network.encoders.encoder import Encoder, Sharing


class Concatenation(Encoder):
    """The concatenation of several encoders' vectors, such as `Pretrained` and `Mean`.

    Args:
        input_dim: size of the word vectors.
        encoders: make the encoders from that size.
    """

    def __init__(self, input_dim: int, encoders: list[Callable[[int], Encoder]]) -> None:
        super().__init__()
        if not encoders:
            raise InputError("Concatenation needs an encoder at least (encoders)")
        parts = [make(input_dim) for make in encoders]
        self.parts = nn.ModuleList(parts)
        self.reads = set().union(*(part.reads for part in parts))
        self.output_dim = sum(part.output_dim for part in parts)

    @property
    def _encoders(self) -> list[Encoder]:
        return list(self.parts)  # type: ignore[arg-type]

    def attach(self, text: Tokenizer) -> None:
        """Let every encoder get ready for texts."""
        for part in self._encoders:
            part.attach(text)
        self.output_dim = sum(part.output_dim for part in self._encoders)

    def forward(self, word_vectors: Tensor, texts: Texts) -> Tensor:
        """Encode texts with each of the encoders: [B, output_dim]."""
        return torch.cat([part(word_vectors, texts) for part in self._encoders], dim=1)

    def share_with(self, other: Encoder, parts: Sharing) -> None:
        """Share with each of another's encoders what has parameters.

        Raises:
            InputError: the encoders do not fit, or none has parameters.
        """
        if parts == "none":
            return
        theirs = other._encoders if isinstance(other, Concatenation) else []
        trained = [any(True for _ in part.parameters()) for part in self._encoders]
        if len(theirs) != len(trained):
            raise InputError(
                f"{parts} cannot be shared: give all languages a Concatenation of the same encoders"
            )
        if not any(trained):
            self._check_sharing(other, (), parts)
        for part, their, has in zip(self._encoders, theirs, trained, strict=True):
            if has:
                part.share_with(their, parts)
