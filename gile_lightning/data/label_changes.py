"""Labels that were renamed, merged, split or withdrawn, as a file says."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from gile_lightning.common.errors import InputError, nearest
from gile_lightning.data.formats.annif import is_uri
from gile_lightning.data.formats.descriptions import composed
from gile_lightning.data.formats.lines import plain_name, read_records
from gile_lightning.data.formats.skipped import Skipped
from gile_lightning.data.formats.tables import names_in, read_table
from gile_lightning.data.tokenizing.label_set import LabelFacts

OLD, NEW = "old", "new"  # the columns of a file
Targets = Mapping[str, tuple[str, ...]]
"""What a label becomes, by its name; labels that it lacks stay what they are."""


class Change(NamedTuple):
    """What becomes of a label.

    Attributes:
        where: file and line, for messages.
        old: its name or URI.
        new: the names or URIs of what it becomes: one for a rename or a merge, several for a split,
            none for a label that is withdrawn.
    """

    where: str
    old: str
    new: tuple[str, ...]


class LabelChanges:
    """The changes of a file. They happen all at once, so that their order does not matter.

    Args:
        changes: of distinct labels.

    Raises:
        InputError: a label is changed twice, or what a label becomes is changed in turn.
    """

    def __init__(self, changes: Sequence[Change]) -> None:
        self.changes = changes
        _check(changes)

    def __bool__(self) -> bool:
        return bool(self.changes)

    def resolve(self, names: Iterable[str], uris: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
        """Return what labels become, by their names.

        Args:
            names: of a label set.
            uris: those of its labels that have one, by their names.

        Raises:
            InputError: one of these labels becomes a URI that none has, or is changed by its name
                and by its URI too.
        """
        own = set(names)
        by_uri = {uri: name for name, uri in uris.items()}
        resolved: list[Change] = []
        for where, old, new in self.changes:
            is_own = old in own or old in by_uri  # another language may have it
            for uri in new:
                if is_own and is_uri(uri) and uri not in own and uri not in by_uri:
                    raise InputError(
                        f"{where}: no label has the URI {uri!r}; give a name to make a new label"
                    )
            found = (x if x in own else by_uri.get(x, x) for x in (old, *new))
            first, *rest = found
            resolved.append(Change(where, first, tuple(rest)))
        _check(resolved)
        return {change.old: change.new for change in resolved}

    def check(self, known: Iterable[str]) -> None:
        """Refuse a change of a label that is not known.

        Args:
            known: names and URIs.

        Raises:
            InputError: there is one.
        """
        known = set(known)
        for where, old, _ in self.changes:
            if old not in known:
                raise InputError(f"{where}: there is no label {old!r}{nearest(old, known)}")


def read_changes(path: Path | str, encoding: str = "utf-8") -> LabelChanges:
    """Read label changes.

    ``.csv``, ``.tsv``: a table with the columns ``old`` and ``new``; names in one cell have |
    between them. Any other ending: JSON lines with ``old``, and with ``new``, a name, a list of
    names or null. All may be compressed (``.gz``, ``.bz2``, ``.xz``, ``.zip``).

    Raises:
        InputError: the file cannot be read, or is no such file; see also `LabelChanges`.
    """
    path = Path(path).expanduser()
    table = plain_name(path).endswith((".csv", ".tsv"))
    records = read_table(path, encoding) if table else read_records([path], Skipped(), 0, encoding)
    changes = []
    for where, fields in records:
        if missing := [key for key in (OLD, NEW) if key not in fields]:
            raise InputError(
                f"{where}: no {missing[0]!r}; a change has {OLD!r} and {NEW!r}, here are "
                f"{', '.join(fields)}"
            )
        old, new = fields[OLD], fields[NEW]
        if isinstance(new, str):
            new = names_in(new) if table else [new] if new else []
        new = [] if new is None else new
        texts = isinstance(new, list) and all(isinstance(x, str) and x.strip() for x in new)
        if not isinstance(old, str) or not old.strip() or not texts:
            raise InputError(
                f"{where}: {OLD!r} is a name or URI, and {NEW!r} names, a list of them, or empty"
            )
        old, *new = (composed(name.strip()) for name in (old, *new))
        changes.append(Change(where, old, tuple(dict.fromkeys(new))))
    if not changes:
        raise InputError(f"{path}: no label change in the file")
    return LabelChanges(changes)


def _check(changes: Iterable[Change]) -> None:
    places: dict[str, str] = {}
    for where, old, _ in changes:
        if old in places:
            raise InputError(
                f"{where}: {old!r} is changed already at {places[old]}; give all that it becomes "
                "in one line"
            )
        places[old] = where
    for where, old, new in changes:
        for name in new:
            if name != old and name in places:
                raise InputError(
                    f"{where}: {old!r} becomes {name!r}, which {places[name]} changes in turn; "
                    "give what it becomes in the end"
                )


class ChangedLabels(NamedTuple):
    """The labels of a corpus.

    Attributes:
        texts: by name.
        facts: what else is known of them.
        targets: what labels of documents become.
        known: names and URIs before the changes.
    """

    texts: Mapping[str, str]
    facts: LabelFacts
    targets: Targets
    known: set[str]

    def after(self, changes: LabelChanges) -> "ChangedLabels":
        """Return the labels after changes.

        A label that nothing describes takes the text of the first label that becomes it.
        """
        uris = self.facts.uris
        targets = changes.resolve(self.texts, uris)
        groups = regroup(self.texts, targets)
        return ChangedLabels(
            inherited_texts(groups, self.texts),
            inherited_facts(groups, self.facts, targets),
            targets,
            {*self.known, *uris.values()},
        )


def regroup(names: Iterable[str], targets: Targets) -> dict[str, list[str]]:
    """Return the labels after changes, each with those that became it, in order.

    >>> regroup(["a", "b", "c"], {"a": ("x", "y"), "b": ("x",)})
    {'x': ['a', 'b'], 'y': ['a'], 'c': ['c']}
    """
    found: dict[str, list[str]] = {}
    for name in names:
        for new in targets.get(name, (name,)):
            found.setdefault(new, []).append(name)
    return found


def inherited_texts(
    groups: Mapping[str, Sequence[str]], texts: Mapping[str, str]
) -> dict[str, str]:
    """Return the texts of labels after changes.

    A label that was there before keeps its text. Another one has that of the first label that
    became it. If that text begins with the name of the old label, the new name takes its place.

    Args:
        groups: what `regroup` returned.
        texts: of the labels before, by their names.
    """
    return {
        new: texts[new] if new in texts else _retold(new, olds[0], texts[olds[0]])
        for new, olds in groups.items()
    }


def _retold(new: str, old: str, text: str) -> str:
    rest = text[len(old) :]
    return new + rest if text.startswith(old) and not rest[:1].isalnum() else text


def inherited_facts(
    groups: Mapping[str, Sequence[str]], facts: LabelFacts, targets: Targets
) -> LabelFacts:
    """Return what is known of labels after changes.

    Synonyms and parents are those of all that became a label, each once. Parents change too. Of
    URIs, a label that was there before keeps its own, and so does one that was renamed. What was
    merged or split into a new label has none.

    Args:
        groups: what `regroup` returned.
        facts: of the labels before.
        targets: what labels became.
    """
    above = {
        name: [new for parent in parents for new in targets.get(parent, (parent,))]
        for name, parents in facts.parents.items()
    }
    return LabelFacts(
        _collected(groups, facts.synonyms),
        _inherited_uris(groups, facts.uris),
        _collected(groups, above),
    )


def _collected(
    groups: Mapping[str, Sequence[str]], names: Mapping[str, Sequence[str]]
) -> dict[str, list[str]]:
    found = {}
    for new, olds in groups.items():
        own = (name for old in dict.fromkeys((new, *olds)) for name in names.get(old, ()))
        found[new] = [name for name in dict.fromkeys(own) if name != new]
    return found


def _inherited_uris(groups: Mapping[str, Sequence[str]], uris: Mapping[str, str]) -> dict[str, str]:
    parts: dict[str, int] = {}
    for olds in groups.values():
        for old in olds:
            parts[old] = parts.get(old, 0) + 1
    found = {}
    for new, olds in groups.items():
        renamed = new not in uris and len(olds) == 1 and parts[olds[0]] == 1
        uri = uris.get(olds[0] if renamed else new, "")
        if uri:
            found[new] = uri
    return found


def changed(labels: Iterable[str], targets: Targets) -> list[str]:
    """Return the labels of a document after changes, each once."""
    new = (target for label in labels for target in targets.get(label, (label,)))
    return list(dict.fromkeys(new))
