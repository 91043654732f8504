from dataclasses import replace

import pytest
import torch

from gile_lightning.data.loading.ragged import Texts
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.explaining import align_ids, align_text
from gile_testing.unicode_texts import random_texts

TOKENIZER = Tokenizer(["liver", "the", "rat", ".", "NUM", "(", "e", "g", "–", "UNK"])
TEXTS = [
    "The liver (e.g. of a rat) is 4.5\u00a0cm.  Rats – “and” l'Été:\nİstanbul\u00ad! ΟΔΟΣ a\x1cb",
    ["  Title", "", " \n", "The rat. The liver."],
    "",
]


def encoded(tokenizer, text):
    return Texts.from_flat(*tokenizer.documents([text]))


@pytest.mark.parametrize("text", TEXTS, ids=str)
@pytest.mark.parametrize(
    "options",
    [
        *({}, {"sentences": "en"}, {"max_document_words": 5}, {"known_words_only": True}),
        *({"sentences": "en", "max_sentences": 2}, {"sentences": "de", "max_sentence_words": 3}),
    ],
    ids=str,
)
def test_words_as_they_are_written(text, options):
    """Nothing of the text is lost, and each word has the words that the model reads of it."""
    tokenizer = replace(TOKENIZER, **options)
    aligned, document = align_text(tokenizer, text), encoded(tokenizer, text)
    pieces = [text] if isinstance(text, str) else text
    assert [word.text for word in aligned.words] == " ".join(pieces).split()
    of_words = [tokenizer.words(word.text)[: word.tokens] for word in aligned.words]
    expected = [word for sentence in tokenizer.split(pieces) for word in sentence]
    assert [word for words in of_words for word in words] == expected
    assert len(document.words) == sum(word.tokens for word in aligned.words)


@pytest.mark.parametrize("sentences", [None, "en", "ja", "ar", "th"])
def test_words_of_every_script(sentences):
    """Also where a sentence ends within what stands between two spaces."""
    tokenizer = replace(TOKENIZER, sentences=sentences, max_document_words=12)
    for text in [*random_texts(300, seed=4), "细胞生长。它们分裂！ 是 吗？", "ที่นี่ ภาษาไทย"]:
        aligned = align_text(tokenizer, text)
        assert "".join(word.text for word in aligned.words) == "".join(text.split())
        read = [tokenizer.words(word.text)[: word.tokens] for word in aligned.words]
        expected = [word for sentence in tokenizer.split([text]) for word in sentence]
        assert [word for words in read for word in words] == expected, ascii(text)


def test_sentences():
    aligned = align_text(TOKENIZER, ["The liver (e.g. of a rat) is 4.5 cm. The rat.", "The liver"])
    assert [word.sentence for word in aligned.words] == [0] * 9 + [1] * 2 + [2] * 2
    assert aligned.spans[:4] == [(0, 1), (1, 2), (2, 7), (7, 8)]  # ( e . g .
    by_ids = align_ids(TOKENIZER, encoded(TOKENIZER, ["The rat. The liver.", "The liver"]))
    assert " ".join(word.text for word in by_ids.words) == "the rat . the liver . the liver"
    assert [word.sentence for word in by_ids.words] == [0, 0, 0, 1, 1, 1, 2, 2]


@pytest.mark.parametrize("sentences", ["en", None])
def test_documents_without_a_sentence(sentences):
    tokenizer = replace(TOKENIZER, sentences=sentences)
    pieces = ["The rat.", "The liver. Rat"]
    document = encoded(tokenizer, pieces)
    aligned = align_text(tokenizer, pieces)
    found = aligned.without_sentences(document, tokenizer)
    texts = [["The liver. Rat"], ["The rat.", "Rat"], ["The rat.", "The liver."]]
    for actual, wanted in zip(
        found[:3], Texts.from_flat(*tokenizer.documents(texts))[:3], strict=True
    ):
        assert actual.tolist() == wanted.tolist()
    alone = align_text(tokenizer, "rat").without_sentences(encoded(tokenizer, "rat"), tokenizer)
    assert [len(x) for x in alone[:3]] == [0, 0, 1]
    held = document._replace(vectors=torch.ones(1, 2), subwords=torch.arange(3))
    held = held._replace(subword_counts=torch.tensor([3]))
    found = align_ids(tokenizer, document).without_sentences(held, tokenizer)
    assert found.vectors.tolist() == [[1, 1]] * 3
    assert (found.subwords.tolist(), found.subword_counts.tolist()) == ([0, 1, 2] * 3, [3] * 3)
