"""The weights that networks begin with: word vectors, counts of words, those of a checkpoint."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gile_lightning.common.console import say
from gile_lightning.common.errors import InputError
from gile_lightning.common.progress import track
from gile_lightning.data.loading.flat import segment_ids
from gile_lightning.data.loading.ragged import RaggedBatch, Texts
from gile_lightning.data.pretrained import VectorStore
from gile_lightning.data.tokenizing.frequencies import document_frequencies
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.data.training_data import TrainingData
from gile_lightning.network import NOT_SEEN, EncodedLabels, LabelledVectors, Network
from gile_lightning.network.encoders import Idf, WordEmbedding
from gile_lightning.network.matchers import DistilledCosine, Matcher
from gile_lightning.systems.calibrated import training_ids
from gile_lightning.systems.label_encoding import encode_texts
from gile_lightning.training.checkpoint import HPARAMS, STATE

PENALTIES = "penalties"  # of what a checkpoint says beside its tasks: by task


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


def fit_ridge(
    network: Network,
    documents: Iterable[RaggedBatch],
    total: int | None = None,
    penalty: float | None = None,
    new: NDArray[np.bool_] | None = None,
    new_labels: Tensor | None = None,
) -> None:
    """Solve the ridge regression of a network on its training documents, if it has one.

    Every process solves it itself, and gets the same.

    Args:
        network: whose regression is solved.
        documents: the training documents.
        total: their number, if known, to tell the time left.
        penalty: that of an earlier regression, which goes on; None for a new one.
        new: which of the documents the earlier regression was not fitted to; None for all.
        new_labels: [L] which labels it does not know. On documents that it knows they alone count.
    """
    if network.ridge is None:
        return
    training = network.training
    network.eval()

    def labelled() -> Iterator[LabelledVectors]:
        start = 0
        for batch in _watched(documents, "ridge regression", total):
            vectors = network.ridge_features(batch.texts, network.encode_documents(batch.texts))
            ids, counts = batch.label_ids, batch.label_counts
            if new is None or new_labels is None:
                yield LabelledVectors(vectors, ids, counts)
                continue
            some = torch.from_numpy(new[start : start + len(counts)]).to(counts.device)
            start += len(counts)
            places = segment_ids(counts)
            kept = some[places] | new_labels.to(ids.device)[ids]
            counts = places[kept].bincount(minlength=len(counts))
            yield LabelledVectors(vectors, ids[kept], counts, some)

    with torch.no_grad():
        network.ridge.fit(labelled(), penalty)
    network.train(training)


def rest_residuals(network: Network, documents: Iterable[RaggedBatch]) -> None:
    """Have the residuals rest of labels that no training document has; see `LabelResidual`."""
    if network.label_residual is not None:
        resting = torch.ones_like(network.label_residual.resting)
        for batch in documents:
            resting[batch.label_ids.long()] = False
        network.label_residual.resting = resting


def penalty_of(checkpoint: dict[str, Any], name: str) -> float | None:
    """Return the penalty of a task's regression in a checkpoint, None without a regression."""
    penalties: dict[str, float] | None = checkpoint[STATE]["extra"].get(PENALTIES)
    if penalties is not None:
        return penalties.get(name)
    ridge = checkpoint.get(HPARAMS, {}).get("ridge")  # of an earlier version
    return None if ridge is None else float(ridge["init_args"]["penalty"])


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


def weights_for(
    networks: Mapping[str, Network],
    encoded: Mapping[str, EncodedLabels],
    checkpoint: dict[str, Any],
    data: TrainingData,
    keep: bool = True,
) -> dict[str, Tensor]:
    """Return the weights of a checkpoint as those of networks for other label sets.

    Args:
        networks: by task.
        encoded: their labels.
        checkpoint: the checkpoint.
        data: what the networks are to be trained on.
        keep: whether the ridge regression is to know what it knew.

    Raises:
        InputError: the checkpoint lacks a language, a label or word vectors.
    """
    stored = checkpoint[STATE]["tasks"]
    weights = dict(checkpoint["state_dict"])
    for name, network in networks.items():
        if name not in stored:
            raise InputError(
                f"the checkpoint knows {', '.join(stored)}, not {name}: set data.languages"
            )
        if stored[name] is None:  # imported weights, without words and labels
            if not set_word_vectors(network, name, encoded[name], data):
                raise InputError(
                    "the checkpoint holds no word vectors and the corpus brings none: set "
                    "--data.word_vectors"
                )
            weights[f"networks.{name}.embedding.weight"] = network.embedding.weight
        old = LabelSet(**stored[name]["labels"]) if stored[name] else LabelSet([], [], [])
        weights |= _weights_of_labels(network, name, data.tasks[name], old, weights, keep)
    names = tuple(f"networks.{name}." for name in networks)
    return {key: weight for key, weight in weights.items() if key.startswith(names)}


def _weights_of_labels(
    network: Network,
    name: str,
    task: Task,
    old: LabelSet,
    weights: Mapping[str, Tensor],
    keep: bool,
) -> dict[str, Tensor]:
    """Return the weights of single labels, found by URI or name in the old label set."""
    ids = training_ids(task.labels, old)[: task.labels.seen]  # NOT_SEEN for new ones
    found: dict[str, Tensor] = {}
    if not network.output.scores_unseen:
        pairs = zip(task.labels.names, ids.tolist(), strict=False)
        if new := [label for label, i in pairs if i == NOT_SEEN]:
            raise InputError(
                f"the output layer {type(network.output).__name__} knows its labels by "
                f"number, and {len(new)} of the corpus' labels ({name}; such as "
                f"{new[0]!r}) are none of the checkpoint's"
            )
        found |= network.output.select(_below(f"networks.{name}.output.", weights), ids)
    if network.label_residual is not None:
        prefix = f"networks.{name}.label_residual."
        found |= network.label_residual.select(_below(prefix, weights), ids)
    prefix = f"networks.{name}.ridge."
    if network.ridge is not None and keep:
        found |= network.ridge.select(_below(prefix, weights), ids)
    elif network.ridge is not None:  # which is solved anew
        own = network.ridge.named_buffers(recurse=False)
        found |= {prefix + key: buffer for key, buffer in own}
    return found


def _below(prefix: str, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {key: value for key, value in weights.items() if key.startswith(prefix)}


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
