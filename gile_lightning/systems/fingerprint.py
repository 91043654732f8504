"""The fingerprint of a frozen pretrained model, which a checkpoint names but does not hold."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from gile_lightning.common.errors import InputError
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.network.network import Network
from gile_lightning.systems.label_encoding import encode_texts

_SENTENCE = "The quick brown fox jumps over the lazy dog, 42 times."
_SAME = 0.999  # cosine of two vectors of a text by one model, on whatever device


def fingerprint(
    network: Network, tokenizer: Tokenizer, cache: Path, device: torch.device
) -> list[float]:
    """Return the vector of a fixed sentence by the frozen pretrained model of a network.

    It is empty if the network reads no vectors of a pretrained model.
    """
    if "vectors" not in network.reads | network.label_encoder.reads:
        return []
    vectors = encode_texts(tokenizer, [_SENTENCE], {"vectors"}, cache=cache, device=device).vectors
    return [] if vectors is None else vectors[0].tolist()


def check_fingerprint(name: str | None, found: Sequence[float], stored: Sequence[float]) -> None:
    """Refuse another pretrained model than that of a checkpoint.

    Args:
        name: of the pretrained model.
        found: the fingerprint of the model here.
        stored: the fingerprint in the checkpoint.

    Raises:
        InputError: they differ.
    """
    cosine = np.dot(stored, found) if len(stored) == len(found) else 0.0
    if cosine < _SAME:
        raise InputError(
            f"{name}: not the pretrained model that the checkpoint was trained with (their vectors "
            f"of a text have a cosine of {cosine:.3f}): put that one in its place, or train with "
            "this one"
        )
