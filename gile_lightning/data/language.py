"""What a model must know of one language: how its texts are encoded and which labels it has."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gile_lightning.data.labels import LabelSet
from gile_lightning.data.text import TextEncoder


@dataclass(frozen=True)
class Language:
    """A vocabulary with its text settings, and a label set.

    Attributes:
        text: encodes documents and label descriptions.
        labels: the labels, seen ones first.
    """

    text: TextEncoder
    labels: LabelSet

    def state(self) -> dict[str, Any]:
        """Return plain values, for JSON and checkpoints."""
        return {
            "vocabulary": "\n".join(self.text.vocabulary),
            **self.text.settings(),
            "labels": self.labels.state(),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> "Language":
        """Rebuild what `state` returned."""
        settings = {k: v for k, v in state.items() if k not in ("vocabulary", "labels")}
        text = TextEncoder(state["vocabulary"].split("\n"), **settings)
        return cls(text, LabelSet(**state["labels"]))

    def save(self, path: Path) -> None:
        """Write the language as JSON."""
        path.write_text(json.dumps(self.state(), ensure_ascii=False), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> "Language":
        """Read what `save` wrote."""
        return cls.from_state(json.loads(path.read_text(encoding="utf-8")))
