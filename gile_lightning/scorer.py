"""A model without its training: documents and label texts in, logits out."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from gile_lightning.data.language import Language
from gile_lightning.data.ragged import Texts, distinct, segment_starts, take_segments
from gile_lightning.encoders.encoder import Encoder, Sharing
from gile_lightning.encoders.idf import Idf
from gile_lightning.outputs import OutputLayer, matched_dim
from gile_lightning.projected import SLAB, ProjectedLabels


class Scorer(nn.Module):
    """Word embedding, document encoder, label encoder and output layer of one language.

    Languages share parts by holding the same module objects.

    Args:
        embedding: word vectors of documents and label texts.
        encoder: encodes documents.
        label_encoder: encodes label texts; unused by an output layer whose labels are ids.
        output: scores documents against labels.
        document_norm: applied to document vectors.
        label_norm: applied to label vectors.
        matched_dim: the size that a joint space would have by the paper's Eq. 19.
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
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.encoder = encoder
        self.label_encoder = label_encoder
        self.output = output
        self.document_norm = document_norm
        self.label_norm = label_norm
        self.matched_dim = matched_dim

    def share(self, other: "Scorer", parts: Sharing) -> None:
        """Hold the same modules as another language: parts of the encoders, the joint space."""
        self.encoder.share(other.encoder, parts)
        if any(True for _ in self.label_encoder.parameters()):
            self.label_encoder.share(other.label_encoder, parts)
        self.output.share(other.output)

    @property
    def word_vectors(self) -> Tensor:
        """The vectors of all words [V, d]."""
        vectors: Tensor = self.embedding.weight  # type: ignore[assignment]
        return vectors

    @property
    def sparse(self) -> bool:
        """Whether training gives the word vectors a sparse gradient."""
        return getattr(self.embedding, "sparse", False) and self.word_vectors.requires_grad

    def encode_documents(self, texts: Texts, table: Tensor | None = None) -> Tensor:
        """Encode documents as vectors [B, d_h]; their words are rows of the table, if given."""
        table = self.word_vectors if table is None else table
        vectors: Tensor = self.document_norm(self.encoder.encode(table, texts))
        return vectors

    def encode_labels(self, texts: Texts, table: Tensor | None = None) -> Tensor:
        """Encode label texts as vectors [K, d]; their words are rows of the table, if given."""
        table = self.word_vectors if table is None else table
        vectors: Tensor = self.label_norm(self.label_encoder.encode(table, texts))
        return vectors

    def forward(self, documents: Texts, labels: Texts | Tensor) -> Tensor:
        """Score documents against labels, given as texts or as ids [K]: logits [B, K].

        Where word vectors are trained, those of the words at hand are taken from the embedding
        once, and their gradients are put together before they go back to it.
        """
        table = None
        if self.word_vectors.requires_grad and torch.is_grad_enabled():
            if isinstance(labels, Tensor):
                table, (documents,) = self._words_of(documents)
            else:
                table, (documents, labels) = self._words_of(documents, labels)
        vectors = labels if isinstance(labels, Tensor) else self.encode_labels(labels, table)
        logits: Tensor = self.output(self.encode_documents(documents, table), vectors)
        return logits

    def _words_of(self, *texts: Texts) -> tuple[Tensor, list[Texts]]:
        """Return the vectors of the distinct words of texts, and the texts as rows of these."""
        words = torch.cat([part.words for part in texts])
        known, rows = distinct(words, len(self.word_vectors))
        places = torch.split(rows, [len(part.words) for part in texts])
        table: Tensor = self.embedding(known)
        pairs = zip(texts, places, strict=True)
        return table, [part._replace(words=p, ids=part.words) for part, p in pairs]


def build_scorers(
    make: Mapping[str, Any],
    languages: Mapping[str, Language],
    sharing: Sharing,
    joint_dim: int | None = None,
) -> dict[str, Scorer]:
    """Make the scorers of the languages, which share parts of their encoders.

    Args:
        make: the factories, as `TextClassifier` takes them.
        languages: vocabularies and labels.
        sharing: which parts the languages have in common.
        joint_dim: the matched size of the joint space, where it is known from training.
    """
    scorers: dict[str, Scorer] = {}
    labels = sum(language.labels.seen for language in languages.values())
    for name, language in languages.items():
        embedding = make["embedding"](language.text.vocabulary)
        encoder = make["encoder"](embedding.embedding_dim)
        label_encoder = make["label_encoder"](embedding.embedding_dim)
        sizes = encoder.output_dim, label_encoder.output_dim
        matched = joint_dim or matched_dim(encoder.hidden_dim, sizes[1], labels)
        output = make["output"](*sizes, language.labels.seen, matched)
        document_norm, label_norm = (make["norm"](size) for size in sizes)
        scorer = Scorer(
            embedding, encoder, label_encoder, output, document_norm, label_norm, matched
        )
        for module in scorer.modules():
            if isinstance(module, Idf):
                module.build(len(language.text.vocabulary))
            if isinstance(module, nn.Linear):  # as in the authors' code
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        for first in list(scorers.values())[:1]:
            scorer.share(first, sharing)
        scorers[name] = scorer
    return scorers


class LabelTexts(nn.Module):
    """The encoded texts of a label set, on the device of the model that holds them.

    Not part of the state: they are made from the label set that travels with a checkpoint.
    """

    words: Tensor
    lengths: Tensor
    starts: Tensor

    def __init__(self, texts: Texts) -> None:
        super().__init__()
        self.register_buffer("words", texts.words, persistent=False)
        self.register_buffer("lengths", texts.sentence_lengths, persistent=False)
        starts = segment_starts(texts.sentence_lengths)
        self.register_buffer("starts", starts, persistent=False)

    def __len__(self) -> int:
        return len(self.lengths)

    def all(self) -> Texts:
        """Return the texts of all labels."""
        return Texts(self.words, self.lengths, torch.ones_like(self.lengths))

    def take(self, ids: Tensor) -> Texts:
        """Return the texts of the labels ``ids`` [K]."""
        words = take_segments(self.words, self.starts, self.lengths, ids)
        return Texts(words, self.lengths[ids], torch.ones_like(ids))


@torch.no_grad()
def project_all(scorer: Scorer, labels: LabelTexts, seen: int) -> ProjectedLabels:
    """Prepare labels for scoring, once for all batches.

    These are all the labels, or only those seen in training where the output layer knows no
    others.
    """
    by_text = scorer.output.scores_unseen
    ids = torch.arange(len(labels) if by_text else seen, device=labels.words.device)
    slabs = torch.split(ids, SLAB)
    vectors = (scorer.encode_labels(labels.take(some)) for some in slabs) if by_text else slabs
    return ProjectedLabels(scorer.output, vectors, len(ids))
