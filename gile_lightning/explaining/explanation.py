"""An explanation as plain values."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gile_lightning.explaining.aligned_text import AlignedText

LOGIT = "logit"


@dataclass(frozen=True)
class Phrase:
    """A name or synonym of a label that occurs in a document.

    Attributes:
        part: what found it.
        text: as it is written.
        first: the place of its first word.
        last: the place of its last word.
        inside: whether it lies inside a longer name, of this or another label.
    """

    part: str
    text: str
    first: int
    last: int
    inside: bool


@dataclass(frozen=True)
class ExplainedLabel:
    """Why a document has the logit that it has for a label.

    Attributes:
        name: of the label.
        uri: of the label, if it has one.
        unseen: whether no training document has it.
        predicted: whether it is among the predicted labels.
        score: its probability.
        logit: the output of the model.
        calibration: what turns the logit into the log-odds of the score, added to it.
        contributions: what each part adds to the logit; they sum to it. Empty if there are no
            parts.
        words: by part, what each word of the document adds to the contribution of the part.
        phrases: the label's names and synonyms in the document.
        sentences: for each sentence by how much the logit and the contributions are larger than
            without it; nothing for one that the model does not read.
    """

    name: str
    uri: str
    unseen: bool
    predicted: bool
    score: float
    logit: float
    calibration: float
    contributions: dict[str, float]
    words: dict[str, list[float]]
    phrases: list[Phrase]
    sentences: list[dict[str, float]]

    @property
    def by_word(self) -> list[float]:
        """What each word adds by all parts together; empty if no part works word by word."""
        return [sum(values) for values in zip(*self.words.values(), strict=True)]


@dataclass(frozen=True)
class Explanation:
    """Why a model labels a document as it does.

    Attributes:
        text: the document.
        labels: the best first, then those that were asked for.
        word_attention: the weight of each word, if the encoder attends.
        sentence_attention: the weight of each sentence; of a flat encoder that of its words.
        note: what a reader should know.
        id: of the document.
        gold: the labels that the document has, where that is known.
    """

    text: AlignedText
    labels: list[ExplainedLabel]
    word_attention: list[float]
    sentence_attention: list[float]
    note: str = ""
    id: str | int = ""
    gold: tuple[str, ...] | None = None

    def __str__(self) -> str:
        from gile_lightning.explaining.terminal import shown

        return shown(self)

    def state(self) -> dict[str, Any]:
        """Return plain values for JSON; words that add nothing are left out.

        Numbers that are not finite become null.
        """
        words = self.text.words
        texts = sentence_texts(self.text)
        attention: Sequence[float | None] = self.sentence_attention or [None] * len(texts)
        return {
            "id": self.id,
            "note": self.note,
            "sentences": [
                {"text": text, "attention": weight}
                for text, weight in zip(texts, attention, strict=True)
            ],
            "words": [
                {"text": word.text, "sentence": word.sentence, "read": word.tokens > 0}
                | ({"attention": self.word_attention[i]} if self.word_attention else {})
                for i, word in enumerate(words)
            ],
            "labels": [_label_state(label, self.text) for label in self.labels],
        }


def sentence_texts(aligned: AlignedText) -> list[str]:
    """Return the texts of the sentences."""
    texts: list[list[str]] = [[] for _ in range(aligned.sentences)]
    for word in aligned.words:
        texts[word.sentence].append(word.text)
    return [" ".join(text) for text in texts]


def _label_state(label: ExplainedLabel, aligned: AlignedText) -> dict[str, Any]:
    found = {
        i: {part: values[i] for part, values in label.words.items() if values[i]}
        for i in range(len(aligned.words))
    }
    return {
        "name": label.name,
        **({"uri": label.uri} if label.uri else {}),
        "unseen": label.unseen,
        "predicted": label.predicted,
        "score": label.score,
        "logit": _finite(label.logit),
        "calibration": _finite(label.calibration),
        "contributions": label.contributions,
        "words": [
            {"place": i, "text": aligned.words[i].text, "contributions": parts}
            for i, parts in found.items()
            if parts
        ],
        "phrases": [
            {
                "part": phrase.part,
                "text": phrase.text,
                "places": [phrase.first, phrase.last],
                "inside_longer": phrase.inside,
            }
            for phrase in label.phrases
        ],
        "sentences": [
            {part: _finite(value) for part, value in effects.items()} for effects in label.sentences
        ],
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
