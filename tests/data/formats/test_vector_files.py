import gzip
import struct

import numpy as np
import pytest

from gile_lightning.common.errors import InputError
from gile_lightning.data.formats import vector_files
from gile_lightning.data.formats.vector_files import find_vectors, vector_size

VECTORS = {"the": [0.5, -1.25], "DNA": [1.0, 2.0], "Dna": [3.0, 4.0], "é": [5.0, 6.5]}
WORDS = ["é", "dna", "missing", "the", "NUM"]
FOUND = {0: VECTORS["é"], 1: VECTORS["DNA"], 3: VECTORS["the"]}


def text(header=True, vectors=VECTORS):
    lines = [f"{word} {' '.join(map(str, row))}" for word, row in vectors.items()]
    return "\n".join([f"{len(vectors)} 2"] * header + lines + [""]).encode()


def binary(end=b"", vectors=VECTORS):
    rows = (word.encode() + b" " + struct.pack("<2f", *row) + end for word, row in vectors.items())
    return f"{len(vectors)} 2\n".encode() + b"".join(rows)


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path

    return write


def found(path, words=WORDS):
    return {i: vector.tolist() for i, vector in find_vectors(path, words).items()}


@pytest.mark.parametrize("zipped", ["", ".gz"])
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("glove.txt", text(header=False)),
        ("fasttext.vec", text()),
        ("tabs.txt", text(header=False).replace(b" ", b"\t")),
        ("google.bin", binary()),
        ("word2vec.bin", binary(b"\n")),
    ],
)
def test_formats(write, name, content, zipped):
    path = write(name + zipped, content)
    assert vector_size(path) == 2
    assert found(path) == FOUND


def test_the_word_itself_goes_before_other_cases(write):
    vectors = {"THE": [1, 1], "the": [2, 2], "the ": [3, 3], "The": [4, 4]}
    assert found(write("v.bin", binary(vectors=vectors)), ["the"]) == {0: [2, 2]}
    assert found(write("v.bin", binary(vectors={"THE": [1, 1], "The": [4, 4]})), ["the"]) == {
        0: [1, 1]
    }


@pytest.mark.parametrize("chunk", [1, 7, 64])
def test_a_binary_file_in_pieces(write, monkeypatch, chunk):
    """Vectors of bytes that are spaces and line breaks, over the ends of pieces."""
    monkeypatch.setattr(vector_files, "CHUNK", chunk)
    odd = np.frombuffer(b"    \n\n\n\n", "<f4").tolist()
    vectors = {f"w{i}": odd if i % 3 else [i, -i] for i in range(40)}
    words = [f"w{i}" for i in range(0, 40, 2)]
    path = write("v.bin", binary(b"\n", vectors))
    assert found(path, words) == {i: vectors[word] for i, word in enumerate(words)}


@pytest.mark.parametrize(
    "line", ["the 1 2", "the . . 1 2", "7 1 2"], ids=["word", "spaces", "number"]
)
def test_size_of_the_first_line(write, line):
    assert vector_size(write("v.txt", f"{line}\n".encode())) == 2


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("v.txt", b"the 1 2\ndna 1 2 3\n", r"v\.txt:2: 3 numbers, where the first line has 2"),
        ("v.txt", b"cat 1 2\ndna 1\n", r"v\.txt:2: 1 numbers, where"),
        ("v.txt", b"cat 1 2\nthe 1 x\n", r"v\.txt:2: not a number .*'x'"),
        ("v.txt", b"the 1 nan\n", r"v\.txt: the vector of 'the' has numbers that are not finite"),
        ("v.txt", b"", r"v\.txt: the first line has no word with numbers"),
        ("v.txt", b"word\n", r"v\.txt: the first line has no word with numbers"),
        ("v.bin", text(header=False), r"v\.bin: not word2vec's binary format"),
        ("v.bin", binary()[:-1], r"v\.bin: truncated after 3 of 4 words"),
        ("v.bin", b"", r"v\.bin: not word2vec's"),
        ("v.bin", struct.pack("<i", 793712314) + bytes(99), r"v\.bin: a fastText model.*\.vec"),
        ("v.bin.gz", struct.pack("<i", 793712314) + bytes(99), "a fastText model"),
        ("v.vec", struct.pack("<i", 793712314) + bytes(99), "a fastText model"),
        ("v.vec", b"1 1048577\n", "vectors of 1,048,577 numbers; at most 1,048,576 are read"),
        (
            "v.bin",
            b"2 1\na \0\0\0\0" + b"b" * 65_537,
            r"v\.bin: word 2 is longer than 65,536 bytes; is the file damaged",
        ),
    ],
)
def test_bad_file(write, name, content, message):
    path = write(name, content)
    with pytest.raises(InputError, match=message):
        found(path)


@pytest.mark.parametrize(("name", "write"), [("v.txt.gz", text), ("v.bin.gz", binary)])
def test_bad_gzip(tmp_path, name, write):
    content = write(vectors={f"w{i}": [i, i / 7] for i in range(999)})
    for damaged, message in (
        (content, "not a gzip file"),
        (gzip.compress(content)[:-900], "truncated or damaged"),
    ):
        (tmp_path / name).write_bytes(damaged)
        with pytest.raises(InputError, match=message):
            find_vectors(tmp_path / name, ["w1"])


@pytest.mark.parametrize("header", ["2 2\n", ""])
def test_a_number_of_the_header_that_is_a_word_too(write, header):
    path = write("a.vec", f"{header}2 0.5 1.5\nthe -1 3\n".encode())
    assert found(path, ["the", "2"]) == {0: [-1, 3], 1: [0.5, 1.5]}
