"""Training steps of GILE-WAN at the paper's scale, beside a naive port of the authors' scheme.

Vocabulary 528,156, d = 100, 26,104 labels, d_j = 500, 64 documents of 214 words, 0.3 % of the
labels drawn. One draw per batch scores other pairs than draws per document: more of them, of fewer
labels. Before anything is timed, one step of the naive port and one of ours, from the same
weights and with the same labels, must give the same loss and the same weights.

python tests/benchmarks/report.py --only training
"""

from functools import partial

import torch
import torch.nn.functional as F
from measuring import by_turns, peak_memory
from naive import LABEL_WORDS, WORDS, NaiveGILE, draw_slots, pad
from torch import Tensor, nn
from workload import NAME, Workload

from gile_lightning.data.loading.ragged import RaggedBatch
from gile_lightning.network.encoders import WordEmbedding
from gile_lightning.training.losses import BinaryCrossEntropy
from gile_lightning.training.optimizers import LazyAdam
from gile_lightning.training.samplers import LabelSample, SharedUniformLabels
from gile_lightning.training.samplers.sampler import scatter_pairs

RATE = 0.003
KIM_LABELS = 9_166  # as in LibMultiLabel's measurement
SPARSE = {"embedding": partial(WordEmbedding, sparse=True), "optimizer": LazyAdam}
SHARED = {**SPARSE, "sampler": SharedUniformLabels(RATE)}


class KimCNN(nn.Module):
    """Convolutions over padded words, their maxima over time, a linear layer (Kim, 2014)."""

    def __init__(self, vocabulary: int, dim: int, labels: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary + 1, dim, padding_idx=0, sparse=True)
        self.convolutions = nn.ModuleList(nn.Conv1d(dim, 128, size) for size in (2, 4, 6, 8))
        self.linear = nn.Linear(4 * 128, labels)

    def forward(self, words: Tensor) -> Tensor:
        """Score all labels: [B, K]."""
        vectors = self.embedding(words).transpose(1, 2)
        maxima = [conv(vectors).relu().amax(-1) for conv in self.convolutions]
        scores: Tensor = self.linear(torch.cat(maxima, 1))
        return scores


def ours(workload: Workload, batches: list[RaggedBatch], **parts: object):
    """A training step of the product, sampling included, on one of the batches."""
    model = workload.model(**parts)
    optimizer = model.configure_optimizers()

    def step(place: int) -> None:
        optimizer.zero_grad()
        model.training_step({NAME: batches[place]}, place).backward()
        optimizer.step()

    return step


def naive(workload: Workload, batches: list[RaggedBatch], fused: bool | None = None):
    """A training step of the naive port, sampling included."""
    model = NaiveGILE(workload.vocabulary, workload.dim, workload.joint_dim)
    optimizer = torch.optim.Adam(model.parameters(), fused=fused)
    texts = pad(workload.label_texts.words, workload.label_texts.sentence_lengths, LABEL_WORDS)
    slots = int(RATE * workload.labels)

    def step(place: int) -> None:
        batch = batches[place]
        ids, targets = draw_slots(labels_of(batch, workload.labels).bool(), slots)
        optimizer.zero_grad()
        words = pad(batch.words, batch.sentence_lengths, WORDS)
        model.loss(words, texts[ids], targets).backward()
        optimizer.step()

    return step


def kim_cnn(workload: Workload, batches: list[RaggedBatch]):
    """A training step of the convolutional network on all labels, with a lazy embedding too."""
    model = KimCNN(workload.vocabulary, workload.dim, workload.labels)
    optimizer = LazyAdam(model.parameters())

    def step(place: int) -> None:
        batch = batches[place]
        optimizer.zero_grad()
        logits = model(pad(batch.words, batch.sentence_lengths, WORDS))
        targets = labels_of(batch, workload.labels)
        F.binary_cross_entropy_with_logits(logits, targets).backward()
        optimizer.step()

    return step


def labels_of(batch: RaggedBatch, labels: int) -> Tensor:
    """The labels as a matrix [B, K] of 0 and 1."""
    rows = torch.repeat_interleave(batch.label_counts)
    return scatter_pairs(rows, batch.label_ids, len(batch.label_counts), labels)


def check(workload: Workload, batch: RaggedBatch) -> None:
    """Compare one step of both, from the same weights and with the same labels."""
    port = NaiveGILE(workload.vocabulary, workload.dim, workload.joint_dim)
    model = workload.model(**SPARSE)
    names = {
        "encoder.layer.linear": port.dense,
        "encoder.pooling.hidden": port.hidden,
        "encoder.pooling.score": port.score,
        "output.document_projection": port.document_projection,
        "output.label_projection": port.label_projection,
        "output.unit": port.unit,
    }
    network = model.network(NAME)
    with torch.no_grad():
        network.embedding.weight.copy_(port.embedding.weight[1:])
        for name, part in names.items():
            network.get_submodule(name).load_state_dict(part.state_dict())
    slots = int(RATE * workload.labels)
    ids, targets = draw_slots(labels_of(batch, workload.labels).bool(), slots)
    optimizers = torch.optim.Adam(port.parameters()), model.configure_optimizers()
    texts = pad(workload.label_texts.words, workload.label_texts.sentence_lengths, LABEL_WORDS)
    words = pad(batch.words, batch.sentence_lengths, WORDS)
    naive_loss = port.loss(words, texts[ids], targets)
    labels, places = torch.unique(ids, return_inverse=True)
    rows = torch.arange(len(ids)).repeat_interleave(slots)
    positive = targets.flatten() > 0
    shape = len(ids), len(labels)
    sample = LabelSample(
        labels,
        scatter_pairs(rows[positive], places.flatten()[positive], *shape),
        scatter_pairs(rows, places.flatten(), *shape),
    )
    logits = network(batch.texts, model.encoded(NAME).select(sample.labels))
    loss = BinaryCrossEntropy()(logits, sample.targets, sample.weights)
    torch.testing.assert_close(loss, naive_loss, rtol=1e-6, atol=1e-6)
    for optimizer, value in zip(optimizers, (naive_loss, loss), strict=True):
        value.backward()
        for group in optimizer.param_groups:
            group["eps"] = 1e-3  # else Adam's first step is ± lr, whatever a gradient's size
        optimizer.step()
    close = partial(torch.testing.assert_close, rtol=0, atol=1e-6)
    close(network.embedding.weight, port.embedding.weight[1:])
    for name, part in names.items():
        close(network.get_submodule(name).state_dict(), part.state_dict())


def measure(
    rounds: int, steps: int = 4, kim_labels: int = KIM_LABELS, **sizes: int
) -> list[dict[str, object]]:
    """Return documents/s, ratios and peak memory of the training steps.

    Args:
        rounds: of each.
        steps: of a round, each with a batch of its own.
        kim_labels: of the convolutional network and of what stands beside it.
        sizes: of the `Workload`, where they are not the paper's.
    """
    workload = Workload(**sizes)
    batches = list(workload.batches(steps))
    check(workload, batches[0])
    kim = Workload(**sizes | {"labels": kim_labels})
    kim_batches = list(kim.batches(steps))
    makers = {
        "naive port": partial(naive, workload, batches),
        "naive port, fused Adam": partial(naive, workload, batches, fused=True),
        "dense Adam, labels drawn per document": partial(ours, workload, batches),
        "LazyAdam, labels drawn per document": partial(ours, workload, batches, **SPARSE),
        "LazyAdam, one draw per batch": partial(ours, workload, batches, **SHARED),
        f"KimCNN, {kim_labels:,} labels": partial(kim_cnn, kim, kim_batches),
        f"LazyAdam, one draw per batch, {kim_labels:,} labels": partial(
            ours, kim, kim_batches, **SHARED
        ),
    }
    programs, memory = {}, {}
    for name, make in makers.items():
        programs[name] = step = make()
        step(0)  # the state of the optimizer is made
        memory[name] = peak_memory(lambda step=step: [step(place) for place in range(steps)])
    seconds = by_turns(programs, rounds, steps)
    first, second, *_, cnn, beside_cnn = seconds
    return [
        {
            "training step": name,
            "documents/s": workload.batch_size / taken,
            "x naive": None if name in (cnn, beside_cnn) else seconds[first] / taken,
            "x naive, fused Adam": None if name in (cnn, beside_cnn) else seconds[second] / taken,
            "x KimCNN": seconds[cnn] / taken if name in (cnn, beside_cnn) else None,
            "peak MiB beyond weights and state": memory[name],
        }
        for name, taken in seconds.items()
    ]
