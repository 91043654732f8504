"""Small models with a random sentence encoder, and documents for them.

Files that import this are skipped where `sentence_transformers` is missing.
"""

from dataclasses import replace
from functools import partial
from pathlib import Path

import torch
from torch import nn

from gile_lightning.data.loading.ragged import RaggedBatch
from gile_lightning.data.pretrained import backends
from gile_lightning.network import LabelResidual, Ridge
from gile_lightning.network.encoders import Concatenation, IdfMean, Pretrained
from gile_lightning.network.matchers import (
    BestPassage,
    CharacterMatch,
    Cosine,
    DistilledCosine,
    LexicalMatch,
    LexicalPassage,
    NameMention,
)
from gile_lightning.systems import NeuralSystem
from gile_lightning.systems.weights import distil
from gile_testing.models import FROZEN, NAME, model
from gile_testing.small_models import save
from gile_testing.two_languages import DOCUMENTS, languages, ragged

TRAINED = partial(Pretrained, trainable=True)
IDF = partial(IdfMean, sublinear_tf=True)
LABELS = {"label_encoder": partial(Concatenation, encoders=[Pretrained, IDF])}
MATCHERS = [
    partial(LexicalMatch, stemmer="english"),
    partial(LexicalPassage, stemmer="english"),
    partial(NameMention, hidden=3),
    CharacterMatch,
    Cosine,
]
PRETRAINED = {
    "Pretrained": {"encoder": Pretrained, "label_encoder": Pretrained},
    "Pretrained, trained": {"encoder": TRAINED, "label_encoder": TRAINED},
    "Cosine": {"matchers": [Cosine]},
    "Cosine of names": {"matchers": [partial(Cosine, of="name")]},
    "BestPassage": {"matchers": [BestPassage]},
    "DistilledCosine": {"matchers": [partial(DistilledCosine, dim=4)]},
    "best": FROZEN
    | LABELS
    | {
        "encoder": partial(Concatenation, encoders=[Pretrained, IDF]),
        "matchers": MATCHERS,
        "label_residual": LabelResidual,
        "ridge": partial(Ridge, ngram_features=8),
    },
    "best, trained": FROZEN
    | LABELS
    | {
        "encoder": partial(Concatenation, encoders=[TRAINED, IDF]),
        "matchers": MATCHERS,
        "label_residual": LabelResidual,
    },
}


def random_encoder(folder: Path) -> str:
    """Write a small sentence encoder into a folder; return its name."""
    save(folder, "bert")
    return str(folder / "model")


def documents(encoder: str, place: int, vectors: bool = False) -> RaggedBatch:
    """Return one of the two batches of documents, with subwords, and with vectors if wanted."""
    words, labels = DOCUMENTS[NAME][place]
    tokenizer = replace(languages()[NAME].tokenizer, pretrained=encoder)
    texts = [" ".join(tokenizer.vocabulary[word] for word in document) for document in words]
    subwords, counts = (torch.from_numpy(x) for x in tokenizer.subwords(texts))
    batch = ragged(words, labels)._replace(subwords=subwords, subword_counts=counts)
    if vectors:
        found = backends.encode_with_passages(encoder, subwords, counts)
        batch = batch._replace(**found._asdict())
    return batch


def pretrained_model(kind: str, encoder: str, cache: Path) -> NeuralSystem:
    """Return a model whose weights follow from a seed, without dropout."""
    task = languages()[NAME]
    task = replace(task, tokenizer=replace(task.tokenizer, pretrained=encoder))
    made = model(PRETRAINED[kind], {NAME: task})
    for part in made.modules():
        if isinstance(part, nn.Dropout):  # devices draw different numbers
            part.p = 0.0
    read = partial(map, partial(documents, encoder), range(2))
    distil(made.network(NAME), task, read, cache, torch.device("cpu"))
    return made
