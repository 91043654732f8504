from itertools import chain

import pytest

from gile_lightning.common.errors import InputError
from gile_lightning.data import BioASQ
from gile_lightning.data.document import Document
from gile_lightning.data.shards.original_texts import find_texts, joined
from gile_testing import runs


def document(identity, pieces, labels=("a",)):
    return Document("file:1", identity, pieces, list(labels), "")


def test_texts_in_the_order_that_is_asked_for():
    documents = [
        document("1", ["Title", "", "A text."], ["unknown"]),  # has no label, and was left out
        document("2", ["Second", ["split", "already"]]),
        document("1", ["Title", "Text."]),
        document("2", ["came before"]),
        document("3", [" "]),
    ]
    assert find_texts(documents, ["1", "2", "1"], {"a"}) == [
        "Title Text.",
        "Second split already",
        "Title Text.",
    ]
    with pytest.raises(InputError, match=r"1 documents that were encoded are not .* such as '3'"):
        find_texts(documents, ["1", "3"], {"a"})
    assert joined("as it is") == "as it is"


def test_they_are_those_of_the_encoded_documents():
    corpus = BioASQ(**runs.DATA, cache_dir=runs.cache(), split_year=2005)
    corpus.prepare_data()
    corpus.setup()
    tokenizer, rows = corpus.corpus.task.tokenizer, [5, 0, 17]
    texts = corpus.original_texts("train", rows)
    batches = list(corpus.some_documents("english", "train", rows))
    words = [batch.words.tolist() for batch in batches]
    assert [*chain(*words)] == tokenizer.documents(texts)[0].tolist()
    assert len(texts) == 3
