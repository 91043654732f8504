"""Training steps of hierarchical encoders on ragged documents, beside padded and masked ones.

All hold the same weights and give the same vectors and gradients, which is checked. Documents have
the shape of the Deutsche Welle corpus: 436 words on average, cut to 30 sentences of 30 words, which
fills 37 % of 30 x 30. The recurrent layers run over a quarter of them, beside PyTorch's own in two
forms: "packed", from and to padded rows, and "padded", over the pads too, which are masked after.

python tests/benchmarks/report.py --only encoders
"""

import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial

import torch
from measuring import peak_memory
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from gile_lightning.data.loading.ragged import Texts
from gile_lightning.network.encoders import GRU, HAN, BiGRU, Dense

LIMIT, INPUT_DIM = 30, 40


def draw(documents: int) -> tuple[list[Tensor], float]:
    """Words per sentence of random documents, and the share of 30 x 30 that is filled."""
    torch.manual_seed(0)
    sizes = []
    for count in torch.distributions.Gamma(2.0, 2 / 18).sample((documents,)).tolist():
        words = torch.distributions.Gamma(3.0, 3 / 24).sample((min(max(round(count), 1), LIMIT),))
        sizes.append(words.round().long().clamp(1, LIMIT))
    return sizes, sum(int(size.sum()) for size in sizes) / (documents * LIMIT**2)


def masked_attention(pooling: nn.Module, states: Tensor, mask: Tensor) -> Tensor:
    scores = pooling.score(pooling.hidden(states).relu()).squeeze(-1)
    weights = scores.masked_fill(~mask, -1e9).softmax(-1) * mask
    return (weights.unsqueeze(-2) @ states).squeeze(-2)


def packed_states(layer: GRU, values: Tensor, lengths: Tensor) -> Tensor:
    """States of padded rows [R, 30, d], packed for PyTorch's own layer and padded again."""
    packed = pack_padded_sequence(
        values, lengths.clamp(min=1), batch_first=True, enforce_sorted=False
    )
    return pad_packed_sequence(layer.gru(packed)[0], batch_first=True, total_length=LIMIT)[0]


def padded_states(layer: nn.Module, values: Tensor, lengths: Tensor) -> Tensor:
    """States of padded rows [R, 30, d]; those of pads are whatever comes out."""
    if isinstance(layer, Dense):
        return layer.linear(values).relu()
    places = torch.arange(LIMIT).expand(len(values), -1)
    last = lengths.unsqueeze(-1) - 1
    mirrored = torch.where(places <= last, last - places, places)  # pads stay behind the words
    states = []
    for places_read, weights in zip((places, mirrored), layer.gru.all_weights, strict=False):
        places_read = places_read.unsqueeze(-1)
        read = values.take_along_dim(places_read, 1) if states else values
        start = values.new_zeros(1, len(values), layer.hidden_dim)
        options = {"has_biases": True, "num_layers": 1, "dropout": 0.0, "train": True}
        after = torch.gru(read, start, weights, **options, bidirectional=False, batch_first=True)[0]
        states.append(after.take_along_dim(places_read, 1) if states else after)
    return torch.cat(states, -1)


def padded(states_of: Callable[..., Tensor], encoder: HAN, words: Tensor, mask: Tensor) -> Tensor:
    """Encode padded words [B, 30, 30, d], of which those in the mask [B, 30, 30] are there."""
    rows = words.flatten(0, 1)
    states = states_of(encoder.word_layer, rows, mask.sum(-1).flatten())
    sentences = masked_attention(encoder.word_pooling, states, mask.flatten(0, 1))
    sentences = sentences.unflatten(0, mask.shape[:2])
    present = mask.any(-1)
    states = states_of(encoder.sentence_layer, sentences, present.sum(-1))
    return masked_attention(encoder.sentence_pooling, states, present)


def batches(sizes: list[Tensor], batch_size: int):
    """The same word vectors as arguments of both: ragged and padded."""
    for first in range(0, len(sizes), batch_size):
        chosen = sizes[first : first + batch_size]
        counts = torch.tensor([len(size) for size in chosen])
        lengths = nn.utils.rnn.pad_sequence([*chosen, torch.zeros(LIMIT).long()], batch_first=True)[
            :-1
        ]
        mask = torch.arange(LIMIT) < lengths.unsqueeze(-1)
        flat = torch.randn(int(mask.sum()), INPUT_DIM)
        words = torch.zeros(*mask.shape, INPUT_DIM)
        words[mask] = flat
        yield (flat, Texts(torch.arange(len(flat)), torch.cat(chosen), counts)), (words, mask)


def step(encoder: HAN, vectors: Tensor, upstream: Tensor) -> list[Tensor]:
    return list(torch.autograd.grad(vectors, list(encoder.parameters()), upstream))


def check(here: list[Tensor], there: list[Tensor]) -> None:
    """Differences are at most 1e-4 of the largest number, or 1e-4 where that is below 1."""
    for ours, other in zip(here, there, strict=True):
        limit = 1e-4 * max(other.abs().max().item(), 1)
        torch.testing.assert_close(ours, other, rtol=0, atol=limit)


def compare(
    layer: type[nn.Module], batch_size: int, sizes: list[Tensor], rounds: int
) -> dict[str, float | None]:
    """Documents per second of all, after a check that vectors and gradients are equal."""
    encoder = HAN(INPUT_DIM, layer)
    encoders = {"ragged": encoder, "padded": partial(padded, padded_states, encoder)}
    if layer is not Dense:
        encoders["packed"] = partial(padded, packed_states, encoder)
    pairs = list(batches(sizes, batch_size))
    upstream = torch.randn(batch_size, encoder.output_dim)
    numbers = []
    for name, encode in encoders.items():
        vectors = encode(*pairs[0][name != "ragged"])
        numbers.append([vectors, *step(encoder, vectors, upstream)])
        check(numbers[0], numbers[-1])
    seconds = {name: [0.0] * rounds for name in encoders}
    for turn in range(rounds):
        for arguments in pairs:  # by turns, so that other work on the machine slows all
            for name, encode in encoders.items():
                start = time.perf_counter()
                step(encoder, encode(*arguments[name != "ragged"]), upstream)
                seconds[name][turn] += time.perf_counter() - start
    memory = {
        f"{name}, peak MiB": peak_memory(
            lambda encode=encode, name=name: step(
                encoder, encode(*pairs[0][name != "ragged"]), upstream
            )
        )
        for name, encode in encoders.items()
    }
    speeds = {name: len(sizes) / statistics.median(column) for name, column in seconds.items()}
    twins = [name for name in speeds if name != "ragged"]
    return {**speeds, **memory, **{f"x {name}": speeds["ragged"] / speeds[name] for name in twins}}


def measure(
    rounds: int, documents: int = 256, batch_sizes: Sequence[int] = (16, 64)
) -> list[dict[str, object]]:
    """Documents per second, and ratios, of every layer and batch size at the threads now set.

    Args:
        rounds: of each.
        documents: of the fastest layer, a multiple of four times each batch size.
        batch_sizes: in documents.
    """
    sizes, fill = draw(documents)
    rows = []
    for layer in (Dense, GRU, BiGRU):
        for batch_size in batch_sizes:
            chosen = sizes if layer is Dense else sizes[: len(sizes) // 4]
            name = f"HAN-{layer.__name__}, {batch_size} documents"
            rows.append({"encoder": name, **compare(layer, batch_size, chosen, rounds)})
    return [{**row, "filled": fill} for row in rows]
