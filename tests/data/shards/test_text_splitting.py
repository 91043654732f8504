import threading

import pytest

from gile_lightning.common.errors import InputError
from gile_lightning.data.document import Document
from gile_lightning.data.shards import text_splitting
from gile_lightning.data.shards.text_splitting import side_by_side, split_texts
from gile_lightning.data.tokenizing.tokenizer import Tokenizer

TEXT = Tokenizer(["UNK"])


@pytest.fixture(autouse=True)
def sizes(monkeypatch):
    monkeypatch.setattr(text_splitting, "CHUNK", 3)
    monkeypatch.setattr(text_splitting, "SHARD", 7)


def documents(*texts):
    return [Document("", str(i), [text], [], "") for i, text in enumerate(texts)]


@pytest.mark.parametrize("num_proc", [1, 2])
@pytest.mark.parametrize("number", [0, 1, 3, 7, 40])
def test_documents_come_in_order_with_their_words(number, num_proc):
    given = documents(*(f"w-{'ab'[i % 2]} x{i}y" for i in range(number)))
    read, splitters, sizes = [], [], []
    for chunk, (words, lengths), splitter in split_texts(given, TEXT, num_proc):
        splitters += [splitter] if all(splitter is not x for x in splitters) else []
        names = list(splitter.words)
        for document, ids in zip(chunk, words.to_pylist(), strict=True):
            assert [names[i] for i in ids] == [f"w-{'ab'[int(document.id) % 2]}", "xNUMy"]
        assert lengths.to_pylist() == [[2]] * len(chunk)
        read += chunk
        sizes.append(len(chunk))
    assert [document.id for document in read] == [document.id for document in given]
    assert len(splitters) == -(-number // 7)
    assert sizes == {0: [], 1: [1], 3: [3], 7: [3, 3, 1], 40: [3, 3, 1] * 5 + [3, 2]}[number]
    assert not threads()


def threads():
    """Return the threads of pools, but those that other tests have left."""
    return [x for x in _pools() if x not in others]


@pytest.fixture(autouse=True)
def _others():
    others[:] = _pools()


others: list[threading.Thread] = []


def _pools():
    return [x for x in threading.enumerate() if x.name.startswith("ThreadPoolExecutor")]


def test_long_texts_are_split_in_smaller_chunks(monkeypatch):
    monkeypatch.setattr(text_splitting, "CHARACTERS", 6)
    given = documents("a", "long text", "b", "c d", "efg", "h")
    found = [len(chunk) for chunk, *_ in split_texts(given, TEXT, 1)]
    assert found == [2, 3, 1]


@pytest.mark.parametrize("num_proc", [1, 2])
def test_error_of_the_corpus(num_proc):
    def broken():
        yield from documents("a", "b", "c", "d", "e", "f", "g")
        raise InputError("line 8")

    with pytest.raises(InputError, match="line 8"):
        list(split_texts(broken(), TEXT, num_proc))
    assert not threads()


@pytest.mark.parametrize("num_proc", [1, 2])
def test_error_of_a_text(num_proc):
    with pytest.raises(UnicodeEncodeError):
        list(split_texts(documents(*"abc", "half a \ud83d", *"def"), TEXT, num_proc))
    assert not threads()


def test_few_documents_are_read_ahead():
    read = 0

    def counted():
        nonlocal read
        for document in documents(*["a b"] * 50):
            read += 1
            yield document

    given = 0
    for chunk, *_ in split_texts(counted(), TEXT, 2):
        given += len(chunk)
        assert read <= given + 3
    assert given == 50


def test_whether_texts_are_split_while_others_are_read(monkeypatch):
    assert [side_by_side(number) for number in (1, 2, 8)] == [False, True, True]
    for cores in (1, 4):
        monkeypatch.setattr(text_splitting, "cores", lambda cores=cores: cores)
        assert side_by_side(0) == (cores > 1)
    with pytest.raises(InputError, match="num_proc is -1; give 1 or 2, or 0 for"):
        side_by_side(-1)
