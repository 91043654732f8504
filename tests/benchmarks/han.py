"""Training steps of hierarchical encoders on ragged documents, beside padded and masked ones.

Both hold the same weights and give the same vectors and gradients, which is checked. Documents have
the shape of the Deutsche Welle corpus: 436 words on average, cut to 30 sentences of 30 words, which
fills 37 % of 30 x 30. The recurrent layers run over a quarter of them.

python tests/benchmarks/han.py [--documents 512] [--rounds 5] [--threads 1] [--json FILE]
"""

import argparse
import json
import statistics
import time
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from gile_lightning.encoders import GRU, HAN, BiGRU, Dense

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


def states_of(layer: nn.Module, values: Tensor, lengths: Tensor) -> Tensor:
    """States of padded rows [R, 30, d]."""
    if isinstance(layer, Dense):
        return layer.linear(values).relu()
    packed = pack_padded_sequence(
        values, lengths.clamp(min=1), batch_first=True, enforce_sorted=False
    )
    return pad_packed_sequence(layer.gru(packed)[0], batch_first=True, total_length=LIMIT)[0]


def padded(encoder: HAN, words: Tensor, mask: Tensor) -> Tensor:
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
        yield (flat, torch.cat(chosen), counts), (words, mask)


def step(encoder: HAN, vectors: Tensor, upstream: Tensor) -> list[Tensor]:
    return list(torch.autograd.grad(vectors, list(encoder.parameters()), upstream))


def compare(layer: type[nn.Module], batch_size: int, sizes: list[Tensor], rounds: int):
    """Documents per second of both, after a check that vectors and gradients are equal."""
    encoder = HAN(INPUT_DIM, layer)
    pairs = list(batches(sizes, batch_size))
    upstream = torch.randn(batch_size, encoder.output_dim)
    ragged_arguments, padded_arguments = pairs[0]
    here, there = encoder(*ragged_arguments), padded(encoder, *padded_arguments)
    torch.testing.assert_close(here, there, rtol=1e-4, atol=1e-5)
    gradients = [step(encoder, vectors, upstream) for vectors in (here, there)]
    torch.testing.assert_close(*gradients, rtol=1e-3, atol=1e-3)
    rounds_seconds = []
    for _ in range(rounds):
        seconds = [0.0, 0.0]
        for arguments in pairs:  # by turns, so that other work on the machine slows both
            for side, encode in enumerate((encoder, partial(padded, encoder))):
                start = time.perf_counter()
                step(encoder, encode(*arguments[side]), upstream)
                seconds[side] += time.perf_counter() - start
        rounds_seconds.append(seconds)
    return (len(sizes) / statistics.median(column) for column in zip(*rounds_seconds, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=512, help="a multiple of 256")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    sizes, fill = draw(args.documents // 256 * 256 or 256)
    print(f"{fill:.1%} of {LIMIT} x {LIMIT} filled, threads: {args.threads}")
    results = {"fill": fill, "threads": args.threads}
    for layer in (Dense, GRU, BiGRU):
        for batch_size in (16, 64):
            chosen = sizes if layer is Dense else sizes[: max(len(sizes) // 4, 64)]
            ours, other = compare(layer, batch_size, chosen, args.rounds)
            name = f"HAN-{layer.__name__}, {batch_size} documents"
            results[name] = {"ragged": ours, "padded": other, "ratio": ours / other}
            print(
                f"{name:25} ragged {ours:6,.0f} documents/s, padded {other:6,.0f}, "
                f"ratio {ours / other:4.1f}"
            )
    if args.json:
        args.json.write_text(json.dumps(results))


if __name__ == "__main__":
    main()
