"""Contributions add up to the model's own score; words and names add up to the contributions."""

from functools import partial

import pytest
import torch
from sklearn.feature_extraction.text import TfidfVectorizer
from torch import nn

from gile_lightning.common.errors import InputError
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.network import LabelResidual, Ridge
from gile_lightning.network.encoders import HAN, HNN, WAN, Concatenation, IdfMean, SumPooling
from gile_lightning.network.encoders.layers import BiGRU, Dense
from gile_lightning.network.matchers import (
    CharacterMatch,
    LexicalMatch,
    LexicalPassage,
    Mention,
    NameMention,
)
from gile_lightning.network.outputs import GILE, Bilinear, Linear, MatchersOnly
from gile_lightning.systems import NeuralSystem
from gile_lightning.systems.baselines import Popularity
from gile_lightning.systems.predictor import Predictor
from gile_testing.mentions import DOCUMENTS, LABELS, TEXT, encoded, label_set, made, scores

SEEN = 5
MATCHERS = [partial(LexicalMatch, stemmer="english"), partial(NameMention, hidden=4), LexicalMatch]
RESIDUAL = {"matchers": MATCHERS, "label_residual": LabelResidual}
IDF = partial(IdfMean, sublinear_tf=True)
MODELS = {
    "GILE with all parts": {**RESIDUAL, "ridge": Ridge},
    "GILE alone": {},
    "bilinear": {"output": Bilinear, "matchers": MATCHERS},
    "linear": {"output": Linear, **RESIDUAL},
    "matchers alone": {"output": MatchersOnly, **RESIDUAL},
    "best_scratch": {
        **{"encoder": IDF, "label_encoder": IDF, "output": partial(GILE, joint_dim=9)},
        **{**RESIDUAL, "ridge": partial(Ridge, word_features=16, ngram_features=16)},
        "matchers": [*MATCHERS[:2], partial(LexicalPassage, stemmer="english"), CharacterMatch],
    },
}
PARTS = {
    "GILE with all parts": {"joint space", "words", "names", "words 2", "regression"},
    "linear": {"linear layer", "words", "names", "words 2"},
    "bilinear": {"bilinear form", "words", "names", "words 2", "prior"},
    "GILE alone": {"joint space"},
}
PIECES = DOCUMENTS[0]


def labels():
    own = label_set()
    return LabelSet(
        own.names, own.texts, [9, 5, 3, 2, 1, 0, 0], documents=20, synonyms=own.synonyms
    )


def predictor(**parts):
    """Return a model with random weights."""
    model = NeuralSystem(**parts)
    torch.manual_seed(5)
    model.build({"english": Task(TEXT, labels())})
    with torch.no_grad():
        for values in model.networks.state_dict().values():
            values.copy_(torch.rand_like(values) - 0.3)
    return Predictor(model)


@pytest.mark.parametrize("name", MODELS)
def test_contributions_add_up_to_the_models_own_score(name):
    model = predictor(**MODELS[name])
    found = model.explain(PIECES, labels=model.label_names, top_k=2)
    (logits,) = model.logits([PIECES])
    best = [model.label_names[i] for i in logits.argsort(descending=True)[:2].tolist()]
    own = dict(zip(model.label_names, logits.tolist(), strict=True))
    assert [label.name for label in found.labels[:2]] == best
    assert [label.predicted for label in found.labels] == [True] * 2 + [False] * (len(own) - 2)
    assert {label.name: label.logit for label in found.labels} == pytest.approx(own, abs=1e-5)
    for label in found.labels:
        assert sum(label.contributions.values()) == pytest.approx(own[label.name], abs=1e-4)
        assert label.unseen == (labels().ids[label.name] >= SEEN)
        for part, values in label.words.items():
            assert sum(values) == pytest.approx(label.contributions[part], abs=1e-4)
        if label.unseen:
            assert not any(label.contributions.get(x) for x in ("label residual", "regression"))
    if name in PARTS:
        always = (
            {"label residual", "label bias", "prior"} if "label_residual" in MODELS[name] else set()
        )
        assert found.labels[0].contributions.keys() == PARTS[name] | always


def test_a_sentence_is_left_out():
    """The model scores the rest of the text alone. The second piece has two sentences."""
    model = predictor(**MODELS["GILE with all parts"])
    title, first, second = (
        PIECES[0],
        "The acute abdomen of mice and rats.",
        "An abdomen, and livers.",
    )
    assert [title, f"{first} {second}"] == PIECES
    texts = [PIECES, [f"{first} {second}"], [title, second], [title, first]]
    whole, *others = model.logits(texts)
    found = model.explain(PIECES, labels=model.label_names, top_k=0)
    for i, label in enumerate(found.labels):
        for effects, other in zip(label.sentences, others, strict=True):
            assert effects["logit"] == pytest.approx(float(whole[i] - other[i]), abs=1e-4)
            parts = sum(value for part, value in effects.items() if part != "logit")
            assert parts == pytest.approx(effects["logit"], abs=1e-4)


def test_words_of_the_lexical_matcher_are_products_of_tf_idf():
    """Two documents of which one has only unknown words; occurrences share what a word adds."""
    vectorizer = TfidfVectorizer(
        analyzer=str.split, lowercase=False, sublinear_tf=True, vocabulary=list(TEXT.vocabulary)
    )

    def known(text):
        return " ".join(word for word in TEXT.words(text) if word in TEXT.vocabulary)

    documents = [known(" ".join(document)) for document in DOCUMENTS]
    vectorizer.fit(documents)
    vectorizer.idf_ = vectorizer.idf_ - 1
    texts = [known(" ".join((name, text, *more))) for name, (text, more) in LABELS.items()]
    matcher = made(LexicalMatch)
    prepared = matcher.prepare_labels(TEXT, label_set(), None)
    chosen = torch.tensor([2, 0, 4])
    found = matcher.by_word(encoded(), prepared.select(chosen)).detach()
    words = encoded().words
    rows = torch.tensor([i for i, d in enumerate(DOCUMENTS) for p in d for _ in TEXT.words(p)])
    of_labels = vectorizer.transform(texts).toarray()[chosen]
    for row, vector in enumerate(vectorizer.transform(documents).toarray()):
        for column, label in enumerate(of_labels):
            for word in range(len(vector)):
                here = found[(rows == row) & (words == word), column]
                assert len(set(here.tolist())) <= 1
                expected = 10 * vector[word] * label[word]
                assert here.sum().item() == pytest.approx(expected, abs=1e-5)


def test_words_that_are_new_to_the_vocabulary():
    model = predictor(matchers=MATCHERS)
    new = {"Xylophone": "The xylophone and the liver", "Rats": "Rats."}
    model.set_labels(new)
    text = "Xylophone of a rat. The liver"
    found = model.explain(text)
    (logits,) = model.logits([text])
    assert [label.unseen for label in found.labels] == [
        label.name == "Xylophone" for label in found.labels
    ]
    for label in found.labels:
        assert sum(label.contributions.values()) == pytest.approx(label.logit, abs=1e-4)
        assert label.logit == pytest.approx(logits[list(new).index(label.name)].item(), abs=1e-5)
    (named,) = (label for label in found.labels if label.name == "Xylophone")
    assert [(phrase.text, phrase.first, phrase.last) for phrase in named.phrases] == [
        ("Xylophone", 0, 0)
    ]
    assert sum(named.words["words"]) == pytest.approx(named.contributions["words"], abs=1e-4)


def test_mentions():
    """Of the second and the first label in "Acute abdomen" and "The acute abdomen of mice ..."."""
    matcher = made(NameMention)
    select = matcher.prepare_labels(TEXT, label_set(), None).select
    documents = encoded([*DOCUMENTS[2:3], *DOCUMENTS[:1]])
    found = matcher.mentions(documents, select(torch.tensor([1, 0])))
    assert found == [
        Mention(0, 0, 2, inside=False),
        Mention(1, 1, 1, inside=True),
        Mention(0, 3, 2, inside=False),
        Mention(1, 4, 1, inside=True),
        Mention(1, 11, 1, inside=False),  # . An abdomen
    ]
    with torch.no_grad():
        matcher.weight.copy_(torch.rand(len(matcher.weight)))
        by_word = matcher.by_word(encoded(), select(torch.arange(len(LABELS))))
    lengths = [sum(len(TEXT.words(piece)) for piece in document) for document in DOCUMENTS]
    sums = torch.stack([part.sum(0) for part in by_word.split(lengths)])
    assert torch.allclose(sums, scores(matcher).detach(), atol=1e-6)
    assert by_word[:2, 1].tolist() == pytest.approx([scores(matcher)[0, 1].item() / 4] * 2)


LAYER = partial(Dense, dim=3)
ENCODERS = {
    "WAN": partial(WAN, layer=partial(BiGRU, dim=3)),
    "WAN with sums": partial(WAN, layer=LAYER, pooling=SumPooling),
    "HAN": partial(HAN, layer=LAYER),
    "HNN": partial(HNN, layer=LAYER),
    "several": partial(Concatenation, encoders=[IdfMean, partial(WAN, layer=LAYER)]),
}


def test_attention_weights_make_the_document_vector():
    torch.manual_seed(2)
    table, texts = torch.randn(len(TEXT.vocabulary), 4), encoded(DOCUMENTS[:1])
    assert ENCODERS["WAN with sums"](4).attention(table, texts) is None  # nothing attends
    wan = ENCODERS["WAN"](4)
    states = wan.layer(table[texts.words.long()], torch.tensor([len(texts.words)]))
    weights = wan.attention(table, texts)
    assert weights.sentences is None
    assert torch.allclose((weights.words[:, None] * states).sum(0), wan(table, texts)[0])
    han = ENCODERS["HAN"](4)
    weights = han.attention(table, texts)
    words = weights.words[:, None] * han.word_layer(table[texts.words.long()], None)
    sentences = torch.stack([part.sum(0) for part in words.split(texts.sentence_lengths.tolist())])
    states = han.sentence_layer(sentences, None)
    assert torch.allclose((weights.sentences[:, None] * states).sum(0), han(table, texts)[0])
    assert ENCODERS["HNN"](4).attention(table, texts) is None


def test_attention_of_an_explanation():
    """Sentences of the text share the weight of the piece that the encoder reads them in."""
    found = predictor(encoder=ENCODERS["HAN"]).explain(PIECES)
    title, first, second = found.sentence_attention
    assert title + first + second == pytest.approx(1)
    assert min(title, first, second) > 0
    assert sum(found.word_attention) == pytest.approx(2)  # within each of two pieces
    assert sum(found.word_attention[:2]) == pytest.approx(1)
    found = predictor(norm=nn.Identity).explain([*PIECES, ""])
    assert sum(found.word_attention) == pytest.approx(1)
    assert sum(found.sentence_attention) == pytest.approx(1)
    assert sum(found.word_attention[:2]) == pytest.approx(found.sentence_attention[0])


def test_a_system_without_parts_says_so():
    model = Popularity()
    model.build({"english": Task(TEXT, labels())})
    found = Predictor(model).explain("Liver disease. The rats.", top_k=1)
    assert found.note == "Popularity has no parts to tell apart."
    (label,) = found.labels
    assert label.contributions == {} == label.words
    assert label.sentences == [{"logit": 0.0}] * 2


def test_what_cannot_be_explained():
    model = predictor()
    with pytest.raises(InputError, match="no label 'Livr'; did you mean 'Liver'"):
        model.explain("liver", labels=["Livr"])
    assert model.explain("").labels == []
    (label,) = model.explain("", labels="Rats").labels
    assert label.name == "Rats"
    assert label.sentences == []
