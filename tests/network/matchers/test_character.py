"""Matching by character n-grams, against counts and cosines that are made with dictionaries."""

import copy
import math
from collections import Counter
from functools import partial

import pytest
import torch

from gile_lightning.common.errors import InputError
from gile_lightning.data.loading.ragged import Texts
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.ngrams import ngrams
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.network.matchers import CharacterMatch
from gile_testing.mentions import DOCUMENTS, LABELS, TEXT, encoded, label_set, made, scores

WORDS = [TEXT.words(" ".join(document)) for document in DOCUMENTS]
KNOWN = {gram for word in TEXT.vocabulary[:-1] for gram in ngrams(word, 3, 5)}


def test_ngrams():
    assert list(ngrams("rats", 3, 5)) == [
        *("<ra", "rat", "ats", "ts>"),
        *("<rat", "rats", "ats>"),
        *("<rats", "rats>"),
    ]
    assert list(ngrams("a", 3, 5)) == ["<a>"]
    assert list(ngrams("a", 1, 2)) == ["<", "a", ">", "<a", "a>"]


def bag(words, known_words_only):
    """Count the n-grams of words that some word of the vocabulary has."""
    words = [word for word in words if not known_words_only or word in TEXT.vocabulary[:-1]]
    return Counter(gram for word in words for gram in ngrams(word, 3, 5) if gram in KNOWN)


def idf(gram):
    """Count the documents of every word that has the n-gram, and never more than there are."""
    having = [w for w in TEXT.vocabulary[:-1] if gram in ngrams(w, 3, 5)]
    found = sum(w in words for w in having for words in WORDS)
    return math.log((1 + len(WORDS)) / (1 + min(found, len(WORDS))))


def cosine(document, label, weight):
    vectors = [
        {gram: (1 + math.log(n)) * weight(gram) for gram, n in each.items()}
        for each in (document, label)
    ]
    norms = [math.sqrt(sum(x * x for x in vector.values())) for vector in vectors]
    if not all(norms):
        return 0.0
    first, second = vectors
    return sum(x * second.get(gram, 0.0) for gram, x in first.items()) / math.prod(norms)


def expected_scores(scale, weight=idf, synonyms=True):
    rows = []
    for words in WORDS:
        document, row = bag(words, True), []
        for name, (_, more) in LABELS.items():
            texts = [name, *(more if synonyms else ())]
            label = bag([word for text in texts for word in TEXT.words(text)], False)
            row.append(scale * cosine(document, label, weight))
        rows.append(row)
    return torch.tensor(rows, dtype=torch.float64)


@pytest.mark.parametrize("synonyms", [True, False])
def test_scores(synonyms):
    matcher = made(partial(CharacterMatch, scale=4.0, synonyms=synonyms)).double()
    found = scores(matcher)
    torch.testing.assert_close(found, expected_scores(4.0, synonyms=synonyms), rtol=1e-6, atol=1e-6)
    assert found.count_nonzero() > 12


def test_learned_factors():
    matcher = made(partial(CharacterMatch, scale=4.0)).double()
    torch.manual_seed(1)
    with torch.no_grad():
        matcher.log_factor.normal_()
    ids, factors = matcher.table.ids, matcher.log_factor.exp().tolist()

    def weight(gram):
        return idf(gram) * factors[ids[gram]]

    torch.testing.assert_close(scores(matcher), expected_scores(4.0, weight), rtol=1e-6, atol=1e-6)


def test_related_words_match():
    """Neither label has a word or a stem of a document; nor is any of their words known."""
    matcher = made(CharacterMatch)
    new = LabelSet(["Abdominal surgery", "Hydrography"], ["", ""], [0, 0])
    labels = matcher.prepare_labels(TEXT, new, None).select(torch.arange(2))
    found = matcher(encoded([["Acute abdomen"], ["the rat"]]), labels)
    assert found[0, 0] > 1
    assert found.count_nonzero() == 1


def test_new_words_count_nothing():
    matcher = made(CharacterMatch)
    text = TEXT.extended(["xylophone"])
    labels = matcher.prepare_labels(text, label_set(), None).select(torch.arange(len(LABELS)))
    found = matcher(Texts.from_flat(*text.documents(DOCUMENTS)), labels)
    assert torch.equal(found, scores(matcher))


@pytest.mark.parametrize("document", [0, 1, 3, 4])
def test_each_word_has_the_share_of_its_ngrams(document):
    matcher = made(CharacterMatch).double()
    labels = matcher.prepare_labels(TEXT, label_set(), None).select(torch.arange(len(LABELS)))
    one = encoded([DOCUMENTS[document]])
    found = matcher.by_word(one, labels)
    torch.testing.assert_close(found.sum(0), matcher(one, labels)[0])
    words = WORDS[document]
    for word, row in zip(words, found, strict=True):
        grams = bag([word], True)
        for column, (name, (_, more)) in enumerate(LABELS.items()):
            label = bag([w for text in (name, *more) for w in TEXT.words(text)], False)
            shared = [gram for gram in grams if gram in label]
            assert bool(row[column]) == bool(shared)


def repeated(counts, documents):
    """Return the idf of "ana" and of "<ba", where "banana" and "ban" are all words."""
    matcher = CharacterMatch(Tokenizer(["banana", "ban", "UNK"]))
    matcher.count_words(torch.tensor(counts), documents)
    return [float(matcher.idf[matcher.table.ids[gram]]) for gram in ("ana", "<ba")]


def test_documents_of_ngrams():
    """A word that has it twice counts twice; there are never more documents than there are."""
    assert repeated([2, 1, 9], 9) == pytest.approx([math.log(10 / 5), math.log(10 / 4)])
    assert repeated([2, 2, 9], 3) == [0.0, 0.0]


def test_words_of_a_file_of_word_vectors():
    """Label words that such a tokenizer drops count, and letters in upper case as in lower case."""
    text = Tokenizer(["Acute", "abdomen", "ab\ufffd2", "UNK"], known_words_only=True)
    matcher = CharacterMatch(text)
    matcher.count_words(torch.tensor([1, 1, 0, 0]), 4)
    assert not any("\ufffd" in gram for gram in matcher.table.ids)
    labels = LabelSet(["Abdominal surgery", "acute"], ["", ""], [0, 0])
    prepared = matcher.prepare_labels(text, labels, None).select(torch.arange(2))
    documents = Texts.from_flat(*text.documents(["abdomen", "Acute pain"]))
    found = matcher(documents, prepared).detach()
    assert found[0, 0] > 1
    assert found[1, 1] == pytest.approx(3.0)  # the same words, times the scale
    assert found.count_nonzero() == 2


def test_parts_made_without_memory_leave_nothing_behind():
    """As the check of a configuration makes them, before training does."""
    text = Tokenizer(["stomach", "UNK"])
    with torch.device("meta"):
        CharacterMatch(text)
    matcher = CharacterMatch(text)
    matcher.count_words(torch.tensor([1, 0]), 4)
    labels = matcher.prepare_labels(text, LabelSet(["Stomach"], [""], [0]), None)
    documents = Texts.from_flat(*text.documents(["stomach"]))
    found = matcher(documents, labels.select(torch.arange(1)))
    assert found.tolist() == [[pytest.approx(3.0)]]


def test_copies_share_the_table():
    matcher = CharacterMatch(TEXT)
    assert copy.deepcopy(matcher).table is matcher.table


@pytest.mark.parametrize(("shortest", "longest"), [(0, 3), (4, 3)])
def test_sizes_that_are_none(shortest, longest):
    with pytest.raises(
        InputError, match=f"shortest is {shortest} and longest {longest}; give 1 <= shortest"
    ):
        CharacterMatch(TEXT, shortest=shortest, longest=longest)
