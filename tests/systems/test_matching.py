"""Systems with matchers and label residuals, with two hand-made languages."""

import itertools
import math
from functools import partial

import lightning
import numpy as np
import pytest
import torch

from gile_lightning.common.errors import InputError
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.metrics.table import BOTH, UNSEEN
from gile_lightning.network import prior_log_odds
from gile_lightning.network.label_residual import NOT_SEEN, LabelResidual
from gile_lightning.network.matchers import LexicalMatch, NameMention
from gile_lightning.systems import NeuralSystem
from gile_lightning.systems.predictor import Predictor
from gile_lightning.training.samplers import AllLabels
from gile_testing import runs
from gile_testing.two_languages import (
    DOCUMENTS,
    LABELS,
    PARTS,
    TwoLanguages,
    built,
    checkpoint_of,
    ragged,
    run,
    with_labels,
)

# batches that are there already need no workers
pytestmark = pytest.mark.filterwarnings("ignore:.*does not have many workers")

MATCHING = PARTS | {
    "matchers": [partial(LexicalMatch, stemmer="english"), NameMention],
    "label_residual": LabelResidual,
    "optimizer": partial(torch.optim.Adam, lr=0.1),
}
NAMED = {  # names that documents can have
    "english": LabelSet(
        ["liver", "kidney", "rat liver", "mouse", "rats"],
        LABELS["english"].texts,
        LABELS["english"].frequencies,
        synonyms=[["rat"], [], [], [], ["mouse rat"]],
    ),
    "german": LabelSet(
        ["niere", "leber", "ratte", "x"], LABELS["german"].texts, LABELS["german"].frequencies
    ),
}


def data():
    return TwoLanguages(with_labels(NAMED, NAMED))


def trained(**parts):
    model = NeuralSystem(**MATCHING | parts)
    run(model, data(), "fit")
    return model


def weights(model):
    return {key: value.clone() for key, value in model.state_dict().items()}


# --- scores ---


def test_logits_are_sums():
    model = trained()
    for name, batches in DOCUMENTS.items():
        network, texts = model.network(name), model.encoded(name)
        ids = torch.arange(len(NAMED[name]))
        labels, documents = texts.select(ids), ragged(*batches[0]).texts
        with torch.no_grad():
            encoded = network.encode_documents(documents)
            expected = network.output(encoded, network.encode_labels(labels.texts))
            scores = [
                matcher(documents, index)
                for matcher, index in zip(network.matchers, labels.matcher_labels, strict=True)
            ]
            assert all(score.any() for score in scores)
            expected += sum(scores) + network.prior
            for j in range(NAMED[name].seen):
                residuals = network.label_residual
                expected[:, j] += encoded @ residuals.vectors[j] / 5**0.5 + residuals.biases[j]
                for score, weight in zip(scores, residuals.matcher_weights[j], strict=True):
                    expected[:, j] += weight * score[:, j]
            found = model.score(name, documents, model.prepare_labels(name, NAMED[name]))
            torch.testing.assert_close(found, expected)
            torch.testing.assert_close(network(documents, labels), expected)


def test_all_pairs_begin_at_the_log_odds_of_a_random_one():
    labels = LabelSet([*"abcd"], [""] * 4, [6, 3, 1, 0], documents=20)
    assert prior_log_odds(labels) == pytest.approx(math.log(10 / (60 - 10)))
    unknown = LabelSet([*"abcd"], [""] * 4, [6, 1, 1, 0])  # at least 6 documents
    assert prior_log_odds(unknown) == pytest.approx(math.log(8 / (18 - 8)))
    assert prior_log_odds(LabelSet([*"abc"], [""] * 3, [6, 3, 0])) == 0
    assert prior_log_odds(LabelSet([], [], [])) == 0
    model = NeuralSystem(**MATCHING)
    model.build(with_labels(NAMED, NAMED))
    assert float(model.network("german").prior.detach()) == pytest.approx(
        prior_log_odds(NAMED["german"])
    )
    assert built(**PARTS).network("german").prior is None


# --- training ---


@pytest.mark.parametrize("precision", ["32-true", "64-true", "bf16-mixed"])
@pytest.mark.parametrize("sharing", ["none", "both"])
def test_every_part_is_trained_for_each_language_by_itself(precision, sharing):
    parts = MATCHING | {"sharing": sharing, "sampler": AllLabels()}
    parts["label_residual"] = partial(LabelResidual, dropout=0.0)
    model = NeuralSystem(**parts)
    model.build(with_labels(NAMED, NAMED))
    before = weights(model)
    trainer = lightning.Trainer(
        max_epochs=2,
        accelerator="cpu",
        precision=precision,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        use_distributed_sampler=False,
    )
    trainer.fit(model, data())
    trainer.test(model, data(), verbose=False)
    after = weights(model)
    own = {key for key in after if ".matchers." in key or ".label_residual." in key}
    own |= {key for key in after if key.endswith(".prior")}
    assert len(own) == 2 * (3 + 2 + 3 + 1)  # two languages
    for key in own:
        assert torch.equal(after[key], before[key].to(after[key])) == (
            key.endswith(("idf", "rarity"))  # counted when a model is made from data
        ), key
    english, german = (model.network(name) for name in NAMED)
    assert english.label_residual is not german.label_residual
    assert not {id(p) for p in english.matchers.parameters()} & {
        id(p) for p in german.matchers.parameters()
    }


def test_some_residuals_are_left_out_in_training(monkeypatch):
    """The same in a step that is taken again, after what the sampler draws."""
    shown = []
    forward = LabelResidual.forward
    monkeypatch.setattr(
        LabelResidual,
        "forward",
        lambda self, *args: shown.append(args[1].tolist()) or forward(self, *args),
    )
    model = NeuralSystem(**MATCHING, sampler=AllLabels())
    model.build(with_labels(NAMED, NAMED))
    model.log = lambda *args, **kwargs: None
    for step in [*range(40), *range(40)]:
        model.training_step(data().batches[0], step)
    assert shown[:80] == shown[80:]
    english = shown[:80:2]
    some = itertools.chain.from_iterable(itertools.combinations(range(3), n) for n in range(4))
    assert {tuple(ids) for ids in english} == set(some)
    with torch.no_grad():
        model.score(
            "english",
            data().batches[0]["english"].texts,
            model.prepare_labels("english", NAMED["english"]),
        )
    assert shown[-1] == [0, 1, 2]  # all of them when documents are scored


def test_validation_on_unseen_labels():
    """Averaged over languages; the mean of both is that of the seen labels where none is unseen."""
    labels = NAMED | {"german": LabelSet(["niere", "leber"], ["niere", "leber ratte"], [2, 1])}
    given = TwoLanguages(with_labels(labels, labels))
    for batch, (words, ids) in zip(given.batches, DOCUMENTS["german"], strict=True):
        batch["german"] = ragged(words, [[i for i in row if i < 2] for row in ids])
    model = NeuralSystem(**MATCHING)
    logged = run(model, given, "fit")
    found = {}
    for name in labels:
        values = []
        for batch in given.batches:
            with torch.no_grad():
                prepared = model.prepare_labels(name, labels[name])
                values.append(model.score(name, batch[name].texts, prepared).numpy())
        ids = [
            row.tolist()
            for batch in given.batches
            for row in batch[name].label_ids.split(batch[name].label_counts.tolist())
        ]
        targets, seen = runs.positives(ids, list(range(len(labels[name])))), labels[name].seen
        if name == "english":
            few = targets[:, seen:].any(1).sum()
        scores = np.concatenate(values)
        found[name] = [
            runs.ranking_scores(scores[:, part], targets[:, part])["average_precision"]
            for part in (slice(seen), slice(seen, None))
            if targets[:, part].any()
        ]
    assert [len(precisions) for precisions in found.values()] == [2, 1]
    weight = few / 100 / 2  # of unseen labels: a hundred documents would count in full
    (seen, unseen), german = found["english"], found["german"][0]
    expected = {"english": (1 - weight) * seen + weight * unseen, "german": german}
    for name, value in expected.items():
        assert logged[f"val/{name}/{BOTH}"] == pytest.approx(value)
    assert logged[f"val/{BOTH}"] == pytest.approx(np.mean([*expected.values()]))
    english = TwoLanguages(with_labels(["english"], labels))
    logged = run(model := NeuralSystem(**MATCHING), english, "fit")
    assert logged[f"val/{BOTH}"] == pytest.approx(
        (1 - weight) * logged["val/average_precision"] + weight * logged[f"val/{UNSEEN}"]
    )


# --- other label sets ---


def test_start_from_keeps_residuals_by_name():
    checkpoint = checkpoint_of(trained())
    given = {  # kidney and liver are known; mouse was unseen, "new" is new; "rat liver" is gone
        "english": LabelSet(["new", "kidney", "mouse", "liver"], ["rat"] * 4, [7, 5, 3, 1]),
        "german": NAMED["german"],
    }
    model = NeuralSystem(**MATCHING | {"optimizer": PARTS["optimizer"]})
    model.start_from(checkpoint)
    run(model, TwoLanguages(with_labels(given, given)), "fit")
    for key, value in model.state_dict().items():
        stored = checkpoint["state_dict"][key]
        if not key.startswith("networks.english.label_residual."):
            assert torch.equal(value, stored), key
            continue
        assert torch.equal(value[[1, 3]], stored[[1, 0]])
        fresh = torch.tensor([7 / 4, 3 / 4]).log() if key.endswith("biases") else 0 * value[[0, 2]]
        torch.testing.assert_close(value[[0, 2]], fresh)


@pytest.mark.parametrize(
    "parts", [{"label_residual": None}, {"matchers": None}, {"matchers": [NameMention]}], ids=str
)
def test_start_from_a_model_with_other_parts(parts):
    others = MATCHING | parts
    for before, after in ((MATCHING, others), (others, MATCHING)):
        model = NeuralSystem(**after)
        model.start_from(checkpoint_of(built(**before)))
        with pytest.raises(InputError, match="the model is not that of the checkpoint"):
            run(model, TwoLanguages(), "fit")


def test_labels_of_other_sets_keep_their_residuals_by_name():
    """To predict with, and of other corpora."""
    model = trained()
    predictor = Predictor(model, language="english")
    texts = ["rat liver mouse", "kidney", "mouse mouse"]
    everything = predictor.logits(texts)
    own = NAMED["english"]
    order = [3, 1, 4, 0]
    records = [
        {"name": own.names[i], "description": own.texts[i], "synonyms": own.synonyms[i]}
        for i in order
    ]
    more = {"name": "another liver", "description": own.texts[0]}  # as the first, but for its name
    predictor.set_labels([*records, more])
    found = predictor.logits(texts)
    torch.testing.assert_close(found[:, :4], everything[:, order])
    first = LabelSet(["another liver"], [own.texts[0]], [0])
    with torch.no_grad():
        labels = model._encode("english", model.tasks["english"].tokenizer, first)
        assert labels.residual_ids.tolist() == [NOT_SEEN]
    predictor.set_labels(None)
    assert torch.equal(predictor.logits(texts), everything)

    names = ["liver", "kidney", "rat liver", "a", "mouse"]  # seen ones are the model's, first
    other = LabelSet(names, [*own.texts[:3], "mouse", own.texts[3]], [*own.frequencies[:3], 0, 0])
    model.set_tasks({name: with_labels(NAMED, NAMED | {"english": other})[name] for name in NAMED})
    assert model.encoded("english").residual_ids.tolist() == [0, 1, 2, NOT_SEEN, NOT_SEEN]
