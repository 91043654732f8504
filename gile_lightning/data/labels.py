"""The label set of a corpus: names, texts and training frequencies."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gile_lightning.errors import InputError


@dataclass(frozen=True)
class LabelSet:
    """Labels in id order: those seen in training first, by falling frequency, then the unseen.

    Attributes:
        names: unique label names.
        texts: the text that describes each label.
        frequencies: training documents per label; 0 for an unseen label.
        documents: training documents that the frequencies were counted over; 0 if unknown.
        ids: the ids of the names.
        seen: how many labels occur in training; they have the ids 0 to seen - 1.
    """

    names: list[str]
    texts: list[str]
    frequencies: list[int]
    documents: int = field(default=0, compare=False)  # checkpoints may lack it
    ids: dict[str, int] = field(init=False, repr=False, compare=False)
    seen: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "seen", sum(frequency > 0 for frequency in self.frequencies))
        object.__setattr__(self, "ids", {name: i for i, name in enumerate(self.names)})
        if not len(self.ids) == len(self.names) == len(self.texts) == len(self.frequencies):
            raise InputError("a label set needs unique names, and one text and frequency for each")

    def __len__(self) -> int:
        return len(self.names)

    @classmethod
    def from_counts(
        cls,
        training: Counter[str],
        others: Iterable[str],
        texts: Mapping[str, str],
        documents: int = 0,
    ) -> "LabelSet":
        """Order the labels of the training documents and those that only others have."""
        seen = sorted(training, key=lambda name: (-training[name], name))
        unseen = sorted(set(others) - set(training))
        names = seen + unseen
        frequencies = [training[name] for name in names]
        return cls(names, [texts[name] for name in names], frequencies, documents)

    def extended(self, others: Iterable[str], texts: Mapping[str, str]) -> "LabelSet":
        """Return this set with further unseen labels behind it."""
        new = sorted(set(others) - self.ids.keys())
        return LabelSet(
            self.names + new,
            self.texts + [texts[name] for name in new],
            self.frequencies + [0] * len(new),
            self.documents,
        )

    def state(self) -> dict[str, Any]:
        """Return plain values, for JSON and checkpoints."""
        return {
            "names": self.names,
            "texts": self.texts,
            "frequencies": self.frequencies,
            "documents": self.documents,
        }
