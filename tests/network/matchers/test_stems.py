import pytest
import torch

from gile_lightning.common.errors import InputError
from gile_lightning.data.language_name import AUTO, find_stemmer
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.network.matchers import LexicalMatch, LexicalPassage, NameMention
from gile_lightning.network.matchers.stems import stem_ids, stem_rarity


def groups(words, stemmer):
    """The words of one stem each."""
    found = {}
    for word, stem in zip(words, stem_ids(words, stemmer).tolist(), strict=True):
        found.setdefault(stem, []).append(word)
    assert list(found) == list(range(len(found)))  # numbered in the order of the words
    return list(found.values())


@pytest.mark.parametrize(
    ("stemmer", "expected"),
    [
        (None, [["rats"], ["rat"], ["livers"]]),
        ("english", [["rats", "rat"], ["livers", "liver"], ["UNK"]]),
        ("german", [["ratten", "ratte"], ["häuser", "haus"]]),
        ("spanish", [["gatos", "gato"], ["perro"]]),
        ("russian", [["кошки", "кошка"], ["дом", "дома"]]),
    ],
)
def test_words_of_one_stem(stemmer, expected):
    assert groups([word for group in expected for word in group], stemmer) == expected


@pytest.mark.parametrize(
    ("stemmer", "language", "expected"),
    [
        (AUTO, "italian", "italian"),
        (AUTO, "it", "italian"),
        (AUTO, "ukrainian", None),
        ("english", "italian", "english"),
        (None, "italian", None),
    ],
)
def test_stemmer_of_the_texts(stemmer, language, expected):
    assert find_stemmer(stemmer, language) == expected
    text = Tokenizer(["acqua", "acque", "UNK"], language=language)
    for kind in (LexicalMatch, LexicalPassage, NameMention):
        assert (
            kind(text, stemmer=stemmer).stems.tolist()
            == stem_ids(text.vocabulary, expected).tolist()
        )


def test_an_unknown_language():
    with pytest.raises(InputError, match=r"no stemmer 'germn'.*did you mean 'german'"):
        stem_ids(["a"], "germn")


def test_rarity():
    stems, frequencies = torch.tensor([0, 1, 0, 2]), torch.tensor([2, 0, 1, 9])
    found = stem_rarity(stems, frequencies, 10)
    torch.testing.assert_close(found, torch.tensor([11 / 4, 11.0, 11 / 10]).log())
    assert stem_rarity(stems, frequencies, 2).tolist()[0] == pytest.approx(0, abs=1e-7)
