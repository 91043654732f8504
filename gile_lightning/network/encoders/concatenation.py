"""Several encoders side by side."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from gile_lightning.common.errors import InputError
from gile_lightning.data.loading.ragged import Texts
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.network.encoders.encoder import Attention, Encoder, Sharing


class Concatenation(Encoder):
    """The concatenation of several encoders' vectors, such as `Pretrained` and `Mean`.

    Args:
        input_dim: size of the word vectors.
        encoders: make the encoders from that size.
    """

    def __init__(self, input_dim: int, encoders: list[Callable[[int], Encoder]]) -> None:
        super().__init__()
        if not encoders:
            raise InputError("Concatenation needs at least one encoder (encoders)")
        made = [make(input_dim) for make in encoders]
        self.encoders = nn.ModuleList(made)
        self.inputs = set().union(*(encoder.inputs for encoder in made))
        self.output_dim = sum(encoder.output_dim for encoder in made)

    @property
    def _encoders(self) -> list[Encoder]:
        return list(self.encoders)  # type: ignore[arg-type]

    @property
    def reads_word_vectors(self) -> bool:
        """Whether any of the encoders does."""
        return any(encoder.reads_word_vectors for encoder in self._encoders)

    def set_tokenizer(self, tokenizer: Tokenizer) -> None:
        """Pass the tokenizer on to every encoder."""
        for encoder in self._encoders:
            encoder.set_tokenizer(tokenizer)
        self.output_dim = sum(encoder.output_dim for encoder in self._encoders)

    def forward(self, word_vectors: Tensor, texts: Texts) -> Tensor:
        """Encode texts with each of the encoders: [B, output_dim]."""
        return torch.cat([encoder(word_vectors, texts) for encoder in self._encoders], dim=1)

    def attention(self, word_vectors: Tensor, texts: Texts) -> Attention | None:
        """Return the attention of the first encoder that attends."""
        found = (encoder.attention(word_vectors, texts) for encoder in self._encoders)
        return next((attention for attention in found if attention is not None), None)

    def share_with(self, other: Encoder, sharing: Sharing) -> None:
        """Share with the encoders of another `Concatenation`, one by one, if they have parameters.

        Raises:
            InputError: the encoders do not fit, or none has parameters.
        """
        if sharing == "none":
            return
        theirs = other._encoders if isinstance(other, Concatenation) else []
        trained = [any(True for _ in encoder.parameters()) for encoder in self._encoders]
        if len(theirs) != len(trained):
            raise InputError(
                f"{sharing} cannot be shared: give all languages a Concatenation of the same "
                "encoders"
            )
        if not any(trained):
            self._check_sharing(other, (), sharing)
        for encoder, their, has_parameters in zip(self._encoders, theirs, trained, strict=True):
            if has_parameters:
                encoder.share_with(their, sharing)
