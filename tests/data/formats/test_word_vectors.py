import re

import numpy as np
import pytest

from gile_lightning.common.errors import InputError
from gile_lightning.data.formats.word_vectors import find_word_vectors
from gile_testing.word_vectors import VECTORS, WORDS, expect, refuse


def lines(separator=" ", end="\n"):
    rows = zip(WORDS, VECTORS.tolist(), strict=True)
    return "".join(f"{separator.join([word, *map(repr, row)])}{end}" for word, row in rows)


@pytest.mark.parametrize("name", ["a.txt", "a.vec.gz"])
@pytest.mark.parametrize("separator", [" ", "\t"])
@pytest.mark.parametrize("end", ["\n", " \n", "\r\n"])
@pytest.mark.parametrize("header", ["", "6 3\n"])
def test_text(write, name, separator, end, header):
    expect(write(name, header + lines(separator, end) + "\n"))


@pytest.mark.parametrize("header", ["", "4 2\n"])
def test_words_that_are_or_have_spaces(write, header):
    words = ["\xa0", "\u3000", ". . .", "at me@example.org"]
    text = "".join(f"{word} 0.5 -1e-3\n" for word in words)
    expect(write("a.txt", header + text), words, np.float32([[0.5, -1e-3]] * 4))


def test_a_first_line_sets_words_that_end_in_numbers_apart(write):
    text = "route 66 0.5 1\n7 1 2\n"
    expect(write("a.txt", "2 2\n" + text), ["route 66", "7"], [[0.5, 1], [1, 2]])
    refuse(write("b.txt", "a 1 2\n" + text), ":2: expected a word and 2 numbers")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no word vectors in the file"),
        ("0 40\n", "no word vectors in the file"),
        ("the\n", "no word vectors in the file"),
        ("a 1 2\nb 1\n", ":2: expected a word and 2 numbers with a space before each, not 'b 1'"),
        ("a 1 2\nb 1 2 3\n", ":2: expected a word and 2 numbers .* not 'b 1 2 3'"),
        ("a 1 2\n\nb 1 x\n", ":3: expected a word and 2 numbers"),
        ("2 2\na 1 2\nb 1\n", ":3: expected a word and 2 numbers"),
        ("3 2\na 1 2\nb 1 2\n", "announces 3 words, but 2 follow"),
        ("a 1 2\nb 1e39 0\nc nan 1\n", "2 of 3 vectors .* the first is that of 'b'"),
        ('{"words": ["a"]}\n', "expected a word and"),
    ],
)
def test_errors_of_text(write, text, message):
    refuse(write("a.txt", text), message)


def test_missing_file_and_unknown_ending(write, tmp_path):
    refuse(tmp_path / "a.pkl.gz", "no such file")
    refuse(write("a.bin", b"x"), re.escape("ends in one of .pkl.gz, .pkl, .txt.gz, .txt, .vec.gz"))


@pytest.mark.parametrize("ending", [".pkl.gz", ".pkl", ".txt.gz", ".txt", ".vec.gz", ".vec"])
def test_find(tmp_path, ending):
    path = tmp_path / f"german{ending}"
    path.touch()
    (tmp_path / "english.pkl.gz").touch()
    assert find_word_vectors(tmp_path, "german") == path


def test_find_errors(tmp_path):
    with pytest.raises(InputError, match="no such file or folder"):
        find_word_vectors(tmp_path / "none", "german")
    with pytest.raises(InputError, match="the folder has no file"):
        find_word_vectors(tmp_path, "german")
    (tmp_path / "german.pkl.gz").touch()
    (tmp_path / "english.txt").touch()
    message = (
        "no word vectors for 'germn'; looked for germn.pkl.gz, .*germn.vec; the folder has "
        "english.txt, german.pkl.gz; did you mean 'german'?"
    )
    with pytest.raises(InputError, match=message):
        find_word_vectors(tmp_path, "germn")
    (tmp_path / "german.txt").touch()
    with pytest.raises(InputError, match=r"several files .* \(german.pkl.gz, german.txt\)"):
        find_word_vectors(tmp_path, "german")
