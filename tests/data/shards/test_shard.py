from gile_lightning.data.document import Document
from gile_lightning.data.shards.raw_shard import write_raw
from gile_lightning.data.shards.shard import Shard
from gile_lightning.data.tokenizing.tokenizer import Tokenizer


def document(*sentences, id="1", split=""):
    return Document("file:1", id, list(sentences), [], split)


def first(words):
    """A tokenizer that keeps so many words."""
    return Tokenizer(["UNK"], max_document_words=words)


def filled():
    shard = Shard()
    assert shard.add(document("b a", "", "a c b", id="x", split="test"), [4, 2], first(9))
    assert not shard.add(document(" ", "", id="empty"), [1], first(9))
    assert shard.add(document("a b c d e", id="y"), [], first(3))
    assert shard.add(document("a b", "c d e", "f", id="z", split="train"), [7], first(3))
    return shard


def test_words_have_local_ids_by_first_use():
    rows = filled().table().to_pylist()
    assert rows == [
        {
            "id": "x",
            "words": [0, 1, 1, 2, 0],
            "sentence_lengths": [2, 3],
            "labels": [4, 2],
        },
        {"id": "y", "words": [1, 0, 2], "sentence_lengths": [3], "labels": []},
        {
            "id": "z",
            "words": [1, 0, 2],
            "sentence_lengths": [2, 1],
            "labels": [7],
        },
    ]
    assert list(filled().local) == ["b", "a", "c"]


def test_written_shard_is_read_back(tmp_path):
    shard = filled()
    raw = write_raw(shard, tmp_path, 3)
    assert raw.path.name == "raw-00003.arrow"
    assert raw.table().equals(shard.table())
    assert raw.word_list() == ["b", "a", "c"]
    assert raw.splits.tolist() == [2, -1, 0]


def test_word_list_keeps_odd_words(tmp_path):
    shard = Shard()
    words = ["\x00", "\u200b", "ä", "\ufeff", "'s", "\\", "細胞"]
    assert shard.add(document(" ".join(words)), [0], first(99))
    assert write_raw(shard, tmp_path, 0).word_list() == words
