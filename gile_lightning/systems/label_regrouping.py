"""A checkpoint whose labels were renamed, merged, split or withdrawn."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import torch
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
from gile_lightning.training.checkpoint import STATE, tasks_of

CHANGED = "label_changes"  # of the state of a checkpoint in memory: counts, by task


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

    Frequencies are added up too.

    Args:
        checkpoint: of a `NeuralSystem`.
        changes: of labels of any of its languages.
        others_known: whether labels that the model lacks may change.

    Raises:
        InputError: the model has none of the labels, none is left, or it is another system.
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
        parts = _Parts(groups, old.frequencies)
        state["tasks"][name] = {**state["tasks"][name], "labels": new.state()}
        state.setdefault(CHANGED, {})[name] = _counted(old, targets, groups)
        for key, value in weights.items():
            weights[key] = parts.of_weight(key.removeprefix(f"networks.{name}."), value)
        if name in state["calibrations"]:
            found = dict(state["calibrations"][name])
            found["log_rates"] = parts.mean(found["log_rates"])
            found["thresholds"] = parts.mean(found["thresholds"].logit(eps=1e-6)).sigmoid()
            state["calibrations"][name] = found
    return {**checkpoint, "state_dict": weights, STATE: state}


def describe_labels(old: LabelSet, new: LabelSet, counts: Mapping[str, int]) -> str:
    """Tell in a line what became of the labels that a model had seen.

    Args:
        old: its labels, after label changes.
        new: the labels that it is to be trained on.
        counts: what the changes have counted, if there were any.
    """
    places = new.places_in(old)[: new.seen]
    pairs = [(new.names[i], old.names[j]) for i, j in enumerate(places) if 0 <= j < old.seen]
    same = sum(now == then for now, then in pairs)
    found = Counter(counts)
    same -= found["renamed"] + found["merged labels"] + found["parts"]
    renamed = found["renamed"] + sum(now != then for now, then in pairs)
    replaced = old.seen - len(pairs)
    added = [new.names[i] for i, j in enumerate(places) if not 0 <= j < old.seen]
    phrases = [
        f"{same:,} as before",
        f"{renamed:,} renamed" if renamed else "",
        f"{found['merged']:,} merged into {found['merged labels']:,}" if found["merged"] else "",
        f"{found['split']:,} split into {found['parts']:,}" if found["split"] else "",
        f"{len(added):,} new{examples(added, len(added))}",
        f"{found['withdrawn'] + replaced:,} gone",
    ]
    return ", ".join(filter(None, phrases))


def _counted(old: LabelSet, targets: Targets, groups: Sequence[Sequence[int]]) -> dict[str, int]:
    """Count what happened to the seen labels."""
    counts: Counter[str] = Counter()
    seen = {name: new for name, new in targets.items() if old.ids.get(name, old.seen) < old.seen}
    merged = {old.names[i] for own in groups if len(own) > 1 for i in own}
    counts["merged labels"], counts["merged"] = sum(len(own) > 1 for own in groups), len(merged)
    for name, new in seen.items():
        if not new:
            counts["withdrawn"] += 1
        elif len(new) > 1:
            counts["split"] += 1
            counts["parts"] += len(new)
        elif name not in merged and new != (name,):
            counts["renamed"] += 1
    return dict(counts)


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


class _Parts:
    """What labels have learned, regrouped."""

    def __init__(self, groups: Sequence[Sequence[int]], frequencies: Sequence[int]) -> None:
        self.places = torch.tensor([i for own in groups for i in own], dtype=torch.long)
        sizes = torch.tensor([len(own) for own in groups], dtype=torch.long)
        self.rows = torch.repeat_interleave(torch.arange(len(groups)), sizes)
        self.counts = torch.tensor(frequencies, dtype=torch.float64)
        self.total = self._add(self.counts)

    def of_weight(self, key: str, value: Tensor) -> Tensor:
        """Return a tensor of a network's state, regrouped if its rows are labels."""
        if key in ("label_residual.biases", "output.linear.bias"):
            return self.bias(value)
        if key in (
            *("label_residual.vectors", "label_residual.matcher_weights"),
            "output.linear.weight",
        ):
            return self.mean(value)
        return self._add(value) if key == "ridge.coefficients" else value

    def mean(self, values: Tensor) -> Tensor:
        """Return the means of [L, ...] weighted by documents."""
        shape = (-1, *[1] * (values.dim() - 1))
        weighted = self._add(values.double() * self.counts[: len(values)].view(shape))
        return (weighted / self.total.view(shape)).to(values.dtype)

    def bias(self, values: Tensor) -> Tensor:
        """Return the biases, which follow the logarithm of the documents."""
        log = self.counts[: len(values)].log()
        return (self.mean(values.double() - log) + self.total.log()).to(values.dtype)

    def _add(self, values: Tensor) -> Tensor:
        found = values.new_zeros(int(self.rows[-1]) + 1, *values.shape[1:])
        return found.index_add_(0, self.rows, values[self.places])
