"""An explanation as lines for a terminal."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from gile_lightning.common.console import paint, printable
from gile_lightning.explaining.aligned_text import Word
from gile_lightning.explaining.explanation import LOGIT, ExplainedLabel, Explanation

SHOWN = 8  # words of a label or of the attention
_LEAST = 0.005  # which is shown as 0.01
SENTENCES = 3  # of a label
_BOLD, _GREEN, _RED, _YELLOW, _DIM = "1", "32", "31", "33", "2"


def shown(explanation: Explanation, colours: bool = False) -> str:
    """Return an explanation as lines, each with its end.

    Args:
        explanation: to show.
        colours: whether to use escape sequences for colours.
    """
    return "".join(f"{line}\n" for line in _Lines(explanation, colours).all())


class _Lines:
    def __init__(self, explanation: Explanation, colours: bool) -> None:
        self.explanation = explanation
        self.words = explanation.text.words
        self.colours = colours
        self.sentences: list[list[int]] = [[] for _ in range(explanation.text.sentences)]
        for i, word in enumerate(self.words):
            self.sentences[word.sentence].append(i)

    def all(self) -> Iterable[str]:
        if self.explanation.id != "":
            yield self._paint(f"document {printable(str(self.explanation.id))}", _DIM)
        if self.explanation.note:
            yield printable(self.explanation.note)
        if not self.explanation.labels:
            yield "no label"
        for label in self.explanation.labels:
            yield from self._label(label)
        if weights := self.explanation.word_attention:
            best = sorted(range(len(weights)), key=lambda i: -weights[i])[:SHOWN]
            found = ", ".join(f"{printable(self.words[i].text)} {weights[i]:.2f}" for i in best)
            yield f"attention  {found}"

    def _label(self, label: ExplainedLabel) -> Iterable[str]:
        name = self._paint(printable(label.name), _BOLD)
        marks = self._paint(" (unseen)", _YELLOW) if label.unseen else ""
        marks += "" if label.predicted else " (not predicted)"
        yield f"{name}{marks}  {label.score:.2f}"
        yield (
            f"  logit {label.logit:.2f}, calibration {label.calibration:+.2f}, "
            f"log-odds {label.logit + label.calibration:.2f}"
        )
        parts = label.contributions.items()
        yield from self._listed("for", {k: x for k, x in parts if x > 0})
        yield from self._listed("against", {k: x for k, x in parts if x < 0})
        by_word: dict[str, float] = defaultdict(float)
        for word, value in zip(self.words, label.by_word, strict=False):
            by_word[_bare(word)] += value
        largest = sorted(by_word.items(), key=lambda item: -abs(item[1]))[:SHOWN]
        yield from self._listed("matched", {word: x for word, x in largest if abs(x) >= _LEAST})
        if phrases := dict.fromkeys(_phrase(x.text, x.inside) for x in label.phrases):
            yield f"  names      {', '.join(phrases)}"
        effects = {i: effect[LOGIT] for i, effect in enumerate(label.sentences) if effect}
        for i in sorted(effects, key=lambda i: -abs(effects[i]))[:SENTENCES]:
            yield f"  {self._number(effects[i])}  {self._sentence(i, label.by_word)}"
        if (more := len(effects) - SENTENCES) > 0:
            yield f"  and {more} more {'sentence' if more == 1 else 'sentences'}, of less effect"

    def _listed(self, heading: str, values: Mapping[str, float]) -> Iterable[str]:
        if values:
            order = sorted(values, key=lambda key: -abs(values[key]))
            found = ", ".join(f"{printable(key)} {self._number(values[key])}" for key in order)
            yield f"  {heading:<9}  {found}"

    def _sentence(self, sentence: int, by_word: list[float]) -> str:
        texts = []
        for i in self.sentences[sentence]:
            value = by_word[i] if by_word else 0.0
            colour = _GREEN if value > 0 else _RED
            text = printable(self.words[i].text)
            texts.append(self._paint(text, colour) if value else text)
        return " ".join(texts)

    def _number(self, value: float) -> str:
        return self._paint(f"{value:+.2f}", _GREEN if value > 0 else _RED)

    def _paint(self, text: str, colour: str) -> str:
        return paint(text, colour, self.colours)


def _bare(word: Word) -> str:
    """Return a word in lower case, without punctuation marks around it."""
    text = word.text.lower()
    letters = [i for i, c in enumerate(text) if c.isalnum()]
    return text[letters[0] : letters[-1] + 1] if letters else text


def _phrase(text: str, inside: bool) -> str:
    return f'"{printable(text)}"' + (" (inside a longer name)" if inside else "")
