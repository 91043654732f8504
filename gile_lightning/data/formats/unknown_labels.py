"""Why labels of documents are unknown."""

from collections.abc import Mapping

UNKNOWN = "assignments of labels without a description or unknown"
OTHER_CASE = "assignments of labels that are described with other letters in upper case"
JOINED = "assignments of several labels in one, with another sign than | between them"

_SIGNS = (";", ",", "/", "\n", "\t")


class UnknownLabels:
    """Tells why labels are unknown, by the names of those that are known."""

    def __init__(self, known: Mapping[str, int]) -> None:
        self.known = known
        self._in_lower_case: set[str] | None = None
        self._reasons: dict[str, str] = {}

    def reason(self, name: str) -> str:
        """Return `UNKNOWN`, or what is wrong with the name of a label that is known."""
        if name not in self._reasons:
            self._reasons[name] = self._find_reason(name)
        return self._reasons[name]

    def _find_reason(self, name: str) -> str:
        if self._in_lower_case is None:
            self._in_lower_case = {known.lower() for known in self.known}
        if name.lower() in self._in_lower_case:
            return OTHER_CASE
        for sign in _SIGNS:
            parts = [part.strip().lower() for part in name.split(sign)]
            if len(parts) > 1 and all(part in self._in_lower_case for part in parts):
                return JOINED
        return UNKNOWN


REMEDIES = {
    OTHER_CASE: "are lost, as names of labels differ in upper case from those that are described",
    JOINED: "are lost, as several labels stand in one: put | between names in a table, or a list",
}
"""What `warnings` says of these."""
