"""The weights that networks begin with: word vectors, counts of words, a ridge regression."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from gile_lightning.common.console import say
from gile_lightning.common.errors import InputError
from gile_lightning.common.progress import track
from gile_lightning.data.loading.flat import segment_ids
from gile_lightning.data.loading.ragged import RaggedBatch, Texts
from gile_lightning.data.pretrained import VectorStore
from gile_lightning.data.tokenizing.frequencies import document_frequencies
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.data.training_data import TrainingData
from gile_lightning.network import EncodedLabels, LabelledVectors, Network
from gile_lightning.network.encoders import Idf, WordEmbedding
from gile_lightning.network.matchers import DistilledCosine, Matcher
from gile_lightning.systems.label_encoding import encode_texts


def word_dim(embedding: nn.Module, data: TrainingData) -> int | None:
    """Return for how many dimensions of learned word vectors there are texts enough.

    Texts are the training documents and the labels seen in training, of the language with fewest.

    Args:
        embedding: of any vocabulary; its ``start`` learns the vectors.
        data: the texts.

    Returns:
        The number, if it is below that of the embedding.
    """
    if not isinstance(embedding, WordEmbedding) or embedding.start is None:
        return None
    if any(data.vectors(name) is not None for name in data.tasks):
        return None
    dim = embedding.embedding_dim
    for name, task in data.tasks.items():  # as far as it takes: large corpora have enough at once
        texts = task.labels.seen
        for batch in data.documents(name):
            texts += len(batch.label_counts)
            if embedding.start.dimensions(texts, dim) == dim:
                break
        dim = embedding.start.dimensions(texts, dim)
    return dim if dim < embedding.embedding_dim else None


def set_word_vectors(
    network: Network, name: str, labels: EncodedLabels, data: TrainingData
) -> bool:
    """Set the word vectors to those of the corpus, to those of a file, or to learned ones.

    Every process reads or learns them itself, and gets the same.

    Returns:
        Whether the corpus brings word vectors.
    """
    vectors, task = data.vectors(name), data.tasks[name]
    embedding: WordEmbedding = network.embedding  # type: ignore[assignment]
    if vectors is not None:
        embedding.set_vectors(vectors, f"the corpus' word vectors ({name})")
        return True
    words = task.tokenizer.vocabulary
    embedding.load_vectors(words)
    if embedding.start is not None:
        read = _watched(data.documents(name), f"reading {name}", task.labels.documents)
        documents = (batch.texts for batch in read)
        texts = labels.texts_of(torch.arange(task.labels.seen))
        embedding.learn_vectors(documents, texts, data.cache_dir)
    if embedding.found is not None:
        say(
            f"word vectors ({name}): {embedding.found:,} of {len(words):,} words have one "
            f"of {embedding.vectors or type(embedding.start).__name__}"
        )
    return False


def count_words(network: Network, name: str, data: TrainingData) -> None:
    """Count the training documents of every word, for the parts that weight words by it."""
    parts = [part for part in network.modules() if isinstance(part, Idf | Matcher)]
    if parts:
        words = len(data.tasks[name].tokenizer.vocabulary)
        total = data.tasks[name].labels.documents
        documents = _watched(data.documents(name), f"counting words ({name})", total)
        counts = document_frequencies(documents, words)
        for part in parts:
            part.count_words(*counts)


class KnownToRidge(NamedTuple):
    """What an earlier ridge regression knows.

    Attributes:
        penalty: its penalty.
        new: [D] which of the training documents it was not fitted to; None for all.
        new_labels: [L] which seen labels it does not know. On documents that it knows they alone
            count.
    """

    penalty: float
    new: NDArray[np.bool_] | None
    new_labels: Tensor


def fit_ridge(
    network: Network,
    documents: Iterable[RaggedBatch],
    total: int | None = None,
    known: KnownToRidge | None = None,
) -> None:
    """Solve the ridge regression of a network on its training documents, if it has one.

    Every process solves it itself, and gets the same.

    Args:
        network: whose regression is solved.
        documents: the training documents.
        total: their number, if known, to tell the time left.
        known: what an earlier regression knows, which goes on; None for a new one.
    """
    if network.ridge is None:
        return
    training = network.training
    network.eval()

    def labelled() -> Iterator[LabelledVectors]:
        start = 0
        for batch in _watched(documents, "ridge regression", total):
            vectors = network.ridge_features(batch.texts, network.encode_documents(batch.texts))
            assert vectors is not None  # as there is a regression
            ids, counts = batch.label_ids, batch.label_counts
            if known is None or known.new is None:
                yield LabelledVectors(vectors, ids, counts)
                continue
            some = torch.from_numpy(known.new[start : start + len(counts)]).to(counts.device)
            start += len(counts)
            places = segment_ids(counts)
            kept = some[places] | known.new_labels.to(ids.device)[ids]
            counts = places[kept].bincount(minlength=len(counts))
            yield LabelledVectors(vectors, ids[kept], counts, some)

    with torch.no_grad():
        network.ridge.fit(labelled(), None if known is None else known.penalty)
    network.train(training)


def distil(
    network: Network,
    task: Task,
    documents: Callable[[], Iterable[RaggedBatch]],
    cache: Path,
    device: torch.device,
) -> None:
    """Fit the word vectors of matchers to a pretrained model's vectors of all texts.

    Every process solves it itself, and gets the same; one of them runs the model.

    Args:
        network: whose matchers learn.
        task: its tokenizer names the pretrained model.
        documents: yields the training documents, with their subwords.
        cache: the folder that keeps the vectors of the model.
        device: runs the model.
    """
    parts = [part for part in network.matchers if isinstance(part, DistilledCosine)]
    if not parts:
        return
    counts = document_frequencies(documents(), len(task.tokenizer.vocabulary))
    tokenizer = task.tokenizer
    store = VectorStore(str(tokenizer.pretrained), cache, tokenizer.pretrained_backend)
    store.fill(map(_subwords, documents()), counts[1], device)
    encode = partial(encode_texts, task.tokenizer, cache=cache, device=device)
    labels = encode(task.labels.texts, {"words", "vectors"})

    def texts() -> Iterator[tuple[Texts, Tensor]]:
        for batch in documents():
            yield batch.texts, store.find(*_subwords(batch))
        if labels.vectors is not None:
            yield labels, labels.vectors

    for part in parts:
        part.fit(texts(), *counts)


def _watched(
    documents: Iterable[RaggedBatch], what: str, total: int | None
) -> Iterator[RaggedBatch]:
    """Yield batches of documents, and show how many documents there were."""
    return track(documents, what, total or None, "documents", lambda x: len(x.document_lengths))


def _subwords(batch: RaggedBatch) -> tuple[Any, Any]:
    if batch.subwords is None or batch.subword_counts is None:
        raise InputError("texts without subwords: set --data.pretrained and prepare them again")
    return batch.subwords.numpy(), batch.subword_counts.numpy()


def check_shared(own: Mapping[str, Tensor], weights: Mapping[str, Tensor]) -> None:
    """Refuse weights that differ between languages where the model shares a parameter.

    Args:
        own: the parameters and buffers themselves, by name.
        weights: what is to be loaded.

    Raises:
        InputError: there are such weights.
    """
    first: dict[int, str] = {}
    for key, parameter in own.items():
        before = first.setdefault(id(parameter), key)
        stored = [weights[k] for k in (before, key) if k in weights]
        if len(stored) == 2 and not torch.equal(*stored):
            raise InputError(
                f"the model is not that of the checkpoint, where {before} and {key} differ: "
                "set model.sharing as there"
            )
