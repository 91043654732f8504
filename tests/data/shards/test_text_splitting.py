import multiprocessing
import os
import signal
import sys
import time

import pytest

from gile_lightning.common.errors import InputError
from gile_lightning.data.document import Document
from gile_lightning.data.shards import text_splitting
from gile_lightning.data.shards.shard import Shard
from gile_lightning.data.shards.text_splitting import SplitTexts, processes, split_texts
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_testing.children import started


class Words(Tokenizer):
    """Splits at spaces; some texts are misfortunes."""

    def split(self, pieces):
        if pieces[0] == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if pieces[0] == "raise":
            raise ValueError("not a text")
        return [sentence.split() for sentence in pieces if sentence]


TEXT = Words(["UNK"])


@pytest.fixture(autouse=True)
def chunk(monkeypatch):
    monkeypatch.setattr(text_splitting, "CHUNK", 3)


def children():
    """The processes that split texts; those of other libraries stay for later tests."""
    names = {f"{kind.title()}Process" for kind in multiprocessing.get_all_start_methods()}
    return [x for x in multiprocessing.active_children() if type(x).__name__ in names]


def documents(*texts):
    return [Document("", str(i), [text], [], "") for i, text in enumerate(texts)]


def test_words_of_a_chunk_by_number():
    split = SplitTexts.of([[["b", "a"], ["b"]], [], [["c"]]])
    assert split.vocabulary == ["b", "a", "c"]
    shard, other = Shard(), Shard()
    shard.local["a"]  # has id 0 in this shard
    for _ in range(2):
        for into, expected in ((shard, [1, 0, 1]), (other, [0, 1, 0])):
            words, lengths = split.document(0, into)
            assert words.tolist() == expected
            assert lengths.tolist() == [2, 1]
    assert [part.tolist() for part in split.document(1, shard)] == [[], []]
    assert [part.tolist() for part in split.document(2, shard)] == [[2], [1]]


@pytest.mark.parametrize("number", [0, 1, 3, 40])
def test_documents_come_in_order_with_their_words(number):
    given = documents(*(f"w{i} x" for i in range(number)))
    shard = Shard()
    for i, (document, split, place) in enumerate(split_texts(given, TEXT, 2)):
        assert document is given[i]
        words, _ = split.document(place, shard)
        local = list(shard.local)
        assert [local[w] for w in words] == [f"w{i}", "x"]
    assert len(shard.local) == number + bool(number)
    assert not children()


def test_error_of_the_corpus_comes_behind_the_documents_before_it():
    def broken():
        yield from documents("a", "b", "c", "d")
        raise InputError("line 5")

    read = []
    with pytest.raises(InputError, match="line 5"):
        read.extend(document.id for document, *_ in split_texts(broken(), TEXT, 2))
    assert read == ["0", "1", "2", "3"]
    assert not children()


def test_error_of_a_process_is_raised_here_before_later_ones():
    def broken():
        yield from documents("a", "raise", "c", "d")
        raise InputError("line 5")

    with pytest.raises(ValueError, match="not a text"):
        list(split_texts(broken(), TEXT, 2))
    assert not children()


def test_killed_process_is_an_error():
    texts = ["a"] * 9 + ["die"] + ["a"] * 90
    with pytest.raises(InputError, match=r"was killed, .*set --data.num_proc below 2"):
        list(split_texts(documents(*texts), TEXT, 2))
    assert not children()


def test_few_documents_are_read_ahead():
    read = 0

    def counted():
        nonlocal read
        for document in documents(*["a b"] * 200):
            read += 1
            yield document

    stream = split_texts(counted(), TEXT, 2)
    for given, _ in enumerate(stream, 1):
        assert read <= given + 3 * (text_splitting._WAITING * 2 + 1)
    assert given == 200


ENDLESS = """
import itertools, sys
from gile_lightning.data.document import Document
from gile_lightning.data.shards.text_splitting import split_texts
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
if __name__ == "__main__":
    import multiprocessing
    endless = (Document("", str(i), ["a b"], [], "") for i in itertools.count())
    for number, _ in enumerate(split_texts(endless, Tokenizer(["UNK"]), 2)):
        if number == 1_000:
            print(*(child.pid for child in multiprocessing.active_children()), flush=True)
"""


def gone(pid):
    """Whether a process has ended (or waits for a parent that reads how)."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_no_process_outlives_the_one_that_reads(sent):
    """Ctrl-C reaches all of them, a kill only the first."""
    with started("-c", ENDLESS, start_new_session=True) as reader:
        pids = list(map(int, reader.stdout.readline().split()))
        assert len(pids) == 2
        (os.killpg if sent == signal.SIGINT else os.kill)(reader.pid, sent)
        _, errors = reader.communicate(timeout=60)
    deadline = time.monotonic() + 60
    while not all(map(gone, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert all(map(gone, pids))
    if sent == signal.SIGINT:
        assert errors.rstrip().endswith("KeyboardInterrupt")
        assert errors.count("Traceback") == 1  # none of the workers'


def test_number_of_processes():
    assert processes(3) == 3
    assert processes(0) >= 1
    with pytest.raises(InputError, match="num_proc is -1; give a number of processes, or 0"):
        processes(-1)
