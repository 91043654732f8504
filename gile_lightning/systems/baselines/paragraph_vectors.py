"""Paragraph vectors by distributed memory, PV-DM (Le and Mikolov, 2014)."""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor, nn

from gile_lightning.common.errors import InputError, positive
from gile_lightning.data.loading.flat import segment_ids, segment_starts
from gile_lightning.metrics.references import mix
from gile_lightning.systems.baselines.rows import add_to_rows

_POWER = 0.75  # of the counts, in the distribution of the negatives (Mikolov et al., 2013)
_BITS = 53  # of a double's mantissa


class TextRows(NamedTuple):
    """Texts as flat word ids, and the vectors that stand for them.

    Shapes: ``words`` [N]; ``lengths`` [T] in words; ``rows`` [T], the text's row in a table of
    vectors, which may come again; ``streams`` [T], from 0 and never falling: the texts of a stream
    are read one after the other, the streams side by side.
    """

    words: Tensor
    lengths: Tensor
    rows: Tensor
    streams: Tensor


class ParagraphVectors(nn.Module):
    """Word vectors that predict each word of a text from its neighbours and the text's vector.

    For the word w_t of a text with vector x, after frequent words have been left out at random, and
    C the up to ⌊window / 2⌋ words on either side,

        h = (x + Σ_{c ∈ C} u_c) / (1 + |C|),
        loss = -log σ(u'_{w_t} · h) - Σ_{i=1..κ} log σ(-u'_{n_i} · h),

    where n_i are drawn with probability ∝ count^0.75, and one that is w_t itself does not count.
    A step changes u' of the target and the negatives, u of the neighbours, and x. There is no
    momentum or decay; a vector longer than ``max_norm`` after a step is scaled to that length.

    With ``positions_at_once`` = 1 a text is read word by word, as by word2vec. Only vectors that
    come twice in one position (a negative drawn twice, a word on both sides) are changed once, by
    the sum. With more, so many words in a row of a text are predicted at once, from the same
    vectors, and share κ negatives (as Ji et al., 2016, share them, for the same speed); what they
    add to a vector is added up. The expected sum of the changes is that of single words which
    do not see each other's changes, as in asynchronous training. The same holds for the texts of a
    batch: they are read side by side, like B threads in lockstep.

    Args:
        words: size V of the vocabulary.
        dim: size d of the vectors.
        negatives: κ.
        window: words on both sides and the one between.
        subsampling: s; a word with the share f of the text is kept with probability
            min(1, √(s / f) + s / f). 0 keeps all.
        max_norm: limit of the norms of all vectors; None for none.
        positions_at_once: words of a text that are predicted at once.
    """

    counts: Tensor

    def __init__(
        self,
        words: int,
        dim: int,
        negatives: int = 5,
        window: int = 5,
        subsampling: float = 1e-4,
        max_norm: float | None = 1.0,
        positions_at_once: int = 16,
    ) -> None:
        super().__init__()
        positive(dim=dim, negatives=negatives, positions_at_once=positions_at_once)
        if window < 3 or window % 2 == 0:
            raise InputError(f"window is {window}; an odd number of words, 3 or more")
        if subsampling < 0:
            raise InputError(f"subsampling is {subsampling:g}; 0, for none, or above")
        self.negatives = negatives
        self.reach = window // 2
        self.subsampling = subsampling
        self.max_norm = max_norm
        self.positions_at_once = positions_at_once
        self.inputs = random_vectors(words, dim)
        self.outputs = random_vectors(words, dim)
        self.register_buffer("counts", torch.zeros(words, dtype=torch.long))

    def keep_probabilities(self) -> Tensor:
        """Return the probability with which each word is kept: [V]."""
        counts = self.counts.double()
        rarity = self.subsampling * counts.sum() / counts.clamp(min=1)
        kept = rarity.sqrt() + rarity if self.subsampling else torch.ones_like(rarity)
        return kept.clamp(max=1)

    def noise(self) -> Tensor:
        """Return the cumulative distribution of the negatives: [V]."""
        # on the host: CUDA adds up fractions in an order that changes from run to run
        weights = self.counts.cpu().double().pow(_POWER).cumsum(0)
        return (weights / weights[-1]).to(self.counts.device)

    def uniform(self, words: int, generator: torch.Generator) -> Tensor:
        """Draw what `steps` needs for so many words: [N, 1 + κ] in [0, 1)."""
        shape, device = (words, 1 + self.negatives), self.counts.device
        return torch.rand(shape, generator=generator, device=device, dtype=torch.double)

    def steps(
        self, vectors: Tensor, texts: TextRows, uniform: Tensor, lr: float, frozen: bool = False
    ) -> None:
        """Read the texts once, taking steps.

        Args:
            vectors: table [R, d] of the texts' vectors, changed in place.
            texts: the texts and their rows in the table.
            uniform: draws [N, 1 + κ] for every word: whether it is kept, and the negatives of the
                chunk that it is the last word of.
            lr: the step, times the weight of this loss.
            frozen: change the texts' vectors alone, not those of the words.
        """
        for chunk in self._chunks(texts, uniform):
            present = chunk.words >= 0
            words = chunk.words.clamp(min=0)
            targets = words[:, self.reach : -self.reach]
            here = present[:, self.reach : -self.reach].unsqueeze(2)
            neighbours = self._band(present)  # [A, chunk, chunk + 2 reach]
            scale = 1 / (1 + neighbours.sum(2, keepdim=True))
            hidden = _rows(vectors, chunk.rows).mul_(scale)
            hidden.baddbmm_(neighbours * scale, _rows(self.inputs, words))

            # targets and negatives in one matrix, of which a word scores its own
            predicted = torch.cat([targets, chunk.negatives], 1)
            outputs = _rows(self.outputs, predicted)
            is_target = torch.eye(targets.shape[1], predicted.shape[1], device=words.device)
            counts = targets.unsqueeze(2) != predicted.unsqueeze(1)
            counts[:, :, : targets.shape[1]] = False
            counts = (counts | is_target.bool()) & here
            errors = is_target - torch.bmm(hidden, outputs.mT).sigmoid_()
            errors.mul_(counts).mul_(lr)
            changes = torch.bmm(errors * scale, outputs)

            real = here.flatten().nonzero().squeeze(1)  # not the gaps between texts
            self._add(vectors, chunk.rows, changes, real)
            if not frozen:
                near = neighbours.any(1).flatten().nonzero().squeeze(1)
                self._add(self.inputs, words, torch.bmm(neighbours.mT, changes), near)
                used = counts.any(1).flatten().nonzero().squeeze(1)
                self._add(self.outputs, predicted, torch.bmm(errors.mT, hidden), used)

    def _add(self, table: Tensor, ids: Tensor, values: Tensor, used: Tensor) -> None:
        ids, values = ids.flatten()[used], values.flatten(0, 1)
        add_to_rows(table, ids, values, used, max_norm=self.max_norm)

    def infer(
        self, words: Tensor, lengths: Tensor, scale: float, lr: float, iterations: int
    ) -> Tensor:
        """Find vectors of new texts, the words' vectors being fixed: [T, d].

        They begin as N(0, 1) times ``scale`` and read the text so many times. What is drawn is a
        hash of the text's words, so a text has the same vector in whatever batch it comes.
        """
        owners = segment_ids(lengths)
        keys = torch.zeros_like(lengths).index_add_(0, owners, mix(words.long() + 1))
        start = hashed(keys, -1, torch.zeros_like(keys), self.inputs.shape[1])
        vectors: Tensor = torch.special.ndtri(start).to(self.inputs.dtype).mul_(scale)
        ids = torch.arange(len(lengths), device=words.device)
        places = torch.arange(len(words), device=words.device) - segment_starts(lengths)[owners]
        for iteration in range(iterations):
            uniform = hashed(keys[owners], iteration, places, 1 + self.negatives)
            self.steps(vectors, TextRows(words, lengths, ids, ids), uniform, lr, frozen=True)
        return vectors

    def _band(self, present: Tensor) -> Tensor:
        """Say which of a chunk's words are neighbours: [A, chunk, chunk + 2 reach], 0 or 1."""
        places = torch.arange(present.shape[1], device=present.device)
        distance = (places - places[self.reach : -self.reach].unsqueeze(1)).abs()
        near = (distance <= self.reach) & (distance > 0)
        here = present[:, self.reach : -self.reach].unsqueeze(2)
        return (near & here & present.unsqueeze(1)).to(self.inputs.dtype)

    def _chunks(self, texts: TextRows, uniform: Tensor) -> "Iterator[_Chunk]":
        """Leave out frequent words, cut the streams into chunks, and draw negatives for these."""
        kept = (uniform[:, 0] < self.keep_probabilities()[texts.words]).nonzero().squeeze(1)
        owners = segment_ids(texts.lengths)[kept]
        streams = texts.streams[owners]
        # texts of a stream have gaps between them, in which a text's last word looks for neighbours
        first_text = torch.searchsorted(texts.streams, streams)
        first_word = segment_starts(torch.bincount(streams, minlength=1))[streams]
        places = torch.arange(len(kept), device=kept.device) - first_word
        places += self.reach * (owners - first_text)
        lengths = kept.new_zeros(int(texts.streams.max()) + 1 if len(texts.streams) else 0)
        lengths.scatter_reduce_(0, streams, places + 1, "amax")
        size, reach = self.positions_at_once, self.reach
        count = -(-int(lengths.max()) // size) if len(lengths) else 0
        layout = kept.new_full((len(lengths), count * size + 2 * reach), -1)
        layout[streams, places + reach] = kept
        noise = self.noise()
        for i in range(count):
            active = (lengths > i * size).nonzero().squeeze(1)
            places = layout[active, i * size : (i + 1) * size + 2 * reach]
            center = places[:, reach : reach + size]
            drawn = uniform[center.amax(1).clamp(min=0), 1:]
            yield _Chunk(
                torch.where(places >= 0, texts.words[places.clamp(min=0)].long(), -1),
                texts.rows[segment_ids(texts.lengths)[center.clamp(min=0)]],
                torch.searchsorted(noise, drawn, right=True),
            )


class _Chunk(NamedTuple):
    """Words that are predicted at once, in A streams.

    Shapes: ``words`` [A, chunk + 2 reach], -1 in gaps; ``rows`` [A, chunk]; ``negatives`` [A, κ].
    """

    words: Tensor
    rows: Tensor
    negatives: Tensor


def _rows(table: Tensor, ids: Tensor) -> Tensor:
    """Gather rows; much faster than ``table[ids]``."""
    return table.index_select(0, ids.flatten()).view(*ids.shape, -1)


def random_vectors(count: int, dim: int) -> nn.Parameter:
    """Draw vectors [count, dim] from N(0, 1) / √count, changed by no optimizer."""
    return nn.Parameter(torch.randn(count, dim) / max(count, 1) ** 0.5, requires_grad=False)


def hashed(keys: Tensor, iteration: int, places: Tensor, count: int) -> Tensor:
    """Return numbers in (0, 1), uniform and a function of the arguments alone: [N, count].

    Args:
        keys: of the texts [N].
        iteration: how often the text has been read.
        places: of the word in the text [N].
        count: numbers per word.
    """
    columns = torch.arange(count, device=keys.device)
    cells = (((iteration << 32) + places) * count).unsqueeze(1) + columns
    mixed = mix(keys.unsqueeze(1) + mix(cells))
    return ((mixed & ((1 << _BITS) - 1)).double() + 0.5) / (1 << _BITS)
