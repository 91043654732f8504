import math
import random
from collections import Counter
from itertools import product

import numpy as np
import pytest

from gile_lightning.common.errors import InputError
from gile_lightning.data.tokenizing.tokenizer import (
    Tokenizer,
    build_vocabulary,
    unambiguous,
)
from gile_lightning.data.tokenizing.words import tokenize


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


def test_gives_flat_ids_and_lengths():
    tokenizer = Tokenizer(["the", "cell", "NUM", "UNK"])
    words, sentences, documents = tokenizer.documents(["The cell", "", "5 rare Cells: the"])
    assert words.tolist() == [0, 1, 2, 3, 3, 3, 0]
    assert sentences.tolist() == [2, 5]
    assert documents.tolist() == [1, 0, 1]
    assert (words.dtype, sentences.dtype, documents.dtype) == (np.int32, np.int64, np.int64)


def test_truncates_documents_at_300_and_labels_at_50_words():
    tokenizer = Tokenizer(["a", "b", "UNK"])
    text = "a " * 49 + "b " * 251 + "c"  # 301 words; UNK would be the last
    assert tokenizer.documents([text])[0].tolist() == [0] * 49 + [1] * 251
    assert tokenizer.labels([text])[0].tolist() == [0] * 49 + [1]
    short = Tokenizer(["a", "b", "UNK"], max_document_words=2, max_label_words=1)
    assert short.documents(["b a a", "b"])[1].tolist() == [2, 1]
    assert short.labels(["b a a", "b"])[1].tolist() == [1, 1]


def test_further_words_have_ids_behind_the_unknown_word():
    tokenizer = Tokenizer(["a", "b", "UNK"], max_label_words=7)
    more = tokenizer.extended(["c", "a", "d", "c", "UNK"])
    words = ["a", "b", "c", "d", "e", "UNK"]
    assert tokenizer.word_ids(words) == [0, 1, 2, 2, 2, 2]  # as it was
    assert more.word_ids(words) == [0, 1, 3, 4, 2, 2]
    assert np.minimum(more.word_ids(words), 2).tolist() == tokenizer.word_ids(words)
    again = more.extended(iter(["d", "e"]))
    assert again.word_ids(words) == [0, 1, 3, 4, 5, 2]
    assert again.labels(["e of d"])[0].tolist() == [5, 2, 4]
    assert more.vocabulary == tokenizer.vocabulary
    assert more.settings() == tokenizer.settings()
    assert "further" not in tokenizer.settings()
    assert more != tokenizer
    assert tokenizer.extended(["b"]) == tokenizer


def test_further_words_are_known_words():
    tokenizer = Tokenizer(["a", "UNK"], known_words_only=True).extended(["new", "10"])
    assert tokenizer.words("A new thing: 10") == ["a", "new", "10"]
    assert tokenizer.labels(["A new thing: 10"])[0].tolist() == [0, 2, 3]


@pytest.mark.parametrize("vocabulary", [[], ["a"], ["UNK", "a"]])
def test_vocabulary_must_end_with_the_unknown_word(vocabulary):
    with pytest.raises(InputError, match="must end with 'UNK'"):
        Tokenizer(vocabulary)


# ---------------------------------------------------------------- truncation


def truncated(sentences, document_words, most_sentences, sentence_words):
    """Keep words one by one while there is room for them."""
    kept, total = [], 0
    for sentence in sentences:
        own = []
        for word in sentence:
            if total < document_words and len(own) < (sentence_words or math.inf):
                own.append(word)
                total += 1
        if own and len(kept) < (most_sentences or math.inf):
            kept.append(own)
    return kept


@pytest.mark.parametrize("document_words", [1, 4, 7, 100])
@pytest.mark.parametrize("most_sentences", [None, 1, 2, 5, 100])
@pytest.mark.parametrize("sentence_words", [None, 1, 3, 100])
def test_split_truncates(document_words, most_sentences, sentence_words):
    generator = random.Random(0)
    tokenizer = Tokenizer(
        ["UNK"], document_words, max_sentences=most_sentences, max_sentence_words=sentence_words
    )
    for _ in range(20):
        sentences = [
            [generator.choice("abcd") for _ in range(generator.choice([0, 1, 3, 4, 8]))]
            for _ in range(generator.randint(0, 6))
        ]
        expected = truncated(sentences, document_words, most_sentences, sentence_words)
        assert tokenizer.split([" ".join(words) for words in sentences]) == expected
        assert tokenizer.split(sentences) == expected


def test_sentence_without_a_known_word_takes_no_room():
    tokenizer = Tokenizer(["a", "UNK"], max_sentences=2, known_words_only=True)
    assert tokenizer.split(["b b", "a b", ["b"], ["b", "a"], "a"]) == [["a"], ["a"]]


# ---------------------------------------------------------------- sentences


@pytest.mark.parametrize(
    ("code", "text", "expected"),
    [
        ("en", "Dr. Smith left at 4 p.m. today. Really? Yes!",
         ["dr . smith left at NUM p . m . today .", "really ?", "yes !"]),
        ("de", "Am 3. Mai kam er z.B. nach Bonn. Er blieb.",
         ["am NUM . mai kam er z . b . nach bonn .", "er blieb ."]),
        ("ar", "هل هذا صحيح؟ نعم.", ["هل هذا صحيح ؟", "نعم ."]),
        ("uk", "Це речення. А це інше!", ["це речення .", "а це інше !"]),
        ("xx", "Of no known rules. But split.", ["of no known rules .", "but split ."]),
        ("en", "", []),
        ("en", " \n\n ", []),
        # spaces with which the library fails
        ("en", "Vitamin A\u00a0. And B \u2009 . More", ["vitamin a .", "and b .", "more"]),
    ],
)  # fmt: skip
def test_sentences_by_the_rules_of_a_language(code, text, expected):
    tokenizer = Tokenizer(["UNK"], sentences=code)
    assert tokenizer.split([text]) == [sentence.split() for sentence in expected]


def test_pieces_are_sentences_unless_they_are_split():
    pieces = ["A title", "One. Two.", ["given", "Words", ".", "stay"]]
    plain, split = (Tokenizer(["UNK"], sentences=code) for code in (None, "en"))
    given = ["given", "Words", ".", "stay"]
    assert plain.split(pieces) == [["a", "title"], ["one", ".", "two", "."], given]
    assert split.split(pieces) == [["a", "title"], ["one", "."], ["two", "."], given]


@pytest.mark.parametrize("code", ["english", "EN", "e", "", "e1"])
def test_wrong_code_of_a_language(code):
    with pytest.raises(InputError, match=f"sentences is '{code}'; give the ISO 639-1 code"):
        Tokenizer(["UNK"], sentences=code)


# ---------------------------------------------------------------- words of given vectors


@pytest.mark.parametrize(
    ("known", "text", "expected"),
    [
        # whole between spaces, as it is or else in lower case
        ("u.s. Berlin", "The U.S. in Berlin", ["u.s.", "Berlin"]),
        ("berlin", "BERLIN berlin Berlin", ["berlin"] * 3),
        ("Berlin", "berlin", []),
        ("état l'état", "L'ÉTAT l'État", ["l'état", "l'état"]),
        ("(a)", "(a) (A)", ["(a)", "(a)"]),
        # else without the marks around it, which are words too
        ("u.s", "(U.S.),", ["u.s"]),
        ("u.s . ( ) ,", "(U.S.),", ["(", "u.s", ".", ")", ","]),
        ("_ a", "__a__", ["_", "_", "a", "_", "_"]),
        (". …", "...…", [".", ".", ".", "…"]),
        # else in parts
        ("l europe", "l'Europe", ["l"]),
        ("l 'europe", "l'Europe", ["l", "'europe"]),
        ("science / technology", "Science/Technology", ["science", "/", "technology"]),
        ("a-b", "x/a-b", ["a-b"]),
        # typographic marks become plain ones
        ('" a', "“A”", ['"', "a", '"']),
        ("“a”", "“A”", ["“a”"]),
        ("- 1990 2000", "1990–2000", ["1990", "-", "2000"]),
        ("- a", "–a", ["-", "a"]),
        # numbers stay what they are
        ("2004 4.5 NUM", "2004! 4.5% 7", ["2004", "4.5"]),
        ("1 , 000", "1,000", ["1", ",", "000"]),
        # unknown ones are dropped
        ("a", "b a c", ["a"]),
        ("", "nothing is known", []),
        ("a unk", "a UNK unk", ["a", "unk", "unk"]),
        ("a", "a UNK (UNK)", ["a"]),
        ("کتاب می‌روم", "کتابٌ می‌روم", ["کتاب", "می‌روم"]),
    ],
)
def test_words_are_looked_up_among_the_known(known, text, expected):
    vocabulary = [*known.split(), "UNK"]
    tokenizer = Tokenizer(vocabulary, known_words_only=True)
    assert tokenizer.words(text) == expected
    words, lengths = tokenizer.labels([text])
    assert [vocabulary[i] for i in words] == expected
    assert lengths.tolist() == [len(expected)]


def test_words_that_are_split_are_looked_up_as_they_are():
    tokenizer = Tokenizer(["a", "NUM", "UNK"], known_words_only=True)
    assert tokenizer.words(["A", "a", "UNK", "(a)", "5", "a"]) == ["a", "a"]
    assert Tokenizer(["a", "UNK"]).words(["A", "UNK", "5"]) == ["A", "UNK", "5"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["a", "b"], ["a", "b"]),
        (["a", "b", "a", "a"], ["a", "b", "a\ufffd2", "a\ufffd3"]),
        (["new york", "\t", "", "x\n"], ["newyork\ufffd0", "\ufffd1", "\ufffd2", "x\ufffd3"]),
        (["UNK", "unk"], ["UNK\ufffd0", "unk"]),
        (["ab", "a b"], ["ab", "ab\ufffd1"]),
        ([], []),
    ],
)
def test_unambiguous(words, expected):
    assert unambiguous(words) == expected


@pytest.mark.parametrize("length", [2, 3, 4])
def test_unambiguous_keeps_every_number(length):
    """Also where a word looks like a name that is given."""
    for words in product(["a", "a ", "a\ufffd1", "a\ufffd2", "UNK", ""], repeat=length):
        names = unambiguous(words)
        assert len(names) == len(set(names)) == length
        assert not any(name.split() != [name] or name == "UNK" for name in names)
        for i, word in enumerate(words):
            if word not in (*words[:i], "a ", "UNK", "") and "\ufffd" not in word:
                assert names[i] == word


ELISIONS = {
    "la qualità dell'acqua": ["la", "qualità", "dell", "'", "acqua"],
    "L’eau d'été, aujourd'hui": ["l", "'", "eau", "d", "'", "été", ",", "aujourd", "'", "hui"],
    "un po' d'aria, anni '90": ["un", "po", "'", "d", "'", "aria", ",", "anni", "'NUM"],
    "dell‘acqua, perche\u0301'l": ["dell", "'", "acqua", ",", "perché", "'", "l"],
}


@pytest.mark.parametrize(("text", "expected"), ELISIONS.items())
def test_elisions_part_words(text, expected):
    """As if a space followed the apostrophe, and only between letters."""
    split = Tokenizer(["UNK"], elision=True)
    assert split.words(text) == split.tokens(text) == expected
    known = Tokenizer(["acqua", "eau", "hui", "aria", "UNK"], known_words_only=True, elision=True)
    assert known.words(text) == [word for word in expected if word in known.vocabulary]
    assert known.tokens(text) == expected
    assert Tokenizer(["UNK"]).words(text) != expected
    assert split.settings()["elision"]
    assert split.words([text]) == [text]


def test_words_with_an_apostrophe_that_a_file_has_stay_whole():
    words = ["aujourd'hui", "l'eau", "l'", "eau", "d'", "été", "UNK"]
    known = Tokenizer(words, known_words_only=True, elision=True)
    assert known.words("Aujourd’hui, l'eau d'été (aujourd'hui) l'air") == [
        *("aujourd'hui", "l'eau", "d'", "été", "aujourd'hui", "l'"),
    ]
