"""A model without its training: documents and label texts in, logits out."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from gile_lightning.data.loading.ragged import Texts, distinct
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.network.encoded_labels import LabelBatch
from gile_lightning.network.encoders.embedding import WordEmbedding
from gile_lightning.network.encoders.encoder import Encoder, Sharing
from gile_lightning.network.encoders.idf import Idf
from gile_lightning.network.encoders.pretrained import Pretrained
from gile_lightning.network.label_residual import LabelResidual
from gile_lightning.network.matchers import Matcher
from gile_lightning.network.outputs import OutputLayer, matched_dim


class Network(nn.Module):
    """Word embedding, document encoder, label encoder and output layer of one language.

    The logit of a document and a label is that of the output layer, and where there are matchers
    and label residuals, these are added to it.

    Languages share parts by holding the same module objects.

    Args:
        embedding: word vectors of documents and label texts.
        encoder: encodes documents.
        label_encoder: encodes label texts; unused by an output layer whose labels are ids.
        output: scores documents against labels.
        document_norm: applied to document vectors.
        label_norm: applied to label vectors.
        matched_dim: the size that a joint space would have by the paper's Eq. 19.
        matchers: further scores.
        label_residual: the residuals of single labels.
        dropout: the share of the numbers of document vectors that training sets to zero.
        label_dropout: the same of label vectors.
        prior: the log-odds at which all pairs begin, where there are matchers or label
            residuals; learned.
    """

    def __init__(
        self,
        embedding: nn.Module,
        encoder: Encoder,
        label_encoder: Encoder,
        output: OutputLayer,
        document_norm: nn.Module,
        label_norm: nn.Module,
        matched_dim: int = 0,
        matchers: Iterable[Matcher] = (),
        label_residual: LabelResidual | None = None,
        dropout: float = 0.0,
        label_dropout: float = 0.0,
        prior: float = 0.0,
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.encoder = encoder
        self.label_encoder = label_encoder
        self.output = output
        self.document_norm = document_norm
        self.label_norm = label_norm
        self.matched_dim = matched_dim
        self.matchers = nn.ModuleList(matchers)
        self.label_residual = label_residual
        self.dropout = nn.Dropout(dropout)
        self.label_dropout = nn.Dropout(label_dropout)
        extended = len(self.matchers) > 0 or label_residual is not None
        self.prior = nn.Parameter(torch.tensor(float(prior))) if extended else None

    def share_with(self, other: "Network", parts: Sharing) -> None:
        """Hold the same modules as another language: parts of the encoders, the joint space.

        Matchers, label residuals and the prior are always those of one task.
        """
        self.encoder.share_with(other.encoder, parts)
        if any(True for _ in self.label_encoder.parameters()):
            self.label_encoder.share_with(other.label_encoder, parts)
        self.output.share_with(other.output)

    @property
    def word_vectors(self) -> Tensor:
        """The vectors of all words [V, d]."""
        vectors: Tensor = self.embedding.weight  # type: ignore[assignment]
        return vectors

    @property
    def sparse(self) -> bool:
        """Whether training gives the word vectors a sparse gradient."""
        return getattr(self.embedding, "sparse", False) and self.word_vectors.requires_grad

    @property
    def reads(self) -> AbstractSet[str]:
        """What of the documents is read: words, subwords or vectors that are known already."""
        parts: Iterable[Any] = (self.encoder, *self.matchers)
        return frozenset().union(*(part.reads for part in parts))

    def with_vectors(self, documents: Texts) -> Texts:
        """Let a frozen pretrained model encode documents once, for all parts that read vectors."""
        if "vectors" not in self.reads or documents.vectors is not None:
            return documents
        for part in self.modules():
            if isinstance(part, Pretrained) and not part.trainable:
                return documents._replace(vectors=part(self.word_vectors, documents))
        return documents

    def encode_documents(self, texts: Texts, table: Tensor | None = None) -> Tensor:
        """Encode documents as vectors [B, d_h]; their words are rows of the table, if given."""
        if table is None:
            table, texts = self.word_vectors, self._known(texts)
        vectors: Tensor = self.dropout(self.document_norm(self.encoder(table, texts)))
        return vectors

    def encode_labels(self, texts: Texts, table: Tensor | None = None) -> Tensor:
        """Encode label texts as vectors [K, d]; their words are rows of the table, if given."""
        if table is None:
            table, texts = self.word_vectors, self._known(texts)
        vectors: Tensor = self.label_dropout(self.label_norm(self.label_encoder(table, texts)))
        return vectors

    def forward(self, documents: Texts, labels: LabelBatch) -> Tensor:
        """Score documents against labels: logits [B, K].

        Where word vectors are trained, those of the words at hand are taken from the embedding
        once, and their gradients are put together before they go back to it.
        """
        table, texts = None, [documents]
        if self.output.scores_unseen and labels.texts is not None:
            texts.append(labels.texts)
        if self.word_vectors.requires_grad and torch.is_grad_enabled():
            table, texts = self._words_of(*texts)
        vectors = self.encode_labels(texts[1], table) if len(texts) > 1 else labels.ids
        encoded = self.encode_documents(texts[0], table)
        return self.extend(self.output(encoded, vectors), documents, encoded, labels)

    def extend(
        self, logits: Tensor, documents: Texts, encoded: Tensor, labels: LabelBatch
    ) -> Tensor:
        """Add the scores of the matchers, and the residuals of the labels.

        Args:
            logits: of the output layer [B, K].
            documents: the texts of B documents.
            encoded: their vectors [B, d_h].
            labels: the K labels.
        """
        matchers = list(zip(self.matchers, labels.indexes, strict=True))
        scores = [matcher(documents, index) for matcher, index in matchers]
        for score in scores:
            logits = logits + score
        if self.prior is not None:
            logits = logits + self.prior
        if self.label_residual is not None:
            logits = logits + self.label_residual(encoded, scores, labels.residual_ids)
        return logits

    def _known(self, texts: Texts) -> Texts:
        """Return texts whose new words (`Tokenizer.extended`) are the unknown one, the last."""
        return texts._replace(words=texts.words.clamp(max=len(self.word_vectors) - 1))

    def _words_of(self, *texts: Texts) -> tuple[Tensor, list[Texts]]:
        """Return the vectors of the distinct words of texts, and the texts as rows of these."""
        texts = tuple(map(self._known, texts))
        words = torch.cat([part.words for part in texts])
        known, rows = distinct(words, len(self.word_vectors))
        places = torch.split(rows, [len(part.words) for part in texts])
        table: Tensor = self.embedding(known)
        pairs = zip(texts, places, strict=True)
        return table, [part._replace(words=p, ids=part.words) for part, p in pairs]


@dataclass(frozen=True)
class Factories:
    """What makes the parts of a `Network`; see `NeuralSystem` for each."""

    embedding: Callable[[Sequence[str]], WordEmbedding]
    encoder: Callable[[int], Encoder]
    label_encoder: Callable[[int], Encoder]
    output: Callable[[int, int, int, int], OutputLayer]
    norm: Callable[[int], nn.Module]
    matchers: Sequence[Callable[[Tokenizer], Matcher]] = ()
    label_residual: Callable[[int, list[int], int], LabelResidual] | None = None
    dropout: float = 0.0
    label_dropout: float = 0.0


def build_networks(
    make: Factories,
    tasks: Mapping[str, Task],
    sharing: Sharing,
    joint_dim: int | None = None,
) -> dict[str, Network]:
    """Make the networks of the languages, which share parts of their encoders.

    Args:
        make: what makes the parts.
        tasks: of the languages.
        sharing: which parts the languages have in common.
        joint_dim: the matched size of the joint space, where it is known from training.
    """
    networks: dict[str, Network] = {}
    labels = sum(task.labels.seen for task in tasks.values())
    for name, task in tasks.items():
        embedding = make.embedding(task.tokenizer.vocabulary)
        encoder = make.encoder(embedding.embedding_dim)
        label_encoder = make.label_encoder(embedding.embedding_dim)
        for part in (encoder, label_encoder):
            part.attach(task.tokenizer)
        sizes = encoder.output_dim, label_encoder.output_dim
        matched = joint_dim or matched_dim(encoder.hidden_dim, sizes[1], labels)
        output = make.output(*sizes, task.labels.seen, matched)
        document_norm, label_norm = (make.norm(size) for size in sizes)
        matchers = [matcher(task.tokenizer) for matcher in make.matchers]
        label_residual = None
        if make.label_residual is not None:
            frequencies = task.labels.frequencies[: task.labels.seen]
            label_residual = make.label_residual(sizes[0], frequencies, len(matchers))
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
            make.dropout,
            make.label_dropout,
            prior_log_odds(task.labels),
        )
        reads = encoder.reads | (label_encoder.reads if output.scores_unseen else set())
        if "words" not in reads:
            embedding.requires_grad_(False)  # DDP would wait for a gradient
        for module in _untrained(network):
            if isinstance(module, Idf):
                module.build(len(task.tokenizer.vocabulary))
            if isinstance(module, nn.Linear):  # as in the authors' code
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        for first in list(networks.values())[:1]:
            network.share_with(first, sharing)
        networks[name] = network
    return networks


def prior_log_odds(labels: LabelSet) -> float:
    """Return the log-odds of a random pair of a training document and a label seen in training.

    At most 0; where the number of documents is unknown, it is taken as the largest frequency.
    A loss over all pairs would spend its first steps on learning that most labels are wrong, and
    pull down whatever speaks for a label (Lin et al., 2017, section 4.1).
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
