"""Explanations for people: the page of `predict --explain`, and a section of a fit's page."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gile_lightning.explaining import ExplainedLabel, Explanation
from gile_lightning.explaining.explanation import LOGIT
from gile_lightning.tracking.page import render


class ShownWord(NamedTuple):
    """A word on a page: its text, the shade of its mark from -1 to 1, and what it says."""

    text: str
    shade: float = 0.0
    title: str = ""
    named: bool = False


class ShownSentence(NamedTuple):
    """A sentence on a page: what it adds, the shade of that from -1 to 1, and its words."""

    words: list[ShownWord]
    shade: float = 0.0
    value: float | None = None


class ShownLabel(NamedTuple):
    """A label on a page: its bars (name, value, share of the largest) and the marked text."""

    label: ExplainedLabel
    bars: list[tuple[str, float, float]]
    sentences: list[ShownSentence]
    gold: bool | None


class ShownDocument(NamedTuple):
    """A document on a page."""

    explanation: Explanation
    labels: list[ShownLabel]
    attention: list[ShownSentence]


def explanations_page(title: str, explanations: Iterable[Explanation]) -> str:
    """Return a page of explanations."""
    return render(
        "explanations.html", title=title, documents=[shown_document(x) for x in explanations]
    )


def shown_document(explanation: Explanation) -> ShownDocument:
    """Prepare an explanation for a page."""
    gold = explanation.gold
    labels = [
        ShownLabel(
            label,
            _bars(label),
            _marked(explanation, label),
            None if gold is None else label.name in gold,
        )
        for label in explanation.labels
    ]
    return ShownDocument(explanation, labels, _attention(explanation))


def _bars(label: ExplainedLabel) -> list[tuple[str, float, float]]:
    found = sorted(label.contributions.items(), key=lambda item: -abs(item[1]))
    largest = max((abs(value) for _, value in found), default=0.0) or 1.0
    return [(name, value, abs(value) / largest) for name, value in found]


def _marked(explanation: Explanation, label: ExplainedLabel) -> list[ShownSentence]:
    words = explanation.text.words
    values = label.by_word or [0.0] * len(words)
    named = {i for phrase in label.phrases for i in range(phrase.first, phrase.last + 1)}
    parts = label.words.items()
    texts = [
        ShownWord(
            word.text,
            shade,
            ", ".join(f"{part} {of_words[i]:+.2f}" for part, of_words in parts if of_words[i]),
            i in named,
        )
        for i, (word, shade) in enumerate(zip(words, _shades(values), strict=True))
    ]
    effects = [effect.get(LOGIT) for effect in label.sentences]
    return _by_sentence(explanation, texts, effects)


def _attention(explanation: Explanation) -> list[ShownSentence]:
    weights = explanation.word_attention
    if not weights:
        return []
    shades = _shades(weights)
    texts = [
        ShownWord(word.text, shade, f"{weight:.3f}")
        for word, shade, weight in zip(explanation.text.words, shades, weights, strict=True)
    ]
    return _by_sentence(explanation, texts, explanation.sentence_attention)


def _by_sentence(
    explanation: Explanation, words: list[ShownWord], values: Sequence[float | None]
) -> list[ShownSentence]:
    sentences = [
        ShownSentence([], shade, value)
        for value, shade in zip(values, _shades([x or 0.0 for x in values]), strict=True)
    ]
    for word, text in zip(explanation.text.words, words, strict=True):
        sentences[word.sentence].words.append(text)
    return sentences


def _shades(values: Sequence[float]) -> list[float]:
    largest = max(map(abs, values), default=0.0) or 1.0
    return [round(value / largest, 2) for value in values]
