"""Texts split together have the words that they have one by one."""

import random
from dataclasses import replace

import pytest

from gile_lightning.data.tokenizing.batch_splitter import BatchSplitter
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_testing.splitting import abstracts, differences, news, together
from gile_testing.unicode_texts import random_texts, words_by_hand


def test_numbers_of_words_and_lengths_of_sentences():
    splitter = BatchSplitter(Tokenizer(["UNK"]))
    words, lengths = splitter.split([["b-c 4,5%", "b-c"], [" "], ["", ["B-C", "%", "x y"]]])
    assert words.to_pylist() == [[0, 1, 2, 0], [], [3, 2, 4]]
    assert lengths.to_pylist() == [[3, 1], [], [3]]
    assert list(splitter.words) == ["b-c", "NUM", "%", "B-C", "x y"]
    again, _ = splitter.split([["% new b-c"]])
    assert again.to_pylist() == [[2, 5, 0]]
    assert [column.to_pylist() for column in splitter.split([])] == [[], []]


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"max_document_words": 4}, [["a", "b", "c"], ["d"]]),
        ({"max_document_words": 3}, [["a", "b", "c"]]),
        ({"max_sentences": 2}, [["a", "b", "c"], ["d", "e"]]),
        ({"max_sentence_words": 2}, [["a", "b"], ["d", "e"], ["f"]]),
        ({"max_sentence_words": 2, "max_document_words": 3}, [["a", "b"], ["d"]]),
    ],
)
def test_limits(limits, expected):
    splitter = BatchSplitter(Tokenizer(["UNK"], **limits))
    document = ["a b c", " ", "d e", "f"]
    assert together(splitter, [document, [""], document]) == [expected, [], expected]


def test_known_words_alone():
    text = Tokenizer(["the", "u.s.", "l", "(", "Paris", "UNK"], known_words_only=True)
    documents = [["The U.S. (and l'Europe), 2004!", "paris Paris UNK"], [["the", "The", "("]]]
    assert together(BatchSplitter(text), documents) == [
        [["the", "u.s.", "(", "l"], ["Paris"]],
        [["the", "("]],
    ]


@pytest.mark.parametrize("limits", [{}, {"max_document_words": 5, "max_sentence_words": 3}])
def test_random_texts(limits):
    texts = list(random_texts(4_000))
    documents = [texts[i : i + i % 4] for i in range(0, len(texts), 2)]
    assert differences(Tokenizer(["UNK"], **limits), documents) == []
    assert differences(Tokenizer(["UNK"], elision=True, **limits), documents) == []
    words = sorted({w for t in texts[:500] for w in Tokenizer(["UNK"]).words(t)} - {"UNK"})
    known = Tokenizer([*words, "UNK"], known_words_only=True)
    assert differences(known, documents) == []
    assert differences(replace(known, elision=True), documents) == []


def test_random_ascii_texts():
    """All control characters are among them: Arrow and Python split at different ones."""
    draw = random.Random(0)
    characters = [*map(chr, range(128)), *"aB9  -'.," * 4]
    texts = ["".join(draw.choices(characters, k=draw.randint(0, 30))) for _ in range(5_000)]
    expected = [[words] if (words := words_by_hand(text)) else [] for text in texts]
    assert together(BatchSplitter(Tokenizer(["UNK"])), [[text] for text in texts]) == expected
    assert differences(Tokenizer(["UNK"], elision=True), [[text] for text in texts]) == []


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize(
    "space", ["\n", "\r\n", "\v", "\f", "\0", "\x1c", "\x1f", "\x7f", "\x85", "\xa0", "\u2028"]
)
def test_control_characters_and_spaces(space, known):
    tokenizer = Tokenizer(["a", "b-c", "'s", "NUM", "\n", "UNK"], known_words_only=known)
    texts = [f"a{space}B-c", f"{space}'s ", f"4{space}", space, f" x {space}{space}b-{space}c", "a"]
    words = ["a", space, f"a{space}b"]  # given as words, they stay what they are
    documents = [[text] for text in texts] + [[texts[0], words, texts[1]], [words], texts]
    assert differences(tokenizer, documents, 4) == []


def test_sentences_of_the_text():
    text = Tokenizer(["UNK"], sentences="en", max_sentences=2)
    documents = [["She came. He saw 3.5 cells! They left."], ["One.", ["two", "."], "Three."]]
    assert together(BatchSplitter(text), documents) == [
        [["she", "came", "."], ["he", "saw", "NUM", "cells", "!"]],
        [["one", "."], ["two", "."]],
    ]
    assert differences(text, documents) == []


def test_shared_abstracts(shared):
    documents = [document.pieces for document in abstracts(shared / "data/bioasq")][::6]
    assert len(documents) == 1_089
    assert differences(Tokenizer(["UNK"]), documents) == []


@pytest.mark.parametrize(("language", "code"), [("arabic", "ar"), ("german", "de")])
def test_shared_news(shared, language, code):
    documents = [document.pieces for document in news(shared / "data/dw/raw", language)][::2]
    assert len(documents) == 502
    assert differences(Tokenizer(["UNK"], sentences=code, max_sentence_words=9), documents) == []
