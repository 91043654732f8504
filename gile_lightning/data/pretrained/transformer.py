"""The transformer of a pretrained sentence encoder, on ragged texts."""

import functools
from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gile_lightning.common.errors import InputError
from gile_lightning.data.pretrained.model import find_model
from gile_lightning.data.pretrained.subwords import NEXT

TOKENS = 8_192  # in a batch of the transformer, padding included
# Larger batches leave the caches of a CPU: with 8,192, label texts take 1.7 times as long.
CPU_TOKENS = 512


class Transformer(nn.Module):
    """What `SentenceTransformer.encode(text, normalize_embeddings=True)` computes of subword ids.

    Shorter texts of a batch are padded on the right, whatever side the model pads: no subword sees
    padding, and positions count from a text's first subword.

    Attributes:
        pretrained: tells the initialization of models to leave the weights alone.

    Args:
        name: of the model, as `find_model` takes it.

    Raises:
        InputError: there is no such model.
    """

    pretrained = True

    def __init__(self, name: str) -> None:
        super().__init__()
        folder = find_model(name)
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging

        shown = logging.is_progress_bar_enabled()
        logging.disable_progress_bar()
        try:
            with torch.device("cpu"):  # also where a model is tried without memory
                self.model = SentenceTransformer(
                    # none of the folder's own code is run
                    str(folder),
                    device="cpu",
                    local_files_only=True,
                    trust_remote_code=False,
                )
        except Exception as error:  # of many kinds, for files of many kinds
            reason = str(error).partition("\n")[0]
            raise InputError(
                f"{folder}: not a model of sentence-transformers ({reason})"
            ) from error
        finally:
            if shown:
                logging.enable_progress_bar()
        self.padding = self.model.tokenizer.pad_token_id or 0
        for key, parameter in self.model.named_parameters():
            if "pooler" in key:  # of BERT, which sentence vectors do not need
                parameter.requires_grad_(False)

    def forward(self, subwords: Tensor, counts: Tensor) -> Tensor:
        """Encode texts as vectors of length 1; zeros for a text without a subword.

        The vector of a text of several windows is the mean of theirs, weighted by their subwords.

        Args:
            subwords: ids [N], special tokens included, as `Reading` makes them.
            counts: of the texts [B].

        Returns:
            [B, d] in float32.
        """
        between = subwords == NEXT
        if not between.any():
            return self._encode(subwords, counts)
        texts = torch.repeat_interleave(torch.arange(len(counts), device=counts.device), counts)
        windows = (texts + between.cumsum(0))[~between]
        per_text = torch.bincount(texts[between], minlength=len(counts)) + 1
        sizes = torch.bincount(windows, minlength=int(per_text.sum()))
        weighted = self._encode(subwords[~between], sizes) * sizes.unsqueeze(1)
        return F.normalize(torch.segment_reduce(weighted, "sum", lengths=per_text))

    def _encode(self, subwords: Tensor, counts: Tensor) -> Tensor:
        """Encode texts of one window each; those of similar lengths share a batch."""
        starts = counts.cumsum(0) - counts
        order = counts.argsort()
        parts = []
        for rows in _batches(order, counts):
            places = torch.arange(int(counts[rows].amax()), device=counts.device)
            mask = places < counts[rows].unsqueeze(1)
            ids = subwords.long()[
                (starts[rows].unsqueeze(1) + places).clamp_(max=len(subwords) - 1)
            ]
            hidden = (ids < 0) & mask
            features = {
                "input_ids": ids.where(~hidden, ~ids).where(mask, self.padding),
                "attention_mask": mask.long(),
                "prompt_length": int(hidden.sum(1).amax()),
            }
            parts.append(F.normalize(self.model(features)["sentence_embedding"].float()))
        empty = int((counts == 0).sum())
        size = parts[0].shape[1] if parts else int(self.model.get_embedding_dimension() or 0)
        zeros = torch.zeros(empty, size, device=counts.device)
        return torch.cat([zeros, *parts])[order.argsort()]


def _batches(order: Tensor, counts: Tensor) -> Iterator[Tensor]:
    """Cut texts, ordered by length, into batches of `TOKENS`, without the empty ones."""
    most = CPU_TOKENS if counts.device.type == "cpu" else TOKENS
    lengths = counts[order].tolist()
    start = sum(length == 0 for length in lengths)
    for stop in range(start + 1, len(lengths) + 1):
        if stop == len(lengths) or (stop + 1 - start) * lengths[stop] > most:
            yield order[start:stop]
            start = stop


@functools.lru_cache(maxsize=2)
def frozen(name: str) -> Transformer:
    """Return a model that is not trained; one per name."""
    return Transformer(name).requires_grad_(False).eval()


@torch.no_grad()
def encode(name: str, subwords: Tensor, counts: Tensor) -> Tensor:
    """Encode texts with a frozen model, where they are: [B, d]."""
    with torch.autocast(subwords.device.type, enabled=False):
        vectors: Tensor = frozen(name).to(subwords.device)(subwords, counts)
    return vectors
