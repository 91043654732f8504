"""The contract of encoders."""

from abc import ABC, abstractmethod
from collections.abc import Set
from typing import ClassVar, Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gile_lightning.common.errors import InputError
from gile_lightning.common.factories import Part
from gile_lightning.data.loading.flat import distinct, send
from gile_lightning.data.loading.ragged import Texts
from gile_lightning.data.tokenizing.tokenizer import Tokenizer

Sharing = Literal["none", "encoders", "attention", "both"]
"""What the encoders of several languages have in common (paper, section 4.2)."""

_LACKING = {  # what an encoder lacks for each kind of sharing, and which encoders have it
    "encoders": "no encoders to share; HAN, HNN and WAN have",
    "attention": "no attention to share; HAN and WAN with AttentionPooling have",
    "both": "nothing to share; HAN, HNN and WAN have",
}


class Attention(NamedTuple):
    """What an encoder attends to: weights of words [N], and of sentences [S] if it has any.

    The weights of a text, or of a sentence of a hierarchical encoder, sum to 1.
    """

    words: Tensor
    sentences: Tensor | None = None


class Encoder(Part, nn.Module, ABC):
    """Turns ragged texts into one vector each.

    A label text is a ragged text too, so every encoder encodes labels as well as documents. A
    subclass implements `forward`; what it shares between languages, it names in ``layers`` and
    ``poolings``. Vectors of an encoder without trained weights are computed before their step. So
    its `forward` must not depend on random numbers or on `self.training`, but for modules of
    `torch.nn` for dropout or batch norm: with one of these nothing is computed before.

    Attributes:
        output_dim: size of the vectors.
        layers: names of the submodules that make states.
        poolings: names of the submodules that pool states.
        inputs: the fields of `Texts` that it needs: words, subwords or vectors.
        lr: the learning rate of its parameters; None for that of the optimizer.
    """

    output_dim: int
    layers: ClassVar[tuple[str, ...]] = ()
    poolings: ClassVar[tuple[str, ...]] = ()
    inputs: Set[str] = frozenset({"words"})
    lr: float | None = None

    @property
    def reads_word_vectors(self) -> bool:
        """Whether `forward` reads the table of word vectors; others need the ids of words alone."""
        return "words" in self.inputs

    @property
    def hidden_dim(self) -> int:
        """The paper's d_h: `output_dim`, or the size in one direction of a bidirectional layer."""
        last = getattr(self, self.layers[-1]) if self.layers else None
        return int(getattr(last, "hidden_dim", self.output_dim))

    def set_tokenizer(self, tokenizer: Tokenizer) -> None:
        """Receive the tokenizer of the texts to come, before ``output_dim`` is read."""

    @abstractmethod
    def forward(self, word_vectors: Tensor, texts: Texts) -> Tensor:
        """Encode texts.

        Args:
            word_vectors: a table of word vectors [V, d]; ``word_vectors[texts.words]`` are the
                vectors of the texts' words [N, d].
            texts: B texts. They may be on the host while the vectors are on a device: sizes are
                known there, so that nothing waits for the device. `send` what is looked up.

        Returns:
            A vector of each text [B, output_dim].
        """

    def attention(self, word_vectors: Tensor, texts: Texts) -> Attention | None:
        """Return the attention weights of texts, as for `forward`; None where nothing attends."""
        return None

    def share_with(self, other: "Encoder", sharing: Sharing) -> None:
        """Hold the same modules as another encoder: its layers, its poolings, or both.

        Raises:
            InputError: the modules of the two do not fit, or have no parameters.
        """
        names = {
            "none": (),
            "encoders": self.layers,
            "attention": self.poolings,
            "both": (*self.layers, *self.poolings),
        }[sharing]
        if sharing != "none":
            self._check_sharing(other, names, sharing)
        for name in names:
            setattr(self, name, getattr(other, name))

    def _check_sharing(self, other: "Encoder", names: tuple[str, ...], sharing: str) -> None:
        kind = type(self).__name__
        if not any(True for name in names for _ in getattr(self, name).parameters()):
            raise InputError(f"{kind} has {_LACKING[sharing]} (model.sharing)")
        ours, theirs = _outline(self, names), _outline(other, names)
        for what, value in ours.items():
            if theirs.get(what) != value:
                raise InputError(
                    f"{sharing} cannot be shared: {what} is {value} in one language and "
                    f"{theirs.get(what)} in another; give all languages the same encoder and word "
                    "vectors of one size"
                )


def _outline(encoder: Encoder, names: tuple[str, ...]) -> dict[str, str]:
    """Describe submodules by what must be equal in two encoders that share them."""
    outline = {"the encoder": type(encoder).__name__}
    for name in names:
        module = getattr(encoder, name, None)
        outline[name] = type(module).__name__
        if isinstance(module, nn.Module):
            sizes = {key: str(list(value.shape)) for key, value in module.named_parameters()}
            outline |= {f"{name}.{key}": size for key, size in sizes.items()}
    return outline


def pool_words(
    layer: nn.Module, pooling: nn.Module, table: Tensor, words: Tensor, lengths: Tensor
) -> Tensor:
    """Make states of words with a layer, and pool them to one vector per segment.

    A pointwise layer makes the same state of a word wherever it occurs. So it runs once for each
    distinct word: a third to a half of the words of a batch.

    Args:
        layer: see `layers`.
        pooling: see `pooling`.
        table: the word vectors [V, d].
        words: word ids [N].
        lengths: words of each segment [S].

    Returns:
        The segments' vectors [S, n].
    """
    pooled: Tensor
    if not getattr(layer, "pointwise", False):
        pooled = pooling(layer(F.embedding(send(words, table.device), table), lengths), lengths)
        return pooled
    if table.device.type == "cpu" or len(table) > len(words):
        rows, ids = distinct(words, len(table))
        table = table.index_select(0, send(rows, table.device))
    else:  # a GPU computes rows that are not used faster than the host finds those that are
        ids = words
    ids = send(ids, table.device)
    states = layer(table, torch.ones(len(table), dtype=torch.long, device=table.device))
    if getattr(pooling, "accepts_ids", False):
        pooled = pooling(states, lengths, ids)
    else:
        pooled = pooling(states.index_select(0, ids), lengths)
    return pooled
