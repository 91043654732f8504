"""The model that training begins with, and what it knows that stays."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gile_lightning.common.errors import InputError
from gile_lightning.data.document import SPLITS
from gile_lightning.data.known import KnownDocuments
from gile_lightning.data.loading.ragged import RaggedBatch
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.data.training_data import TrainingData
from gile_lightning.network import NOT_SEEN, EncodedLabels, Network
from gile_lightning.systems.calibrated import training_ids
from gile_lightning.systems.weights import KnownToRidge, set_word_vectors
from gile_lightning.training.checkpoint import HPARAMS, STATE, tasks_of

_ENOUGH = 0.5  # of the assignments that a model knows, those of labels in new documents
PENALTIES = "penalties"  # of what a checkpoint says beside its tasks: by task


class EarlierModel:
    """The model that training begins with.

    Args:
        checkpoint: its checkpoint.
        keep: whether its labels stay, and what it knows of its documents; else it gives its
            weights alone.
    """

    def __init__(self, checkpoint: dict[str, Any], keep: bool = True) -> None:
        self.checkpoint = checkpoint
        self.keep = keep

    @property
    def extra(self) -> dict[str, Any]:
        """What the checkpoint says beside its tasks."""
        extra: dict[str, Any] = self.checkpoint[STATE]["extra"]
        return extra

    @cached_property
    def kept_labels(self) -> dict[str, LabelSet]:
        """The label sets that stay, by task."""
        tasks = tasks_of(self.checkpoint) if self.keep else {}
        return {name: task.labels for name, task in tasks.items()}

    def documents(self, name: str) -> KnownDocuments:
        """Return what it knows of the documents of a task."""
        known = KnownDocuments.of(self.extra).get(name, KnownDocuments())
        return known if self.keep else known.of_weights()

    def ridge(
        self, name: str, documents: NDArray[np.int64] | None, labels: LabelSet
    ) -> KnownToRidge | None:
        """Return what its regression of a task knows; None if it has none, or none that stays.

        Args:
            name: of the task.
            documents: the hashes [D] of those of training; None if unknown.
            labels: of the task.
        """
        old = self.kept_labels.get(name)
        penalty = penalty_of(self.checkpoint, name)
        if old is None or penalty is None:
            return None
        new = None
        if documents is not None:
            new = self.documents(name).splits(documents) != SPLITS.index("train")
        return KnownToRidge(penalty, new, training_ids(labels, old)[: labels.seen] < 0)

    def weights(
        self,
        networks: Mapping[str, Network],
        encoded: Mapping[str, EncodedLabels],
        data: TrainingData,
    ) -> dict[str, Tensor]:
        """Return its weights as those of networks for other label sets.

        Args:
            networks: by task.
            encoded: their labels.
            data: what the networks are to be trained on.

        Raises:
            InputError: the checkpoint lacks a language, a label or word vectors.
        """
        stored = self.checkpoint[STATE]["tasks"]
        weights = dict(self.checkpoint["state_dict"])
        for name, network in networks.items():
            if name not in stored:
                raise InputError(
                    f"the checkpoint knows {', '.join(stored)}, not {name}: set data.languages"
                )
            if stored[name] is None:  # imported weights, without words and labels
                if not set_word_vectors(network, name, encoded[name], data):
                    raise InputError(
                        "the checkpoint holds no word vectors and the corpus brings none: set "
                        "--data.word_vectors"
                    )
                weights[f"networks.{name}.embedding.weight"] = network.embedding.weight
            old = LabelSet(**stored[name]["labels"]) if stored[name] else LabelSet([], [], [])
            weights |= _weights_of_labels(network, name, data.tasks[name], old, weights, self.keep)
        names = tuple(f"networks.{name}." for name in networks)
        return {key: weight for key, weight in weights.items() if key.startswith(names)}


def penalty_of(checkpoint: dict[str, Any], name: str) -> float | None:
    """Return the penalty of a task's regression in a checkpoint, None without a regression."""
    penalties: dict[str, float] | None = checkpoint[STATE]["extra"].get(PENALTIES)
    if penalties is not None:
        return penalties.get(name)
    ridge = checkpoint.get(HPARAMS, {}).get("ridge")  # of an earlier version
    return None if ridge is None else float(ridge["init_args"]["penalty"])


def labels_of(documents: Iterable[RaggedBatch], count: int) -> Tensor:
    """Return which of the labels [K] any of the documents has."""
    found = torch.zeros(count, dtype=torch.bool)
    for batch in documents:
        found[batch.label_ids.long()] = True
    return found


def few_labels(old: LabelSet, new: LabelSet, trained: Tensor) -> str | None:
    """Say so if new documents have few of the labels that a model knows.

    Such a model unlearns when a label does not fit: it sees no document of the others.

    Args:
        old: the labels of the model.
        new: the labels that it is trained on.
        trained: which of these [K] a training document has.
    """
    places = new.places_in(old)[: new.seen]
    known = [old.frequencies[j] for j in places if 0 <= j < old.seen]
    here = [
        old.frequencies[j]
        for j, some in zip(places, trained.tolist(), strict=False)
        if some and 0 <= j < old.seen
    ]
    share = sum(here) / max(1, sum(known))
    if not known or share >= _ENOUGH:
        return None
    return (
        f"warning: the training documents have {len(here):,} of the {len(known):,} labels that the "
        f"model knows, which had {share:.0%} of all assignments; it may come to expect these, and "
        "new ones, everywhere. Mix earlier documents in, by data.replay or in one file "
        "(docs/later.md)"
    )


def rest_residuals(network: Network, trained: Tensor) -> None:
    """Have the residuals rest of labels that no training document has; see `LabelResidual`.

    Args:
        network: whose residuals rest.
        trained: which of the labels [K] a training document has.
    """
    if network.label_residual is not None:
        network.label_residual.resting = ~trained


def _weights_of_labels(
    network: Network,
    name: str,
    task: Task,
    old: LabelSet,
    weights: Mapping[str, Tensor],
    keep: bool,
) -> dict[str, Tensor]:
    """Return the weights of single labels, found by URI or name in the old label set."""
    ids = training_ids(task.labels, old)[: task.labels.seen]  # NOT_SEEN for new ones
    found: dict[str, Tensor] = {}
    if not network.output.scores_unseen:
        pairs = zip(task.labels.names, ids.tolist(), strict=False)
        if new := [label for label, i in pairs if i == NOT_SEEN]:
            raise InputError(
                f"the output layer {type(network.output).__name__} knows its labels by "
                f"number, and {len(new)} of the corpus' labels ({name}; such as "
                f"{new[0]!r}) are none of the checkpoint's"
            )
        if ids.tolist() != [*range(old.seen)]:
            found |= network.output.select(_below(f"networks.{name}.output.", weights), ids)
    if network.label_residual is not None:
        prefix = f"networks.{name}.label_residual."
        found |= network.label_residual.select(_below(prefix, weights), ids)
    prefix = f"networks.{name}.ridge."
    if network.ridge is not None and keep:
        found |= network.ridge.select(_below(prefix, weights), ids)
    elif network.ridge is not None:  # which is solved anew
        own = network.ridge.named_buffers(recurse=False)
        found |= {prefix + key: buffer for key, buffer in own}
    return found


def _below(prefix: str, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {key: value for key, value in weights.items() if key.startswith(prefix)}
