"""What a model must know of one language: how its texts are encoded and which labels it has."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gile_lightning.data.formats.descriptions import TextRecipe
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.tokenizer import Tokenizer


@dataclass(frozen=True)
class Task:
    """A vocabulary with its text settings, a label set, and how texts are put together.

    Attributes:
        tokenizer: encodes documents and label descriptions.
        labels: the labels, seen ones first.
        recipe: of the texts of documents and labels.
    """

    tokenizer: Tokenizer
    labels: LabelSet
    recipe: TextRecipe = TextRecipe()  # noqa: RUF009 (frozen)

    def with_labels(self, labels: LabelSet) -> "Task":
        """Return other labels, and a tokenizer that tells their words from each other.

        Words that the vocabulary lacks have ids of their own (`Tokenizer.extended`) if they
        describe a label that this language has not: they are in its name, text or synonyms. Word
        vectors that are given leave unknown words out, and these still do.
        """
        if self.tokenizer.known_words_only:
            return replace(self, labels=labels)
        own = set(_described(self.labels))
        parts = (part for part in _described(labels) if part not in own)
        terms = (term for name, text, synonyms in parts for term in (name, text, *synonyms))
        words = (word for term in terms for word in self.tokenizer.words(term))
        return replace(self, tokenizer=self.tokenizer.extended(words), labels=labels)

    def state(self) -> dict[str, Any]:
        """Return plain values, for JSON and checkpoints."""
        return {
            "vocabulary": "\n".join(self.tokenizer.vocabulary),
            **self.tokenizer.settings(),
            **({"further": "\n".join(self.tokenizer.further)} if self.tokenizer.further else {}),
            "labels": self.labels.state(),
            "recipe": self.recipe.state(),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> "Task":
        """Rebuild what `state` returned."""
        others = ("vocabulary", "further", "labels", "recipe")
        settings = {k: v for k, v in state.items() if k not in others}
        text = Tokenizer(state["vocabulary"].split("\n"), **settings)
        if "further" in state:
            text = text.extended(state["further"].split("\n"))
        recipe = TextRecipe.from_state(state["recipe"])
        return cls(text, LabelSet(**state["labels"]), recipe)

    def save(self, path: Path) -> None:
        """Write the language as JSON."""
        path.write_text(json.dumps(self.state(), ensure_ascii=False), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> "Task":
        """Read what `save` wrote."""
        return cls.from_state(json.loads(path.read_text(encoding="utf-8")))


def _described(labels: LabelSet) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield the name, text and synonyms of every label."""
    return zip(labels.names, labels.texts, map(tuple, labels.synonyms), strict=True)
