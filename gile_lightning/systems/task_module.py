"""What a system defines, and what a checkpoint holds of it."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any

import lightning
import torch
from torch import Tensor

from gile_lightning.common.errors import InputError
from gile_lightning.common.factories import Configured
from gile_lightning.data.loading.ragged import RaggedBatch, Texts
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.data.tokenizing.tokenizer import UNKNOWN, Tokenizer
from gile_lightning.data.training_data import TrainingData
from gile_lightning.explaining import Evidence
from gile_lightning.systems.calibrated import Calibrations
from gile_lightning.training.checkpoint import FORMAT, STATE

Extra = Mapping[str, Any]
"""Plain values that a checkpoint holds for `build`, beside the tasks."""


class TaskModule(Configured, lightning.LightningModule, ABC):
    """A module that scores texts against labels, for one or more tasks.

    A task is named after its language. The sizes of the modules come from the data. So `build`
    makes them when a data module is attached, or when a checkpoint is read.

    Attributes:
        single_process: whether training on several processes is refused.
        calibratable: whether scores can be turned into probabilities; not where they are
            similarities, or do not depend on the text.
        labels_follow_changes: whether what single labels have learned can be regrouped; see
            `gile_lightning.systems.label_regrouping.change_labels`.
        tasks: by name; empty until the module is built.
    """

    single_process = False
    labels_follow_changes = False
    calibratable = True
    config: str
    tasks: dict[str, Task]
    thresholds: dict[str, float]
    calibrations: Calibrations
    calibrate: bool

    # --- what a system must define ---

    @abstractmethod
    def scores_unseen(self, name: str) -> bool:
        """Whether labels can be scored that no training document has."""

    @abstractmethod
    def prepare_labels(self, name: str, labels: LabelSet) -> Any:
        """Prepare labels for scoring, once for all documents.

        Args:
            name: of the task.
            labels: the task's own label set, or any other, whose labels are found in the task's by
                `LabelSet.places_in`. A system that cannot score unseen labels prepares its own seen
                ones, in order.

        Returns:
            Whatever `score` takes.
        """

    @abstractmethod
    def score(self, name: str, documents: Texts, prepared: Any) -> Tensor:
        """Score documents against prepared labels: logits [B, K]."""

    # --- what a system may define ---

    def build(self, tasks: dict[str, Task], extra: Extra | None = None) -> None:
        """Make the modules, with no trained weights, and call `set_tasks`; here there are none.

        Args:
            tasks: by name.
            extra: what `extra_state` returned when the checkpoint was written; none for a new
                model.
        """
        self.set_tasks(tasks)

    def score_held_out(self, name: str, documents: RaggedBatch, prepared: Any) -> Tensor:
        """Score training documents as if they were new, as far as the system can: [B, K].

        Here they are scored as any others.

        Args:
            name: of the task.
            documents: training documents with their labels.
            prepared: what `prepare_labels` returned for the task's own labels.
        """
        return self.score(name, documents.texts, prepared)

    reads_on_host = False  # whether batches of texts stay there, and the system sends what it needs

    @property
    def batch_device(self) -> torch.device:
        """Where batches of texts are when the system gets them."""
        return torch.device("cpu") if self.reads_on_host else self.device

    @property
    def reads_new_words(self) -> bool:
        """Whether scores depend on words that the vocabulary lacks."""
        return False

    @property
    def inputs(self) -> AbstractSet[str]:
        """The fields of `Texts` that it needs of documents, where it says so."""
        return frozenset()

    def reads_subwords(self, name: str) -> bool:
        """Whether a task's documents are read by a pretrained model."""
        return False

    def log_odds(self, logits: Tensor) -> Tensor:
        """Return the log-odds of the labels [B, K]; their sigmoids are the probabilities."""
        return logits

    def log_rates(self, name: str) -> Tensor:
        """Return by how much the logits of the labels seen in training are too high: [L].

        It is the logarithm of how often a negative pair counted in training, relative to
        positive ones. That is below 0, unless draws with replacement are more than the labels.
        See `LabelSampler.negative_rates`.
        """
        return torch.zeros(self.tasks[name].labels.seen)

    def describe_scorer(self, name: str) -> str:
        """Name, for messages, the part that decides which labels can be scored."""
        return f"the model {type(self).__name__}"

    def contributions(
        self, name: str, documents: Texts, prepared: Any, ids: Tensor
    ) -> dict[str, Tensor]:
        """Return what each part adds to the logits of some labels; here there are no parts.

        Args:
            name: of the task.
            documents: B documents.
            prepared: what `prepare_labels` returned.
            ids: distinct places [J] among the prepared labels.

        Returns:
            By part [B, J]; the sum over the parts is the logit.
        """
        return {}

    def evidence(self, name: str, document: Texts, prepared: Any, ids: Tensor) -> Evidence:
        """Return what in one document carries the contributions; the arguments are the same."""
        return Evidence({}, {})

    def extra_state(self) -> dict[str, Any]:
        """Return plain values for `build` that the tasks do not tell."""
        return {}

    def sizes(self, name: str) -> dict[str, int]:
        """Return the number of parameters of a task's parts, by their names."""
        return {}

    def attach(self, data: TrainingData, resumed: bool = False) -> None:
        """Build the modules for training data, and set their initial weights.

        Args:
            data: the tasks and the training documents.
            resumed: the weights will come from a checkpoint.

        Raises:
            InputError: the data do not fit.
        """
        self.build(data.tasks)

    def start_from(self, checkpoint: dict[str, Any], keep: bool = True) -> None:
        """Have `attach` begin with the weights of a checkpoint.

        Args:
            checkpoint: the checkpoint.
            keep: whether what it knows of its documents stays: counts, and the ridge regression.

        Raises:
            InputError: the system cannot be trained further.
        """
        raise InputError(
            f"{type(self).__name__} cannot be trained further: leave --start_from out, or "
            "choose the system of that run (--model)"
        )

    # --- common to all ---

    def tokenizer(self, name: str, labels: LabelSet) -> Tokenizer:
        """Return the tokenizer of documents that are scored against these labels.

        It is the task's own. Where scores depend on words that the vocabulary lacks, those of
        the labels have ids too.
        """
        task = self.tasks[name]
        return task.with_labels(labels).tokenizer if self.reads_new_words else task.tokenizer

    @property
    def built(self) -> bool:
        """Whether `build` has made the modules."""
        return bool(self.tasks)

    def set_tasks(self, tasks: dict[str, Task]) -> None:
        """Score the label sets of these tasks; vocabularies and seen labels must be the model's."""
        self.tasks = tasks

    # --- checkpoints ---

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Add what is needed to rebuild the model anywhere."""
        kind = type(self)
        checkpoint[STATE] = {
            "format": FORMAT,
            "class_path": f"{kind.__module__}.{kind.__qualname__}",
            "tasks": {name: task.state() for name, task in self.tasks.items()},
            "config": self.config,
            "thresholds": self.thresholds,
            "calibrations": self.calibrations.state(),
            "extra": self.extra_state(),
        }

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Check that the modules fit the checkpoint."""
        state = checkpoint[STATE]
        for name, task in self.tasks.items():
            stored = state["tasks"].get(name)
            if stored is None or Task.from_state(stored, name) != task:
                raise InputError(
                    "the checkpoint was trained with another corpus or other text settings "
                    f"({name}); continue with the data it was trained on"
                )
        self.load_calibrations(state)

    def load_calibrations(self, state: dict[str, Any]) -> None:
        """Take over the calibrations and thresholds of a checkpoint.

        A system that is not to be calibrated leaves calibrations where they are, and thresholds
        too, which are those of calibrated probabilities.
        """
        self.thresholds = dict(state["thresholds"])
        self.calibrations.load(state["calibrations"], self.tasks)
        if not self.calibrate:
            for name in state["calibrations"]:
                self.thresholds.pop(name, None)
            self.calibrations.load({}, self.tasks)


def smallest_task(tokenizer: Tokenizer | None = None) -> Task:
    """Return a task with one word and one label, to try settings with."""
    return Task(tokenizer or Tokenizer([UNKNOWN]), LabelSet(["label"], ["text"], [1]))
