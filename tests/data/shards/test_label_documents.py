"""Texts of labels as training documents."""

import json
from types import SimpleNamespace

import pytest

from gile_lightning.common.errors import InputError
from gile_lightning.data import BioASQ, Columns, Corpus, shard_data_module
from gile_lightning.data.document_data_module import DocumentDataModule
from gile_lightning.data.inspection import inspect
from gile_lightning.data.known import Known
from gile_testing import runs

DOCUMENTS = 1_500
READING = SimpleNamespace(name="random", state=lambda: "random")
READS = SimpleNamespace(reading=READING, pretrained_backend="torch")
SIZES = {"builtin_documents": DOCUMENTS, "min_count": 2, "label_words": True}


@pytest.fixture(scope="module")
def modules():
    """The same corpus without texts of labels, and with them."""
    return made(0), made(DOCUMENTS)


def made(few, **options):
    data = BioASQ(cache_dir=runs.cache(), label_documents=few, **SIZES, **options)
    data.prepare_data()
    data.setup("fit")
    return data


def test_each_label_seen_in_training_has_its_text(modules):
    plain, data = modules
    task, own = data.tasks["english"], data.size("english", "train")
    assert task == plain.tasks["english"]  # so they count for no frequency
    assert own == len(plain.split("train")) == plain.size("english", "train")
    documents = data.split("train")
    assert documents[:own] == plain.split("train")[:own]
    added = documents[own : len(documents)]
    assert added["labels"] == [[label] for label in range(task.labels.seen)]
    assert_are_texts(added, task)


def assert_are_texts(added, task):
    for identity, words, lengths, (label,) in zip(
        *(added[column] for column in ("id", "words", "sentence_lengths", "labels")), strict=True
    ):
        assert identity == f"label: {task.labels.names[label]}"
        (sentence,) = task.tokenizer.split([task.labels.texts[label]])
        assert words == task.tokenizer.word_ids(sentence)
        assert lengths == [len(sentence)]


def test_batches_and_counts(modules):
    plain, data = modules
    seen = data.tasks["english"].labels.seen  # fewer than documents
    assert data.training_size() == plain.training_size() + seen
    batches = list(data.training_documents("english"))
    assert sum(len(batch.label_counts) for batch in batches) == data.training_size()
    assert len(data.train_dataloader()) == -(-data.training_size() // data.batch_size)
    hashes = data.document_hashes("english", "train")
    assert hashes.tolist() == plain.document_hashes("english", "train").tolist()
    assert f"training on the texts of {seen:,} labels too" in data.summary()
    assert data.directory_of_shards() == plain.directory_of_shards()


@pytest.mark.parametrize(
    ("share", "few", "texts"),
    [(1.0, 100, 0), (101, 100, 0), (100, 100, 100), (3, 3, 3)],
)
def test_as_many_as_documents_where_these_are_few(share, few, texts):
    data = made(few, train_share=share)
    task, own = data.tasks["english"], data.size("english", "train")
    documents = data.split("train")
    added = documents[own : len(documents)]
    assert len(added["id"]) == min(texts, task.labels.seen)
    assert_are_texts(added, task)
    drawn = [label for (label,) in added["labels"]]
    assert drawn == sorted(set(drawn))
    other = made(few, train_share=share, split_seed=5)
    assert other.training_size() == data.training_size()
    if texts == 3:
        assert other.split("train")[own:]["labels"] != added["labels"]


def test_other_splits_and_the_check_of_a_corpus_know_nothing_of_them(modules):
    plain, data = modules
    for split in ("validation", "test"):
        assert data.split(split)[:] == plain.split(split)[:]
    assert inspect(data, None) == inspect(plain, None)


def test_vectors_of_both_are_told_apart(modules, monkeypatch):
    """Twice the documents without texts are as many as these with texts."""
    marks = []
    monkeypatch.setattr(shard_data_module, "VectorStore", lambda *given: store)
    store = SimpleNamespace(fill=lambda texts, number, device, mark: marks.append(mark))
    monkeypatch.setattr(DocumentDataModule, "subword_tokenizer", lambda self: READS)
    for few, share in ((100, 100), (100, 200)):
        data = made(few, train_share=share)
        assert data.training_size() == 200
        data.keep_text_vectors()
    assert len(marks) == len(set(marks)) + 2  # validation and test documents are the same


def test_a_model_that_is_trained_further_and_keeps_its_labels_gets_none():
    tasks = made(0).tasks
    for known, texts in ((None, tasks["english"].labels.seen), (Known(tasks["english"].labels), 0)):
        data = BioASQ(cache_dir=runs.cache(), label_documents=DOCUMENTS, **SIZES)
        data.encode_for_training(tasks, known and {"english": known})
        data.prepare_data()
        data.setup("fit")
        assert data.training_size() == data.size("english", "train") + texts


def test_words_without_a_vector_are_dropped(tmp_path):
    """A label without any known word is none of the label set."""
    (tmp_path / "english.txt").write_text("\n".join(f"{w} 1.0 {i}.0" for i, w in enumerate("abc")))
    documents = [{"id": i, "text": "a b c", "labels": ["x", "y"]} for i in range(20)]
    labels = [{"name": "x", "description": "a unknown c"}, {"name": "y", "description": "unknown"}]
    for name, rows in (("documents", documents), ("labels", labels)):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    data = Corpus(
        str(tmp_path / "documents.jsonl"),
        tmp_path / "labels.jsonl",
        columns=Columns(),
        word_vectors=tmp_path / "english.txt",
        label_documents=100,
        cache_dir=tmp_path / "cache",
    )
    data.prepare_data()
    data.setup("fit")
    documents = data.split("train")
    assert documents[data.size("english", "train") : len(documents)]["words"] == [[0, 2]]


def test_a_negative_number_is_refused():
    with pytest.raises(InputError, match="label_documents is -1; 0, for none, or more"):
        BioASQ(label_documents=-1)
