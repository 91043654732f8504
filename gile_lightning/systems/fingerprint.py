"""Fingerprints of frozen pretrained models, which a checkpoint names but does not hold.

A fingerprint is the vector of a fixed sentence, by torch whatever the backend of the task. It is
empty if a network reads no such vectors.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from gile_lightning.common.errors import InputError
from gile_lightning.data.loading.ragged import COMPUTED
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.network import Network
from gile_lightning.systems.label_encoding import encode_texts

Fingerprints = dict[str, list[float]]  # by task, without empty ones

_SENTENCE = "The quick brown fox jumps over the lazy dog, 42 times."
_SAME = 0.999  # cosine of two vectors of a text by one model, on whatever device


def fingerprints(
    networks: Mapping[str, Network], tasks: Mapping[str, Task], cache: Path, device: torch.device
) -> Fingerprints:
    """Return the fingerprints of the pretrained models that networks read vectors of."""
    found = {
        name: _fingerprint(network, tasks[name].tokenizer, cache, device)
        for name, network in networks.items()
    }
    return {name: vector for name, vector in found.items() if vector}


def _fingerprint(
    network: Network, tokenizer: Tokenizer, cache: Path, device: torch.device
) -> list[float]:
    if COMPUTED.isdisjoint(network.inputs | network.label_encoder.inputs):
        return []
    inputs = {"vectors"}
    exact = replace(tokenizer, pretrained_backend="torch")
    vectors = encode_texts(exact, [_SENTENCE], inputs, cache=cache, device=device).vectors
    return [] if vectors is None else vectors[0].tolist()


def check_fingerprints(
    tasks: Mapping[str, Task],
    found: Mapping[str, Sequence[float]],
    stored: Mapping[str, Sequence[float]],
) -> None:
    """Refuse other pretrained models than those of a checkpoint.

    Args:
        tasks: whose tokenizers name the models.
        found: the fingerprints of the models here.
        stored: the fingerprints in the checkpoint.

    Raises:
        InputError: they differ.
    """
    for name, vector in stored.items():
        if name not in tasks:  # a language of the checkpoint that is not gone on with
            continue
        here = found.get(name, [])
        cosine = np.dot(vector, here) if len(vector) == len(here) else 0.0
        if cosine < _SAME:
            raise InputError(
                f"{tasks[name].tokenizer.pretrained}: not the pretrained model that the checkpoint "
                f"was trained with (their vectors of a text have a cosine of {cosine:.3f}): put "
                "that one in its place, or train with this one"
            )
