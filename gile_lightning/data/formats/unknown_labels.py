"""Why labels of documents are unknown."""

import re
from collections.abc import Iterable

UNKNOWN = "assignments of labels without a description or unknown"
OTHER_FORM = "assignments of labels that are described in other case, or with other spaces"
JOINED = "assignments of several labels as one"

REMEDIES = {
    OTHER_FORM: "are lost, as names differ in case or spaces from those that are described",
    JOINED: "are lost, as several labels stand as one: put | between them in a cell of a table, "
    "or give a list",
}
"""What a warning says of these."""

_SIGNS = "|;,/\n\t"
_URIS = re.compile(r"\S[|;,]\s*<?(https?://|urn:)")  # one behind another


class UnknownLabels:
    """Tells why labels are unknown, by the names of those that are known."""

    def __init__(self, known: Iterable[str]) -> None:
        self._names = known
        self._known: set[str] | None = None  # which most corpora do not need

    def reason(self, name: str) -> str:
        """Return `UNKNOWN`, or what is wrong with the name of a label that is known."""
        if self._known is None:
            self._known = {_plain(known) for known in self._names}
        if _plain(name) in self._known:
            return OTHER_FORM
        if _URIS.search(name):
            return JOINED
        for sign in _SIGNS:
            parts = [part for part in map(_plain, name.split(sign)) if part]
            if sign in name and parts and all(part in self._known for part in parts):
                return JOINED
        return UNKNOWN


def _plain(name: str) -> str:
    return " ".join(name.casefold().split())
