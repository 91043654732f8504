"""The transformer of a pretrained sentence encoder, on ragged texts."""

import functools
from collections.abc import Iterable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gile_lightning.common.errors import InputError
from gile_lightning.data.loading.flat import send
from gile_lightning.data.pretrained.batches import Encoded, in_batches, side_by_side
from gile_lightning.data.pretrained.model import dimension, find_model
from gile_lightning.data.pretrained.passages import windows

TOKENS = 65_536  # in a batch on a device, padding included; half as many if its memory is too small
# Larger batches leave the caches of a CPU: with 8,192, label texts take 1.7 times as long.
CPU_TOKENS = 512
_SHORT = 512  # subwords of a window
_LEAST = 512  # tokens of a batch on a device


class Transformer(nn.Module):
    """What `SentenceTransformer.encode(text, normalize_embeddings=True)` computes of subword ids.

    Shorter texts of a batch are padded on the right, whatever side the model pads: no subword sees
    padding, and positions count from a text's first subword.

    Attributes:
        pretrained: tells the initialization of models to leave the weights alone.
        tokens: the subwords of a batch on a device, fewer once it ran out of memory.
        rounded: whether the weights were rounded to other numbers than the model came with.

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
        self.rounded = False
        models = [getattr(module, "auto_model", None) for module in self.model]
        self._attention = [(x, x.config._attn_implementation) for x in models if x is not None]
        for key, parameter in self.model.named_parameters():
            if "pooler" in key:  # of BERT, which sentence vectors do not need
                parameter.requires_grad_(False)

    def _choose_attention(self, sizes: Tensor | None) -> None:
        """Have a rounded model compute attention by whole matrices, if its windows are short.

        On a CPU in bfloat16 that takes a half to two thirds of the time of PyTorch's fused kernel,
        and memory that grows with the square of the windows.

        Args:
            sizes: the subwords of the windows on a CPU; None on a device.
        """
        if not self.rounded:
            return
        short = sizes is not None and not bool((sizes > _SHORT).any())
        for model, given in self._attention:
            name = "eager" if short else given
            if model.config._attn_implementation != name:
                model.set_attn_implementation(name)

    def forward(self, subwords: Tensor, counts: Tensor) -> Tensor:
        """Return the vectors of texts alone; see `encode`."""
        return self.encode(subwords, counts).vectors

    def encode(self, subwords: Tensor, counts: Tensor, passages: bool = False) -> Encoded:
        """Encode texts, and their passages if wanted; zeros for a text without a subword.

        The texts may be on the host while the model is on a device.

        Args:
            subwords: ids [N], special tokens included, as `Reading` makes them.
            counts: of the texts [B].
            passages: whether passages have vectors too; see `in_batches`.

        Returns:
            Vectors in float32.
        """
        device = next(self.model.parameters()).device

        def encode(ids: Tensor, mask: Tensor, hidden: int) -> tuple[Tensor, Tensor]:
            return encode_batch(self.model, send(ids, device), send(mask, device), hidden)

        fixed = (self.padding, self.size)
        if device.type == "cpu":
            most = CPU_TOKENS * 2 if self.rounded else CPU_TOKENS  # as much memory
            each = map if torch.is_grad_enabled() else side_by_side
            self._choose_attention(windows(subwords, counts)[0])
            return in_batches(encode, subwords, counts, *fixed, most, device, passages, each)
        self._choose_attention(None)
        while True:
            try:
                return in_batches(encode, subwords, counts, *fixed, self.tokens, device, passages)
            except torch.OutOfMemoryError:
                # graphs of a model that is trained need their memory whatever the batches
                if torch.is_grad_enabled() or self.tokens < 2 * _LEAST:
                    raise
                self.tokens //= 2


def encode_batch(
    modules: Iterable[nn.Module], ids: Tensor, mask: Tensor, hidden: int = 0
) -> tuple[Tensor, Tensor]:
    """Encode a batch of padded texts.

    Args:
        modules: of a sentence encoder: a transformer, its pooling, and layers behind that.
        ids: of subwords [b, n].
        mask: 1 for subwords, 0 for padding [b, n].
        hidden: the number of first subwords that pooling leaves out.

    Returns:
        The vectors of the texts, of length 1 [b, d] in float32; and the outputs of their subwords,
        which the layers behind the pooling have changed as they change vectors [b, n, d]. Where
        the model puts several poolings side by side, there are none of these: [b, n, 0].
    """
    features: dict[str, Any] = {"input_ids": ids, "attention_mask": mask, "prompt_length": hidden}
    outputs: Tensor | None = None
    for module in modules:
        kind = type(module).__name__
        features = module(features)
        if kind == "Pooling":
            outputs = features["token_embeddings"]
            if outputs.shape[-1] != features["sentence_embedding"].shape[-1]:
                outputs = outputs[..., :0]
        elif outputs is not None and outputs.shape[-1] and kind != "Normalize":
            outputs = module({"sentence_embedding": outputs})["sentence_embedding"]
    if outputs is None:
        outputs = features["token_embeddings"]
    return F.normalize(features["sentence_embedding"].float()), outputs


@functools.lru_cache(maxsize=2)
def frozen(name: str, dtype: torch.dtype | None = None) -> Transformer:
    """Return a model that is not trained, one per name and type of numbers (None: its own)."""
    model = Transformer(name).requires_grad_(False).eval()
    model.rounded = dtype is not None
    return model if dtype is None else model.to(dtype)
