"""Learned lexical matching of documents and label texts."""

from typing import Any

import torch
from torch import Tensor

from gile_lightning.data.language_name import find_stemmer
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.network.matchers.bag_match import BagLabels, BagMatch, count_terms
from gile_lightning.network.matchers.matcher import EncodeTexts
from gile_lightning.network.matchers.stems import stem_ids, stem_rarity


class LexicalMatch(BagMatch):
    """A learned scale times the cosine of document and label as bags of weighted words.

    Words, or their stems, are the terms of `BagMatch`. So an untrained model ranks labels as TF-IDF
    does. The bag of a label has the words of its name, its whole text and its synonyms; a name that
    the text repeats counts twice. The unknown word counts nothing. Words that are new to the
    vocabulary (`Tokenizer.extended`) are new terms.

    Args:
        tokenizer: has the vocabulary. ``data.label_words`` adds words of label texts that no
            training document has.
        stemmer: the language of the Snowball stemmer that reduces words to stems before they are
            compared; ``auto`` for that of the texts (``data.language``), if Snowball has it; null
            compares words as they are.
        scale: the scale before training.
        synonyms: whether the words of a label's synonyms are in its bag.
    """

    called = "words"
    stems: Tensor

    def __init__(
        self,
        tokenizer: Tokenizer,
        stemmer: str | None = None,
        scale: float = 10.0,
        synonyms: bool = True,
    ) -> None:
        stemmer = find_stemmer(stemmer, tokenizer.language)
        stems = stem_ids(tokenizer.vocabulary, stemmer)
        super().__init__(int(stems.max()) + 1, scale)
        self.synonyms = synonyms
        self.stemmer = stemmer
        self.unknown = len(tokenizer.vocabulary) - 1
        self.register_buffer("stems", stems, persistent=False)

    def count_words(self, frequencies: Tensor, documents: int) -> None:
        """Set the idf of stems; see `stem_rarity`."""
        self.idf.copy_(stem_rarity(self.stems, frequencies, documents))

    def prepare_labels(
        self, tokenizer: Tokenizer, labels: LabelSet, encode: EncodeTexts
    ) -> BagLabels:
        """Count the words of the labels' names, texts and synonyms."""
        stems = stem_ids([*tokenizer.vocabulary, *tokenizer.further], self.stemmer)
        of_words = stems.tolist()
        terms: list[int] = []
        lengths: list[int] = []
        for name, text, synonyms in zip(labels.names, labels.texts, labels.synonyms, strict=True):
            texts = (name, text, *(synonyms if self.synonyms else ()))
            words = [word for each in texts for word in tokenizer.word_ids(tokenizer.words(each))]
            found = [of_words[word] for word in words if word != self.unknown]
            terms += found
            lengths.append(len(found))
        flat, sizes = (torch.tensor(x, dtype=torch.long) for x in (terms, lengths))
        bags = count_terms(flat, sizes, int(stems.max()) + 1)
        new = bool((bags.terms >= self.term_count).any())
        return BagLabels(bags._replace(new=new, stems=stems))

    def find_terms(self, words: Tensor, labels: Any) -> tuple[Tensor, Tensor]:
        """Return the places of all words but the unknown one, and their stems."""
        places = (words != self.unknown).nonzero().squeeze(1)
        return places, labels.stems[words[places].long()]
