import copyreg
import gzip
import io
import os
import pickle
import struct
import warnings

import numpy as np
import pytest

from gile_lightning.data.formats import vector_pickle
from gile_lightning.data.formats.word_vectors import find_word_vectors
from gile_testing.word_vectors import VECTORS, WORDS, expect, refuse

LANGUAGES = ["english", "russian"]


def trusting(content, encoding="latin1"):
    """What Python's own pickle module makes of a file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # numpy.core
        return pickle.loads(content, encoding=encoding)


@pytest.mark.parametrize("language", LANGUAGES)
def test_files_equal_the_trusting_reader(shared, language):
    path = find_word_vectors(shared / "data" / "dw" / "word_vectors", language)
    words, vectors = trusting(gzip.decompress(path.read_bytes()))
    expect(path, words, np.stack(vectors))


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("name", ["a.pkl.gz"])
@pytest.mark.parametrize("kind", ["list", "tuple", "array", "fortran", "double", "big-endian"])
def test_python_3_pickles(write, name, protocol, kind):
    vectors = {
        "list": list(VECTORS),
        "tuple": tuple(VECTORS),
        "array": VECTORS,
        "fortran": np.asfortranarray(VECTORS),
        "double": VECTORS.astype(np.float64),
        "big-endian": VECTORS.astype(">f4"),
    }[kind]
    expect(write(name, pickle.dumps((WORDS, vectors), protocol)))


def python_2(words, vectors):
    """The pickle, in protocol 2, of Python 2 with a NumPy of its time: data is a byte string."""
    content = bytearray(b"\x80\x02](")
    for word in words:
        if isinstance(word, bytes):
            content += b"U" + bytes([len(word)]) + word
        else:
            content += b"X" + struct.pack("<i", len(word.encode())) + word.encode()
    content += b"e]("
    for vector in vectors:
        data = vector.astype("<f4").tobytes()
        content += b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R"
        content += b"(K\x01K" + bytes([len(vector)]) + b"\x85"
        content += b"cnumpy\ndtype\nU\x02f4K\x00K\x01\x87R"
        content += b"(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
        content += b"\x89T" + struct.pack("<i", len(data)) + data + b"tb"
    return bytes(content + b"e\x86.")


def test_python_2_pickles(write):
    content = python_2(WORDS, VECTORS)
    words, vectors = trusting(content)
    assert words == WORDS
    np.testing.assert_array_equal(vectors, VECTORS)
    expect(write("a.pkl.gz", content))


def test_python_2_byte_strings_are_utf_8_or_else_latin_1(write):
    words = ["ψυχή".encode(), "naïve".encode("latin1"), "Ã©", "Ã©".encode()]
    expected = ["ψυχή", "naïve", "Ã©", "Ã©"]
    expect(write("a.pkl", python_2(words, VECTORS[:4])), expected, VECTORS[:4])


def test_python_2_text_protocol(write):
    content = (
        b"((lp0\nVna\\u00efve\np1\naS'\\xcf\\x88'\np2\na(lp3\n"
        b"cnumpy.core.multiarray\n_reconstruct\np4\n(cnumpy\nndarray\np5\n(I0\ntp6\nS'b'\np7\n"
        b"tp8\nRp9\n(I1\n(I2\ntp10\ncnumpy\ndtype\np11\n(S'f4'\np12\nI0\nI1\ntp13\nRp14\n"
        b"(I3\nS'<'\np15\nNNNI-1\nI-1\nI0\ntp16\nbI00\n"
        b"S'\\x00\\x00\\x80?\\x00\\x00\\x00@'\np17\ntp18\nba"
        b"g9\natp19\n."
    )
    words, vectors = trusting(content, "bytes")
    assert words == ["naïve", "ψ".encode()]
    np.testing.assert_array_equal(vectors, [[1, 2], [1, 2]])
    expect(write("a.pkl", content), ["naïve", "ψ"], [[1, 2], [1, 2]])


def test_halves_of_characters(write):
    words = ["\ud83d\ude00", "cut \ud83d"]
    expect(write("a.pkl", pickle.dumps((words, VECTORS[:2]))), ["😀", "cut \ufffd"], VECTORS[:2])


class Call:
    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize("protocol", [0, 2, pickle.HIGHEST_PROTOCOL])
@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize(
    ("function", "asked"),
    [
        (os.system, "(posix|nt).system"),
        (eval, "(__builtin__|builtins).eval"),
        (getattr, "(__builtin__|builtins).getattr"),
        (np.load, "numpy.load"),
        (np.fromfile, "numpy.*fromfile"),
        (copyreg._reconstructor, "(copy_reg|copyreg)._reconstructor"),
        (io.open, "_?io.open"),
    ],
)
def test_calls_are_refused(write, tmp_path, function, asked, wrapped, protocol):
    argument = f"touch {tmp_path}/side-effect" if function is os.system else str(tmp_path / "x")
    bad = Call(function, argument)
    content = pickle.dumps((WORDS, [*VECTORS, bad]) if wrapped else bad, protocol)
    message = f"the pickle asks for {asked}; only lists, strings and NumPy arrays are read"
    refuse(write("a.pkl.gz", content), message)
    assert os.listdir(tmp_path) == ["a.pkl.gz"]


STATE = b"}U\x08__name__U\x03badsb."


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"cos\nsystem\n(S'touch side-effect'\ntR.", "asks for os.system"),
        (b"\x80\x02cnumpy.f2py\ncompile\n.", "asks for numpy.f2py.compile"),
        (b"\x80\x02cnumpy.core.multiarray\nscalar\n.", "asks for numpy.core.multiarray.scalar"),
        (b"(S'touch side-effect'\nios\nsystem\n.", "asks for os.system"),
        (b"\x80\x04\x8c\x05numpy\x8c\x0cndarray.take\x93.", "asks for numpy.ndarray.take"),
        (b"\x80\x04\x8c\x07_codecs\x8c\x12encode.__globals__\x93.", "asks for _codecs.encode.__gl"),
        (b"\x80\x02c_codecs\nencode\n" + STATE, "a state for a function"),
        (b"\x80\x02cnumpy\nndarray\n" + STATE, "a state for a function"),
        (b"\x80\x02c_codecs\nencode\nX\x01\x00\x00\x00aX\x06\x00\x00\x00rot_13\x86R.", "'rot_13'"),
        (b"\x80\x02c_codecs\nencode\nK\x01\x85\x81.", "no pickle of words and vectors"),
        (b"\x80\x02\x82\x01.", "extension code"),
        (b"\x80\x02U\x01aQ.", "persistent"),
        (b"\x80\x02]" + STATE, "no pickle of words and vectors"),
        (b"\x80\x05\x97.", "no pickle of words and vectors"),
    ],
)
def test_other_ways_of_calling_are_refused(write, tmp_path, monkeypatch, content, message):
    monkeypatch.chdir(tmp_path)
    path = write("a.pkl", content)
    refuse(path, message)
    assert os.listdir(tmp_path) == ["a.pkl"]
    expect(write("b.pkl", pickle.dumps((WORDS, VECTORS))))  # nothing stays behind


def array(code=b"U\x02f4", order=b"U\x01<", rest=b"NNN", shape=b"K\x02\x85", data=b"U\x08abcdefgh"):
    return (
        b"\x80\x02](U\x01ae](cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b"
        b"\x87R(K\x01"
        + shape
        + b"cnumpy\ndtype\n"
        + code
        + b"K\x00K\x01\x87R(K\x03"
        + order
        + rest
        + b"J\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89"
        + data
        + b"tbe\x86."
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"code": b"U\x02O8", "data": b"]"}, "an array of type 'O8', which are no numbers"),
        ({"code": b"U\x02V8"}, "'V8', which are no numbers"),
        ({"code": b"U\x02U2"}, "'U2', which are no numbers"),
        ({"code": b"U\x05f4,O8"}, "'f4,O8', which are no numbers"),
        ({"code": b"](U\x01aU\x02O8e"}, "no pickle of words and vectors"),
        ({"rest": b"N(U\x01at}U\x01aN\x86"}, "an array of structures"),
        ({"rest": b"K\x01NN"}, "an array of structures"),
        ({"shape": b"K\x03\x85"}, "reshape"),
        ({"shape": b"J\xff\xff\xff\xff\x85"}, "not made as NumPy makes it"),
        ({"shape": b"]"}, "not made as NumPy makes it"),
        ({"data": b"](K\x01K\x02e"}, "not made as NumPy makes it"),
        ({"data": b"U\x07abcdefg"}, "multiple of element size"),
    ],
)
def test_odd_arrays_are_refused(write, changes, message):
    refuse(write("a.pkl", array(**changes)), message)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no word vectors in the file"),
        (pickle.dumps(([], [])), "no word vectors in the file"),
        (b"the 0.1 0.2\n", "no pickle of words and vectors"),
        (pickle.dumps((WORDS, VECTORS))[:-40], "truncated"),
        (pickle.dumps(WORDS), "must hold two things"),
        (pickle.dumps({"the": VECTORS[0]}), "must hold two things"),
        (pickle.dumps(("ab", VECTORS[:2])), "must hold two things"),
        (pickle.dumps((["a", 5], VECTORS[:2])), "one is of type int"),
        (pickle.dumps((["a"], [[0.5]])), "must be a list of NumPy arrays, or one array"),
        (pickle.dumps((["a"], [VECTORS])), r"arrays \[d\] in a list, or one array \[V, d\]"),
        (pickle.dumps((["a"], VECTORS[0])), r"arrays \[d\] in a list, or one array \[V, d\]"),
        (pickle.dumps((WORDS, VECTORS[1:])), "6 words, but 5 vectors"),
        (pickle.dumps((WORDS, list(VECTORS[1:]))), "6 words, but 5 vectors"),
        (
            pickle.dumps((["a", "b", "c"], [*VECTORS[:2], VECTORS[2, :2]])),
            "the vector of 'a' has 3 numbers, that of 'c' 2",
        ),
        (
            pickle.dumps((["a", "b", "c"], np.array([[1, 2], [1, 1e300], [np.nan, 0]]))),
            "2 of 3 vectors have numbers that are not finite in 32 bits; the first is that of 'b'",
        ),
    ],
)
def test_errors_of_pickles(write, content, message):
    refuse(write("a.pkl", content), message)


def test_gzip(tmp_path):
    content = pickle.dumps((WORDS, VECTORS))
    path = tmp_path / "a.pkl"
    path.write_bytes(gzip.compress(content))
    expect(path)
    path = tmp_path / "a.pkl.gz"
    path.write_bytes(content)
    refuse(path, "not a gzip file; rename it without .gz")
    path.write_bytes(gzip.compress(content)[:-6])
    refuse(path, "the gzip file is truncated or damaged")


@pytest.mark.parametrize("kind", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
def test_whole_numbers(write, kind):
    vectors = np.arange(18).reshape(6, 3).astype(kind)
    expect(write("a.pkl.gz", pickle.dumps((WORDS, vectors))), vectors=vectors.astype(np.float32))


def test_the_same_vector_again_and_again(write, monkeypatch):
    """A small file that asks for much memory; one that holds all its numbers may have any many."""
    monkeypatch.setattr(vector_pickle, "SMALL", 8)
    expect(write("a.pkl", pickle.dumps((WORDS, VECTORS))))
    bomb = pickle.dumps((["a"] * 2_000, [np.zeros(1_000, np.float32)] * 2_000))
    refuse(write("b.pkl", bomb), "the same vectors again and again, far more than the file holds")
