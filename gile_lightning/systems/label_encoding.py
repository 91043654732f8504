"""The texts of labels as the tensors that a network reads."""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from gile_lightning.data.loading.ragged import Texts
from gile_lightning.data.pretrained import VectorStore
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.network import NOT_SEEN, EncodedLabels, Network


def encode_labels(
    network: Network,
    tokenizer: Tokenizer,
    labels: LabelSet,
    own_labels: LabelSet,
    cache: Path,
    device: torch.device,
) -> EncodedLabels:
    """Encode a label set for a network.

    Args:
        network: reads the labels.
        tokenizer: of the label texts.
        labels: the label set.
        own_labels: the network's own, among which labels find their residuals.
        cache: the folder in which vectors of a pretrained model are kept.
        device: of the result.
    """
    own = network.own_labels
    places = range(len(labels)) if labels is own_labels else labels.places_in(own_labels)
    ids = np.array([i if 0 <= i < own else NOT_SEEN for i in places], dtype=np.int64)
    encode = partial(encode_texts, tokenizer, cache=cache, device=device)
    matchers: Iterable[Any] = network.matchers
    prepared = [matcher.prepare_labels(tokenizer, labels, encode) for matcher in matchers]
    texts = encode(labels.texts, network.label_encoder.inputs)
    seen = labels.frequencies[: labels.seen]
    return EncodedLabels(texts, torch.from_numpy(ids), prepared, seen).to(device)


def encode_texts(
    tokenizer: Tokenizer,
    texts: list[str],
    inputs: AbstractSet[str],
    *,
    cache: Path,
    device: torch.device,
) -> Texts:
    """Encode label texts as the fields of `Texts` that are needed; see `Encoder.inputs`."""
    needed = not inputs.isdisjoint(("subwords", "vectors"))
    subwords = tokenizer.subwords(texts, "label") if needed else (None, None)
    encoded = Texts.from_flat(*tokenizer.labels(texts), None, *subwords)
    if "vectors" in inputs and subwords[0] is not None:
        store = VectorStore(str(tokenizer.pretrained), cache, tokenizer.pretrained_backend)
        store.fill([subwords], len(texts), device)
        encoded = encoded._replace(vectors=store.find(*subwords))
    if "subwords" not in inputs:
        encoded = encoded._replace(subwords=None, subword_counts=None)
    return encoded
