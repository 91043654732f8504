"""MITRE ATT&CK: techniques and the sentences that tell of their use, in STIX objects."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from gile_lightning.data.formats.descriptions import Described, composed
from gile_lightning.data.formats.lines import Record
from gile_lightning.data.formats.skipped import Skipped
from gile_lightning.data.formats.stix import plain_text

_TECHNIQUE = "attack-pattern"
_URL = "https://attack.mitre.org/techniques/"  # before the ATT&CK id, which outlives a name


class Techniques:
    """The techniques that are in force, and what relationships say of them.

    Sub-techniques of several techniques have the same names ("Domain Account"), so the name of the
    technique above comes first: "Valid Accounts: Domain Accounts". Where names are still the same,
    as in several matrices, the ATT&CK id follows: "Phishing (T1660)".

    Args:
        objects: by id; see `read_objects`.
    """

    def __init__(self, objects: Mapping[str, Record]) -> None:
        self.objects = objects
        self._above = self._related("subtechnique-of")
        self._replaced = self._related("revoked-by")
        self.names = {i: _name(x.fields) for i, x in objects.items() if _in_force(x.fields)}
        names = {i: self._full_name(i) for i in self.names}
        uses = Counter(names.values())
        self.names = {
            i: name if uses[name] == 1 else f"{name} ({_attack_id(objects[i].fields)})"
            for i, name in names.items()
        }

    def labels(self, skipped: Skipped) -> Iterator[Described]:
        """Stream the techniques in force; the one above a sub-technique is its parent."""
        for i, (where, fields) in self.objects.items():
            if i in self.names:
                above = self._parent(i)
                parents = () if above is None else (self.names[above],)
                text = plain_text(str(fields.get("description") or ""))
                uri = _URL + _attack_id(fields).replace(".", "/")
                yield Described(where, self.names[i], text, parents=parents, uri=uri)
            elif fields["type"] == _TECHNIQUE:
                skipped.add(_why_out(fields), where)

    def sentences(self, skipped: Skipped) -> list[Record]:
        """Return the sentences: ``id``, ``text``, ``labels`` (names) and ``created`` (a time).

        A sentence is the description of a relationship ``uses`` that points to a technique. Those
        with the same text are one, of the earliest time, with the labels of all.
        """
        found: dict[str, Record] = {}
        for where, fields in self._relationships("uses"):
            target = str(fields.get("target_ref"))
            if target.partition("--")[0] != _TECHNIQUE:
                skipped.add("uses of something else than a technique", where)
                continue
            if _withdrawn(fields):
                skipped.add("revoked or deprecated sentences", where)
                continue
            technique = self.current(target)
            if technique is None:
                skipped.add("sentences on techniques that are left out or missing", where)
                continue
            text = plain_text(str(fields.get("description") or ""))
            if not text:
                skipped.add("uses of a technique without a sentence", where)
                continue
            created = str(fields.get("created") or "")
            sentence = {"id": fields["id"], "text": text, "labels": [], "created": created}
            first = found.setdefault(text, Record(where, sentence)).fields
            first["created"] = min(first["created"] or created, created or first["created"])
            first["labels"].append(self.names[technique])
            if first is not sentence:
                skipped.add("sentences that came before, whose labels are kept", where)
        return list(found.values())

    def current(self, technique: str | None) -> str | None:
        """Return a technique in force, or the one that has replaced it; None if there is none."""
        passed: set[str] = set()
        while technique is not None and technique not in self.names and technique not in passed:
            passed.add(technique)
            technique = self._replaced.get(technique)
        return technique if technique in self.names else None

    def _full_name(self, technique: str) -> str:
        name, above = self.names[technique], self._parent(technique)
        return name if above is None else f"{self.names[above]}: {name}"

    def _parent(self, technique: str) -> str | None:
        """Return the technique in force above a sub-technique; None if there is none."""
        above = self.current(self._above.get(technique))
        return None if above == technique else above

    def _related(self, kind: str) -> dict[str, str]:
        """Return the technique that each one is related to in this way."""
        return {
            str(fields.get("source_ref")): str(fields.get("target_ref"))
            for _, fields in self._relationships(kind)
            if not _withdrawn(fields)
        }

    def _relationships(self, kind: str) -> Iterator[Record]:
        for record in self.objects.values():
            fields = record.fields
            if fields["type"] == "relationship" and fields.get("relationship_type") == kind:
                yield record


def _withdrawn(fields: Mapping[str, Any]) -> bool:
    return bool(fields.get("revoked") or fields.get("x_mitre_deprecated"))


def _in_force(fields: Mapping[str, Any]) -> bool:
    return fields["type"] == _TECHNIQUE and bool(_name(fields)) and not _withdrawn(fields)


def _name(fields: Mapping[str, Any]) -> str:
    return composed(str(fields.get("name") or "").strip())


def _why_out(fields: Mapping[str, Any]) -> str:
    if not _withdrawn(fields):
        return "techniques without a name"
    return f"{'revoked' if fields.get('revoked') else 'deprecated'} techniques"


def _attack_id(fields: Mapping[str, Any]) -> str:
    """Return an id such as T1660; in older files its source is mitre-mobile-attack."""
    references = fields.get("external_references")
    listed = references if isinstance(references, list) else []
    told = (x for x in listed if isinstance(x, dict) and "external_id" in x)
    own = (x for x in told if str(x.get("source_name")).startswith("mitre-"))
    return next((str(x["external_id"]) for x in own), str(fields["id"]))
