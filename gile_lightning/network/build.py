"""Networks from the factories of their modules and the data's tasks."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from torch import nn

from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.network.encoders.embedding import WordEmbedding
from gile_lightning.network.encoders.encoder import Encoder, Sharing
from gile_lightning.network.encoders.idf import Idf
from gile_lightning.network.label_residual import LabelResidual
from gile_lightning.network.matchers import Matcher
from gile_lightning.network.network import Network
from gile_lightning.network.outputs import OutputLayer, matched_dim
from gile_lightning.network.ridge import Ridge


@dataclass(frozen=True, kw_only=True)
class Factories:
    """The callables that make the modules of a `Network`; `NeuralSystem` describes each."""

    embedding: Callable[[Sequence[str]], WordEmbedding]
    encoder: Callable[[int], Encoder]
    label_encoder: Callable[[int], Encoder]
    output: Callable[[int, int, int, int], OutputLayer]
    norm: Callable[[int], nn.Module]
    matchers: Sequence[Callable[[Tokenizer], Matcher]] = ()
    label_residual: Callable[[int, list[int], int], LabelResidual] | None = None
    ridge: Callable[[int, int], Ridge] | None = None
    dropout: float = 0.0
    label_dropout: float = 0.0


def build_networks(
    make: Factories,
    tasks: Mapping[str, Task],
    sharing: Sharing,
    matched: int | None = None,
    word_dim: int | None = None,
) -> dict[str, Network]:
    """Make a network for each task, and share modules between them.

    Args:
        make: makes the modules.
        tasks: by name.
        sharing: which encoder modules the networks have in common.
        matched: the matched size of the joint space, if a checkpoint has it.
        word_dim: the size of word vectors, if it is below that of the embedding.
    """
    networks: dict[str, Network] = {}
    labels = sum(task.labels.seen for task in tasks.values())
    for name, task in tasks.items():
        network = _build(make, task, labels, matched, word_dim)
        for first in list(networks.values())[:1]:
            network.share_with(first, sharing)
        networks[name] = network
    return networks


def _build(
    make: Factories, task: Task, labels: int, matched: int | None, word_dim: int | None
) -> Network:
    """Make the network of one task; ``labels`` is the number of seen labels of all tasks."""
    embedding = make.embedding(task.tokenizer.vocabulary)
    if word_dim is not None:
        embedding.narrow(word_dim)
    encoder = make.encoder(embedding.embedding_dim)
    label_encoder = make.label_encoder(embedding.embedding_dim)
    for part in (encoder, label_encoder):
        part.set_tokenizer(task.tokenizer)
    sizes = encoder.output_dim, label_encoder.output_dim
    matched = matched or matched_dim(encoder.hidden_dim, sizes[1], labels)
    output = make.output(*sizes, task.labels.seen, matched)
    document_norm, label_norm = (make.norm(size) for size in sizes)
    matchers = [matcher(task.tokenizer) for matcher in make.matchers]
    label_residual = ridge = None
    if make.ridge is not None:
        ridge = make.ridge(sizes[0], task.labels.seen)
        ridge.set_tokenizer(task.tokenizer)
    if make.label_residual is not None:
        frequencies = task.labels.frequencies[: task.labels.seen]
        label_residual = make.label_residual(
            sizes[0], frequencies, len(matchers) + (ridge is not None)
        )
    network = Network(
        embedding,
        encoder,
        label_encoder,
        output,
        document_norm,
        label_norm,
        matched,
        matchers,
        label_residual,
        ridge,
        make.dropout,
        make.label_dropout,
        prior_log_odds(task.labels),
    )
    inputs = encoder.inputs | (label_encoder.inputs if output.scores_unseen else set())
    if "words" not in inputs:
        embedding.requires_grad_(False)  # nothing reads it
    for module in _untrained(network):
        if isinstance(module, Idf):
            module.build(len(task.tokenizer.vocabulary))
        if isinstance(module, nn.Linear):  # as in the authors' code
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
    return network


def prior_log_odds(labels: LabelSet) -> float:
    """Return the log-odds of a random pair of a training document and a seen label, at most 0.

    Without it, a loss over all pairs spends its first steps on learning that most labels are wrong
    (Lin et al., 2017, section 4.1). If the number of documents is unknown, the largest frequency
    stands in for it.
    """
    pairs = max(labels.documents, *labels.frequencies, 1) * max(1, labels.seen)
    rate = min(max(sum(labels.frequencies), 1) / pairs, 0.5)
    return math.log(rate / (1 - rate))


def _untrained(module: nn.Module) -> Iterator[nn.Module]:
    """Yield the modules whose weights are still to be drawn: all but pretrained ones."""
    if not getattr(module, "pretrained", False):
        yield module
        for child in module.children():
            yield from _untrained(child)
