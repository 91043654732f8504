"""Words that are new to the vocabulary, in labels and documents."""

import math

import pytest
import torch

from gile_lightning.data.loading.ragged import Texts
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.network.matchers import LexicalMatch, NameMention

KNOWN = Task(Tokenizer(["a", "b", "UNK"]), LabelSet(["a"], ["a"], [1]))
NEW = LabelSet(["zorb", "a flump"], ["zorb", "zorb"], [0, 0], synonyms=[[], ["quux"]])
DOCUMENTS = ["zorb a", "b a flump. quux", "a other"]  # no label has the last word
COUNTS = torch.tensor([3, 1, 2]), 4


def scored(matcher, method="forward"):
    text = KNOWN.with_labels(NEW).tokenizer
    matcher.count_words(*COUNTS)
    documents = Texts.from_flat(*text.documents(DOCUMENTS))
    labels = matcher.prepare_labels(text, NEW, None)
    with torch.no_grad():
        return getattr(matcher, method)(documents, labels.select(torch.arange(2)))


@pytest.mark.parametrize("stemmer", [None, "english"])
def test_names_of_new_words_are_found(stemmer):
    assert scored(NameMention(KNOWN.tokenizer, stemmer)).tolist() == [[1, 0], [0, 1], [0, 0]]
    rows, labels, features = scored(NameMention(KNOWN.tokenizer, stemmer), "features")
    assert rows.tolist() == [0, 1]
    assert labels.tolist() == [0, 1]
    assert features[:, 1].exp().tolist() == pytest.approx([1, 2])  # how often
    # as rare as the rarest word of the vocabulary, which one of four documents has
    assert features[:, 5].tolist() == pytest.approx([math.log(5 / 2)] * 2)


def test_new_words_weigh_as_much_as_the_rarest():
    new = math.log(5 / 2)
    a = math.log(5 / 4)
    second = math.hypot(a, new, new, new)  # a, flump, zorb, quux; as long is b, a, flump, quux
    expected = [
        [new / math.hypot(new, a), (new**2 + a**2) / math.hypot(new, a) / second],
        [0, (a**2 + 2 * new**2) / second**2],
        [0, a / second],
    ]
    found = scored(LexicalMatch(KNOWN.tokenizer)) / 10
    assert found.tolist() == [pytest.approx(row) for row in expected]
