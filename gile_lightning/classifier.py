"""The LightningModule."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal

import lightning
import numpy as np
import torch
from torch import Tensor, nn

from gile_lightning.data.base import TextDataModule
from gile_lightning.data.labels import LabelSet
from gile_lightning.data.language import Language
from gile_lightning.data.ragged import RaggedBatch, Texts
from gile_lightning.data.text import UNKNOWN, TextEncoder
from gile_lightning.encoders import WAN, Encoder, Mean, WordEmbedding
from gile_lightning.encoders.encoder import Sharing
from gile_lightning.errors import InputError
from gile_lightning.factories import describe
from gile_lightning.losses import binary_cross_entropy
from gile_lightning.metrics import SELECTION_THRESHOLD, paper_threshold
from gile_lightning.metrics.evaluation import CANDIDATES, MICRO, Evaluation
from gile_lightning.metrics.summary import Scores, average
from gile_lightning.outputs import GILE, OutputLayer
from gile_lightning.sampling import LabelSampler, UniformLabels
from gile_lightning.scorer import LabelTexts, Scorer, build_scorers, project_all

STATE = "gile_lightning"  # the key of our own part of a checkpoint

LOGGED = (
    "ranking_loss",
    "average_precision",
    "one_error",
    "precision_at_1",
    "precision_at_5",
    "f1",
)

LayerNorm = partial(nn.LayerNorm, elementwise_affine=False)
Adam = partial(torch.optim.Adam, lr=1e-3, fused=True)


class TextClassifier(lightning.LightningModule):
    """Assigns labels to texts, in one or many languages.

    The parts are given as factories. Their sizes come from the data, so the modules are built
    when a data module is attached or a checkpoint is read. A language is one `Scorer`.

    Args:
        embedding: makes the word embedding from the vocabulary.
        encoder: makes the document encoder from the size of the word vectors.
        label_encoder: makes the label encoder from the size of the word vectors.
        output: makes the output layer from the sizes of document and label vectors, the number of
            labels seen in training and the matched size of a joint space (see `OutputLayer`).
        norm: makes, from their size, what document and label vectors pass through before the
            output layer. By default a layer norm without parameters: the mean of many small word
            vectors is so small, and so alike for all documents, that without it a model ranks
            labels by popularity alone for many epochs. ``torch.nn.Identity`` is the paper's form.
        sampler: chooses the labels that a training step scores.
        loss: of logits, targets and weights, [B, K] each.
        optimizer: makes the optimizer (paper: Adam).
        sharing: which parts of their encoders the languages have in common: none, the layers
            ("encoders"), the attention, or both. The joint space is always common to all, the
            linear output layer never.
        language_loss: the languages' losses are averaged (paper, Eq. 16) or added up (released
            code).
        threshold: of the probability, for precision, recall and F1; null for the paper's rule,
            0.4 for a language with fewer than 400 labels, else 0.2 (its low-resource figures
            have 0.3).
        without_positive: how evaluation treats documents that have no label in the candidate
            set: leave them out, or count them as the authors' released code does.
        seed: of the label samples.
    """

    def __init__(
        self,
        embedding: Callable[[list[str]], WordEmbedding] = WordEmbedding,
        encoder: Callable[[int], Encoder] = WAN,
        label_encoder: Callable[[int], Encoder] = Mean,
        output: Callable[[int, int, int, int], OutputLayer] = GILE,
        norm: Callable[[int], nn.Module] = LayerNorm,
        sampler: LabelSampler = UniformLabels(),  # noqa: B008 (frozen)
        loss: Callable[[Tensor, Tensor, Tensor], Tensor] = binary_cross_entropy,
        optimizer: Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer] = Adam,
        sharing: Sharing = "none",
        language_loss: Literal["mean", "sum"] = "mean",
        threshold: float | None = None,
        without_positive: Literal["skip", "released"] = "skip",
        seed: int = 1234,
    ) -> None:
        super().__init__()
        given = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        if threshold is not None and not 0 < threshold < 1:
            raise InputError(f"model.threshold is {threshold:g}; a probability between 0 and 1")
        self.parts: dict[str, Any] = describe(given)
        self._make = given
        self.config = ""
        self.languages: dict[str, Language] = {}
        self.by_language: dict[str, Scores] = {}
        self.thresholds: dict[str, float] = {}  # of the best F1 on the validation documents
        self.scorers = nn.ModuleDict()
        self.label_texts = nn.ModuleDict()
        self._evaluations = nn.ModuleDict()
        self._projected: dict[str, Tensor] = {}
        self._popularity: float | None = None
        self._matched_dim: int | None = None
        self._start: dict[str, Any] | None = None

    # --- building ---

    def build(self, languages: dict[str, Language], matched_dim: int | None = None) -> None:
        """Make the modules for these vocabularies and label sets."""
        scorers = build_scorers(self._make, languages, self._make["sharing"], matched_dim)
        self.scorers.update(scorers)
        self._matched_dim = next(iter(scorers.values())).matched_dim
        self.use(languages)
        # word vectors and label texts that never change need not go to every process at every step
        self._ddp_params_and_buffers_to_ignore = [name for name, _ in self.named_buffers()]

    def check(self, names: Iterable[str] = ("text",)) -> None:
        """Make every part once, without memory: before hours of encoding, not after them.

        Raises:
            InputError: a part refuses its settings.
        """
        language = Language(TextEncoder([UNKNOWN]), LabelSet(["label"], ["text"], [1]))
        with torch.device("meta"):
            scorers = build_scorers(
                self._make, dict.fromkeys(names, language), self._make["sharing"]
            )
        vectors = getattr(next(iter(scorers.values())).embedding, "vectors", None)
        if vectors is not None and not Path(vectors).is_file():
            raise InputError(f"{vectors}: no such file (model.embedding.vectors)")
        self._optimizer([nn.Parameter(torch.zeros(1))])
        Evaluation(language.labels, scores_unseen=False, threshold=self._make["threshold"])

    def use(self, languages: dict[str, Language]) -> None:
        """Score these label sets; the vocabularies and the seen labels must be the model's."""
        self.languages = languages
        for name, language in languages.items():
            flat = language.text.labels(language.labels.texts)
            self.label_texts[name] = LabelTexts(Texts.from_flat(*flat)).to(self.device)

    def start_from(self, checkpoint: dict[str, Any]) -> None:
        """Begin with the weights of a checkpoint, in the languages of the data to come."""
        self._start = checkpoint

    def attach(self, data: TextDataModule, resumed: bool = False) -> None:
        """Build the modules for a data module's languages, with the weights to begin with.

        Args:
            data: a data module that is set up.
            resumed: the weights, word vectors among them, are to come from a checkpoint.

        Raises:
            InputError: the weights or word vectors do not fit.
        """
        start = self._start or {STATE: {}}
        self.build(data.languages, start[STATE].get("matched_dim"))
        if self._start is not None:
            self._take_weights(self._start, data)
        elif not resumed:
            for name in data.languages:
                self._take_vectors(name, data)

    def setup(self, stage: str) -> None:
        """Build the modules for the data module's languages, or check that they fit."""
        data: TextDataModule = self.trainer.datamodule  # type: ignore[attr-defined]
        if not self.scorers:
            self.attach(data, resumed=self.trainer.ckpt_path is not None)
        elif stage == "test":
            self.use(data.languages)
        candidates = CANDIDATES if stage == "test" else CANDIDATES[:2]
        for name, language in data.languages.items():
            self._evaluations[name] = Evaluation(
                language.labels,
                self.scorer(name).output.scores_unseen,
                candidates,
                self._make["threshold"],
                self._make["without_positive"],
            )

    def _take_vectors(self, name: str, data: TextDataModule) -> bool:
        """Begin with the word vectors that the corpus brings, or those of the embedding's file."""
        vectors = data.vectors(name)
        embedding: WordEmbedding = self.scorer(name).embedding  # type: ignore[assignment]
        if vectors is not None:
            embedding.set_vectors(vectors, f"the corpus' word vectors ({name})")
        else:
            embedding.load_vectors(self.languages[name].text.vocabulary)
        return vectors is not None

    def _take_weights(self, checkpoint: dict[str, Any], data: TextDataModule) -> None:
        stored = checkpoint[STATE]["languages"]
        weights = dict(checkpoint["state_dict"])
        for name, language in self.languages.items():
            if name not in stored:
                raise InputError(
                    f"the checkpoint knows {', '.join(stored)}, not {name}: set data.languages"
                )
            scorer = self.scorer(name)
            if stored[name] is None:  # imported weights, without words and labels
                if not self._take_vectors(name, data):
                    raise InputError(
                        "the checkpoint holds no word vectors and the corpus brings none: set "
                        "--data.word_vectors"
                    )
                weights[f"scorers.{name}.embedding.weight"] = scorer.embedding.weight
            if not scorer.output.scores_unseen:
                old = LabelSet(**stored[name]["labels"]) if stored[name] else LabelSet([], [], [])
                known = {label: i for i, label in enumerate(old.names[: old.seen])}
                labels = language.labels.names[: language.labels.seen]
                if new := [label for label in labels if label not in known]:
                    raise InputError(
                        f"the output layer {type(scorer.output).__name__} knows its labels by "
                        f"number, and {len(new)} of the corpus' labels ({name}; such as "
                        f"{new[0]!r}) are none of the checkpoint's"
                    )
                prefix = f"scorers.{name}.output."
                ids = torch.tensor([known[label] for label in labels])
                own = {k: v for k, v in weights.items() if k.startswith(prefix)}
                weights |= scorer.output.select(own, ids)
        names = tuple(f"scorers.{name}." for name in self.languages)
        self.load_state_dict({k: v for k, v in weights.items() if k.startswith(names)})

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Add what `on_load_checkpoint` needs to rebuild the model anywhere."""
        checkpoint[STATE] = {
            "parts": self.parts,
            "languages": {name: language.state() for name, language in self.languages.items()},
            "config": self.config,
            "matched_dim": self._matched_dim,
            "thresholds": self.thresholds,
        }

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Check that the modules fit the checkpoint."""
        state = checkpoint[STATE]
        for name, language in self.languages.items():
            stored = state["languages"].get(name)
            if stored is None or Language.from_state(stored) != language:
                raise InputError(
                    "the checkpoint was trained with another corpus or other text settings "
                    f"({name}); continue with the data it was trained on"
                )
        self.thresholds = state.get("thresholds", {})

    def load_state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """Take over weights.

        Raises:
            InputError: they are those of a model with other parts.
        """
        self._check_shared(*args, **kwargs)
        try:
            return super().load_state_dict(*args, **kwargs)
        except RuntimeError as error:
            _, *reasons = str(error).splitlines()
            raise InputError(
                f"the model is not that of the checkpoint: {' '.join(reasons[:1]).strip()}"
            ) from error

    def _check_shared(self, state: Mapping[str, Tensor], *args: Any, **kwargs: Any) -> None:
        """Refuse weights that differ between languages for what these share here."""
        first: dict[int, str] = {}
        for key, own in self.state_dict(keep_vars=True).items():
            before = first.setdefault(id(own), key)
            stored = [state[k] for k in (before, key) if k in state]
            if len(stored) == 2 and not torch.equal(*stored):
                raise InputError(
                    f"the model is not that of the checkpoint, where {before} and {key} differ: "
                    "set model.sharing as there"
                )

    # --- training ---

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Make the optimizer of all trainable parameters."""
        return self._optimizer([p for p in self.parameters() if p.requires_grad])

    def _optimizer(self, parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
        try:
            optimizer: torch.optim.Optimizer = self._make["optimizer"](parameters)
        except ValueError as error:  # such as a learning rate below 0
            raise InputError(f"model.optimizer: {error}") from error
        return optimizer

    def training_step(self, batch: dict[str, RaggedBatch], batch_idx: int) -> Tensor:
        """Return the loss of one batch per language, as `language_loss` puts them together."""
        losses = []
        for name, documents in batch.items():
            scorer, texts = self.scorer(name), self.texts(name)
            seen = self.languages[name].labels.seen
            sample = self._make["sampler"](
                documents.label_ids, documents.label_counts, seen, self._generator(name, batch_idx)
            )
            by_text = scorer.output.scores_unseen
            labels = texts.take(sample.labels) if by_text else sample.labels
            logits = scorer(documents.texts, labels)
            losses.append(self._make["loss"](logits, sample.targets, sample.weights))
        together = torch.stack(losses)
        loss = together.sum() if self._make["language_loss"] == "sum" else together.mean()
        size = sum(len(documents.label_counts) for documents in batch.values())
        self.log("train/loss", loss, prog_bar=True, batch_size=size)
        return loss

    def _generator(self, name: str, batch_idx: int) -> torch.Generator:
        """Seed by position, not by history: a resumed run draws what an unbroken one draws."""
        language = list(self.languages).index(name)
        place = (self._make["seed"], self.current_epoch, batch_idx, self.global_rank, language)
        seed = np.random.SeedSequence(place).generate_state(1, np.uint64)[0]
        return torch.Generator(self.device).manual_seed(int(seed) >> 1)

    # --- evaluation ---

    def on_validation_epoch_start(self) -> None:
        """Project the labels once."""
        self._project()

    def on_test_epoch_start(self) -> None:
        """Project the labels once."""
        self._project()

    def _project(self) -> None:
        for name, language in self.languages.items():
            self._projected[name] = project_all(
                self.scorer(name), self.texts(name), language.labels.seen
            )

    def validation_step(self, batch: dict[str, RaggedBatch], batch_idx: int) -> None:
        """Score documents against the labels."""
        self._evaluate(batch)

    def test_step(self, batch: dict[str, RaggedBatch], batch_idx: int) -> None:
        """Score documents against the labels."""
        self._evaluate(batch)

    def _evaluate(self, batch: dict[str, RaggedBatch]) -> None:
        for name, documents in batch.items():
            scorer = self.scorer(name)
            vectors = scorer.encode_documents(documents.texts)
            logits = scorer.output.score(vectors, self._projected[name])
            if logits.isnan().any():
                raise InputError(
                    "the model's scores are not numbers: training diverged; lower the learning "
                    "rate (model.optimizer) and start again"
                )
            self.evaluation(name).update(logits, documents)

    def on_validation_epoch_end(self) -> None:
        """Log the scores of the labels seen in training, averaged over languages."""
        scores: dict[str, Scores] = {}
        popularity: dict[str, Scores] = {}
        for name in self.languages:
            evaluation = self.evaluation(name)
            found, micro = evaluation.compute(), evaluation.micro.compute()
            if not self.trainer.sanity_checking:
                self.thresholds[name], _ = micro.best()
            f1 = micro.at(SELECTION_THRESHOLD)["f1"]
            scores[name] = {"seen": found["seen"] | {"f1": float(f1)}}
            if (key := "seen, by popularity") in found:
                popularity[name] = {key: found[key]}
            evaluation.reset()
        if popularity and not self.trainer.sanity_checking:
            # the same in every epoch: computed in the first one only
            self._popularity = average(popularity)["seen, by popularity"]["average_precision"]
            for name in self.languages:
                self.evaluation(name).candidates = ("seen",)
        averaged = average(scores)["seen"]
        logged = {f"val/{key}": averaged[key] for key in LOGGED}
        known = self._popularity if self._popularity is not None else float("nan")
        logged["val/popularity_average_precision"] = known
        if len(scores) > 1:
            for name, score in scores.items():
                logged |= {f"val/{name}/{key}": score["seen"][key] for key in LOGGED}
        for key, value in logged.items():
            shown = key in ("val/average_precision", "val/f1")
            self.log(key, value, prog_bar=shown, sync_dist=True, batch_size=1)

    def on_test_epoch_end(self) -> None:
        """Keep the scores in `by_language`, and log their averages."""
        self.by_language = {name: self._test_scores(name) for name in self.languages}
        if len(self.languages) < len(self.scorers):
            return  # some of the languages: no figures of the whole model
        results = self.results
        for key in ("seen", "unseen", "all", MICRO):
            for metric, value in results[key].items():
                self.log(f"test/{key}/{metric}", value, sync_dist=True, batch_size=1)

    def _test_scores(self, name: str) -> Scores:
        evaluation = self.evaluation(name)
        scores, micro = evaluation.compute(), evaluation.micro.compute()
        label_set = self.languages[name].labels
        labels, threshold = len(label_set), self._make["threshold"]
        threshold = threshold or paper_threshold(label_set.seen or labels)
        documents = scores["all" if evaluation.scores_unseen else "seen"]
        count = documents["documents"]
        if self._make["without_positive"] == "skip":
            count += documents["skipped"]
        scores[MICRO] = {"documents": count, "labels": labels, "threshold": threshold}
        scores[MICRO] |= {key: float(value) for key, value in micro.at(threshold).items()}
        if tuned := self.thresholds.get(name):
            at_tuned = {f"tuned_{key}": float(value) for key, value in micro.at(tuned).items()}
            scores[MICRO] |= {"tuned_threshold": tuned, **at_tuned}
        evaluation.reset()
        return scores

    # --- access ---

    @property
    def results(self) -> Scores:
        """The scores of the last test, averaged over languages."""
        return average(self.by_language)

    def scorer(self, name: str) -> Scorer:
        """Return the scorer of a language."""
        scorer: Scorer = self.scorers[name]  # type: ignore[assignment]
        return scorer

    def texts(self, name: str) -> LabelTexts:
        """Return the encoded label texts of a language."""
        texts: LabelTexts = self.label_texts[name]  # type: ignore[assignment]
        return texts

    def evaluation(self, name: str) -> Evaluation:
        """Return the metrics of a language."""
        evaluation: Evaluation = self._evaluations[name]  # type: ignore[assignment]
        return evaluation
