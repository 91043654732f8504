"""What each part of a network adds to the logits, and which words carry it."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor

from gile_lightning.data.loading.ragged import Texts
from gile_lightning.network import NOT_SEEN, LabelBatch, Network, PreparedLabels
from gile_lightning.network.encoders.encoder import Attention
from gile_lightning.network.matchers import Mention
from gile_lightning.network.outputs import MatchersOnly

RIDGE, RESIDUAL, BIAS, PRIOR = "regression", "label residual", "label bias", "prior"


class Evidence(NamedTuple):
    """What in one document carries the contributions to J labels.

    Attributes:
        words: by part, what each of the N words adds [N, J]. The sum over the words is the
            contribution of the part. Parts that do not work word by word are missing.
        mentions: by part, the names and synonyms of the labels that occur.
        attention: of the encoder, if it attends; the same for all labels.
    """

    words: dict[str, Tensor]
    mentions: dict[str, list[Mention]]
    attention: Attention | None = None


@torch.no_grad()
def contributions(prepared: PreparedLabels, documents: Texts) -> dict[str, Tensor]:
    """Return what each part adds to the logits of J labels: [B, J] by part; the sum is the logit.

    The weights that a label has of its own for a matcher or the regression count with these.

    Args:
        prepared: the labels.
        documents: B documents.
    """
    network, labels = prepared.network, prepared.labels
    documents, encoded = prepared.encode(documents)
    found: dict[str, Tensor] = {}
    with torch.autocast(encoded.device.type, enabled=False):
        logits = prepared.output_logits(encoded)
        if not isinstance(network.output, MatchersOnly):
            found[_name(network.output)] = logits
        factors = _factors(network, labels)
        matchers: Any = zip(network.matchers, labels.matcher_labels, strict=True)
        for name, (matcher, matched), factor in zip(
            _names(network), matchers, factors, strict=False
        ):
            found[name] = matcher(documents, matched) * factor
        seen = (labels.residual_ids != NOT_SEEN).nonzero().squeeze(1)
        ids, zeros = labels.residual_ids[seen], torch.zeros_like(logits)
        features = network.ridge_features(documents, encoded)
        if network.ridge is not None and features is not None:
            scores = network.ridge(features, ids)
            found[RIDGE] = zeros.index_copy(1, seen, scores.to(zeros.dtype)) * factors[-1]
        if network.label_residual is not None:
            bias = network.label_residual(torch.zeros_like(encoded), ids)
            of_vector = network.label_residual(encoded, ids) - bias
            found[RESIDUAL] = zeros.index_copy(1, seen, of_vector)
            found[BIAS] = zeros.index_copy(1, seen, bias)
        if network.prior is not None:
            found[PRIOR] = network.prior.expand_as(logits)
    return found


@torch.no_grad()
def evidence(prepared: PreparedLabels, document: Texts) -> Evidence:
    """Find what in one document carries the contributions to J labels."""
    network, labels = prepared.network, prepared.labels
    document, encoded = prepared.encode(document)
    words: dict[str, Tensor] = {}
    mentions: dict[str, list[Mention]] = {}
    matchers: Any = network.matchers
    with torch.autocast(encoded.device.type, enabled=False):
        factors = _factors(network, labels)
        parts = zip(_names(network), matchers, labels.matcher_labels, factors, strict=False)
        for name, matcher, matched, factor in parts:
            by_word = matcher.by_word(document, matched)
            if by_word is not None:
                words[name] = by_word * factor
            if found := matcher.mentions(document, matched):
                mentions[name] = found
    rows = document._replace(words=document.words.clamp(max=len(network.word_vectors) - 1))
    attention = None
    if len(document.words):
        attention = network.encoder.attention(network.word_vectors, rows)
    return Evidence(words, mentions, attention)


def _factors(network: Network, labels: LabelBatch) -> Tensor:
    """Return how much matchers, and the regression if there is one, count: [parts, J]."""
    if network.label_residual is None:
        return torch.ones(len(network.matchers) + 1, 1, device=network.word_vectors.device)
    return network.label_residual.factors(labels.residual_ids)


def _names(network: Network) -> list[str]:
    """Name the matchers; a further one of a kind gets a number."""
    return list(_numbered([_name(matcher) for matcher in network.matchers]))


def _name(part: Any) -> str:
    return str(part.called or type(part).__name__)


def _numbered(names: list[str]) -> Iterator[str]:
    counts: Counter[str] = Counter()
    for name in names:
        counts[name] += 1
        yield name if counts[name] == 1 else f"{name} {counts[name]}"
