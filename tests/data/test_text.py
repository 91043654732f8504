from collections import Counter

import numpy as np
import pytest

from gile_lightning.data.text import TextEncoder, build_vocabulary, tokenize
from gile_lightning.errors import InputError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \t\n\u2028\x85\u00a0", []),
        ("The Cat", ["the", "cat"]),
        ("ÜBER Straße Ärzte", ["über", "straße", "ärzte"]),
        ("α-Helix клетка 細胞", ["α-helix", "клетка", "細胞"]),
        # numbers, alone or within a word
        ("pH 4.75, 1,000 or 7", ["ph", "NUM", ",", "NUM", "or", "NUM"]),
        ("1,234.5 and 1.2.3", ["NUM", "and", "NUM"]),
        ("ends in 10.", ["ends", "in", "NUM", "."]),
        ("p53 IL-6 2nd 5%", ["pNUM", "il-NUM", "NUMnd", "NUM", "%"]),
        ("-5 +3", ["-", "NUM", "+", "NUM"]),
        ("٣٤", ["NUM"]),
        ("NUM UNK", ["num", "unk"]),
        # hyphens join words, and words only
        ("beta-blocker-like", ["beta-blocker-like"]),
        ("pre- and post-", ["pre", "-", "and", "post", "-"]),
        ("a--b", ["a", "-", "-", "b"]),
        # clitics
        ("patient's don't", ["patient", "'s", "don", "'t"]),
        ("patient’s", ["patient", "'s"]),
        # typographic punctuation
        ("“well”, 1990–2000 −3", ['"', "well", '"', ",", "NUM", "-", "NUM", "-", "NUM"]),
        ("liver—kidney  con\u00adtrol", ["liver", "-", "kidney", "control"]),
        ("co‐factor co‑factor", ["co-factor", "co-factor"]),
        # every other mark is a token of its own
        ("(a+b)_c…", ["(", "a", "+", "b", ")", "_", "c", "…"]),
        ("5 µg/ml 😀😀", ["NUM", "µg", "/", "ml", "😀", "😀"]),
    ],
)
def test_tokenize(text, expected):
    assert tokenize(text) == expected


def test_vocabulary_is_by_falling_count_then_alphabet():
    counts = Counter({"b": 3, "a": 3, "most": 7, "rare": 2, "UNK": 9, "once": 1})
    assert build_vocabulary(counts, 3) == ["most", "a", "b", "UNK"]
    assert build_vocabulary(counts, 2) == ["most", "a", "b", "rare", "UNK"]
    assert build_vocabulary(counts, 8) == ["UNK"]


@pytest.mark.parametrize("min_count", [0, -1])
def test_min_count_must_be_positive(min_count):
    with pytest.raises(InputError, match=f"min_count is {min_count}"):
        build_vocabulary(Counter("a"), min_count)


def test_encoder_gives_flat_ids_and_lengths():
    encoder = TextEncoder(["the", "cell", "NUM", "UNK"])
    words, sentences, documents = encoder.documents(["The cell", "", "5 rare Cells: the"])
    assert words.tolist() == [0, 1, 2, 3, 3, 3, 0]
    assert sentences.tolist() == [2, 5]
    assert documents.tolist() == [1, 0, 1]
    assert (words.dtype, sentences.dtype, documents.dtype) == (np.int32, np.int64, np.int64)


def test_encoder_truncates_documents_at_300_and_labels_at_50_words():
    encoder = TextEncoder(["a", "b", "UNK"])
    text = "a " * 49 + "b " * 251 + "c"  # 301 words; UNK would be the last
    assert encoder.documents([text])[0].tolist() == [0] * 49 + [1] * 251
    assert encoder.labels([text])[0].tolist() == [0] * 49 + [1]
    short = TextEncoder(["a", "b", "UNK"], max_document_words=2, max_label_words=1)
    assert short.documents(["b a a", "b"])[1].tolist() == [2, 1]
    assert short.labels(["b a a", "b"])[1].tolist() == [1, 1]


def test_encoder_of_no_text():
    words, lengths = TextEncoder(["UNK"]).labels([])
    assert words.shape == lengths.shape == (0,)


@pytest.mark.parametrize("vocabulary", [[], ["a"], ["UNK", "a"]])
def test_vocabulary_must_end_with_the_unknown_word(vocabulary):
    with pytest.raises(InputError, match="must end with 'UNK'"):
        TextEncoder(vocabulary)


@pytest.mark.parametrize("name", ["max_document_words", "max_label_words"])
def test_lengths_must_be_positive(name):
    with pytest.raises(InputError, match=f"{name} is 0"):
        TextEncoder(["UNK"], **{name: 0})
