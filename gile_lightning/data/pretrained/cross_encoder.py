"""A model that reads a document and the text of a label at once, and scores the pair."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from gile_lightning.common.errors import InputError
from gile_lightning.data.pretrained.model import find_model, read_config
from gile_lightning.data.pretrained.subwords import LONGEST

CPU_PAIRS = 16  # in a batch; larger ones are no faster on a CPU
PAIRS = 256

Pair = tuple[str, str]


class CrossEncoder(nn.Module):
    """What `sentence_transformers.CrossEncoder.predict` computes of pairs, before its sigmoid.

    A model for sequence classification with one output keeps that output. Any other transformer,
    such as a sentence encoder, gets a new one, whose weights are drawn from PyTorch's generator.

    Args:
        name: of the model, as `find_model` takes it.
        max_subwords: of a pair, special ones included; of a longer one the longer text is cut. By
            default what the model reads at most, but no more than 512.

    Raises:
        InputError: there is no such model, it has several outputs, or does not read that much.
    """

    def __init__(self, name: str | Path, max_subwords: int | None = None) -> None:
        super().__init__()
        folder = find_model(str(name), "--pretrained")
        config = read_config(folder, "config.json")
        made_for_pairs = str(config.get("architectures")).find("ForSequenceClassification") >= 0
        self.model = _load(folder, None if made_for_pairs else 1)
        if self.model.num_labels != 1:
            raise InputError(
                f"{name}: scores {self.model.num_labels} classes; a cross-encoder has one output, "
                "the score of a pair"
            )
        limit = min(
            self.model.tokenizer.model_max_length,
            config.get("max_position_embeddings", math.inf),
        )
        if max_subwords is not None and not 8 <= max_subwords <= limit:
            raise InputError(
                f"max_subwords is {max_subwords}; {name} reads pairs of 8 to {limit} subwords"
            )
        self.max_subwords = max_subwords or int(min(limit, LONGEST))
        self.model.max_seq_length = self.max_subwords

    def forward(self, pairs: Sequence[Pair]) -> Tensor:
        """Score pairs of a document and a label's text, with gradients: [N]."""
        features = self.model.preprocess(list(pairs))
        on_device = {
            key: value.to(self.model.device) if isinstance(value, Tensor) else value
            for key, value in features.items()
        }
        scores: Tensor = self.model(on_device)["scores"]
        return scores.reshape(-1).float()

    @torch.no_grad()
    def predict(self, pairs: Sequence[Pair]) -> Tensor:
        """Score any number of pairs, those of similar lengths together: [N] on the CPU."""
        if not pairs:
            return torch.zeros(0)
        self.eval()
        scores: Tensor = self.model.predict(
            list(pairs),
            batch_size=CPU_PAIRS if self.model.device.type == "cpu" else PAIRS,
            activation_fn=nn.Identity(),
            convert_to_tensor=True,
            show_progress_bar=False,
        )
        return scores.float().cpu()

    def save(self, folder: Path) -> None:
        """Write the model as `sentence_transformers.CrossEncoder` reads it."""
        with _silent():
            self.model.save_pretrained(str(folder), create_model_card=False)


def _load(folder: Path, outputs: int | None) -> Any:
    from sentence_transformers import CrossEncoder as Library

    try:
        with _silent():
            return Library(
                # none of the folder's own code is run
                str(folder),
                device="cpu",
                num_labels=outputs,
                local_files_only=True,
                trust_remote_code=False,
            )
    except Exception as error:  # of many kinds, for files of many kinds
        reason = str(error).partition("\n")[0]
        raise InputError(f"{folder}: not a model that scores pairs ({reason})") from error


@contextmanager
def _silent() -> Iterator[None]:
    """Hold back progress bars, and the warning that a new output is new."""
    from transformers.utils import logging

    shown, level = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if shown:
            logging.enable_progress_bar()
