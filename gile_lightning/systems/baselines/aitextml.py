"""AiTextML and WSABIE+, the systems of Nam et al. (2016) that the paper compares with."""

from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gile_lightning.common.errors import InputError, positive
from gile_lightning.data.loading.flat import gather_segments, segment_ids, segment_starts
from gile_lightning.data.loading.ragged import RaggedBatch, Texts
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.data.training_data import TrainingData
from gile_lightning.network.encoders.segments import document_words
from gile_lightning.systems.baselines.joint_vectors import JointVectors
from gile_lightning.systems.baselines.paragraph_vectors import ParagraphVectors, TextRows
from gile_lightning.systems.baselines.warp import warp_updates
from gile_lightning.systems.calibrated import training_ids
from gile_lightning.systems.system import System
from gile_lightning.systems.task_module import Extra


class AiTextML(System):
    """Documents, labels and words in one space, learned together (Nam et al., AAAI 2016).

    A document x and a label w score w · (M x). The loss is α WARP + β PV-DM of the documents +
    γ PV-DM of the label texts: see `warp_updates` and `ParagraphVectors`. γ = 0 is WSABIE+.

    A training document first takes the steps of WARP. Then its own text is read. Last come the
    texts of both labels of every violation, each with the label's vector as the document's. The
    steps are those of plain SGD with a constant learning rate. Documents of a batch are treated
    side by side, like B threads in lockstep.

    A new document gets a vector from its text, all other vectors being fixed. So does a label that
    has not been seen (``inf``); or its vector is the sum of the unit vectors of the words in its
    name (``avg``). To score, vectors of documents, labels and words are scaled to length 1.

    Args:
        dim: size d of all vectors.
        warp_weight: α.
        document_weight: β.
        label_weight: γ.
        margin: by which a positive label should be scored higher than any other.
        lr: the step η, which the weights multiply.
        negatives: words κ that PV-DM tells from each word.
        window: words of PV-DM's context, with the one in the middle.
        max_norm: limit of the norms of document, label and word vectors; null for none.
        subsampling: share of the text above which a word is left out at times.
        weight_decay: λ of M, at every step of WARP.
        unseen: where the vectors of unseen labels come from. The steps of ``inf`` have the weight
            γ, or β where γ is 0.
        inference_iterations: how often a new text is read; null for once more than the training
            texts have been, as the authors do.
        positions_at_once: words of a text that PV-DM predicts at once.
        kwargs: see `System`.
    """

    single_process = True  # several would each change vectors of their own
    calibratable = False  # its scores are products of unit vectors
    epochs: Tensor

    def __init__(
        self,
        dim: int = 100,
        warp_weight: float = 1 / 3,
        document_weight: float = 1 / 3,
        label_weight: float = 1 / 3,
        margin: float = 0.1,
        lr: float = 0.025,
        negatives: int = 5,
        window: int = 5,
        max_norm: float | None = 1.0,
        subsampling: float = 1e-4,
        weight_decay: float = 0.0,
        unseen: Literal["inf", "avg"] = "inf",
        inference_iterations: int | None = None,
        positions_at_once: int = 16,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        limits = {"max_norm": max_norm, "inference_iterations": inference_iterations}
        positive(
            dim=dim,
            warp_weight=warp_weight,
            document_weight=document_weight,
            lr=lr,
            **{key: value for key, value in limits.items() if value is not None},
        )
        for key, value in (("label_weight", label_weight), ("weight_decay", weight_decay)):
            if value < 0:
                raise InputError(f"model.{key} is {value:g}; 0 or above")
        self.dim = dim
        self.warp_rate, self.document_rate, self.label_rate = (
            lr * weight for weight in (warp_weight, document_weight, label_weight)
        )
        self.lr = lr
        self.margin = margin
        self.negatives = negatives
        self.window = window
        self.max_norm = max_norm
        self.subsampling = subsampling
        self.weight_decay = weight_decay
        self.unseen = unseen
        self.inference_iterations = inference_iterations
        self.positions_at_once = positions_at_once
        self.automatic_optimization = False
        self.vectors = nn.ModuleDict()
        self.register_buffer("epochs", torch.zeros((), dtype=torch.long))  # that are finished

    # --- building ---

    def build(self, tasks: dict[str, Task], extra: Extra | None = None) -> None:
        """Make random vectors, for as many training documents as ``extra`` says."""
        documents = (extra or {}).get("documents", {})
        for name, task in tasks.items():
            words = self._words(len(task.tokenizer.vocabulary))
            self.vectors[name] = JointVectors(documents.get(name, 0), task.labels.seen, words)
        self.set_tasks(tasks)

    def extra_state(self) -> dict[str, Any]:
        """Return the number of training documents of every task."""
        return {"documents": {name: len(self.of(name).documents) for name in self.vectors}}

    def check(self, *args: Any, **kwargs: Any) -> None:
        """Make PV-DM once, without memory."""
        super().check(*args, **kwargs)
        with torch.device("meta"):
            self._words(1)

    def attach(self, data: TrainingData, resumed: bool = False) -> None:
        """Make vectors for the training documents, and count their words."""
        documents, counts = {}, {}
        for name, task in data.tasks.items():
            documents[name] = 0
            counts[name] = torch.zeros(len(task.tokenizer.vocabulary), dtype=torch.long)
            for batch in data.documents(name):
                documents[name] += len(batch.document_lengths)
                counts[name] += torch.bincount(batch.words, minlength=len(counts[name]))
        self.build(data.tasks, {"documents": documents})
        for name, count in counts.items():
            self.of(name).words.counts.copy_(count)

    def sizes(self, name: str) -> dict[str, int]:
        """Count the elements of the vectors."""
        vectors = self.of(name)
        words = sum(p.numel() for p in vectors.words.parameters())
        own = {key: p.numel() for key, p in vectors.named_parameters(recurse=False)}
        return {**own, "words": words}

    def of(self, name: str) -> JointVectors:
        """Return the vectors of a task."""
        vectors: JointVectors = self.vectors[name]  # type: ignore[assignment]
        return vectors

    def _words(self, count: int) -> ParagraphVectors:
        return ParagraphVectors(
            count,
            self.dim,
            self.negatives,
            self.window,
            self.subsampling,
            self.max_norm,
            self.positions_at_once,
        )

    # --- training ---

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Make an optimizer that has no gradients to follow: it counts the steps."""
        return torch.optim.SGD(self.parameters(), lr=self.lr)

    @torch.no_grad()
    def training_step(self, batch: dict[str, RaggedBatch], batch_idx: int) -> None:
        """Take the steps of one batch per task."""
        violations = positives = 0
        for name, documents in batch.items():
            violations += self._train(name, documents, self.generator(name, batch_idx))
            positives += len(documents.label_ids)
        self.epochs += int(self.trainer.is_last_batch)
        self.optimizers().step()  # type: ignore[union-attr]
        share = violations / max(positives, 1)
        self.log("train/violations", share, prog_bar=True, batch_size=max(positives, 1))

    def _train(self, name: str, documents: RaggedBatch, generator: torch.Generator) -> int:
        vectors, rows = self.of(name), documents.rows
        assert rows is not None, "training documents come with their places"
        found = warp_updates(
            vectors.documents,
            vectors.labels,
            vectors.mapping,
            rows,
            documents.label_ids,
            documents.label_counts,
            generator,
            lr=self.warp_rate,
            margin=self.margin,
            max_norm=self.max_norm,
            weight_decay=self.weight_decay,
        )
        words = vectors.words
        streams = torch.arange(len(rows), device=rows.device)
        texts = TextRows(documents.words, _words_of(documents.texts), rows, streams)
        uniform = words.uniform(len(texts.words), generator)
        words.steps(vectors.documents, texts, uniform, self.document_rate)
        if self.label_rate:
            labels = torch.stack([found.positives, found.labels], 1).flatten()
            texts = self._label_texts(name, labels, found.documents.repeat_interleave(2))
            uniform = words.uniform(len(texts.words), generator)
            words.steps(vectors.labels, texts, uniform, self.label_rate)
        return len(found.labels)

    def _label_texts(self, name: str, labels: Tensor, streams: Tensor) -> TextRows:
        words, lengths = self._label_words[name]
        chosen = gather_segments(words, segment_starts(lengths), lengths, labels)
        return TextRows(chosen, lengths[labels], labels, streams)

    def on_fit_start(self) -> None:
        """Encode the texts of the labels seen in training."""
        self._label_words = {
            name: self._encoded(name, task.labels.texts[: task.labels.seen])
            for name, task in self.tasks.items()
        }

    def _encoded(self, name: str, texts: list[str]) -> tuple[Tensor, Tensor]:
        words, lengths = self.tasks[name].tokenizer.labels(texts)
        return torch.from_numpy(words).to(self.device), torch.from_numpy(lengths).to(self.device)

    # --- scoring ---

    def scores_unseen(self, name: str) -> bool:
        """Labels are scored by their texts or names."""
        return True

    @torch.no_grad()
    def prepare_labels(self, name: str, labels: LabelSet) -> Tensor:
        """Return w M of all labels: trained w of those seen in training, made-up ones: [K, d]."""
        own, vectors = self.tasks[name].labels, self.of(name)
        ids = training_ids(labels, own).to(self.device)
        known = ids >= 0
        new = known.logical_not().nonzero().squeeze(1)
        chosen = vectors.labels.new_empty(len(labels), self.dim)
        chosen[known] = vectors.labels[ids[known]]
        made = self._by_text if self.unseen == "inf" else self._by_name
        chosen[new] = made(
            name,
            [labels.texts[i] if self.unseen == "inf" else labels.names[i] for i in new.tolist()],
        )
        return F.normalize(chosen) @ vectors.mapping

    @torch.no_grad()
    def score(self, name: str, documents: Texts, prepared: Tensor) -> Tensor:
        """Score documents, whose vectors are made from their texts: logits [B, K]."""
        scale = max(len(self.of(name).documents), 1) ** -0.5
        words, lengths = documents.words, _words_of(documents)
        # rounded logits of many labels tie, and ties count against a model
        with torch.autocast(self.device.type, enabled=False):
            vectors = self._infer(name, words, lengths, scale, self.document_rate)
            return F.normalize(vectors) @ prepared.T

    def _by_text(self, name: str, texts: list[str]) -> Tensor:
        scale = self.tasks[name].labels.seen ** -0.5
        words, lengths = self._encoded(name, texts)
        return self._infer(name, words, lengths, scale, self.label_rate or self.document_rate)

    def _by_name(self, name: str, names: list[str]) -> Tensor:
        words, lengths = self._encoded(name, names)
        vectors = F.normalize(self.of(name).words.inputs[words])
        sums = vectors.new_zeros(len(names), self.dim)
        return sums.index_add_(0, segment_ids(lengths), vectors)

    def _infer(self, name: str, words: Tensor, lengths: Tensor, scale: float, lr: float) -> Tensor:
        iterations = self.inference_iterations or int(self.epochs) + 1
        return self.of(name).words.infer(words, lengths, scale, lr, iterations)


def _words_of(texts: Texts) -> Tensor:
    """Count the words of each document: [B]."""
    return document_words(texts.sentence_lengths, texts.document_lengths)
