"""A task: how the texts of one language are encoded, and which labels it has."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gile_lightning.common.errors import InputError
from gile_lightning.data.formats.descriptions import TextRecipe
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.tokenizer import Tokenizer


@dataclass(frozen=True)
class Task:
    """A tokenizer, a label set, and how texts are put together.

    Attributes:
        tokenizer: encodes documents and label descriptions.
        labels: the labels, seen ones first.
        recipe: of the texts of documents and labels.
    """

    tokenizer: Tokenizer
    labels: LabelSet
    recipe: TextRecipe = TextRecipe()  # noqa: RUF009 (frozen)

    def with_labels(self, labels: LabelSet) -> "Task":
        """Return the task with other labels, and a tokenizer that tells their words apart.

        Words outside the vocabulary get ids of their own (`Tokenizer.extended`) if they stand in
        the name, text or synonyms of a label that this task lacks. A tokenizer that drops unknown
        words still does.
        """
        if self.tokenizer.known_words_only:
            return replace(self, labels=labels)
        own = set(_described(self.labels))
        new = (label for label in _described(labels) if label not in own)
        terms = (term for name, text, synonyms in new for term in (name, text, *synonyms))
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
    def from_state(cls, state: dict[str, Any], name: str | None = None) -> "Task":
        """Rebuild what `state` returned.

        Args:
            state: what it returned.
            name: of the task, which is the language of an earlier version's tokenizer.

        Raises:
            InputError: it is not what `state` returns.
        """
        try:
            _check(state["labels"])
            return cls._of(state if name is None else {"language": name, **state})
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
            raise InputError(
                f"words and labels are damaged, not what was written ({reason:.200})"
            ) from error

    @classmethod
    def _of(cls, state: dict[str, Any]) -> "Task":
        others = ("vocabulary", "further", "labels", "recipe")
        settings = {k: v for k, v in state.items() if k not in others}
        tokenizer = Tokenizer(state["vocabulary"].split("\n"), **settings)
        if "further" in state:
            tokenizer = tokenizer.extended(state["further"].split("\n"))
        recipe = TextRecipe.from_state(state["recipe"])
        return cls(tokenizer, LabelSet(**state["labels"]), recipe)

    def save(self, path: Path) -> None:
        """Write the task as JSON."""
        path.write_text(json.dumps(self.state(), ensure_ascii=False), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> "Task":
        """Read what `save` wrote.

        Raises:
            InputError: it is damaged.
        """
        try:
            return cls.from_state(json.loads(path.read_text(encoding="utf-8")))
        except (InputError, ValueError, RecursionError) as error:
            raise InputError(
                f"{path}: damaged, not what was written there; delete the folder {path.parent}, "
                "and the corpus is encoded anew"
            ) from error


def _check(labels: Mapping[str, Any]) -> None:
    """Check the types of a label set's state: others would raise errors far from here.

    Raises:
        TypeError: one is wrong.
    """
    texts = [labels[key] for key in ("names", "texts")] + [labels.get("uris", [])]
    texts += [*labels.get("synonyms", []), *labels.get("parents", [])]
    counts = [*labels["frequencies"], labels.get("documents", 0)]
    if not all(isinstance(row, list | tuple) for row in texts):
        raise TypeError("names, texts, synonyms, parents or URIs are no lists")
    if not all(isinstance(text, str) for row in texts for text in row):
        raise TypeError("names, texts, synonyms, parents or URIs are no texts")
    if not all(isinstance(count, int) and count >= 0 for count in counts):
        raise TypeError("frequencies are no whole numbers from 0 on")


def _described(labels: LabelSet) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield the name, text and synonyms of every label."""
    return zip(labels.names, labels.texts, map(tuple, labels.synonyms), strict=True)
