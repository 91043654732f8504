"""Names in documents, against a search through lists of words."""

import math
from functools import partial

import pytest
import torch

from gile_lightning.common.errors import InputError
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.network.matchers import NameMention
from gile_lightning.network.matchers.mention import FEATURES, WORDS
from gile_lightning.network.matchers.stems import stem_ids
from gile_testing.mentions import DOCUMENTS, LABELS, PARENTS, TEXT, encoded, label_set, made, scores

STEMS = dict(zip(TEXT.vocabulary, stem_ids(TEXT.vocabulary, "english").tolist(), strict=True))


def stems(text, stemmer):
    """The words of a text as what they are compared by; None for an unknown one."""
    plain = {word: word for word in TEXT.vocabulary}
    return [(STEMS if stemmer else plain).get(word) for word in TEXT.words(text)]


def occurrences(sentences, labels, stemmer, max_words):
    """All places of all phrases: (label, sentence, start, words)."""
    for label, synonyms in zip(labels.names, labels.synonyms, strict=True):
        # two that are the same word by word are one
        for phrase in {tuple(stems(text, stemmer)) for text in (label, *synonyms)}:
            n = len(phrase)
            if not 0 < n <= max_words or None in phrase:
                continue
            for s, sentence in enumerate(sentences):
                for i in range(len(sentence) - n + 1):
                    if tuple(sentence[i : i + n]) == phrase:
                        yield label, s, i, n


def frequency(stem, stemmer):
    """In how many documents a word is: the words of a stem one by one."""
    counts = [
        sum(word in {w for piece in document for w in TEXT.words(piece)} for document in DOCUMENTS)
        for word in TEXT.vocabulary
        if stems(word, stemmer)[0] == stem
    ]
    return min(len(DOCUMENTS), sum(counts))


def search(document, labels, stemmer=None, max_words=8):
    """Return the features of every label that is mentioned."""
    sentences = [stems(piece, stemmer) for piece in document]
    found = list(occurrences(sentences, labels, stemmer, max_words))

    def inside(one):
        _, s, i, n = one
        return any(t == s and j <= i and i + n <= j + m and m > n for _, t, j, m in found)

    def rarity(one):
        _, s, i, n = one
        words = sentences[s][i : i + n]
        share = [(1 + frequency(word, stemmer)) / (1 + len(DOCUMENTS)) for word in words]
        return math.log(1 / min(share))

    total = sum(map(len, sentences))

    def place(one):
        return (sum(map(len, sentences[: one[1]])) + one[2]) / total

    features = {}
    for label in labels.names:
        own = [one for one in found if one[0] == label]
        if own:
            features[label] = [
                1.0,
                math.log(len(own)),
                float(any(s == 0 for _, s, _, _ in own)),
                max(n for *_, n in own) - 1.0,
                float(all(map(inside, own))),
                max(map(rarity, own)),
                min(map(place, own)),
                max(map(place, own)),
                math.log(total / WORDS),
            ]
    return features


@pytest.mark.parametrize("stemmer", [None, "english"])
@pytest.mark.parametrize("max_words", [8, 1, 2])
@pytest.mark.parametrize("ids", [range(7), [5, 3], [0]], ids=["all", "two", "one"])
def test_features(stemmer, max_words, ids):
    matcher = made(partial(NameMention, stemmer=stemmer, max_words=max_words))
    labels, names = label_set(), list(LABELS)
    chosen = matcher.prepare_labels(TEXT, labels, None).select(torch.tensor([*ids]))
    rows, columns, features = matcher.features(encoded(), chosen)
    found = {
        (row, names[ids[column]]): feature
        for row, column, feature in zip(
            rows.tolist(), columns.tolist(), features.tolist(), strict=True
        )
    }
    expected = {
        (row, label): values
        for row, document in enumerate(DOCUMENTS)
        for label, values in search(document, labels, stemmer, max_words).items()
        if label in [names[i] for i in ids]
    }
    assert found.keys() == expected.keys()
    for pair, values in expected.items():
        assert found[pair] == pytest.approx(values, rel=1e-5, abs=1e-6), pair


@pytest.mark.parametrize("ids", [range(7), [5, 3, 2]], ids=["all", "three"])
def test_features_of_the_taxonomy(ids):
    labels, names = label_set(), list(LABELS)
    matcher = made(partial(NameMention, taxonomy=True))
    assert len(matcher.weight) == FEATURES + 5
    chosen = matcher.prepare_labels(TEXT, labels, None).select(torch.tensor([*ids]))
    rows, columns, features = matcher.features(encoded(), chosen)
    assert torch.equal(features[:, :FEATURES], made(NameMention).features(encoded(), chosen)[2])
    for row, column, (own, share, *relatives) in zip(
        rows.tolist(), columns.tolist(), features[:, FEATURES:].tolist(), strict=True
    ):
        name = names[ids[column]]
        sentences = [stems(piece, None) for piece in DOCUMENTS[row]]
        found = {}  # phrases by label, of all labels
        for label, s, i, n in occurrences(sentences, labels, None, 8):
            found.setdefault(label, set()).add(tuple(sentences[s][i : i + n]))
        assert own == (tuple(stems(name, None)) in found[name])
        having = [sum(phrase in other for other in found.values()) for phrase in found[name]]
        assert share == pytest.approx(1 / min(having))
        above = [parent in found for parent in PARENTS.get(name, [])]
        below = [name in PARENTS.get(other, []) for other in found]
        beside = [
            parent in PARENTS.get(other, [])
            for parent in PARENTS.get(name, [])
            for other in found
            if other != name
        ]
        expected = [math.log(1 + sum(some)) for some in (above, below, beside)]
        assert relatives == pytest.approx(expected, abs=1e-6), name


def test_phrases_have_a_word_at_least():
    with pytest.raises(InputError, match="must be above 0: max_words is 0"):
        NameMention(TEXT, max_words=0)
    with pytest.raises(InputError, match="hidden is -1"):
        NameMention(TEXT, hidden=-1)


def test_the_search_itself():
    """Of the oracle: what a reader finds in the documents."""
    found = [search(document, label_set()) for document in DOCUMENTS]
    abdomen = found[0]["Abdomen"]
    assert abdomen[1:5] == [math.log(3), 1.0, 0.0, 0.0]  # once not in "acute abdomen"
    assert found[0]["Acute abdomen"][1:5] == [math.log(2), 1.0, 1.0, 0.0]
    assert found[1]["Liver"][2] == 1.0
    assert {"Muridae", "Rats"} == set(found[3])  # both have the phrase "rat"
    assert "Acute abdomen" not in found[4]  # in two sentences
    assert found[4]["Abdomen"][1:5] == [0.0, 0.0, 0.0, 0.0]
    assert not found[2]


def test_a_word_that_is_always_inside_a_longer_phrase():
    found = search(["acute abdomen, acute abdomen"], label_set())
    assert found["Abdomen"][4] == 1.0
    matcher = made(NameMention)
    # without the label of the longer phrase
    chosen = matcher.prepare_labels(TEXT, label_set(), None).select(torch.tensor([0]))
    features = matcher.features(encoded([["acute abdomen, acute abdomen"]]), chosen)[2]
    assert features[0].tolist() == pytest.approx(found["Abdomen"], rel=1e-5)


@pytest.mark.parametrize("hidden", [0, 3])
@pytest.mark.parametrize("learned", [False, True])
def test_weights_of_the_features(learned, hidden):
    """Before training, a mention counts 1."""
    torch.manual_seed(2)
    matcher = made(partial(NameMention, hidden=hidden))
    weight = torch.eye(FEATURES)[0] / 10
    if learned:
        weight = torch.randn(FEATURES)
        matcher.weight.data.copy_(weight)
        for parameter in (matcher.inner, matcher.outer) if hidden else ():
            parameter.data.normal_()
    expected = torch.zeros(len(DOCUMENTS), len(LABELS))
    for row, document in enumerate(DOCUMENTS):
        for name, values in search(document, label_set()).items():
            score = 10 * torch.tensor(values) @ weight
            if learned and hidden:
                score += (matcher.inner @ torch.tensor(values)).clamp(min=0) @ matcher.outer
            expected[row, list(LABELS).index(name)] = score
    torch.testing.assert_close(scores(matcher).detach(), expected.detach(), rtol=1e-5, atol=1e-4)


def test_many_random_phrases():
    torch.manual_seed(4)
    words = [*"abcd"]
    text = Tokenizer([*words, "UNK"])

    def draw(most):
        ids = torch.randint(0, 4, (int(torch.randint(1, most + 1, ())),))
        return " ".join(words[i] for i in ids)

    synonyms = [[draw(4) for _ in range(3)] for _ in range(20)]
    labels = LabelSet([f"label {i}" for i in range(20)], [""] * 20, [1] * 20, synonyms=synonyms)
    documents = [[draw(12) for _ in range(3)] for _ in range(8)]
    matcher = NameMention(text)
    chosen = matcher.prepare_labels(text, labels, None).select(torch.arange(20))
    batch = encoded([]).from_flat(*text.documents(documents))
    rows, columns, features = matcher.features(batch, chosen)
    counts = {
        (row, column): round(math.exp(values[1]))
        for row, column, values in zip(
            rows.tolist(), columns.tolist(), features.tolist(), strict=True
        )
    }
    expected = {}
    for row, document in enumerate(documents):
        for column, phrases in enumerate(synonyms):
            places = [
                f" {sentence} "[start:].startswith(f" {phrase} ")
                for phrase in set(phrases)
                for sentence in document
                for start in range(len(sentence) + 1)
            ]
            if any(places):
                expected[row, column] = sum(places)
    assert counts == expected
