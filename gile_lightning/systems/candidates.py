"""Labels that a user gives, to label texts with."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from gile_lightning.common.errors import InputError
from gile_lightning.data.formats.descriptions import Described, TextRecipe, described
from gile_lightning.data.formats.label_files import is_vocabulary, read_labels
from gile_lightning.data.formats.skipped import Skipped
from gile_lightning.data.tokenizing.label_set import LabelSet

_PARENTS = "parents of labels, which the model knows and which are not described here"
LabelsLike = Mapping[str, str] | Iterable[Mapping[str, Any]] | Path | str


def read_candidates(
    labels: LabelsLike, by_name: bool, language: str | None, skipped: Skipped
) -> dict[str, Described]:
    """Return labels by name, checked.

    A label of a published vocabulary may lack a description in any case. It is counted among what
    is left out, and `candidate_labels` makes no candidate of it.

    Args:
        labels: descriptions by name; or records with ``name`` and ``description``, and perhaps
            ``synonyms``, ``parents`` and ``uri``; or a file, as `read_labels` takes it.
        by_name: whether a label without a description is scored by its name.
        language: of the labels, if a file has several.
        skipped: counts what a file has and is left out.

    Raises:
        InputError: there is no label, a name is missing, a name or URI comes twice, or a
            description is missing.
    """
    if isinstance(labels, Path | str):
        file = Path(labels).expanduser()
        records: Iterable[Described] = read_labels(file, skipped, language=language)
        published = is_vocabulary(file)
    else:
        published = False
        if isinstance(labels, Mapping):
            labels = [{"name": name, "description": text} for name, text in labels.items()]
        if not isinstance(labels, Iterable):
            raise InputError(f"labels: {labels!r}; give names with descriptions, or a file")
        records = (_record(i, label) for i, label in enumerate(labels))
    found: dict[str, Described] = {}
    by_uri: dict[str, Described] = {}
    for label in records:
        if not label.name:
            raise InputError(f"{label.where}: a label needs a name")
        if label.name in found:
            raise InputError(
                f"{label.where}: the label {label.name!r} is there already at "
                f"{found[label.name].where}"
            )
        if label.uri and (first := by_uri.setdefault(label.uri, label)) is not label:
            raise InputError(
                f"{label.where}: the label {label.name!r} has the URI of {first.name!r} at "
                f"{first.where}; URIs must be unique"
            )
        if not label.description and not by_name:
            if not published:
                raise InputError(
                    f"{label.where}: the label {label.name!r} has no description to score it by; "
                    "add one, or train with --data.undescribed_labels name"
                )
            skipped.add("labels without a description", label.where)
        found[label.name] = label
    if not found:
        raise InputError("no label given; leave labels out to use the model's own")
    if not by_name and not any(label.description for label in found.values()):
        raise InputError(
            f"{labels}: no label has a description to score it by; train with "
            "--data.undescribed_labels name"
        )
    return found


def candidate_labels(
    given: Mapping[str, Described],
    recipe: TextRecipe,
    own: LabelSet | None = None,
    skipped: Skipped | None = None,
) -> LabelSet:
    """Return candidates as a label set.

    Args:
        given: the labels, by name. Those without a description are none of the candidates, unless
            the recipe takes names for descriptions; texts of labels below them have their names.
        recipe: of their texts.
        own: a model's own labels. Those among the candidates keep the synonyms, parents and URI
            that they come without. Texts of labels have the parents that are among the candidates.
        skipped: counts the parents that these texts lack.
    """
    names, own = list(given), own or LabelSet([], [], [])
    uris = [label.uri for label in given.values()]
    places = LabelSet(names, [""] * len(names), [0] * len(names), uris=uris).places_in(own)
    renamed = {own.names[i]: name for name, i in zip(names, places, strict=True) if i >= 0}
    parents = own.renamed_parents(renamed)
    facts = [(own.synonyms[i], own.uris[i], parents[i]) if i >= 0 else ([], "", []) for i in places]
    labels = {
        name: label._replace(
            synonyms=label.synonyms or tuple(synonyms),
            uri=label.uri or uri,
            parents=label.parents or tuple(parent for parent in known if parent in given),
        )
        for (name, label), (synonyms, uri, known) in zip(given.items(), facts, strict=True)
    }
    kept = [
        (label, known)
        for label, (_, _, known) in zip(labels.values(), facts, strict=True)
        if label.description or recipe.by_name
    ]
    for label, known in kept:
        if recipe.parents and skipped is not None and not given[label.name].parents:
            skipped.add(_PARENTS, label.where, len(set(known) - given.keys()))
    return LabelSet(
        [label.name for label, _ in kept],
        [recipe.label_text(label, labels) for label, _ in kept],
        [0] * len(kept),
        synonyms=[list(label.synonyms) for label, _ in kept],
        uris=[label.uri for label, _ in kept],
        # of the model's own too, whether or not these are candidates
        parents=[list(given[label.name].parents) or known for label, known in kept],
    )


def _record(number: int, label: Any) -> Described:
    if not isinstance(label, Mapping):
        raise InputError(
            f"label {number} is {label!r:.60}: give descriptions by name, or records with name and "
            "description"
        )
    return described(f"label {number}", str(label.get("name") or ""), label)
