from dataclasses import replace

import pytest
import torch

from gile_lightning.data.loading.ragged import RaggedBatch
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.data.tokenizing.tokenizer import UNKNOWN, Tokenizer
from gile_lightning.tracking.examples import Confusion, Gold, Predicted, TestSample, confused

WORDS = ["the", "liver", "is", "sick", UNKNOWN]
LABELS = LabelSet(list("ABCDEF"), list("abcdef"), [9, 7, 5, 1, 0, 0])  # E and F are unseen
LANGUAGES = {"english": Task(Tokenizer(WORDS), LABELS)}


def batch(documents, labels):
    """Documents as lists of word ids, each a sentence, and their labels by name."""
    ids = [[LABELS.ids[name] for name in names] for names in labels]
    lengths = torch.tensor([len(words) for words in documents])
    return RaggedBatch(
        torch.tensor([word for words in documents for word in words]),
        lengths,
        torch.ones_like(lengths),
        torch.tensor([label for row in ids for label in row], dtype=torch.long),
        torch.tensor([len(row) for row in ids]),
    )


def ranking(*names):
    """Scores that rank the labels in this order, the best with a logit of 6, 5, ..."""
    scores = torch.empty(len(names[0]))
    rows = [scores.clone() for _ in names]
    for row, order in zip(rows, names, strict=True):
        for place, name in enumerate(order):
            row[LABELS.ids[name]] = 6.0 - place
    return torch.stack(rows)


def test_pairs_of_a_missed_label_and_a_wrong_one():
    best = torch.tensor([[0, 1, 2], [3, 4, 0], [1, 2, 3], [2, 0, 1], [4, 3, 2]])
    labels = [[0], [0, 1, 2], [1, 2], [], [2]]
    flat = torch.tensor([label for row in labels for label in row])
    counts = torch.tensor([len(row) for row in labels])
    pairs = confused(best, flat, counts)
    # document 0 has its label; 1 has 0, misses 1 and 2, and is given 3 and 4 instead; 2 has both;
    # 3 has no label; 4 misses 2, whose place is taken by 4
    assert pairs.tolist() == [[1, 1, 2, 2, 2], [3, 4, 3, 4, 4]]


def sample():
    found = TestSample(documents=3, words=3)
    documents = [[0, 1, 2, 3], [4, 1], [3]]
    found.update(
        "english",
        ranking("BACDEF", "FCABDE"),
        batch(documents[:2], [["A", "B"], ["A", "E"]]),
    )
    more = batch([*documents[2:], [0]], [["A", "C"], ["A"]])  # of which one has no room
    found.update("english", ranking("CBADEF", "ABCDEF"), more)
    found.update("english", ranking("ABCDEF"), batch([[0]], [["B"]]))
    return found


def test_examples():
    first, second, third = sample().examples(LANGUAGES)
    assert [e.text for e in (first, second, third)] == ["the liver is …", "UNK liver", "sick"]
    assert first.gold == [Gold("A", False, True), Gold("B", False, True)]
    assert second.gold == [Gold("A", False, True), Gold("E", True, False)]
    assert [p.name for p in second.predicted] == list("FCABD")
    assert [p.unseen for p in second.predicted] == [True, False, False, False, False]
    assert [p.hit for p in second.predicted] == [False, False, True, False, False]
    logits = (6.0, 5.0, 4.0, 3.0, 2.0)
    probabilities = [1 / (1 + torch.e**-x) for x in logits]
    assert [p.score for p in second.predicted] == pytest.approx(probabilities)
    assert first.predicted[0] == Predicted("B", pytest.approx(probabilities[0]), False, True)


def test_words_that_only_new_labels_brought():
    """As after ``fit --start_from`` with new labels: their ids are beyond the vocabulary."""
    task = LANGUAGES["english"]
    tokenizer = replace(task.tokenizer, further=("mozzarella",))
    found = TestSample()
    found.update("english", ranking("ABCDEF"), batch([[len(tokenizer.vocabulary), 0]], [["A"]]))
    (example,) = found.examples({"english": replace(task, tokenizer=tokenizer)})
    assert example.text == f"mozzarella {tokenizer.vocabulary[0]}"


def test_examples_are_from_all_over_the_sample():
    assert [e.text for e in sample().examples(LANGUAGES, 1)] == ["the liver is …"]
    assert [e.text for e in sample().examples(LANGUAGES, 2)] == ["the liver is …", "UNK liver"]
    large = TestSample()
    for i in range(10):
        large.update("english", ranking("ABCDEF"), batch([[i % 5] * (i + 1)], [["A"]]))
    assert [len(e.text.split()) for e in large.examples(LANGUAGES, 3)] == [1, 4, 7]


def test_confusions():
    # of three documents with A, the second is given F and C for A and E, the third B for A
    assert sample().confusions(LANGUAGES) == [
        Confusion("english", "E", "C", 1, 1),
        Confusion("english", "E", "F", 1, 1),
        Confusion("english", "A", "B", 1, 3),
        Confusion("english", "A", "C", 1, 3),
        Confusion("english", "A", "F", 1, 3),
    ]
    assert sample().confusions(LANGUAGES)[2].share == pytest.approx(1 / 3)
    assert len(sample().confusions(LANGUAGES, 2)) == 2


def test_a_model_that_scores_seen_labels_alone():
    found = TestSample()
    scores = ranking("DCBAEF")[:, : LABELS.seen]
    found.update("english", scores, batch([[0]], [["A", "E", "F"]]))
    (example,) = found.examples(LANGUAGES)
    assert [p.name for p in example.predicted] == list("DCBA")
    assert example.gold == [Gold("A", False, True), Gold("E", True, False), Gold("F", True, False)]
    # unseen labels cannot be confused with anything, so A alone counts: D is in its place
    assert found.confusions(LANGUAGES) == [Confusion("english", "A", "D", 1, 1)]


def test_several_languages_share_the_examples():
    languages = {"english": LANGUAGES["english"], "german": LANGUAGES["english"]}
    found = TestSample()
    for name in ("english", "german", "german"):  # the most frequent confusion comes first
        found.update(name, ranking("BACDEF"), batch([[0]], [["A"]]))
    assert [e.language for e in found.examples(languages, 2)] == ["english", "german"]
    assert [e.language for e in found.examples(languages)] == ["english", "german", "german"]
    counts = [(c.language, c.count) for c in found.confusions(languages)]
    assert counts == [("german", 2), ("english", 1)]


def test_nothing_scored():
    found = TestSample()
    assert found.examples(LANGUAGES) == found.confusions(LANGUAGES) == []
    found.update("english", torch.empty(0, 6), batch([], []))
    assert found.examples(LANGUAGES) == found.confusions(LANGUAGES) == []
    found.update("english", torch.empty(1, 0), batch([[0]], [["E"]]))  # a model without a label
    assert [e.predicted for e in found.examples(LANGUAGES)] == [[]]
    assert found.confusions(LANGUAGES) == []


def test_documents_to_explain():
    """The first whose best label is right, and those whose best is wrong with their best gold."""
    found = TestSample(explain=lambda one: (one.text.words.tolist(), *one[2:]))
    documents = [[0], [1, 2], [3], [], [2], [1]]
    labels = [["B", "A"], ["C", "E", "B"], ["A"], ["C"], [], ["D"]]
    rankings = ["BACDEF", "FBCADE", "ABCDEF", "ABCDEF", "ABCDEF", "DABCEF"]
    found.update("english", ranking(*rankings), batch(documents, labels))
    seen = ranking("ABCDEF")[:, : LABELS.seen]  # all that is scored, as by a linear layer
    found.update("english", seen, batch([[0]], [["E"]]))
    found.update("english", ranking("CABDEF", "CABDEF"), batch([[0], [2]], [["C"], ["B"]]))
    right, wrong = found.explanations[True], found.explanations[False]
    assert right == [([0], 1, [], [1, 0]), ([3], 0, [], [0]), ([1], 3, [], [3])]
    assert wrong == [([1, 2], 5, [1], [2, 4, 1]), ([], 0, [2], [2]), ([0], 0, [], [4])]
