"""The LightningModule."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Literal

import lightning
import numpy as np
import torch
from torch import Tensor, nn

from gile_lightning.data.labels import LabelSet
from gile_lightning.data.language import Language
from gile_lightning.data.ragged import RaggedBatch, Texts
from gile_lightning.data.text import UNKNOWN, TextEncoder
from gile_lightning.encoders import WAN, Encoder, Mean, WordEmbedding
from gile_lightning.errors import InputError
from gile_lightning.factories import describe
from gile_lightning.losses import binary_cross_entropy
from gile_lightning.metrics import RankingMetrics, select
from gile_lightning.metrics.references import popularity_scores, random_scores
from gile_lightning.outputs import GILE, OutputLayer
from gile_lightning.sampling import LabelSampler, UniformLabels
from gile_lightning.scorer import LabelTexts, Scorer, project_all

STATE = "gile_lightning"  # the key of our own part of a checkpoint

TEST_SETS = ("seen", "seen, by popularity", "unseen", "unseen, at random", "all")
LOGGED = ("ranking_loss", "average_precision", "one_error", "precision_at_1", "precision_at_5")

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
        output: makes the output layer from the sizes of document and label vectors and the
            number of labels seen in training.
        norm: makes, from their size, what document and label vectors pass through before the
            output layer. By default a layer norm without parameters: the mean of many small word
            vectors is so small, and so alike for all documents, that without it a model ranks
            labels by popularity alone for many epochs. ``torch.nn.Identity`` is the paper's form.
        sampler: chooses the labels that a training step scores.
        loss: of logits, targets and weights, [B, K] each.
        optimizer: makes the optimizer (paper: Adam).
        without_positive: how evaluation treats documents that have no label in the candidate
            set: leave them out, or count them as the authors' released code does.
        seed: of the label samples.
    """

    def __init__(
        self,
        embedding: Callable[[list[str]], WordEmbedding] = WordEmbedding,
        encoder: Callable[[int], Encoder] = WAN,
        label_encoder: Callable[[int], Encoder] = Mean,
        output: Callable[[int, int, int], OutputLayer] = GILE,
        norm: Callable[[int], nn.Module] = LayerNorm,
        sampler: LabelSampler = UniformLabels(),  # noqa: B008 (frozen)
        loss: Callable[[Tensor, Tensor, Tensor], Tensor] = binary_cross_entropy,
        optimizer: Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer] = Adam,
        without_positive: Literal["skip", "released"] = "skip",
        seed: int = 1234,
    ) -> None:
        super().__init__()
        given = {k: v for k, v in locals().items() if k not in ("self", "__class__")}
        self.parts: dict[str, Any] = describe(given)
        self._make = given
        self.config = ""
        self.languages: dict[str, Language] = {}
        self.results: dict[str, dict[str, float]] = {}
        self.scorers = nn.ModuleDict()
        self.label_texts = nn.ModuleDict()
        self._scores = nn.ModuleDict()
        self._projected: dict[str, Tensor] = {}
        self._popularity: float | None = None

    # --- building ---

    def build(self, languages: dict[str, Language]) -> None:
        """Make the modules for these vocabularies and label sets."""
        for name, language in languages.items():
            self.scorers[name] = self._scorer(language)
        self.use(languages)

    def check(self) -> None:
        """Make every part once, without memory: before hours of encoding, not after them.

        Raises:
            InputError: a part refuses its settings.
        """
        with torch.device("meta"):
            language = Language(TextEncoder([UNKNOWN]), LabelSet(["label"], ["text"], [1]))
            vectors = getattr(self._scorer(language).embedding, "vectors", None)
        if vectors is not None and not Path(vectors).is_file():
            raise InputError(f"{vectors}: no such file (model.embedding.vectors)")
        self._optimizer([nn.Parameter(torch.zeros(1))])

    def use(self, languages: dict[str, Language]) -> None:
        """Score these label sets; the vocabularies and the seen labels must be the model's."""
        self.languages = languages
        for name, language in languages.items():
            flat = language.text.labels(language.labels.texts)
            self.label_texts[name] = LabelTexts(Texts.from_flat(*flat)).to(self.device)

    def _scorer(self, language: Language) -> Scorer:
        make = self._make
        embedding = make["embedding"](language.text.vocabulary)
        encoder = make["encoder"](embedding.embedding_dim)
        label_encoder = make["label_encoder"](embedding.embedding_dim)
        sizes = encoder.output_dim, label_encoder.output_dim
        output = make["output"](*sizes, language.labels.seen)
        norms = [make["norm"](size) for size in sizes]
        scorer = Scorer(embedding, encoder, label_encoder, output, *norms)
        for module in scorer.modules():  # as in the authors' code
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)
        return scorer

    def setup(self, stage: str) -> None:
        """Build the modules for the data module's languages, or check that they fit."""
        languages: dict[str, Language] = self.trainer.datamodule.languages  # type: ignore[attr-defined]
        if not self.scorers:
            self.build(languages)
            for name, language in languages.items():
                if self.trainer.ckpt_path is None:  # else the weights come from there
                    self.scorers[name].embedding.load_vectors(language.text.vocabulary)  # type: ignore[operator, union-attr]
        elif stage == "test":
            self.use(languages)
        sets = {"fit": ("seen", "popularity"), "test": TEST_SETS}.get(stage, ("seen",))
        for name in languages:
            for key in sets:
                self._scores[f"{name}/{key}"] = RankingMetrics(
                    without_positive=self._make["without_positive"]
                )

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Add what `on_load_checkpoint` needs to rebuild the model anywhere."""
        languages = {name: language.state() for name, language in self.languages.items()}
        checkpoint[STATE] = {"parts": self.parts, "languages": languages, "config": self.config}

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Build the modules, or check that those there fit the checkpoint."""
        state = checkpoint[STATE]
        for name, language in self.languages.items():
            stored = state["languages"].get(name)
            if stored is None or Language.from_state(stored) != language:
                raise InputError(
                    "the checkpoint was trained with another corpus or other text settings "
                    f"({name}); continue with the data it was trained on"
                )

    def load_state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """Take over weights.

        Raises:
            InputError: they are those of a model with other parts.
        """
        try:
            return super().load_state_dict(*args, **kwargs)
        except RuntimeError as error:
            _, *reasons = str(error).splitlines()
            raise InputError(
                f"the model is not that of the checkpoint: {' '.join(reasons[:1]).strip()}"
            ) from error

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
        """Return the loss of one batch per language, averaged over languages."""
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
        loss = torch.stack(losses).mean()
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
        """Score documents against the labels seen in training."""
        for name, logits, documents in self._logits(batch):
            seen = self.languages[name].labels.seen
            self._update(name, "seen", logits[:, :seen], documents, 0, seen)
            if self._popularity is None:
                popularity = popularity_scores(logits[:, :seen])
                self._update(name, "popularity", popularity, documents, 0, seen)

    def on_validation_epoch_end(self) -> None:
        """Log the scores of the labels seen in training, averaged over languages."""
        if self._popularity is None:
            self._popularity = self._compute("popularity")["average_precision"]
            if self.trainer.sanity_checking:
                self._popularity = None
        scores = self._compute("seen")
        logged = {f"val/{key}": value for key, value in scores.items() if key in LOGGED}
        popularity = self._popularity if self._popularity is not None else float("nan")
        logged["val/popularity_average_precision"] = popularity
        for key, value in logged.items():
            shown = key == "val/average_precision"
            self.log(key, value, prog_bar=shown, sync_dist=True, batch_size=1)

    def test_step(self, batch: dict[str, RaggedBatch], batch_idx: int) -> None:
        """Score documents against the seen, unseen and all labels, beside simple references."""
        for name, logits, documents in self._logits(batch):
            seen, count = self.languages[name].labels.seen, len(self.languages[name].labels)
            self._update(name, "seen", logits[:, :seen], documents, 0, seen)
            popularity = popularity_scores(logits[:, :seen])
            self._update(name, "seen, by popularity", popularity, documents, 0, seen)
            if self.scorer(name).output.scores_unseen and count > seen:
                self._update(name, "unseen", logits[:, seen:], documents, seen, count)
                self._update(name, "all", logits, documents, 0, count)
                chance = random_scores(documents, count - seen)
                self._update(name, "unseen, at random", chance, documents, seen, count)

    def on_test_epoch_end(self) -> None:
        """Keep the scores in `results`, and log them."""
        self.results = {key: self._compute(key) for key in TEST_SETS}
        for key in ("seen", "unseen", "all"):
            for metric, value in self.results[key].items():
                self.log(f"test/{key}/{metric}", value, sync_dist=True, batch_size=1)

    def _logits(self, batch: dict[str, RaggedBatch]) -> Iterator[tuple[str, Tensor, RaggedBatch]]:
        for name, documents in batch.items():
            scorer = self.scorer(name)
            vectors = scorer.encode_documents(documents.texts)
            yield name, scorer.output.score(vectors, self._projected[name]), documents

    def _update(
        self, name: str, key: str, logits: Tensor, documents: RaggedBatch, start: int, stop: int
    ) -> None:
        label_ids, label_counts = select(documents.label_ids, documents.label_counts, start, stop)
        metric: RankingMetrics = self._scores[f"{name}/{key}"]  # type: ignore[assignment]
        if logits.isnan().any():
            raise InputError(
                "the model's scores are not numbers: training diverged; lower the learning rate "
                "(model.optimizer) and start again"
            )
        metric.update(logits, label_ids, label_counts)

    def _compute(self, key: str) -> dict[str, float]:
        """Average the languages' scores; the documents are added up."""
        scores = []
        for name in self.languages:
            metric: RankingMetrics = self._scores[f"{name}/{key}"]  # type: ignore[assignment]
            scores.append({k: float(v) for k, v in metric.compute().items()})
            metric.reset()
        combine = {key: np.sum if key in ("documents", "skipped") else np.mean for key in scores[0]}
        return {k: float(combine[k]([score[k] for score in scores])) for k in scores[0]}

    # --- access ---

    def scorer(self, name: str) -> Scorer:
        """Return the scorer of a language."""
        scorer: Scorer = self.scorers[name]  # type: ignore[assignment]
        return scorer

    def texts(self, name: str) -> LabelTexts:
        """Return the encoded label texts of a language."""
        texts: LabelTexts = self.label_texts[name]  # type: ignore[assignment]
        return texts
