"""A checkpoint whose labels were renamed, merged, split or withdrawn."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from torch import Tensor

from gile_lightning.common.errors import InputError
from gile_lightning.common.factories import import_part
from gile_lightning.data.formats.skipped import examples
from gile_lightning.data.label_changes import (
    LabelChanges,
    Targets,
    inherited_facts,
    inherited_texts,
    regroup,
)
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.network import LabelGroups, LabelResidual, Ridge
from gile_lightning.network.outputs import Linear, OutputLayer
from gile_lightning.training.checkpoint import HPARAMS, STATE, tasks_of

_PARTS = {"output": OutputLayer, "label_residual": LabelResidual, "ridge": Ridge}
_LINEAR = ("linear.weight", "linear.bias")
CHANGED = "label_changes"  # of the state of a checkpoint in memory: `Changed`, by task


@dataclass
class Changed:
    """What happened to the labels that a model had seen: how many were withdrawn, and so on.

    Attributes:
        merged_into: the number of labels that were made by merging.
        parts: the number of labels that were made by splitting.
        names: the present names of labels that were renamed, merged or made by splitting.
    """

    withdrawn: int = 0
    renamed: int = 0
    merged: int = 0
    merged_into: int = 0
    split: int = 0
    parts: int = 0
    names: set[str] = field(default_factory=set)


def change_labels(
    checkpoint: dict[str, Any], changes: LabelChanges, others_known: bool = False
) -> dict[str, Any]:
    """Return a checkpoint after label changes.

    What a label has learned follows it. A renamed label keeps its own, a withdrawn one loses it,
    and the parts of a split label each begin with all that it had. Where several become one, with
    n_j training documents each,

    - vectors and matcher weights of `LabelResidual`, weights of `Linear`, and the log-odds of
      thresholds are means weighted by n_j;
    - biases are log Σ n_j plus the mean of b_j - log n_j weighted by n_j: a bias follows the
      logarithm of the frequency;
    - coefficients of `Ridge` are added up: the regression is linear in the targets, so the sum is
      that of the merged label if no document has two of the labels.

    Frequencies are added up too. Each part says itself what becomes of its own: `regroup`.

    Args:
        checkpoint: of a `NeuralSystem`.
        changes: of labels of any of its languages.
        others_known: whether labels that the model lacks may change.

    Raises:
        InputError: the model has none of the labels, none is left, it is another system, or it has
            a part that cannot regroup its weights.
    """
    kind = import_part(checkpoint[STATE]["class_path"])
    if not getattr(kind, "labels_follow_changes", False):
        raise InputError(
            f"{checkpoint[STATE]['class_path']}: label changes do not reach what this system has "
            "learned; train it again, on its corpus with data.label_changes"
        )
    tasks = tasks_of(checkpoint)
    if not others_known:
        known = (
            name for task in tasks.values() for name in (*task.labels.names, *task.labels.uris)
        )
        changes.check(known)
    state = dict(checkpoint[STATE])
    weights = dict(checkpoint["state_dict"])
    state["tasks"], state["calibrations"] = dict(state["tasks"]), dict(state["calibrations"])
    for name, task in tasks.items():
        old = task.labels
        targets = changes.resolve(old.names, old.uris_by_name())
        new, groups = _regrouped(old, targets)
        if not new.seen:
            raise InputError("the label changes leave no label that training has seen")
        grouped = LabelGroups(groups, old.frequencies)
        named = replace(task, labels=new)
        if checkpoint.get(HPARAMS, {}).get("matchers"):  # which know words of new names by ids
            named = task.with_labels(new)
        state["tasks"][name] = named.state()
        state.setdefault(CHANGED, {})[name] = _changed(old, new, targets, groups)
        parts = _PARTS if groups != [[i] for i in range(old.seen)] else {}
        for part, base in parts.items():
            prefix = f"networks.{name}.{part}."
            own = {k.removeprefix(prefix): v for k, v in weights.items() if k.startswith(prefix)}
            part_class = _class_of(part, base, checkpoint, own)
            weights |= {prefix + k: v for k, v in part_class.regroup(own, grouped).items()}
        if name in state["calibrations"]:
            found = dict(state["calibrations"][name])
            found["log_rates"] = grouped.mean(found["log_rates"])
            found["thresholds"] = grouped.mean(found["thresholds"].logit(eps=1e-6)).sigmoid()
            state["calibrations"][name] = found
    return {**checkpoint, "state_dict": weights, STATE: state}


def _class_of(part: str, base: Any, checkpoint: dict[str, Any], own: dict[str, Tensor]) -> Any:
    """Return the class of a part, which says how its weights are regrouped.

    Raises:
        InputError: the checkpoint names something else.
    """
    spec = checkpoint.get(HPARAMS, {}).get(part)
    if spec is None:  # a subclass of the system may have set it
        return Linear if part == "output" and own.keys() == {*_LINEAR} else base
    path = spec.get("class_path") if isinstance(spec, dict) else None
    found = import_part(path) if isinstance(path, str) else None
    if found is None or not issubclass(found, base):
        raise InputError(f"the checkpoint names {path!r} as model.{part}, which is none")
    return found


def describe_labels(old: LabelSet, new: LabelSet, changed: Changed) -> str:
    """Tell in a line what became of the labels that a model had seen.

    Args:
        old: its labels, after label changes.
        new: the labels that it is to be trained on.
        changed: what the changes have done.
    """
    places = new.places_in(old)[: new.seen]
    pairs = [(new.names[i], old.names[j]) for i, j in enumerate(places) if 0 <= j < old.seen]
    same = sum(now == then and then not in changed.names for now, then in pairs)
    renamed = changed.renamed + sum(now != then for now, then in pairs)
    replaced = old.seen - len(pairs)
    added = [new.names[i] for i, j in enumerate(places) if not 0 <= j < old.seen]
    phrases = [
        f"{same:,} as before",
        f"{renamed:,} renamed" if renamed else "",
        f"{changed.merged:,} merged into {changed.merged_into:,}" if changed.merged else "",
        f"{changed.split:,} split into {changed.parts:,}" if changed.split else "",
        f"{len(added):,} new{examples(added, len(added))}",
        f"{changed.withdrawn + replaced:,} gone",
    ]
    return ", ".join(filter(None, phrases))


def _changed(
    old: LabelSet, new: LabelSet, targets: Targets, groups: Sequence[Sequence[int]]
) -> Changed:
    """Count what happened to the seen labels.

    Args:
        old: the labels before.
        new: the labels after.
        targets: the new names of those that changed.
        groups: the ids of the old labels of each new one that is seen.
    """
    found = Changed()
    merged = {old.names[i] for own in groups if len(own) > 1 for i in own}
    found.merged, found.merged_into = len(merged), sum(len(own) > 1 for own in groups)
    parts: set[str] = set()
    for name, names in targets.items():
        if old.ids.get(name, old.seen) >= old.seen:
            continue
        if not names:
            found.withdrawn += 1
        elif len(names) > 1:
            found.split += 1
            parts.update(names)
        elif name not in merged and names != (name,):
            found.renamed += 1
    found.parts = len(parts)
    found.names = parts.union(
        now
        for now, own in zip(new.names, groups, strict=False)
        if len(own) > 1 or old.names[own[0]] != now
    )
    return found


def _regrouped(old: LabelSet, targets: Targets) -> tuple[LabelSet, list[list[int]]]:
    """Return the label set after changes, and the old ids that each seen label comes from."""
    groups = regroup(old.names, targets)
    texts = inherited_texts(groups, dict(zip(old.names, old.texts, strict=True)))
    facts = inherited_facts(groups, old.facts(), targets)
    ids = {new: [old.ids[name] for name in names] for new, names in groups.items()}
    counts = {new: sum(old.frequencies[i] for i in own) for new, own in ids.items()}
    names = sorted(groups, key=lambda name: -counts[name])  # stable: otherwise as they were
    new = LabelSet(
        names,
        [texts[name] for name in names],
        [counts[name] for name in names],
        old.documents,
        **facts.of(names),
    )
    seen = [[i for i in ids[name] if i < old.seen] for name in names[: new.seen]]
    return new, seen
