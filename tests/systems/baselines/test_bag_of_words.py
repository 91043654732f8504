import pytest
import torch
from sklearn.feature_extraction.text import TfidfVectorizer

from gile_lightning.data.loading.ragged import Texts
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.tokenizer import UNKNOWN, Tokenizer
from gile_lightning.data.tokenizing.words import tokenize
from gile_lightning.systems.baselines.bag_of_words import TfIdf, label_counts, word_counts

DOCUMENTS = [
    "The liver, the kidney and the heart.",
    "A trial of the heart",
    "Rats and mice; mice and rats and mice.",
    "nothing known",
]
VOCABULARY = ["the", "and", "heart", "mice", "rats", "liver", ".", "never"]
TEXT = Tokenizer([*VOCABULARY, UNKNOWN])


def encoded(texts=DOCUMENTS):
    return Texts.from_flat(*TEXT.documents(texts))


def test_words_are_counted_but_for_unknown_ones():
    # two sentences, no sentence, one sentence
    texts = Texts(
        torch.tensor([0, 2, 0, 3, 1, 1], dtype=torch.int32),
        torch.tensor([3, 1, 2]),
        torch.tensor([2, 0, 1]),
    )
    counts = word_counts(texts, 3)  # word 3 is the unknown one
    assert counts.toarray().tolist() == [[2, 0, 1], [0, 0, 0], [0, 2, 0]]


def test_label_texts_and_names():
    labels = LabelSet(["mice", "heart liver"], ["mice and rats and", "the heart"], [1, 0])
    assert label_counts(TEXT, labels).toarray().tolist() == [
        [0, 2, 0, 1, 1, 0, 0, 0],
        [1, 0, 1, 0, 0, 0, 0, 0],
    ]
    assert label_counts(TEXT, labels, name_weight=2).toarray().tolist() == [
        [0, 2, 0, 3, 1, 0, 0, 0],
        [1, 0, 3, 0, 0, 2, 0, 0],
    ]


@pytest.mark.parametrize("sublinear", [True, False])
def test_tfidf_is_that_of_scikit_learn_less_one(sublinear):
    oracle = TfidfVectorizer(analyzer=tokenize, vocabulary=VOCABULARY, sublinear_tf=sublinear)
    oracle.fit(DOCUMENTS)
    oracle.idf_ -= 1
    expected = oracle.transform(DOCUMENTS).toarray()
    tfidf = TfIdf(len(VOCABULARY), sublinear)
    counts = word_counts(encoded(), len(VOCABULARY))
    tfidf.fit([counts[:1], counts[1:]])
    assert tfidf(counts).toarray() == pytest.approx(expected, abs=1e-6)
    others = ["never mice", "the the liver"]
    found = tfidf(word_counts(encoded(others), len(VOCABULARY))).toarray()
    assert found == pytest.approx(oracle.transform(others).toarray(), abs=1e-6)
