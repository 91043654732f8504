"""Subwords of documents, from the raw text to the batch."""

import numpy as np
import pytest
import torch

from gile_lightning.common.errors import InputError
from gile_lightning.data.loading.loader import RaggedLoader
from gile_lightning.data.loading.ragged import RaggedBatch
from gile_lightning.data.pretrained.backends import encode_with_passages
from gile_lightning.data.pretrained.passages import passage_counts
from gile_lightning.data.shards import shard as shards
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_testing.minilm import NAME, oracle

LENGTH = 9
DOCUMENTS = [
    {
        "id": i,
        "title": f"Insulin study {'abcdefghij'[i % 10]}",
        "text": f"common {'mice ' * (i % 4)}w{'abcdefghij'[i % 7]}",
        "labels": ["xyz"[i % 3]],
        "year": 1995 + i,
    }
    for i in range(20)
]


@pytest.fixture
def data(prepared, corpus):
    """Makes a `Corpus` with titles whose documents are split into subwords."""
    from gile_lightning.data import Columns

    columns = Columns(text=["title", "text"], year="year")
    options = {"columns": columns, "pretrained": NAME, "max_subwords": LENGTH}
    return lambda **more: prepared(DOCUMENTS, **(options | more))


def text_of(document):
    return f"{document['title']} {document['text']}"


def expected(data, split):
    """The subwords of the documents of a split, in its order."""
    text = Tokenizer(["UNK"], pretrained=NAME, max_subwords=LENGTH)
    ids = data.split(split)["id"]
    subwords, counts = text.subwords([text_of(DOCUMENTS[int(i)]) for i in ids])
    return np.split(subwords, counts.cumsum()[:-1])


def rows_of(batch):
    parts = batch.subwords.split(batch.subword_counts.tolist())
    return [part.tolist() for part in parts]


@pytest.mark.parametrize("num_proc", [1, 2])
@pytest.mark.parametrize("together", [1, 3, 256])
def test_documents_have_their_subwords(data, num_proc, together, monkeypatch):
    monkeypatch.setattr(shards, "_TOGETHER", together)
    module = data(num_proc=num_proc)
    for split in ("train", "validation", "test"):
        rows = expected(module, split)
        assert {len(row) for row in rows} <= set(range(6, LENGTH + 1))
        loader = RaggedLoader(module.split(split), "english", 4)
        found = [row for batch in loader for row in rows_of(batch["english"])]
        assert found == [row.tolist() for row in rows]


@pytest.mark.parametrize(("dtype", "rounding"), [("float32", 1e-5), ("float16", 5e-4)])
def test_batches_have_the_vectors_of_their_documents(data, dtype, rounding, monkeypatch):
    module = data(max_subwords=256, batch_size=3, vectors_dtype=dtype)
    assert next(iter(module.train_dataloader()))["english"].vectors is None
    module.keep_text_vectors()
    ids = module.split("train")["id"]
    vectors = oracle([text_of(document) for document in DOCUMENTS])
    for batch in module.train_dataloader():
        documents = batch["english"]
        rows = [int(ids[i]) for i in documents.rows.tolist()]
        torch.testing.assert_close(documents.vectors, vectors[rows], rtol=0, atol=rounding)
    again = data(max_subwords=256, validation_size=0.3, vectors_dtype=dtype)
    monkeypatch.setattr("gile_lightning.data.pretrained.backends.encode", None)  # all are there
    again.keep_text_vectors()
    assert sum(len(batch["english"].vectors) for batch in again.val_dataloader()) == 3


def test_batches_have_the_passages_of_their_documents(data, monkeypatch):
    monkeypatch.setattr("gile_lightning.data.pretrained.passages.PASSAGE", 4)
    module = data(max_subwords=256, batch_size=3)
    module.keep_text_vectors("cpu", {"passages"})
    text = Tokenizer(["UNK"], pretrained=NAME)
    texts = [text_of(document) for document in DOCUMENTS]
    subwords = [torch.from_numpy(part) for part in text.subwords(texts)]
    counts = passage_counts(*subwords).tolist()
    assert len(set(counts)) > 1
    found = encode_with_passages(NAME, *subwords)
    expected = found.passages.split(counts)
    rows = module.split("train")["id"]
    batches = [batch["english"] for batch in module.train_dataloader()]
    batches += module.some_documents("english", "train", range(len(rows)))
    for batch in batches:
        assert batch.vectors is None
        numbers = batch.rows.tolist() if batch.rows is not None else range(len(rows))
        wanted = [expected[int(rows[i])] for i in numbers]
        assert batch.passage_counts.tolist() == [len(vectors) for vectors in wanted]
        torch.testing.assert_close(batch.passages, torch.cat(wanted), rtol=0, atol=1e-5)
        parts = [part.texts for part in batch.split(2)]
        assert torch.equal(torch.cat([part.passages for part in parts]), batch.passages)
        halves = [2] * (len(numbers) // 2) + [1] * (len(numbers) % 2)
        assert [len(part.passage_counts) for part in parts] == halves
    module.keep_text_vectors("cpu", {"vectors", "words"})  # the passages stay
    batch = next(iter(module.train_dataloader()))["english"]
    assert len(batch.vectors) == len(batch.passage_counts) == 3
    again = data(max_subwords=256, batch_size=3)
    for name in ("encode", "encode_with_passages"):  # all are there
        monkeypatch.setattr(f"gile_lightning.data.pretrained.backends.{name}", None)
    again.keep_text_vectors("cpu", {"passages"})
    assert len(next(iter(again.test_dataloader()))["english"].passages) > 0


def test_a_trained_model_says_which(corpus, data):
    trained = data()
    known = corpus()
    known.encode_for_scoring(trained.tasks)
    assert known.subword_tokenizer().pretrained == NAME
    other = corpus()
    other.encode_for_training(trained.tasks)
    assert other.subword_tokenizer().pretrained == NAME
    assert corpus().subword_tokenizer().pretrained is None


def test_a_missing_model_is_refused_before_encoding(corpus):
    with pytest.raises(InputError, match="'none/such'"):
        corpus(pretrained="none/such").prepare_data()
    with pytest.raises(InputError, match="max_subwords is 0"):
        corpus(pretrained=NAME, max_subwords=0)


def batch(documents=5):
    counts = torch.arange(documents)
    ones = torch.ones(documents, dtype=torch.long)
    subwords = torch.arange(int(counts.sum()))
    vectors = torch.rand(documents, 2)
    return RaggedBatch(ones, ones, ones, ones, ones, None, 1.0, subwords, counts, vectors)


def test_parts_keep_their_subwords_and_vectors():
    whole = batch()
    for parts in (list(whole.split(2)), list(whole.texts.split(2))):
        assert [len(part.subword_counts) for part in parts] == [2, 2, 1]
        assert [row for part in parts for row in rows_of(part)] == rows_of(whole)
        assert torch.equal(torch.cat([part.vectors for part in parts]), whole.vectors)
