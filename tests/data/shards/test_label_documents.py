"""Texts of labels as training documents."""

import pytest

from gile_lightning.data import BioASQ
from gile_testing import runs

DOCUMENTS = 1_500
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
    task, own = data.tasks["english"], data.size("train")
    assert task == plain.tasks["english"]  # so they count for no frequency
    assert own == len(plain.split("train")) == plain.size("train")
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
    hashes = data.document_hashes("english")
    assert hashes.tolist() == plain.document_hashes("english").tolist()
    assert f"training on the texts of {seen:,} labels too" in data.summary()
    assert data.directory_of_shards() == plain.directory_of_shards()


@pytest.mark.parametrize(
    ("share", "few", "texts"),
    [(1.0, 100, 0), (101, 100, 0), (100, 100, 100), (3, 3, 3)],
)
def test_as_many_as_documents_where_these_are_few(share, few, texts):
    data = made(few, train_share=share)
    task, own = data.tasks["english"], data.size("train")
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
