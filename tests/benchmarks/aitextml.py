"""Training steps of AiTextML and WSABIE+, beside the same steps taken one at a time.

Words of documents and descriptions are drawn by Zipf's law, and so are the labels. The plain loop
is NumPy on one document, positive and word position after the other.

python tests/benchmarks/report.py --only aitextml
"""

import math
import statistics
import time
from dataclasses import dataclass

import numpy as np
import torch

from gile_lightning.data.loading.ragged import RaggedBatch
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.systems.baselines import AiTextML

DOCUMENT_WORDS, LABEL_WORDS, POSITIVES = 200, 35, 12
OCCURRENCES = 10_000_000  # of all words, which decide how many are left out
LOSSES = {
    "AiTextML": {"label_weight": 1 / 3},
    "WSABIE+": {"label_weight": 0.0, "document_weight": 2 / 3},
}


@dataclass(frozen=True)
class Sizes:
    """Of the corpus, and of what a round trains."""

    words: int = 50_000
    labels: int = 10_000
    documents: int = 20_000
    batch_size: int = 256
    batches: int = 3
    plain: int = 8  # documents that the plain loop trains on


def zipf(shape: tuple[int, ...], count: int, source: np.random.Generator) -> np.ndarray:
    shares = np.cumsum(1 / np.arange(1, count + 1))
    return np.searchsorted(shares / shares[-1], source.random(shape)).clip(max=count - 1)


def batches(sizes: Sizes, source: np.random.Generator) -> list[RaggedBatch]:
    found, size = [], sizes.batch_size
    for _ in range(sizes.batches):
        words = zipf((size, DOCUMENT_WORDS), sizes.words, source).astype(np.int32)
        labels = [set(zipf((4 * POSITIVES,), sizes.labels, source).tolist()) for _ in range(size)]
        labels = torch.tensor([list(own)[:POSITIVES] for own in labels])
        ones = torch.ones(size, dtype=torch.long)
        rows = torch.from_numpy(source.choice(sizes.documents, size, replace=False))
        flat = torch.from_numpy(words).flatten()
        counts = POSITIVES * ones
        found.append(RaggedBatch(flat, DOCUMENT_WORDS * ones, ones, labels.flatten(), counts, rows))
    return found


def build(sizes: Sizes, **settings: float) -> AiTextML:
    torch.manual_seed(0)
    source = np.random.default_rng(1)
    model = AiTextML(**settings)
    names = [f"label {i}" for i in range(sizes.labels)]
    labels = LabelSet(names, names, [1] * sizes.labels)
    # the descriptions are given as word ids below
    task = Task(Tokenizer([*map(str, range(sizes.words - 1)), "UNK"]), labels)
    model.build({"text": task}, {"documents": {"text": sizes.documents}})
    shares = 1 / np.arange(1, sizes.words + 1)
    counts = np.ceil(OCCURRENCES * shares / shares.sum())
    model.of("text").words.counts.copy_(torch.from_numpy(counts).long())
    texts = zipf((sizes.labels * LABEL_WORDS,), sizes.words, source).astype(np.int32)
    lengths = torch.full((sizes.labels,), LABEL_WORDS)
    model._label_words = {"text": (torch.from_numpy(texts), lengths)}
    return model


class Loop:
    """The same steps for one document at a time, as in the authors' description."""

    def __init__(self, model: AiTextML) -> None:
        self.model, vectors = model, model.of("text")
        self.documents, self.labels, self.mapping = (
            part.numpy().copy() for part in (vectors.documents, vectors.labels, vectors.mapping)
        )
        self.inputs = vectors.words.inputs.numpy().copy()
        self.outputs = vectors.words.outputs.numpy().copy()
        self.keep = vectors.words.keep_probabilities().numpy()
        self.noise = vectors.words.noise().numpy()
        self.texts = model._label_words["text"][0].numpy().reshape(-1, LABEL_WORDS)
        self.source = np.random.default_rng(2)

    def train(self, row: int, words: np.ndarray, positives: np.ndarray) -> None:
        violations = list(self.warp(row, positives))
        self.read(self.documents, row, words, self.model.document_rate)
        if self.model.label_rate:
            for label in (label for pair in violations for label in pair):
                self.read(self.labels, label, self.texts[label], self.model.label_rate)

    def warp(self, row: int, positives: np.ndarray):
        own, others = set(positives.tolist()), len(self.texts) - len(positives)
        for p in self.source.permutation(positives).tolist():
            x = self.documents[row].copy()
            hidden = self.mapping @ x
            bound = self.labels[p] @ hidden - self.model.margin
            for q in range(1, others + 1):
                label = int(self.source.integers(len(self.texts)))
                if label in own or self.labels[label] @ hidden <= bound:
                    continue
                weight = sum(1 / i for i in range(1, others // q + 1)) / len(positives)
                step = self.model.warp_rate * weight
                difference = self.labels[label] - self.labels[p]
                self.add(self.labels, p, step * hidden)
                self.add(self.labels, label, -step * hidden)
                self.add(self.documents, row, -step * (self.mapping.T @ difference))
                self.mapping -= step * np.outer(difference, x)
                yield p, label
                break

    def read(self, vectors: np.ndarray, row: int, text: np.ndarray, lr: float) -> None:
        words = text[self.source.random(len(text)) < self.keep[text]].tolist()
        for t, target in enumerate(words):
            near = words[max(0, t - 2) : t] + words[t + 1 : t + 3]
            hidden = (vectors[row] + self.inputs[near].sum(0)) / (1 + len(near))
            drawn = np.searchsorted(self.noise, self.source.random(5), side="right").tolist()
            predicted = [target, *(word for word in drawn if word != target)]
            errors = -1 / (1 + np.exp(-self.outputs[predicted] @ hidden))
            errors[0] += 1
            gradient = (lr * errors) @ self.outputs[predicted] / (1 + len(near))
            for word, error in zip(predicted, errors, strict=True):
                self.add(self.outputs, word, lr * error * hidden)
            for word in near:
                self.add(self.inputs, word, gradient)
            self.add(vectors, row, gradient)

    def add(self, table: np.ndarray, row: int, change: np.ndarray) -> None:
        table[row] += change
        norm = math.sqrt(table[row] @ table[row])
        if norm > 1:
            table[row] /= norm


def measure(rounds: int, **given: int) -> list[dict[str, object]]:
    """Return documents/s of both; ``given`` are some of the `Sizes`."""
    sizes, rows = Sizes(**given), []
    for name, weights in LOSSES.items():
        model = build(sizes, **weights)
        drawn = batches(sizes, np.random.default_rng(3))
        first, generator, loop = drawn[0], torch.Generator().manual_seed(0), Loop(model)
        rates, plain = [], []
        for _ in range(rounds):
            start = time.perf_counter()
            with torch.no_grad():
                for batch in drawn:
                    model._train("text", batch, generator)
            trained = sizes.batch_size * sizes.batches
            rates.append(trained / (time.perf_counter() - start))
            start = time.perf_counter()
            for i in range(sizes.plain):
                words = first.words[DOCUMENT_WORDS * i : DOCUMENT_WORDS * (i + 1)].numpy()
                labels = first.label_ids[POSITIVES * i : POSITIVES * (i + 1)].numpy()
                loop.train(int(first.rows[i]), words, labels)
            plain.append(sizes.plain / (time.perf_counter() - start))
        here, there = statistics.median(rates), statistics.median(plain)
        rows.append(
            {
                "training": name,
                "documents/s": here,
                "one step at a time": there,
                "x one at a time": here / there,
            }
        )
    return rows
