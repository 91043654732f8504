"""The order in which the authors' code makes the layers of a model: Keras numbers them so."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from gile_lightning.network.encoders import Sharing
from gile_lightning.released.model import LayerKind

JOINT = "size of the joint space"  # d_j


def labels_of(language: str) -> str:
    """Return the name of a language's number of labels."""
    return f"labels of {language}"


class Component(NamedTuple):
    """A layer with parameters.

    Attributes:
        kind: of its Keras layer: ``time_distributed``, ``dense`` or ``gru``.
        target: name of our module.
        rows: of its kernel; a name where only the file tells the number.
        columns: of its kernel, likewise.
    """

    kind: str
    target: str
    rows: int | str
    columns: int | str


@dataclass(frozen=True)
class Layout:
    """The structure of a model, on which the names and shapes of its tensors depend.

    Args:
        languages: their names.
        sharing: the modules that their encoders share.
        layer_kind: of the word and sentence layers.
        gile: whether the output layers are GILE's, with one joint space for all languages; linear
            otherwise.
        input_dim: size of the word vectors.
        hidden_dim: size of the states in one direction.
    """

    languages: tuple[str, ...]
    sharing: Sharing
    layer_kind: LayerKind
    gile: bool
    input_dim: int = 40
    hidden_dim: int = 100

    def __str__(self) -> str:
        count = len(self.languages)
        return (
            f"{count} language{'s' * (count > 1)}, sharing {self.sharing}, {self.layer_kind} layers"
            f" of {self.hidden_dim} over vectors of {self.input_dim}, "
            f"{'GILE' if self.gile else 'linear'} output"
        )

    @property
    def document_dim(self) -> int:
        """Size of the document vectors, and of all states."""
        return self.hidden_dim * (2 if self.layer_kind == "bigru" else 1)

    def components(self) -> Iterator[Component]:
        """Yield the layers in the order in which the authors' code makes them.

        First what the languages share, then language by language what is theirs; encoder before
        attention before output layer. A shared layer is named as the first language's.
        """
        first = self.languages[0]
        layers_shared = self.sharing in ("encoders", "both")
        attention_shared = self.sharing in ("attention", "both")
        if layers_shared:
            yield from self._layers(first)
        if attention_shared:
            yield from self._attention(first)
        if self.gile:
            output, dim = f"outputs.{first}", self.document_dim
            yield Component("dense", f"{output}.document_projection", dim, JOINT)
            yield Component("dense", f"{output}.label_projection", self.input_dim, JOINT)
        for language in self.languages:
            if not layers_shared:
                yield from self._layers(language)
            if not attention_shared:
                yield from self._attention(language)
            output = f"outputs.{language}"
            if self.gile:
                yield Component("time_distributed", f"{output}.unit", JOINT, 1)
            else:
                yield Component("dense", f"{output}.linear", self.document_dim, labels_of(language))

    def _layers(self, language: str) -> Iterator[Component]:
        sizes = {"word_layer": self.input_dim, "sentence_layer": self.document_dim}
        for name, size in sizes.items():
            target = f"encoders.{language}.{name}"
            if self.layer_kind == "dense":
                yield Component("time_distributed", f"{target}.linear", size, self.hidden_dim)
            elif self.layer_kind == "gru":
                yield Component("gru", target, size, 3 * self.hidden_dim)
            else:
                yield Component("gru", f"{target}.forward_gru", size, 3 * self.hidden_dim)
                yield Component("gru", f"{target}.backward_gru", size, 3 * self.hidden_dim)

    def _attention(self, language: str) -> Iterator[Component]:
        dim = self.document_dim
        for name in ("sentence_pooling", "word_pooling"):  # the authors make sentences' first
            target = f"encoders.{language}.{name}"
            yield Component("time_distributed", f"{target}.hidden", dim, dim)
            yield Component("time_distributed", f"{target}.score", dim, 1)
