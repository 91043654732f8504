"""The contract of matchers."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Any

from torch import Tensor, nn

from gile_lightning.common.factories import Part
from gile_lightning.data.loading.ragged import Texts
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.tokenizer import Tokenizer

UNIT = 10.0
"""What a learned scale of a matcher is 1 of: logits go up to 10 or so, and an optimizer that moves
weights of a size near 1 should move these as fast, relative to their size."""

Read = Callable[[list[str], AbstractSet[str]], Texts]
"""Encodes label texts as what is read of them; see `Encoder.reads`."""


class MatcherLabels(nn.Module, ABC):
    """What a matcher has worked out of a label set once, before any document is scored.

    It moves with the model from device to device, but is no part of its state: it is made anew
    from the label set that travels with a checkpoint.
    """

    @abstractmethod
    def gather(self, ids: Tensor) -> Any:
        """Return what belongs to the distinct labels ``ids`` [K], in their order."""


class Matcher(Part, nn.Module, ABC):
    """One more score of a document and a label, beside that of the joint space.

    The logit of a pair is the sum of the output layer's and those of the matchers, each of which
    learns its own scale by the same loss. What a matcher learns does not depend on the label set,
    so labels that are not seen in training are scored as those that are.

    Made from the tokenizer, which has the vocabulary; so each of several languages has matchers
    of its own, which share nothing.

    Attributes:
        reads: what of the texts is read, as for `Encoder`.
    """

    reads: AbstractSet[str] = frozenset({"words"})

    @abstractmethod
    def index(self, text: Tokenizer, labels: LabelSet, read: Read) -> MatcherLabels:
        """Work out what scoring needs to know of a label set, but nothing that training changes.

        Args:
            text: the tokenizer.
            labels: names, texts and synonyms.
            read: encodes texts for what reads more of them than their words.
        """

    @abstractmethod
    def forward(self, documents: Texts, labels: Any) -> Tensor:
        """Score documents against what `MatcherLabels.gather` returned for K labels: [B, K]."""

    def count_words(self, frequencies: Tensor, documents: int) -> None:
        """Learn, before training, in how many of the training documents each word is [V]."""
