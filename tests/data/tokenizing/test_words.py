"""Words of every script: marks, joiners, emoji, numbers, and the normal forms of Unicode."""

import sys
import unicodedata

import pytest

from gile_lightning.data.tokenizing.batch_splitter import BatchSplitter
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.data.tokenizing.words import known_words, tokenize
from gile_testing.splitting import together
from gile_testing.unicode_texts import random_texts, words_by_hand

FORMS = ("NFC", "NFD")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # combining marks belong to their word
        ("हिन्दी भाषा, உரை", ["हिन्दी", "भाषा", ",", "உரை"]),
        ("ที่นี่ ភាសា", ["ที่นี่", "ភាសា"]),
        ("שָׁלוֹם كِتَابٌ", ["שָׁלוֹם", "كِتَابٌ"]),
        ("x\u0301-y\u0302 'e\u0301", ["x\u0301-ŷ", "'é"]),
        ("\u0301 (\u0301)", ["\u0301", "(", "\u0301", ")"]),
        ("\U00011103\U00011127\U00011103", ["\U00011103\U00011127\U00011103"]),  # Chakma
        # what has no width is left out, but for the space without a width
        ("می‌روم", ["میروم"]),
        ("a\ufeffb\u200e c\u2060d \u200d", ["ab", "cd"]),
        ("ko\u00adope\u034fration", ["kooperation"]),
        ("ខ្ញុំ\u200bទៅ", ["ខ្ញុំ", "ទៅ"]),
        # each character of an emoji that is seen is a word
        ("👨‍👩‍👧 ❤️👍🏽🇩🇪", ["👨", "👩", "👧", "❤", "👍", "🏽", "🇩", "🇪"]),
        # numbers of every script that counts by tens; others are words
        ("٣٫١٤ ١٬٠٠٠ १२३ ๑๒ １２", ["NUM"] * 5),
        ("三百 ½ ² Ⅷ", ["三百", "½", "²", "ⅷ"]),
        # letters of several scripts, and of no spaces
        ("αβγ-Globulin ДНК-Test", ["αβγ-globulin", "днк-test"]),
        ("細胞生物学。日本語、テスト", ["細胞生物学", "。", "日本語", "、", "テスト"]),
        ("İstanbul istanbul I\u0307stanbul", ["istanbul"] * 3),
        ("STRASSE Straße", ["strasse", "straße"]),
    ],
)
def test_words(text, expected):
    assert tokenize(text) == expected


def test_normal_forms_have_the_same_words():
    for text in [*random_texts(3_000, seed=2), "≠ =\u0338", "J\u030c ǰ", "Å \u212b", "한국어"]:
        assert len({tuple(tokenize(unicodedata.normalize(form, text))) for form in FORMS}) == 1


def test_every_character_has_the_same_words_in_both_forms():
    for code in range(sys.maxunicode + 1):
        text = chr(code)
        if not unicodedata.is_normalized("NFD", text):
            composed, split = (unicodedata.normalize(form, f"a{text}b") for form in FORMS)
            assert tokenize(composed) == tokenize(split), hex(code)


def test_words_of_random_texts():
    for text in [*random_texts(3_000, seed=3), "ABCxyz", "Abc9", "a", "NUM", ""]:
        assert tokenize(text) == words_by_hand(text), ascii(text)


@pytest.mark.parametrize(
    ("known", "text", "expected"),
    [
        ("café", "cafe\u0301 CAFE\u0301!", ["café", "café"]),
        ("हिन्दी ,", "हिन्दी, हिन्दी", ["हिन्दी", ",", "हिन्दी"]),
        ("हिन्दी उर्दू", "हिन्दी/उर्दू", ["हिन्दी", "उर्दू"]),
        ("كتاب ,", "كِتَابٌ كتابٌ,", ["كتاب", "كتاب", ","]),  # without marks, as vectors have it
        ("كِتَاب كتاب", "كِتَاب", ["كِتَاب"]),
        ("می‌روم", "می‌روم", ["می‌روم"]),
        ("میروم", "می‌روم", ["میروم"]),
        ("میروم ,", "می‌روم,", ["میروم", ","]),
        ("cat .", "Ca\u200dt.", ["cat", "."]),
        ("خانه ها", "خانه‌ها", ["خانه", "ها"]),
        ("cafe\u0301", "cafe\u0301 café", ["cafe\u0301"]),  # a file of vectors is left as it is
    ],
)
def test_known_words(known, text, expected):
    assert list(known_words(text, set(known.split(" ")))) == expected


@pytest.mark.parametrize("text", ["", "\u200b", "\ufeff", " \u3000\n"], ids=ascii)
def test_no_word(text):
    assert tokenize(text) == []
    words, _ = BatchSplitter(Tokenizer(["UNK"])).split([[text], ["a"]])
    assert words.to_pylist() == [[], [0]]


def test_a_megabyte():
    text = "Zellen e\u0301 細胞 हिन्दी, 3.5 " * 30_000
    assert len(text.encode()) > 1e6
    tokenizer = Tokenizer(["UNK"], max_document_words=10**6)
    expected = [["zellen", "é", "細胞", "हिन्दी", ",", "NUM"] * 30_000]
    assert tokenizer.split([text]) == expected
    assert together(BatchSplitter(tokenizer), [[text]]) == [expected]
