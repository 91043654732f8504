from gile_lightning.data.document import Document
from gile_lightning.data.shards.raw_shard import write_raw
from gile_lightning.data.shards.shard import Shard
from gile_lightning.data.tokenizing.batch_splitter import BatchSplitter
from gile_lightning.data.tokenizing.tokenizer import Tokenizer


def document(*sentences, id="1", split=""):
    return Document("file:1", id, list(sentences), [], split)


def added(chunks, words=9):
    """A shard with the documents of chunks that have labels."""
    text = Tokenizer(["UNK"], max_document_words=words)
    shard = Shard(BatchSplitter(text), text)
    for chunk in chunks:
        documents = [document for document, _ in chunk]
        columns = shard.splitter.split([document.pieces for document in documents])
        kept = [place for place, (_, labels) in enumerate(chunk) if labels is not None]
        shard.add(documents, columns, kept, [chunk[place][1] for place in kept])
    return shard


def filled():
    first = [
        (document("b a", "", "a c b", id="x", split="test"), [4, 2]),
        (document("d", id="left out"), None),
        (document("a b c d e f g h i k", id="y"), []),
    ]
    return added([first, [(document("a b", "c", id="z", split="train"), [7])]])


def test_words_have_local_ids_by_first_use():
    rows = filled().table().to_pylist()
    assert rows == [
        {
            "id": "x",
            "words": [0, 1, 1, 2, 0],
            "sentence_lengths": [2, 3],
            "labels": [4, 2],
        },
        {"id": "y", "words": [1, 0, 2, 3, 4, 5, 6, 7, 8], "sentence_lengths": [9], "labels": []},
        {
            "id": "z",
            "words": [1, 0, 2],
            "sentence_lengths": [2, 1],
            "labels": [7],
        },
    ]
    assert list(filled().splitter.words) == [*"bacdefghik"]


def test_written_shard_is_read_back(tmp_path):
    shard = filled()
    raw = write_raw(shard, tmp_path, 3)
    assert raw.path.name == "raw-00003.arrow"
    assert raw.table().equals(shard.table())
    assert raw.word_list() == [*"bacdefghik"]
    assert raw.splits.tolist() == [2, -1, 0]


def test_word_list_keeps_odd_words(tmp_path):
    words = ["\x00", "ä", "\u0301", "'s", "\\", "細胞"]
    shard = added([[(document(" ".join(words)), [0])]])
    assert write_raw(shard, tmp_path, 0).word_list() == words
