"""The contract of matchers."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

from torch import Tensor, nn

from gile_lightning.common.factories import Part
from gile_lightning.data.loading.ragged import Texts
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.tokenizer import Tokenizer

LOGIT_SCALE = 10.0
"""A matcher multiplies its learned scale with this. Logits go up to 10 or so, while weights have
sizes near 1; so an optimizer moves both as fast, relative to their size."""

EncodeTexts = Callable[[list[str], AbstractSet[str]], Texts]
"""Encodes label texts with the inputs that a module needs; see `Encoder.inputs`."""


class Mention(NamedTuple):
    """A phrase of a label that occurs in a text.

    Attributes:
        label: the column of the label.
        start: the place of the first word among the words of all texts.
        size: the number of words.
        inside: whether it lies inside a longer phrase, of this or another label.
    """

    label: int
    start: int
    size: int
    inside: bool


class MatcherLabels(nn.Module, ABC):
    """A label set as a matcher prepares it, once, before any document is scored.

    It moves from device to device with the model. It is not saved: the label set travels with a
    checkpoint, and the matcher prepares it again.
    """

    @abstractmethod
    def select(self, ids: Tensor) -> Any:
        """Return the distinct labels ``ids`` [K], in this order, for `Matcher.forward`."""


class Matcher(Part, nn.Module, ABC):
    """Scores documents against labels by comparing their texts.

    A network adds the scores of its matchers to the logits of its output layer. Each matcher learns
    its own scale from the same loss. Its parameters do not depend on the label set, so it scores
    seen and unseen labels alike.

    A matcher is made from the tokenizer of one task. Tasks do not share matchers.

    Attributes:
        inputs: the fields of `Texts` that it needs, as for `Encoder`.
        called: the part in explanations; its class by default.
    """

    inputs: AbstractSet[str] = frozenset({"words"})
    called: str = ""

    @abstractmethod
    def prepare_labels(
        self, tokenizer: Tokenizer, labels: LabelSet, encode: EncodeTexts
    ) -> MatcherLabels:
        """Prepare a label set for scoring. The result must not depend on what training changes.

        Args:
            tokenizer: of the task; it may know more words than at training time.
            labels: names, texts, synonyms and parents.
            encode: encodes texts for matchers that need more than words.
        """

    @abstractmethod
    def forward(self, documents: Texts, labels: Any) -> Tensor:
        """Score B documents against K labels, as `MatcherLabels.select` returned them: [B, K]."""

    def look_up(self, documents: Texts, labels: Any) -> Any:
        """Return labels with what is looked up in B documents for their scores; here nothing is.

        `forward` then gets the same documents. This is work of the host that depends neither on
        weights nor on chance, so a training step has it done ahead, on a GPU in another thread.
        Scoring does not call it: `forward` looks up itself what the labels lack.
        """
        return labels

    def settled(self, labels: Any) -> Any:
        """Return labels for scoring while the weights of the matcher stay as they are.

        They may hold what depends on labels and weights alone; here they stay as they are.
        """
        return labels

    def by_word(self, documents: Texts, labels: Any) -> Tensor | None:
        """Return what each word adds to the scores of its document [N, K], if that can be told.

        The sum over the words of a document is its score.
        """
        return None

    def mentions(self, documents: Texts, labels: Any) -> list[Mention]:
        """Return the phrases of labels that occur in documents; here none are looked for."""
        return []

    def count_words(self, frequencies: Tensor, documents: int) -> None:
        """Receive, before training, the number of training documents that have each word [V]."""
