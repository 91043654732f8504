"""The authors' released models, as they compute."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn

from gile_lightning.common.errors import InputError, nearest
from gile_lightning.network.encoders import Sharing
from gile_lightning.network.outputs import GILE, Linear
from gile_lightning.released.encoder import SENTENCES, WORDS, ReleasedHAN
from gile_lightning.released.layers import ReleasedBiGRU, ReleasedDense, ReleasedGRU

LayerKind = Literal["dense", "gru", "bigru"]

LAYERS: dict[LayerKind, Callable[..., nn.Module]] = {
    "dense": ReleasedDense,
    "gru": ReleasedGRU,
    "bigru": ReleasedBiGRU,
}


class ReleasedOutput(NamedTuple):
    """The outputs of a model for B documents; only the logits depend on the labels.

    Shapes: ``document_vectors`` [B, n], ``word_attention`` [B, 30, 30] (sentence, word),
    ``sentence_attention`` [B, 30], ``logits`` [B, k].
    """

    document_vectors: Tensor
    word_attention: Tensor
    sentence_attention: Tensor
    logits: Tensor


class ReleasedModel(nn.Module):
    """One `ReleasedHAN` and one output layer per language, some of their modules shared.

    Shared means that the languages hold the same module, so its parameters count once. The output
    layers are `GILE` if ``joint_dim`` is given, else `Linear`.

    Args:
        languages: their names.
        sharing: what the encoders have in common.
        layer_kind: of the word and sentence layers.
        label_counts: number of labels of each language; None where it is not known, which only
            `GILE` allows.
        joint_dim: size d_j of the joint space, which is that of all languages: they have the same
            U, V and biases.
        input_dim: size of the word and label vectors.
        hidden_dim: size of the states in one direction.
        activation: of recurrent layers.
        args: the authors' settings, for information.
    """

    def __init__(
        self,
        languages: Sequence[str],
        sharing: Sharing = "none",
        layer_kind: LayerKind = "dense",
        label_counts: Mapping[str, int | None] | None = None,
        joint_dim: int | None = None,
        input_dim: int = 40,
        hidden_dim: int = 100,
        activation: Literal["tanh", "relu"] = "tanh",
        args: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self.languages = list(languages)
        self.sharing = sharing
        self.layer_kind = layer_kind
        self.layer = partial(LAYERS[layer_kind], dim=hidden_dim)
        if layer_kind != "dense":
            self.layer.keywords["activation"] = activation
        self.label_counts = {name: (label_counts or {}).get(name) for name in languages}
        self.joint_dim = joint_dim
        self.input_dim = input_dim
        self.args = dict(args or {})
        self.encoders = nn.ModuleDict()
        self.outputs = nn.ModuleDict()
        for name in languages:
            encoder = ReleasedHAN(input_dim, self.layer)
            output = self._make_output(encoder.output_dim, self.label_counts[name])
            if self.encoders:
                encoder.share_with(self.encoder(languages[0]), sharing)
                output.share_with(self.output(languages[0]))
            self.encoders[name] = encoder
            self.outputs[name] = output

    def _make_output(self, document_dim: int, label_count: int | None) -> GILE | Linear:
        if self.joint_dim is not None:
            return GILE(document_dim, self.input_dim, label_count or 0, self.joint_dim, "matched")
        if label_count is None:
            raise ValueError("a linear output layer needs its number of labels")
        return Linear(document_dim, self.input_dim, label_count, matched_dim=0)

    def encoder(self, language: str) -> ReleasedHAN:
        """Return the document encoder of a language."""
        encoder: ReleasedHAN = self.encoders[language]  # type: ignore[assignment]
        return encoder

    def output(self, language: str) -> GILE | Linear:
        """Return the output layer of a language."""
        output: GILE | Linear = self.outputs[language]  # type: ignore[assignment]
        return output

    def forward(
        self, language: str, x: Tensor, label_vectors: Tensor | None = None
    ) -> ReleasedOutput:
        """Encode documents and score labels for them.

        Args:
            language: of the documents and labels.
            x: word vectors [B, 900, d]: 30 sentences of 30 words, zeros as padding.
            label_vectors: [k, d], the mean word vectors of the label descriptions; None for a model
                with linear output layers, which scores the labels it was trained with.

        Raises:
            InputError: the model does not know the language, or a tensor has another shape.
        """
        if language not in self.languages:
            raise InputError(
                f"the model knows no language {language!r}, only {', '.join(self.languages)}"
                f"{nearest(language, self.languages)}"
            )
        words = SENTENCES * WORDS
        if x.ndim != 3 or x.shape[1:] != (words, self.input_dim):
            raise InputError(
                f"the documents have shape {list(x.shape)}, expected [B, {words}, "
                f"{self.input_dim}]: pad to {SENTENCES} sentences of {WORDS} words"
            )
        x = x.to(next(self.parameters()).dtype)
        labels = self._labels(language, label_vectors, x)
        attended = self.encoder(language).attend(x)
        return ReleasedOutput(*attended, self.outputs[language](attended[0], labels))

    def _labels(self, language: str, label_vectors: Tensor | None, like: Tensor) -> Tensor:
        """Return the labels as the output layer reads them: vectors, or the ids of all."""
        if self.joint_dim is None:
            if label_vectors is not None:
                raise InputError(
                    "the model has linear output layers, which score the labels it was trained "
                    "with; leave the label vectors out"
                )
            return torch.arange(self.label_counts[language] or 0, device=like.device)
        if label_vectors is None:
            raise InputError(
                "the model scores labels by their descriptions; give label vectors "
                f"[k, {self.input_dim}], the means of the descriptions' word vectors"
            )
        if label_vectors.ndim != 2 or label_vectors.shape[1] != self.input_dim:
            raise InputError(
                f"the label vectors have shape {list(label_vectors.shape)}, expected "
                f"[k, {self.input_dim}]"
            )
        return label_vectors.to(like.dtype)
