"""A model without its training: documents and label texts in, logits out."""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from gile_lightning.data.loading.flat import distinct, send
from gile_lightning.data.loading.ragged import Texts
from gile_lightning.network.encoded_labels import LabelBatch
from gile_lightning.network.encoders.encoder import Encoder, Sharing
from gile_lightning.network.encoders.pretrained import Pretrained
from gile_lightning.network.encoders.sparse_rows import sparse_rows
from gile_lightning.network.label_residual import LabelResidual
from gile_lightning.network.matchers import Matcher
from gile_lightning.network.outputs import OutputLayer
from gile_lightning.network.ridge import Ridge


class DistinctWords(NamedTuple):
    """The distinct words of documents and of label texts, which then are rows of a table of these.

    Attributes:
        ids: of the words [U], sorted.
        documents: whose ``words`` are places among them.
        label_texts: the same, if the output layer reads texts.
    """

    ids: Tensor
    documents: Texts
    label_texts: Texts | None


# of these the output depends on the mode, or on chance
_CHANGING = (nn.modules.dropout._DropoutNd, nn.modules.batchnorm._NormBase)


class Fixed(NamedTuple):
    """What training does not change of documents and labels; None where it does.

    Attributes:
        documents: their vectors [B, d_h].
        features: what the ridge regression reads of them [B, d].
        labels: the vectors of label texts [K, d].
    """

    documents: Tensor | None = None
    features: Tensor | None = None
    labels: Tensor | None = None


class Network(nn.Module):
    """Scores the documents of one task against its labels.

    An encoder makes vectors of documents, a label encoder makes vectors of label texts, and an
    output layer scores the two. The scores of matchers and of a ridge regression, a learned prior
    and the label residual are added to its logits, if there are any.

    Several networks share parameters by holding the same modules.

    Args:
        embedding: word vectors of documents and label texts.
        encoder: encodes documents.
        label_encoder: encodes label texts; unused if the output layer takes label ids.
        output: scores documents against labels.
        document_norm: applied to document vectors.
        label_norm: applied to label vectors.
        matched_dim: size of a joint space by the paper's Eq. 19.
        matchers: score documents against labels by their texts.
        label_residual: the residuals of seen labels.
        ridge: the ridge regression of seen labels on document vectors.
        dropout: the share of the numbers of document vectors that training sets to zero.
        label_dropout: the same for label vectors.
        prior: the log-odds at which all pairs begin if anything is added to the output
            layer's logits; learned.
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
        ridge: Ridge | None = None,
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
        self.ridge = ridge
        self.dropout = nn.Dropout(dropout)
        self.label_dropout = nn.Dropout(label_dropout)
        has_prior = len(self.matchers) > 0 or self.own_labels > 0
        self.prior = nn.Parameter(torch.tensor(float(prior))) if has_prior else None

    def share_with(self, other: "Network", sharing: Sharing) -> None:
        """Hold the encoder modules named by ``sharing``, and the joint space, of another network.

        Matchers, the label residual, the ridge regression and the prior are never shared.
        """
        self.encoder.share_with(other.encoder, sharing)
        if any(True for _ in self.label_encoder.parameters()):
            self.label_encoder.share_with(other.label_encoder, sharing)
        self.output.share_with(other.output)

    @property
    def word_vectors(self) -> Tensor:
        """The vectors of all words [V, d]."""
        vectors: Tensor = self.embedding.weight  # type: ignore[assignment]
        return vectors

    @property
    def own_labels(self) -> int:
        """The number of labels that have something of their own: a residual or a regression."""
        parts = (self.label_residual, self.ridge)
        return max((len(part) for part in parts if part is not None), default=0)

    @property
    def trains_documents(self) -> bool:
        """Whether training changes the document vectors."""
        return self._trains(self.encoder, self.document_norm)

    def _trains(self, encoder: Encoder, norm: nn.Module) -> bool:
        """Whether training changes the vectors of an encoder and a norm."""
        modules = (*encoder.modules(), *norm.modules())
        if any(isinstance(module, _CHANGING) for module in modules):
            return True
        parameters = [*encoder.parameters(), *norm.parameters()]
        if encoder.reads_word_vectors:
            parameters.append(self.word_vectors)  # type: ignore[arg-type]
        return any(parameter.requires_grad for parameter in parameters)

    @property
    def unused(self) -> list[nn.Parameter]:
        """The parameters that no logit depends on: those of labels under an output layer by ids."""
        reads = self.encoder.reads_word_vectors
        found: list[nn.Parameter] = []
        if self.output.scores_unseen:
            reads |= self.label_encoder.reads_word_vectors
        else:
            found += [*self.label_encoder.parameters(), *self.label_norm.parameters()]
        return found if reads else [*found, *self.embedding.parameters()]

    @property
    def sparse(self) -> bool:
        """Whether training gives the word vectors a sparse gradient."""
        return getattr(self.embedding, "sparse", False) and self.word_vectors.requires_grad

    @property
    def inputs(self) -> AbstractSet[str]:
        """The fields of `Texts` that it needs of documents; see `Encoder.inputs`."""
        parts: Iterable[Any] = (self.encoder, *self.matchers)
        return frozenset().union(*(part.inputs for part in parts))

    def with_vectors(self, documents: Texts) -> Texts:
        """Add what a frozen pretrained model computes, if any module needs it: only once."""
        models = (m for m in self.modules() if isinstance(m, Pretrained) and not m.trainable)
        model = next(models, None)
        if model is None:
            return documents
        if "passages" in self.inputs and documents.passages is None:
            found = model.encode_with_passages(documents, self.word_vectors.device)
            return documents._replace(**found._asdict())
        if "vectors" in self.inputs and documents.vectors is None:
            documents = documents._replace(vectors=model(self.word_vectors, documents))
        return documents

    def encode_documents(self, texts: Texts, table: Tensor | None = None) -> Tensor:
        """Encode documents: [B, d_h]. Their words are rows of ``table``, or ids without one."""
        if table is None:
            table, texts = self.word_vectors, self._without_new_words(texts)
        vectors: Tensor = self.document_norm(self.encoder(table, texts))
        return vectors

    def encode_labels(self, texts: Texts, table: Tensor | None = None) -> Tensor:
        """Encode label texts: [K, d], before dropout; for their words see `encode_documents`."""
        if table is None:
            table, texts = self.word_vectors, self._without_new_words(texts)
        vectors: Tensor = self.label_norm(self.label_encoder(table, texts))
        return vectors

    def forward(
        self,
        documents: Texts,
        labels: LabelBatch,
        words: DistinctWords | None = None,
        fixed: Fixed | None = None,
    ) -> Tensor:
        """Score documents against labels: logits [B, K].

        If word vectors are trained, each word of the batch is looked up once. So its gradients are
        summed up before they reach the embedding.

        Args:
            documents: the texts of B documents.
            labels: the K labels.
            words: what `distinct_words` returns of both, where it is known already.
            fixed: what `fixed` returns of both, where it is known already.
        """
        table, texts, label_texts = None, documents, self._texts_of(labels)
        if words is None:
            words = self.distinct_words(documents, labels)
        if words is not None:
            table, texts, label_texts = (
                self._vectors_of(words.ids),
                words.documents,
                words.label_texts,
            )
        encoded, features, vectors = Fixed() if fixed is None else fixed
        if label_texts is None:
            vectors = labels.ids
        else:
            if vectors is None:
                vectors = self.encode_labels(label_texts, table)
            vectors = self.label_dropout(vectors)
        if encoded is None:
            encoded = self.encode_documents(texts, table)
        if features is None:
            features = self.ridge_features(documents, encoded)
        dropped = self.dropout(encoded)
        logits = self.output(dropped, vectors)
        return self.add_to_logits(logits, documents, features, dropped, labels)

    def _texts_of(self, labels: LabelBatch) -> Texts | None:
        """Return the label texts, if the output layer reads any."""
        return labels.texts if self.output.scores_unseen else None

    def distinct_words(self, documents: Texts, labels: LabelBatch) -> DistinctWords | None:
        """Return the distinct words of documents and label texts, if their vectors are trained."""
        if not (self.word_vectors.requires_grad and torch.is_grad_enabled()):
            return None
        label_texts = self._texts_of(labels)
        given = [documents] if label_texts is None else [documents, label_texts]
        given = [self._without_new_words(texts) for texts in given]
        words = torch.cat([texts.words for texts in given])
        ids, rows = distinct(words, len(self.word_vectors))
        places = torch.split(rows, [len(texts.words) for texts in given])
        found = [
            texts._replace(words=rows, ids=texts.words)
            for texts, rows in zip(given, places, strict=True)
        ]
        return DistinctWords(ids, found[0], None if label_texts is None else found[1])

    @torch.no_grad()
    def fixed(self, documents: Texts, labels: LabelBatch) -> Fixed:
        """Compute what training does not change of documents and labels."""
        encoded = features = vectors = None
        if not self.trains_documents:
            encoded = self.encode_documents(documents)
            features = self.ridge_features(documents, encoded)
        label_texts = self._texts_of(labels)
        if label_texts is not None and not self._trains(self.label_encoder, self.label_norm):
            vectors = self.encode_labels(label_texts)
        return Fixed(encoded, features, vectors)

    def look_up(self, documents: Texts, labels: LabelBatch) -> LabelBatch:
        """Return labels with what matchers look up in documents; see `Matcher.look_up`."""
        matchers = zip(self.matchers, labels.matcher_labels, strict=True)
        found = tuple(matcher.look_up(documents, own) for matcher, own in matchers)  # type: ignore[operator]
        return labels._replace(matcher_labels=found)

    def _vectors_of(self, ids: Tensor) -> Tensor:
        """Return the vectors of distinct words [U, d]."""
        ids = send(ids, self.word_vectors.device)
        if self.sparse and ids.device.type != "cpu":  # which nothing waits for
            return sparse_rows(self.word_vectors, ids)
        vectors: Tensor = self.embedding(ids)
        return vectors

    def add_to_logits(
        self,
        logits: Tensor,
        documents: Texts,
        features: Tensor | None,
        dropped: Tensor,
        labels: LabelBatch,
    ) -> Tensor:
        """Add the scores of the matchers and of the regression, the prior and the label residual.

        Args:
            logits: of the output layer [B, K].
            documents: the texts of B documents.
            features: what the ridge regression reads of them [B, d], if there is one.
            dropped: their vectors after dropout [B, d_h].
            labels: the K labels. If they have ``targets``, the documents are training documents.
                Outside of training these are scored as far as possible as if they were new: by the
                regression on all other documents, and by residuals without their vectors.
        """
        labels = labels.sent(logits.device)
        factors: Sequence[Tensor | None] = [None] * (len(self.matchers) + 1)
        if self.label_residual is not None:
            factors = self.label_residual.factors(labels.residual_ids).unbind()
        matchers = zip(self.matchers, labels.matcher_labels, strict=True)
        for (matcher, prepared), factor in zip(matchers, factors, strict=False):
            logits = _plus(logits, matcher(documents, prepared), factor)
        if self.prior is not None:
            logits = _plus(logits, self.prior)
        seen = labels.own
        if not self.own_labels or seen is None:
            return logits
        ids, own = labels.residual_ids[seen], logits[:, seen]
        if self.ridge is not None:
            assert features is not None  # see `ridge_features`
            known = None if labels.targets is None else labels.targets[:, seen]
            factor = factors[-1]
            score = self.ridge(features, ids, known)
            if known is not None and not self.training:
                score = score * self.ridge.boost
            own = _plus(own, score, None if factor is None else factor.index_select(0, seen))
        if self.label_residual is not None:
            held_out = labels.targets is not None and not self.training
            read = torch.zeros_like(dropped) if held_out else dropped  # the biases alone
            own = _plus(own, self.label_residual(read, ids))
        return logits.to(own.dtype).index_copy_(1, seen, own)

    def ridge_features(self, documents: Texts, encoded: Tensor) -> Tensor | None:
        """Return what the ridge regression reads of documents and their vectors: [B, d], if any."""
        if self.ridge is None:
            return None
        return self.ridge.features(encoded, self._without_new_words(documents))

    def _without_new_words(self, texts: Texts) -> Texts:
        """Replace words that the embedding lacks (`Tokenizer.extended`) by UNK, the last word."""
        return texts._replace(words=texts.words.clamp(max=len(self.word_vectors) - 1))


def _plus(logits: Tensor, score: Tensor, factor: Tensor | None = None) -> Tensor:
    """Add a score, times a factor, to the logits; in their memory where no gradient is wanted.

    The logits of many labels are large, and new memory for each sum takes longer than adding.
    """
    if torch.is_grad_enabled() or logits.dtype != score.dtype:
        return logits + (score if factor is None else score * factor)
    return logits.add_(score) if factor is None else logits.addcmul_(score, factor)
