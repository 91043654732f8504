"""Labels that a user gives, to label texts with."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from gile_lightning.common.errors import InputError
from gile_lightning.data.formats.descriptions import Described, described
from gile_lightning.data.formats.label_files import read_labels
from gile_lightning.data.formats.skipped import Skipped

LabelsLike = Mapping[str, str] | Iterable[Mapping[str, Any]] | Path | str


def read_candidates(
    labels: LabelsLike, by_name: bool, language: str | None, skipped: Skipped
) -> dict[str, Described]:
    """Return labels by name, checked.

    Args:
        labels: descriptions by name; or records with ``name`` and ``description``, and perhaps
            ``synonyms``, ``parents`` and ``uri``; or a file, as `read_labels` takes it.
        by_name: whether a label may lack a description.
        language: of the labels, if a file has several.
        skipped: counts what a file has and is left out.

    Raises:
        InputError: there is no label, a name is missing or comes twice, or a description is
            missing.
    """
    if isinstance(labels, Path | str):
        records: Iterable[Described] = read_labels(labels, skipped, language=language)
    else:
        if isinstance(labels, Mapping):
            labels = [{"name": name, "description": text} for name, text in labels.items()]
        records = (_record(i, label) for i, label in enumerate(labels))
    found: dict[str, Described] = {}
    for label in records:
        if not label.name:
            raise InputError(f"{label.where}: a label needs a name")
        if label.name in found:
            raise InputError(
                f"{label.where}: the label {label.name!r} is there already at "
                f"{found[label.name].where}"
            )
        if not label.description and not by_name:
            raise InputError(
                f"{label.where}: the label {label.name!r} has no description to score it by; "
                "add one, or train with --data.undescribed_labels name"
            )
        found[label.name] = label
    if not found:
        raise InputError("no label given; leave labels out to use the model's own")
    return found


def _record(number: int, label: Any) -> Described:
    if not isinstance(label, Mapping):
        raise InputError(
            f"label {number} is {label!r:.60}: give descriptions by name, or records with name and "
            "description"
        )
    return described(f"label {number}", str(label.get("name") or ""), label)
