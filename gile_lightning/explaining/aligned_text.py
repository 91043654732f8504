"""A document as it is written, beside the words that a model reads of it."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import torch
from torch import Tensor

from gile_lightning.data.loading.flat import segment_ids
from gile_lightning.data.loading.ragged import PRETRAINED, Texts, join
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.data.tokenizing.words import segment

_STOPS = frozenset(".!?")


@dataclass(frozen=True)
class Word:
    """What stands between two spaces of a document.

    Attributes:
        text: as it is written.
        before: the spaces before it.
        piece: the piece of the document that it is in, such as title or text.
        sentence: the sentence of the document that it is in.
        tokens: how many words the model reads of it; none beyond the model's limits.
    """

    text: str
    before: str
    piece: int
    sentence: int
    tokens: int


@dataclass(frozen=True)
class AlignedText:
    """The words of one document, and how the model's words belong to them.

    Attributes:
        words: in order.
        written: whether they are those of the text, not the words as the model reads them.
    """

    words: list[Word]
    written: bool

    @property
    def sentences(self) -> int:
        """The number of sentences."""
        return 1 + max((word.sentence for word in self.words), default=-1)

    @property
    def spans(self) -> list[tuple[int, int]]:
        """Where the model's words of each word begin and end."""
        return list(pairwise(accumulate((word.tokens for word in self.words), initial=0)))

    @property
    def read(self) -> list[int]:
        """The sentences of which the model reads a word, in order."""
        return sorted({word.sentence for word in self.words if word.tokens})

    def without_sentences(self, document: Texts, tokenizer: Tokenizer) -> Texts:
        """Return the document without each of the sentences that the model reads.

        If only ids of it are known, a pretrained model reads the whole document all the same.

        Args:
            document: the document.
            tokenizer: that it was encoded with.
        """
        counts = torch.tensor([word.tokens for word in self.words], dtype=torch.long)
        owners = torch.tensor([word.sentence for word in self.words], dtype=torch.long)
        owners = owners.repeat_interleave(counts).to(document.words.device)
        variants = join([_kept(document, owners != i) for i in self.read])
        if all(getattr(document, key) is None for key in PRETRAINED):
            return variants
        if not self.written:
            return variants._replace(**_repeated(document, len(self.read)))
        texts = [self._text_without(sentence) for sentence in self.read]
        subwords = Texts.from_flat(*tokenizer.documents([]), *tokenizer.subwords(texts))
        subwords = subwords.to(document.words.device)
        return variants._replace(subwords=subwords.subwords, subword_counts=subwords.subword_counts)

    def _text_without(self, sentence: int) -> list[str]:
        pieces = [""] * (1 + max(word.piece for word in self.words))
        for word in self.words:
            if word.sentence != sentence:
                pieces[word.piece] += word.before + word.text
        return pieces


def _kept(document: Texts, kept: Tensor) -> Texts:
    """Return the document with some of its words; sentences that are left empty are dropped."""
    sentences = segment_ids(document.sentence_lengths)[kept]
    lengths = sentences.bincount(minlength=len(document.sentence_lengths))
    lengths = lengths[lengths > 0]
    return Texts(
        document.words[kept], lengths, document.document_lengths.new_tensor([len(lengths)])
    )


def _repeated(document: Texts, times: int) -> dict[str, Any]:
    """Return what a pretrained model reads of the document, several times."""
    fields = {key: getattr(document, key) for key in PRETRAINED}
    return {
        key: None if values is None else values.repeat(times, *[1] * (values.ndim - 1))
        for key, values in fields.items()
    }


def align_text(tokenizer: Tokenizer, text: str | Sequence[str]) -> AlignedText:
    """Find the words and sentences of a text, and what the model reads of them.

    Sentences are those of the tokenizer. If it leaves pieces whole, they are cut by the rules of
    English, which hold for most languages.
    """
    pieces = [text] if isinstance(text, str) else list(text)
    read = iter(tokenizer.split(pieces))
    words: list[Word] = []
    sentence = 0
    for number, piece in enumerate(pieces):
        for part in tokenizer.segments(piece):
            chunks = list(_chunks(tokenizer, str(part)))
            own = [word for _, _, _, tokens in chunks for word in tokens]
            room = len(next(read, [])) if own else 0
            last = -1
            for before, chunk, inner, tokens in chunks:
                sentence += inner != last
                last = inner
                count = min(room, len(tokens))
                room -= count
                words.append(Word(chunk, before, number, sentence - 1, count))
    return AlignedText(words, written=True)


def _chunks(tokenizer: Tokenizer, text: str) -> Iterator[tuple[str, str, int, list[str]]]:
    """Yield what stands between spaces: the spaces before, the text, its sentence, its words."""
    cuts = [0]
    if tokenizer.sentences is None:
        cuts = list(accumulate(map(len, segment("en", text)), initial=0))
    for match in re.finditer(r"(\s*)(\S+)", text):
        yield match[1], match[2], bisect_right(cuts, match.start(2)), tokenizer.words(match[2])


def align_ids(tokenizer: Tokenizer, document: Texts) -> AlignedText:
    """Show an encoded document as the model reads it.

    Sentences are those of the tokenizer; if it leaves pieces whole, they end at a full stop.
    """
    vocabulary = [*tokenizer.vocabulary, *tokenizer.further]
    words: list[Word] = []
    sentence = 0
    ids = document.words.tolist()
    parts = segment_ids(document.sentence_lengths).tolist()
    for i, part in zip(ids, parts, strict=True):
        if words and (
            part != words[-1].piece or (tokenizer.sentences is None and words[-1].text in _STOPS)
        ):
            sentence += 1
        words.append(Word(vocabulary[i], " ", part, sentence, 1))
    return AlignedText(words, written=False)
