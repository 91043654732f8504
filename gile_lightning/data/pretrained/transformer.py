"""The transformer of a pretrained sentence encoder, on ragged texts."""

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gile_lightning.common.errors import InputError
from gile_lightning.data.loading.flat import send
from gile_lightning.data.pretrained.model import dimension, find_model
from gile_lightning.data.pretrained.passages import (
    hidden_counts,
    means,
    passage_counts,
    restored_order,
    windows,
)
from gile_lightning.data.pretrained.subwords import NEXT

TOKENS = 65_536  # in a batch on a device, padding included; half as many if its memory is too small
# Larger batches leave the caches of a CPU: with 8,192, label texts take 1.7 times as long.
CPU_TOKENS = 512
_SHORT = 512  # subwords of a window
_PADDED = 8  # at most a part of a batch in so many is new padding
_LEAST = 512  # tokens of a batch on a device
_SEVERAL = (
    "this pretrained model puts several poolings side by side, so passages have no vectors: leave "
    "matchers.BestPassage out of model.matchers"
)


class Encoded(NamedTuple):
    """Vectors of length 1: of texts [B, d], and of their passages [P, d].

    The passages of a text stand together, in the order of the texts; ``passage_counts`` [B] says
    how many each has. There are none unless they are asked for.
    """

    vectors: Tensor
    passages: Tensor
    passage_counts: Tensor


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


def in_batches(
    encode: Callable[[Tensor, Tensor, int], tuple[Tensor, Tensor]],
    subwords: Tensor,
    counts: Tensor,
    padding: int,
    size: int,
    most: int,
    device: torch.device | None = None,
    passages: bool = False,
    each: Callable[..., Iterable[Any]] = map,
) -> Encoded:
    """Encode ragged texts in padded batches; zeros for a text without a subword.

    Texts of similar lengths share a batch, so that little is padded. The vector of a text of
    several windows is the mean of theirs, weighted by their subwords. That of a passage is the mean
    of its subwords' outputs, which have seen the whole window (late chunking: Günther et al., 2024,
    arXiv 2409.04701). So passages cost no further run of the model.

    Args:
        encode: a batch of padded texts, as `encode_batch` does.
        subwords: ids [N], with `NEXT` between windows; other ids below 0 are hidden from pooling,
            see `Reading.subwords`.
        counts: of the texts [B].
        padding: the id that pads.
        size: of a vector.
        most: subwords of a batch, padding included.
        device: of the vectors; by default that of the texts.
        passages: whether passages have vectors too.
        each: applies a function to all batches, as ``map`` does.

    Raises:
        InputError: passages are wanted, and the model's vectors are several poolings side by side.
    """
    device = counts.device if device is None else device
    sizes, per_text = windows(subwords, counts)
    if len(sizes) > len(counts):
        given = subwords, counts
        own = subwords[subwords != NEXT]
        of_windows = in_batches(encode, own, sizes, padding, size, most, device, passages, each)
        sizes, per_text = send(sizes, device), send(per_text, device)
        weighted = of_windows.vectors * sizes.unsqueeze(1)
        # "unsafe" looks at no length, for which the host would wait
        mean = F.normalize(torch.segment_reduce(weighted, "sum", lengths=per_text, unsafe=True))
        in_texts = passage_counts(*given) if passages else torch.zeros_like(counts)
        return Encoded(mean, of_windows.passages, in_texts)
    starts = counts.cumsum(0) - counts
    order = counts.argsort()
    all_hidden = hidden_counts(subwords, counts)
    hidden = all_hidden[order]
    batches = [
        (leading, rows)
        for leading in sorted(set(hidden.tolist()))  # which pooling leaves out of a whole batch
        for rows in _batches(order[hidden == leading], counts, most)
    ]

    def run(batch: tuple[int, Tensor]) -> tuple[Tensor, Tensor]:
        """Return the vectors of a batch, and those of its passages, if they are wanted."""
        leading, rows = batch
        places = torch.arange(int(counts[rows].amax()), device=counts.device)
        mask = places < counts[rows].unsqueeze(1)
        at = (starts[rows].unsqueeze(1) + places).clamp_(max=len(subwords) - 1)
        ids = subwords.long()[at]
        ids = ids.where(ids >= 0, ~ids).where(mask, padding)
        vectors, outputs = encode(ids, mask.long(), leading)
        if not passages:
            return vectors, nothing
        if not outputs.shape[-1]:
            raise InputError(_SEVERAL)
        return vectors, means(outputs, counts[rows], leading)

    nothing = torch.zeros(0, size, device=device)
    empty = order[counts[order] == 0]
    found = [(torch.zeros(len(empty), size, device=device), nothing), *each(run, batches)]
    parts, of_passages = zip(*found, strict=True)
    encoded = [empty, *(rows for _, rows in batches)]
    now = torch.cat(encoded)  # the texts in the order in which they were encoded
    vectors = torch.cat(parts)[send(now.argsort(), device)]
    if not passages:
        return Encoded(vectors, nothing, torch.zeros_like(counts))
    places = send(restored_order(counts - all_hidden, now), device)
    return Encoded(vectors, torch.cat(of_passages)[places], passage_counts(subwords, counts))


def side_by_side(work: Callable[[Any], Any], batches: Sequence[Any]) -> Iterable[Any]:
    """Apply a function that needs no gradients to batches on a CPU, in order.

    Each of PyTorch's threads takes a batch of its own. To share each product of small matrices
    takes a tenth longer.
    """
    threads = torch.get_num_threads()
    if threads == 1 or len(batches) < threads:
        return map(work, batches)
    inference = torch.is_inference_mode_enabled()

    def alone(batch: Any) -> Any:
        with torch.no_grad(), torch.inference_mode(inference):
            return work(batch)

    try:
        with ThreadPoolExecutor(threads, "encode", torch.set_num_threads, (1,)) as workers:
            return list(workers.map(alone, batches))
    finally:
        torch.set_num_threads(threads)  # MKL has one number for all


def _batches(order: Tensor, counts: Tensor, most: int) -> Iterator[Tensor]:
    """Cut texts, ordered by length, into batches, without the empty ones.

    A batch has ``most`` tokens, or a single text. A longer text begins another batch where it would
    pad the texts before it with more than an eighth of that, as one of two windows would.
    """
    lengths = counts[order].tolist()
    start = sum(length == 0 for length in lengths)
    for stop in range(start + 1, len(lengths) + 1):
        if stop < len(lengths):
            texts, longest = stop - start, lengths[stop]
            padded = texts * (longest - lengths[stop - 1])
            if (texts + 1) * longest <= most and padded <= most // _PADDED:
                continue
        yield order[start:stop]
        start = stop


@functools.lru_cache(maxsize=2)
def frozen(name: str, dtype: torch.dtype | None = None) -> Transformer:
    """Return a model that is not trained, one per name and type of numbers (None: its own)."""
    model = Transformer(name).requires_grad_(False).eval()
    model.rounded = dtype is not None
    return model if dtype is None else model.to(dtype)
