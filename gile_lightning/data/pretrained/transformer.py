"""The transformer of a pretrained sentence encoder, on ragged texts."""

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gile_lightning.common.errors import InputError
from gile_lightning.data.loading.ragged import segment_ids, send
from gile_lightning.data.pretrained.model import dimension, find_model
from gile_lightning.data.pretrained.subwords import NEXT

TOKENS = 65_536  # in a batch on a device, padding included; half as many if its memory is too small
# Larger batches leave the caches of a CPU: with 8,192, label texts take 1.7 times as long.
CPU_TOKENS = 512
_LEAST = 512  # tokens of a batch on a device


class Transformer(nn.Module):
    """What `SentenceTransformer.encode(text, normalize_embeddings=True)` computes of subword ids.

    Shorter texts of a batch are padded on the right, whatever side the model pads: no subword sees
    padding, and positions count from a text's first subword.

    Attributes:
        pretrained: tells the initialization of models to leave the weights alone.
        tokens: the subwords of a batch on a device, fewer once it ran out of memory.

    Args:
        name: of the model, as `find_model` takes it.

    Raises:
        InputError: there is no such model.
    """

    pretrained = True

    def __init__(self, name: str) -> None:
        super().__init__()
        folder = find_model(name)
        self.size = dimension(name)
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
        self.tokens = TOKENS
        for key, parameter in self.model.named_parameters():
            if "pooler" in key:  # of BERT, which sentence vectors do not need
                parameter.requires_grad_(False)

    def forward(self, subwords: Tensor, counts: Tensor) -> Tensor:
        """Encode texts as vectors of length 1; zeros for a text without a subword.

        The texts may be on the host while the model is on a device.

        Args:
            subwords: ids [N], special tokens included, as `Reading` makes them.
            counts: of the texts [B].

        Returns:
            [B, d] in float32.
        """
        device = next(self.model.parameters()).device

        def encode(ids: Tensor, mask: Tensor, hidden: int) -> Tensor:
            return encode_batch(self.model, send(ids, device), send(mask, device), hidden)

        fixed = (self.padding, self.size)
        if device.type == "cpu":
            return in_batches(encode, subwords, counts, *fixed, CPU_TOKENS, device)
        while True:
            try:
                return in_batches(encode, subwords, counts, *fixed, self.tokens, device)
            except torch.OutOfMemoryError:
                # graphs of a model that is trained need their memory whatever the batches
                if torch.is_grad_enabled() or self.tokens < 2 * _LEAST:
                    raise
                self.tokens //= 2


def encode_batch(
    modules: Iterable[nn.Module], ids: Tensor, mask: Tensor, hidden: int = 0
) -> Tensor:
    """Encode a batch of padded texts as vectors of length 1: [b, d] in float32.

    Args:
        modules: of a sentence encoder.
        ids: of subwords [b, n].
        mask: 1 for subwords, 0 for padding [b, n].
        hidden: the number of first subwords that pooling leaves out.
    """
    features: dict[str, Any] = {"input_ids": ids, "attention_mask": mask, "prompt_length": hidden}
    for module in modules:
        features = module(features)
    return F.normalize(features["sentence_embedding"].float())


def in_batches(
    encode: Callable[[Tensor, Tensor, int], Tensor],
    subwords: Tensor,
    counts: Tensor,
    padding: int,
    size: int,
    most: int,
    device: torch.device | None = None,
) -> Tensor:
    """Encode ragged texts in padded batches; zeros for a text without a subword.

    Texts of similar lengths share a batch, so that little is padded. The vector of a text of
    several windows is the mean of theirs, weighted by their subwords.

    Args:
        encode: a batch of padded texts, as `encode_batch` does.
        subwords: ids [N], with `NEXT` between windows; other ids below 0 are hidden from pooling,
            see `Reading.subwords`.
        counts: of the texts [B].
        padding: the id that pads.
        size: of a vector.
        most: subwords of a batch, padding included.
        device: of the vectors; by default that of the texts.

    Returns:
        [B, d].
    """
    device = counts.device if device is None else device
    between = subwords == NEXT
    if between.any():
        texts = torch.repeat_interleave(torch.arange(len(counts), device=counts.device), counts)
        windows = (texts + between.cumsum(0))[~between]
        per_text = torch.bincount(texts[between], minlength=len(counts)) + 1
        sizes = torch.bincount(windows, minlength=int(per_text.sum()))
        vectors = in_batches(encode, subwords[~between], sizes, padding, size, most, device)
        sizes, per_text = send(sizes, device), send(per_text, device)
        weighted = vectors * sizes.unsqueeze(1)
        return F.normalize(torch.segment_reduce(weighted, "sum", lengths=per_text))
    starts = counts.cumsum(0) - counts
    order = counts.argsort()
    hidden = counts.new_zeros(len(counts)).index_add_(
        0, segment_ids(counts, subwords), (subwords < 0).long()
    )[order]
    encoded = [order[counts[order] == 0]]
    parts = [torch.zeros(len(encoded[0]), size, device=device)]
    for leading in sorted(set(hidden.tolist())):  # which pooling leaves out of a whole batch
        for rows in _batches(order[hidden == leading], counts, most):
            places = torch.arange(int(counts[rows].amax()), device=counts.device)
            mask = places < counts[rows].unsqueeze(1)
            at = (starts[rows].unsqueeze(1) + places).clamp_(max=len(subwords) - 1)
            ids = subwords.long()[at]
            ids = ids.where(ids >= 0, ~ids).where(mask, padding)
            parts.append(encode(ids, mask.long(), leading))
            encoded.append(rows)
    return torch.cat(parts)[send(torch.cat(encoded).argsort(), device)]


def _batches(order: Tensor, counts: Tensor, most: int) -> Iterator[Tensor]:
    """Cut texts, ordered by length, into batches of ``most`` tokens, without the empty ones."""
    lengths = counts[order].tolist()
    start = sum(length == 0 for length in lengths)
    for stop in range(start + 1, len(lengths) + 1):
        if stop == len(lengths) or (stop + 1 - start) * lengths[stop] > most:
            yield order[start:stop]
            start = stop


@functools.lru_cache(maxsize=2)
def frozen(name: str, dtype: torch.dtype | None = None) -> Transformer:
    """Return a model that is not trained, one per name and type of numbers (None: its own)."""
    model = Transformer(name).requires_grad_(False).eval()
    return model if dtype is None else model.to(dtype)
