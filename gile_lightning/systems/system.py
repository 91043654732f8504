"""The base class of all systems: how they are validated and tested."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from gile_lightning.common.errors import DivergedError, InputError
from gile_lightning.common.factories import describe
from gile_lightning.data.loading.ragged import RaggedBatch
from gile_lightning.data.shards.cache import default_cache
from gile_lightning.data.text_data_module import TextDataModule
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.metrics import SELECTION_THRESHOLD, DocumentMetric
from gile_lightning.metrics.calibration import Reliability, reliability_of_best
from gile_lightning.metrics.document_scores import DocumentScores
from gile_lightning.metrics.evaluation import CANDIDATES, MICRO, REFERENCES, Evaluation
from gile_lightning.metrics.summary import Scores, average
from gile_lightning.metrics.table import (
    AVERAGE_PRECISION,
    BOTH,
    ECE,
    F1,
    POPULARITY,
    UNSEEN,
    checked,
    popularity,
    val,
    validated,
)
from gile_lightning.metrics.thresholded import THRESHOLDS
from gile_lightning.systems.calibrated import Calibrations, training_ids
from gile_lightning.systems.task_module import TaskModule, smallest_task
from gile_lightning.training.length import all_steps_done

SCORES = 2**26  # of documents and labels at a time: 256 MB in float32, whatever the label set
RANKED = 2**22  # of these, ranked at a time; copies of them are sorted

SecondStage = Callable[[str, RaggedBatch, Tensor, Tensor], tuple[Tensor, Tensor]]

VALIDATED = CANDIDATES[:3]  # which of them are ranked in validation

ENOUGH = 100  # validation documents with an unseen label, for these to count as much as seen ones


class System(TaskModule):
    """A system that scores texts against labels, in one or many languages.

    Derive from this class to add a system. `TaskModule` says what the new class defines:
    `prepare_labels` and `score` above all. Metrics, checkpoints and the commands need no more.

    ``hparams``, which Lightning saves in a checkpoint, are the arguments of the outermost
    ``__init__`` as plain values.

    Attributes:
        config: the configuration of the run, as YAML.
        cache_dir: the folder for what is computed from texts.
        by_language: the scores of the last test.
        thresholds: those of the best F1 on the validation documents, by task.
        calibrations: of the probabilities, fitted to the validation documents.
        reliability: of the last test, by task, then by candidate set.
        documents: what each document of the last test contributes to the scores, by task.
        observer: called in validation and test with a task's name, logits [B, K], documents and
            log-odds [B, K], which are calibrated in a test.
        second_stage: called in a test, before the observer, with a task's name, documents, logits
            and log-odds; returns both anew. By default there is none.

    Args:
        threshold: of the probability, for precision, recall and F1; null for the paper's rule,
            0.4 for a language with fewer than 400 labels, else 0.2 (its low-resource figures
            have 0.3).
        without_positive: how evaluation treats documents that have no label in the candidate
            set: leave them out, or count them as the authors' released code does.
        nam16: also test with the ranking metrics as the scripts of Nam et al. (2016) have them.
        metrics: further metrics of validation and test (see `gile_lightning.metrics`).
        calibrate: fit a calibration of the probabilities to the validation documents. Without it
            they are those of the loss, as in the paper.
        seed: of what training draws.
    """

    def __init__(
        self,
        threshold: float | None = None,
        without_positive: Literal["skip", "released"] = "skip",
        nam16: bool = False,
        metrics: list[DocumentMetric] | None = None,
        calibrate: bool = True,
        seed: int = 1234,
    ) -> None:
        super().__init__()
        if threshold is not None and not 0 < threshold < 1:
            raise InputError(f"model.threshold is {threshold:g}; a probability between 0 and 1")
        self.hparams.update(describe(self.arguments))
        self.threshold = threshold
        self.without_positive = without_positive
        self.nam16 = nam16
        self.metrics = checked(metrics or ())
        self.calibrate = calibrate and self.calibratable
        self.seed = seed
        self.config = ""
        self.cache_dir = default_cache()
        self.tasks: dict[str, Task] = {}
        self.by_language: dict[str, Scores] = {}
        self.thresholds: dict[str, float] = {}
        self.calibrations = Calibrations()
        self.reliability: dict[str, dict[str, Reliability]] = {}
        self.documents: dict[str, DocumentScores] = {}
        self.observer: Callable[[str, Tensor, RaggedBatch, Tensor], None] | None = None
        self.second_stage: SecondStage | None = None
        self._evaluations = nn.ModuleDict()
        self._prepared: dict[str, Any] = {}
        self._training_ids: dict[str, Tensor] = {}
        self._popularity = dict.fromkeys(POPULARITY, float("nan"))

    def check(
        self,
        names: Iterable[str] = ("text",),
        tokenizer: Tokenizer | None = None,
        epochs: int | None = None,
    ) -> None:
        """Try the settings before hours of encoding; takes next to no memory.

        Args:
            names: of the tasks.
            tokenizer: splits texts into the subwords of a pretrained model, if there is one.
            epochs: of the training; below 0 for no end, None if unknown.

        Raises:
            InputError: a part refuses its settings.
        """
        Evaluation(smallest_task().labels, scores_unseen=False, threshold=self.threshold)

    def setup(self, stage: str) -> None:
        """Build the modules for the data module's tasks, or check that they fit."""
        data: TextDataModule = self.trainer.datamodule  # type: ignore[attr-defined]
        resumed = self.trainer.ckpt_path is not None
        if stage == "fit" and self.trainer.strategy.broadcast(resumed) != resumed:
            raise InputError(
                "some processes go on with a run, and others do not see it: --output must be a "
                "folder that all nodes see"
            )
        if not self.built:
            self.attach(data.training_data(), resumed=resumed)
        elif stage == "test":
            self.set_tasks(data.tasks)
        data.prepare_step = None  # of another system, which the data had before
        testing = stage == "test"
        for name, task in data.tasks.items():
            self._evaluations[name] = Evaluation(
                task.labels,
                self.scores_unseen(name),
                CANDIDATES if testing else VALIDATED,
                self.threshold,
                self.without_positive,
                self.nam16,
                self.metrics,
                keep=testing,
            )

    def generator(self, name: str, batch_idx: int) -> torch.Generator:
        """Seed by position, not by history: a resumed run draws what an unbroken one draws."""
        language = list(self.tasks).index(name)
        place = (self.seed, self.current_epoch, batch_idx, self.global_rank, language)
        seed = np.random.SeedSequence(place).generate_state(1, np.uint64)[0]
        return torch.Generator(self.batch_device).manual_seed(int(seed) >> 1)

    def load_state_dict(self, state_dict: Mapping[str, Any], *args: Any, **kwargs: Any) -> Any:
        """Load weights; those of tasks that are not scored at present may be missing.

        Raises:
            InputError: they belong to a model with other parts.
        """
        others = self._evaluations.keys() - self.tasks.keys()
        kept = {k: w for k, w in self.state_dict().items() if others & {*k.split(".")[1:2]}}
        state = {**kept, **state_dict} if kept else state_dict
        try:
            return super().load_state_dict(state, *args, **kwargs)
        except RuntimeError as error:
            _, *reasons = str(error).splitlines()
            raise InputError(
                f"the model is not that of the checkpoint: {' '.join(reasons[:1]).strip()}"
            ) from error

    # --- evaluation ---

    def on_validation_epoch_start(self) -> None:
        """Prepare the labels once."""
        self._prepare()

    def on_test_epoch_start(self) -> None:
        """Prepare the labels once."""
        self._prepare()

    def _prepare(self) -> None:
        for name, task in self.tasks.items():
            self._prepared[name] = self.prepare_labels(name, task.labels)
            self._training_ids[name] = training_ids(task.labels)

    def on_train_batch_end(
        self, outputs: Any, batch: dict[str, RaggedBatch], batch_idx: int
    ) -> None:
        """Validate after the last of `trainer.max_steps`, also within an epoch.

        Else the last steps would have no score, or their weights that of an earlier epoch.
        """
        if all_steps_done(self.trainer):
            self.trainer.should_stop = True
            # whatever else would go on, or leave the validation out
            self.trainer.fit_loop.min_epochs = 0
            self.trainer.fit_loop.epoch_loop.min_steps = None
            self.trainer.check_val_every_n_epoch = 1

    def validation_step(self, batch: dict[str, RaggedBatch], batch_idx: int) -> None:
        """Score documents against the labels."""
        self._evaluate(batch)

    def test_step(self, batch: dict[str, RaggedBatch], batch_idx: int) -> None:
        """Score documents against the labels."""
        self._evaluate(batch)

    def _evaluate(self, batch: dict[str, RaggedBatch]) -> None:
        for name, documents in batch.items():
            labels = len(self.tasks[name].labels)
            for part in documents.split(max(1, SCORES // labels)):
                logits = self.score(name, part.texts, self._prepared[name])
                log_odds = self.log_odds(logits)
                values = [logits] if log_odds is logits else [logits, log_odds]
                # which the maximum propagates; on a device the one number that is waited for
                if logits.numel() and torch.stack([x.amax().float() for x in values]).isnan().any():
                    raise DivergedError("the model's scores are not numbers")
                if self.trainer.testing:
                    ids = self._training_ids[name][: logits.shape[1]]
                    log_odds = self.calibrations.apply(name, log_odds, ids)
                    if self.second_stage is not None:
                        logits, log_odds = self.second_stage(name, part, logits, log_odds)
                if self.observer is not None:
                    self.observer(name, logits, part, log_odds)
                size = max(1, RANKED // labels)
                rows = torch.split(logits, size), part.split(size), torch.split(log_odds, size)
                for some in zip(*rows, strict=True):
                    self.evaluation(name).update(*some, finite=logits.device.type != "cpu")

    def on_validation_epoch_end(self) -> None:
        """Log the scores of the labels seen in training, averaged over languages.

        Also logs the average precision on unseen labels that validation documents have, and the
        mean of both. The mean selects a model that is good at both. Where there are no such labels,
        the mean is that of the seen ones.
        """
        scores: dict[str, Scores] = {}
        popular: dict[str, Scores] = {}
        for name in self.tasks:
            evaluation = self.evaluation(name)
            found, micro = evaluation.compute(), evaluation.micro.compute()
            if not self.trainer.sanity_checking:
                self.thresholds[name] = self._fit_calibration(name) or micro.best(THRESHOLDS)[0]
            f1 = micro.at(SELECTION_THRESHOLD)["f1"]
            scores[name] = {"seen": found["seen"] | {F1: float(f1)} | _of_both(found)}
            if (key := REFERENCES[0]) in found:
                popular[name] = {key: found[key]}
            evaluation.reset()
        if popular and not self.trainer.sanity_checking:
            # the same in every epoch: computed in the first one only
            self._popularity = average(popular)[REFERENCES[0]]
            for name in self.tasks:
                self.evaluation(name).candidates = ("seen", "unseen")
        averaged = average(scores)["seen"]
        names = validated(self.metrics)
        logged = {val(key): averaged[key] for key in (*names, UNSEEN) if key in averaged}
        logged |= {popularity(key): self._popularity[key] for key in POPULARITY}
        if len(scores) > 1:
            for name, score in scores.items():
                logged |= {val(f"{name}/{key}"): score["seen"][key] for key in names}
        for key, value in logged.items():
            shown = key in (val(AVERAGE_PRECISION.name), val(F1))
            self.log(key, value, prog_bar=shown, sync_dist=True, batch_size=1)

    def _fit_calibration(self, name: str) -> float | None:
        """Fit the calibration of a task; returns its best threshold, or None if there is none."""
        if not self.calibrate:
            return None
        found = {key: best.compute() for key, best in self.evaluation(name).best.items()}
        return self.calibrations.fit(name, found, self.log_rates(name), self.tasks[name].labels)

    def on_test_epoch_end(self) -> None:
        """Keep the scores in `by_language`, and log their averages."""
        names = list(self._evaluations)
        self.documents = {}
        self.by_language = {name: self._test_scores(name) for name in self.tasks}
        if len(self.tasks) < len(names):
            return  # some of the tasks: no figures of the whole model
        results = self.results
        for key in ("seen", "unseen", "all", MICRO):
            for metric, value in results[key].items():
                self.log(f"test/{key}/{metric}", value, sync_dist=True, batch_size=1)

    def _test_scores(self, name: str) -> Scores:
        evaluation = self.evaluation(name)
        scores, micro = evaluation.compute(), evaluation.micro.compute()
        label_set = self.tasks[name].labels
        labels = len(label_set)
        threshold = evaluation.threshold
        documents = scores["all" if evaluation.scores_unseen else "seen"]
        count = documents["documents"]
        if self.without_positive == "skip":
            count += documents["skipped"]
        found = {key: best.compute() for key, best in evaluation.best.items()}
        if self.calibratable:
            reliable = {key: reliability_of_best(pairs) for key, pairs in found.items()}
            self.reliability[name] = {key: x for key, x in reliable.items() if x.pairs.sum()}
            for key, x in self.reliability[name].items():
                scores[key][ECE] = x.error
        scores[MICRO] = {"documents": count, "labels": labels, "threshold": threshold}
        scores[MICRO] |= {key: float(value) for key, value in micro.at(threshold).items()}
        if tuned := self.thresholds.get(name):
            at_tuned = {f"tuned_{key}": float(value) for key, value in micro.at(tuned).items()}
            scores[MICRO] |= {"tuned_threshold": tuned, **at_tuned}
            if name in self.calibrations.thresholds:
                own = self.calibrations.f1(name, found, tuned, label_set)
                scores[MICRO]["label_thresholds_f1"] = own
        self.documents[name] = evaluation.documents()
        evaluation.reset()
        return scores

    def prepared(self, name: str) -> Any:
        """Return the labels of a task as they were prepared for the last validation or test."""
        return self._prepared[name]

    @property
    def results(self) -> Scores:
        """The scores of the last test, averaged over languages."""
        return average(self.by_language)

    def evaluation(self, name: str) -> Evaluation:
        """Return the metrics of a task."""
        evaluation: Evaluation = self._evaluations[name]  # type: ignore[assignment]
        return evaluation


def _of_both(found: Scores) -> dict[str, float]:
    """Return the average precision on unseen labels, if there are any, and the mean of both.

    Few documents tell little: below `ENOUGH` documents with an unseen label, unseen labels count in
    proportion less than seen ones.
    """
    seen, unseen = found["seen"][AVERAGE_PRECISION.name], found.get("unseen", {})
    if not unseen.get("documents"):
        return {BOTH: seen}
    precision = unseen[AVERAGE_PRECISION.name]
    if not found["seen"]["documents"]:  # as in a tiny corpus; their mean is no number
        return {UNSEEN: precision, BOTH: precision}
    weight = min(1, unseen["documents"] / ENOUGH) / 2
    return {UNSEEN: precision, BOTH: (1 - weight) * seen + weight * precision}
