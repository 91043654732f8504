"""The LightningModule, with one corpus and with two hand-made languages."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from sklearn.metrics import f1_score
from torch import nn

from gile_lightning.common.errors import InputError
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.metrics.table import POPULARITY
from gile_lightning.network.encoders import HAN, PPMI, WAN, Dense, IdfMean, Mean, WordEmbedding
from gile_lightning.network.label_residual import LabelResidual
from gile_lightning.network.outputs import GILE, Linear, MatchersOnly
from gile_lightning.systems import system as base
from gile_lightning.systems.neural import STATE, NeuralSystem
from gile_lightning.systems.predictor import Predictor
from gile_lightning.training.losses import SoftmaxCrossEntropy
from gile_lightning.training.optimizers import LazyAdam
from gile_lightning.training.samplers import AllLabels
from gile_testing import runs
from gile_testing.two_languages import (
    DOCUMENTS,
    LABELS,
    MORE,
    PARTS,
    WORDS,
    TwoLanguages,
    built,
    checkpoint_of,
    languages,
    ragged,
    run,
    with_labels,
)

# batches that are there already need no workers
pytestmark = pytest.mark.filterwarnings("ignore:.*does not have many workers")


def logits(model, name, words):
    """Score each document on its own against the label texts, each on its own."""
    network, task = model.network(name), model.tasks[name]
    with torch.no_grad():
        embed = network.embedding.weight
        labels = [
            network.label_norm(embed[task.tokenizer.word_ids(task.tokenizer.words(text))].mean(0))
            for text in task.labels.texts
        ]
        rows = []
        for document in words:
            states = network.encoder.layer.linear(embed[document]).relu()
            pooling = network.encoder.pooling
            attention = pooling.score(pooling.hidden(states).relu()).softmax(0)
            vector = network.document_norm((attention * states).sum(0))
            output = network.output
            joint = [
                output.document_projection(vector).relu() * output.label_projection(label).relu()
                for label in labels
            ]
            rows.append([float(output.unit(e)) for e in joint])
    return torch.tensor(rows)


def of_all_batches(model, name):
    words = [w for batch, _ in DOCUMENTS[name] for w in batch]
    labels = [ids for _, batch in DOCUMENTS[name] for ids in batch]
    count = len(LABELS[name])
    return logits(model, name, words).numpy(), runs.positives(labels, list(range(count)))


def test_loss_is_the_mean_over_languages():
    model, data = NeuralSystem(**PARTS, sampler=AllLabels()), TwoLanguages()
    logged = run(model, data, "fit")
    losses = []
    for name, batches in DOCUMENTS.items():
        words, labels = batches[0]
        seen = LABELS[name].seen
        targets = torch.tensor(runs.positives(labels, list(range(seen)))).float()
        scores = logits(model, name, words)[:, :seen]
        losses.append(float(F.binary_cross_entropy_with_logits(scores, targets)))
    assert losses[0] != pytest.approx(losses[1], rel=1e-3)
    assert logged["train/loss"] == pytest.approx(np.mean(losses), rel=1e-5)


@dataclass(frozen=True)
class Probe(AllLabels):
    """All labels, with the logarithms of their frequencies as offsets; scores below 0 count."""

    def __call__(self, label_ids, label_counts, frequencies, generator):
        sample = super().__call__(label_ids, label_counts, frequencies, generator)
        return sample._replace(offsets=frequencies.log())

    def refine(self, sample, logits, generator):
        assert not logits.requires_grad
        torch.rand(1, generator=generator)
        return sample._replace(weights=(logits < 0).float())


def test_a_sampler_knows_frequencies_and_chooses_by_scores():
    model, data = NeuralSystem(**PARTS, sampler=Probe()), TwoLanguages()
    logged = run(model, data, "fit")
    losses, scored = [], 0
    for name, batches in DOCUMENTS.items():
        words, labels = batches[0]
        frequencies = [n for n in LABELS[name].frequencies if n]
        targets = torch.tensor(runs.positives(labels, list(range(len(frequencies))))).float()
        scores = logits(model, name, words)[:, : len(frequencies)]
        chosen = scores < 0
        scored += int(chosen.sum())
        pairs = F.binary_cross_entropy_with_logits(
            scores - torch.tensor(frequencies).log(), targets, chosen.float(), reduction="none"
        )
        losses.append(float((pairs.sum(1) / chosen.sum(1).clamp(min=1)).mean()))
    assert 0 < scored < 2 * (3 + 2)
    assert logged["train/loss"] == pytest.approx(np.mean(losses), rel=1e-5)


def test_softmax_in_training_metrics_and_prediction():
    """Probabilities are the softmax over all labels; the ranking is that of the logits."""
    parts = PARTS | {"sampler": AllLabels(), "threshold": 0.21}
    plain, model = NeuralSystem(**parts), NeuralSystem(**parts, loss=SoftmaxCrossEntropy())
    data = TwoLanguages({"english": languages()["english"]})
    logged = run(model, data, "fit")
    run(plain, data, "fit", "test")
    run(model, data, "test")
    words, labels = DOCUMENTS["english"][0]
    targets = torch.tensor(runs.positives(labels, [0, 1, 2])).float()
    expected = F.cross_entropy(
        logits(model, "english", words)[:, :3], targets / targets.sum(1, keepdim=True)
    )
    assert logged["train/loss"] == pytest.approx(float(expected), rel=1e-5)
    scores, targets = of_all_batches(model, "english")
    probabilities = torch.from_numpy(scores).softmax(1)
    predicted = probabilities > 0.21
    assert 0 < predicted.sum() < predicted.numel()
    micro = model.by_language["english"]["micro"]
    assert micro["f1"] == pytest.approx(f1_score(targets, predicted, average="micro"))
    assert micro["f1"] != plain.by_language["english"]["micro"]["f1"]
    for key in ("ranking_loss", "average_precision", "one_error"):
        assert model.results["all"][key] == pytest.approx(plain.results["all"][key])
    texts = [" ".join(WORDS["english"][i] for i in ids) for ids in words]
    names = LABELS["english"].names
    for found, row in zip(Predictor(model).predict(texts), probabilities, strict=False):
        by_name = {label["name"]: label["score"] for label in found}
        assert [by_name[name] for name in names] == pytest.approx(row.tolist(), rel=1e-5)


def test_validation_scores_are_those_of_the_seen_labels_averaged_over_languages():
    model, data = NeuralSystem(**PARTS), TwoLanguages()
    logged = run(model, data, "fit")
    scores, popularity = [], []
    for name in DOCUMENTS:
        seen = LABELS[name].seen
        values, targets = of_all_batches(model, name)
        scores.append(runs.ranking_scores(values[:, :seen], targets[:, :seen]))
        by_frequency = np.tile(np.arange(seen, 0, -1), (len(targets), 1))
        popularity.append(runs.ranking_scores(by_frequency, targets[:, :seen]))
    for key in ("ranking_loss", "average_precision", "one_error", "precision_at_1"):
        expected = np.mean([score[key] for score in scores])
        assert logged[f"val/{key}"] == pytest.approx(expected), key
    for key in POPULARITY:
        expected = np.mean([score[key] for score in popularity])
        assert logged[f"val/popularity_{key}"] == pytest.approx(expected), key


def test_results_are_averaged_and_documents_added_up():
    model, data = NeuralSystem(**PARTS), TwoLanguages()
    run(model, data, "fit", "test")
    for key in ("seen", "unseen", "all"):
        scores = []
        for name in DOCUMENTS:
            seen = LABELS[name].seen
            part = {"seen": slice(seen), "unseen": slice(seen, None), "all": slice(None)}[key]
            values, targets = of_all_batches(model, name)
            scores.append(runs.ranking_scores(values[:, part], targets[:, part]))
        for metric in ("ranking_loss", "average_precision", "one_error", "precision_at_1"):
            expected = np.mean([score[metric] for score in scores])
            assert model.results[key][metric] == pytest.approx(expected), (key, metric)
        for count in ("documents", "skipped"):
            assert model.results[key][count] == sum(score[count] for score in scores)


# --- F1 ---


def f1_of(model, name, *thresholds):
    """Return the best F1 at these thresholds, after scikit-learn."""
    values, targets = of_all_batches(model, name)
    probabilities = 1 / (1 + np.exp(-values))
    return max(
        f1_score(targets, probabilities > threshold, average="micro", zero_division=0)
        for threshold in thresholds
    )


def test_f1_is_that_of_all_labels_averaged_over_languages():
    model, data = NeuralSystem(**PARTS), TwoLanguages()
    logged = run(model, data, "fit")
    run(model, data, "test")
    for name in DOCUMENTS:  # the authors choose the epoch at 0.2
        assert logged[f"val/{name}/f1"] == pytest.approx(f1_of(model, name, 0.2))
        scores = model.by_language[name]["micro"]
        assert scores["threshold"] == 0.4
        assert scores["f1"] == pytest.approx(f1_of(model, name, 0.4))
    assert logged["val/f1"] == pytest.approx(np.mean([logged[f"val/{x}/f1"] for x in DOCUMENTS]))
    micro = model.results["micro"]
    assert micro["f1"] == pytest.approx(np.mean([f1_of(model, x, 0.4) for x in DOCUMENTS]))
    assert (micro["documents"], micro["labels"]) == (9, 9)


def test_threshold_of_ones_own():
    model, data = NeuralSystem(**PARTS, threshold=0.515), TwoLanguages()
    run(model, data, "fit", "test")
    found = {name: scores["micro"] for name, scores in model.by_language.items()}
    for name, scores in found.items():
        assert scores["threshold"] == 0.515
        assert scores["f1"] == pytest.approx(f1_of(model, name, 0.515))
    assert any(f1_of(model, x, 0.515) != f1_of(model, x, 0.4) for x in DOCUMENTS)
    assert model.results["micro"]["threshold"] == 0.515


def test_tuned_threshold_is_the_best_one():
    model, data = NeuralSystem(**PARTS), TwoLanguages()
    run(model, data, "fit", "test")  # with the same documents
    for name in DOCUMENTS:
        best = f1_of(model, name, *(percent / 100 for percent in range(1, 100)))
        scores = model.by_language[name]["micro"]
        assert scores["tuned_threshold"] == model.thresholds[name]
        assert scores["tuned_f1"] == pytest.approx(best)
        assert scores["tuned_f1"] == pytest.approx(f1_of(model, name, model.thresholds[name]))


def test_labels_that_linear_cannot_score_are_misses():
    model, data = NeuralSystem(**PARTS | {"output": Linear}, threshold=0.3), TwoLanguages()
    run(model, data, "fit", "test")
    for name, batches in DOCUMENTS.items():
        network, labels = model.network(name), LABELS[name]
        hits = predicted = positives = 0
        for words, ids in batches:
            documents = ragged(words, ids).texts
            with torch.no_grad():
                chosen = network.output.linear(network.encode_documents(documents)).sigmoid() > 0.3
            targets = runs.positives(ids, list(range(len(labels))))
            hits += (chosen.numpy() & (targets[:, : labels.seen] == 1)).sum()
            predicted += int(chosen.sum())
            positives += targets.sum()
        scores = model.by_language[name]["micro"]
        assert predicted > 0
        assert scores["recall"] == pytest.approx(hits / positives)
        assert scores["f1"] == pytest.approx(2 * hits / (predicted + positives))


@pytest.mark.parametrize("without_positive", ["skip", "released"])
@pytest.mark.parametrize("output", [PARTS["output"], Linear], ids=["GILE", "Linear"])
def test_f1_is_of_all_documents(output, without_positive):
    """Whether or not they have a label that is ranked."""
    model = NeuralSystem(**PARTS | {"output": output}, without_positive=without_positive)
    run(model, TwoLanguages(), "test")
    assert [x["micro"]["documents"] for x in model.by_language.values()] == [5, 4]


@pytest.mark.parametrize("threshold", [0, 1, -0.1, 1.5, 40])
def test_threshold_that_is_no_probability(threshold):
    with pytest.raises(InputError, match=f"model.threshold is {threshold:g}; a probability"):
        NeuralSystem(**PARTS, threshold=threshold)


@pytest.mark.parametrize("sizes", [(1, 1), (10, 5), (7, 1_000)])
def test_slabs_of_documents_and_scores_change_no_metric(monkeypatch, sizes):
    """A label set of any size is scored and ranked in parts that fit into memory."""

    def scores():
        torch.manual_seed(1)
        model = NeuralSystem(**PARTS)
        run(model, TwoLanguages(), "test")
        return model.by_language

    whole = scores()
    monkeypatch.setattr(base, "SCORES", sizes[0])
    monkeypatch.setattr(base, "RANKED", sizes[1])
    for name, sets in scores().items():
        for key, values in sets.items():
            assert values == pytest.approx(whole[name][key], abs=1e-6, nan_ok=True)


def test_sparse_gradients_need_an_optimizer_that_takes_them():
    sparse = partial(WordEmbedding, dim=6, sparse=True)
    adam = partial(torch.optim.Adam, lr=0.01)
    with pytest.raises(InputError, match="LazyAdam, or --model"):
        NeuralSystem(embedding=sparse, optimizer=adam).check()
    NeuralSystem(embedding=sparse, optimizer=LazyAdam).check()
    frozen = partial(WordEmbedding, dim=6, sparse=True, trainable=False)
    NeuralSystem(embedding=frozen, optimizer=adam).check()


def test_sparse_gradients_between_gpus(monkeypatch):
    model = NeuralSystem(embedding=partial(WordEmbedding, sparse=True), optimizer=LazyAdam)
    model.attach(TwoLanguages().training_data())
    model.configure_optimizers()
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_backend", lambda: "nccl")
    frozen = NeuralSystem(embedding=partial(WordEmbedding, sparse=True, trainable=False))
    frozen.attach(TwoLanguages().training_data())
    frozen.configure_optimizers()
    with pytest.raises(InputError, match=r"NCCL.*--model\.embedding\.sparse false"):
        model.configure_optimizers()


# --- sharing ---

LAYERS, POOLINGS = ("word_layer", "sentence_layer"), ("word_pooling", "sentence_pooling")
SHARED = {"none": (), "encoders": LAYERS, "attention": POOLINGS, "both": LAYERS + POOLINGS}
HIERARCHICAL = PARTS | {"encoder": partial(HAN, layer=partial(Dense, dim=5))}
# of one language: two layers, two poolings; of both: their 5 and 4 words
SIZES = {"layers": 6 * 5 + 5 + 5 * 5 + 5, "poolings": 2 * (5 * 5 + 5 + 5 + 1), "words": 9 * 6}
JOINT = 5 * 7 + 7 + 6 * 7 + 7 + 2 * (7 + 1)  # two projections, a unit for each language
LINEAR = 5 * 3 + 3 + 5 * 2 + 2  # three and two seen labels


@pytest.mark.parametrize("output", [PARTS["output"], Linear], ids=["GILE", "Linear"])
@pytest.mark.parametrize("sharing", SHARED)
def test_sharing(sharing, output):
    model = NeuralSystem(**HIERARCHICAL | {"output": output}, sharing=sharing)
    model.build(languages())
    english, german = (model.network(name) for name in languages())
    for name in SHARED["both"]:
        same = getattr(english.encoder, name) is getattr(german.encoder, name)
        assert same is (name in SHARED[sharing])
    assert english.embedding is not german.embedding
    assert english.output is not german.output
    if output is Linear:
        assert english.output.linear is not german.output.linear
    else:
        assert english.output.document_projection is german.output.document_projection
        assert english.output.label_projection is german.output.label_projection
        assert english.output.unit is not german.output.unit
    copies = {"layers": LAYERS[0], "poolings": POOLINGS[0]}
    expected = SIZES["words"] + (LINEAR if output is Linear else JOINT)
    expected += sum(SIZES[x] * (1 if part in SHARED[sharing] else 2) for x, part in copies.items())
    assert sum(p.numel() for p in model.parameters()) == expected


def test_label_encoders_with_parameters_share_what_encoders_share():
    parts = PARTS | {"label_encoder": PARTS["encoder"]}
    model = NeuralSystem(**parts, sharing="attention")
    model.build(languages())
    first, second = (model.network(name).label_encoder for name in languages())
    assert first.pooling is second.pooling
    assert first.layer is not second.layer
    assert first.pooling is not model.network("english").encoder.pooling


def test_sharing_what_an_encoder_has_not():
    model = NeuralSystem(**PARTS | {"encoder": Mean}, sharing="attention")
    with pytest.raises(InputError, match=r"Mean has no attention to share"):
        model.check(languages())
    model.check()  # one language has nobody to share with


@pytest.mark.parametrize("sharing", ["none", "both"])
def test_losses_added_up(sharing):
    """The sum over languages is their number times the mean, which is the paper's."""
    losses = {}
    for kind in ("mean", "sum"):
        parts = HIERARCHICAL | {"sampler": AllLabels(), "sharing": sharing}
        losses[kind] = run(NeuralSystem(**parts, language_loss=kind), TwoLanguages(), "fit")
    assert losses["sum"]["train/loss"] == pytest.approx(2 * losses["mean"]["train/loss"], rel=1e-6)


# --- training further ---

MATCHED = HIERARCHICAL | {"output": partial(GILE, joint_dim="matched")}


def test_matched_joint_space_is_that_of_all_languages():
    model = built(**MATCHED)
    # Eq. 19: d_h k / (d_h + d) = 5 (3 + 2) / (5 + 6)
    assert model.network("english").output.document_projection.out_features == 2
    assert checkpoint_of(model)[STATE]["matched_dim"] == 2
    model = NeuralSystem(**MATCHED)
    model.build(with_labels(["english", "german"], MORE))
    assert model.network("german").output.label_projection.out_features == 5 * 18 // 11
    model = NeuralSystem(**MATCHED)
    model.build(with_labels(["german"], MORE))
    assert model.network("german").output.unit.in_features == 5 * 7 // 11


@pytest.mark.parametrize("names", [["english", "german"], ["german"], ["german", "english"]])
@pytest.mark.parametrize("sharing", ["none", "both"])
def test_start_from_a_checkpoint(names, sharing):
    """With other labels, and with some of the languages: the matched size stays what it was."""
    checkpoint = checkpoint_of(built(**MATCHED, sharing=sharing))
    model = NeuralSystem(**MATCHED, sharing=sharing)
    model.start_from(checkpoint)
    run(model, TwoLanguages(with_labels(names, MORE)), "fit")
    weights = model.state_dict()
    assert list(model.networks) == names
    assert {key.split(".")[1] for key in weights} == {*names}
    assert all(torch.equal(value, checkpoint["state_dict"][key]) for key, value in weights.items())
    assert checkpoint_of(model)[STATE]["matched_dim"] == 2
    assert model.tasks["german"].labels == MORE["german"]


def test_weights_of_words_are_those_of_the_training_documents():
    model = NeuralSystem(**PARTS | {"encoder": IdfMean, "label_encoder": IdfMean})
    run(model, TwoLanguages(), "fit")
    for encoder in (model.network("english").encoder, model.network("english").label_encoder):
        # of two documents one has the words 0, 1 and 2, the other the word 3, none has UNK
        expected = np.log(3 / np.array([2, 2, 2, 2, 1]))
        np.testing.assert_allclose(encoder.idf.weights, expected, rtol=1e-6)
    checkpoint = checkpoint_of(model)
    further = NeuralSystem(**PARTS | {"encoder": IdfMean, "label_encoder": IdfMean})
    further.start_from(checkpoint)
    data = TwoLanguages()
    data.batches = data.batches[::-1]  # other documents, but the model's weights
    run(further, data, "fit")
    assert all(torch.equal(v, checkpoint["state_dict"][k]) for k, v in further.state_dict().items())


def test_vectors_learned_from_documents_and_label_texts(capsys):
    start = PPMI(window=1)
    model = NeuralSystem(**PARTS | {"embedding": partial(WordEmbedding, dim=3, start=start)})
    data = TwoLanguages({"english": languages()["english"]})
    run(model, data, "fit")
    vectors = model.network("english").word_vectors
    texts = ragged([[0, 0], [1, 2], [2, 3]], [[]] * 3).texts  # of the seen labels
    expected = start.learn([data.batches[0]["english"].texts], texts, 5, 3)
    assert torch.equal(vectors[:4], expected[:4])
    torch.testing.assert_close(vectors[:4].norm(dim=1), torch.ones(4))
    assert not expected[4].any()
    assert 0 < vectors[4].abs().max() <= 0.05  # UNK keeps its random one
    assert "word vectors (english): 4 of 5 words have one of PPMI" in capsys.readouterr().out

    further = NeuralSystem(**model.arguments)  # whose vectors are those of the checkpoint
    checkpoint = checkpoint_of(model)
    checkpoint["state_dict"]["networks.english.embedding.weight"].fill_(0.25)
    further.start_from(checkpoint)
    run(further, data, "fit")
    assert further.network("english").word_vectors.eq(0.25).all()


def test_start_from_a_checkpoint_without_the_language():
    model = NeuralSystem(**PARTS)
    english = {"english": languages()["english"]}
    model.build(english)
    further = NeuralSystem(**PARTS)
    further.start_from(checkpoint_of(model))
    with pytest.raises(InputError, match=r"checkpoint knows english, not german: set data\.lang"):
        run(further, TwoLanguages(), "fit")


def test_start_from_another_model():
    further = NeuralSystem(**PARTS | {"encoder": partial(WAN, layer=partial(Dense, dim=4))})
    further.start_from(checkpoint_of(built(**PARTS)))
    with pytest.raises(InputError, match="not that of the checkpoint: size mismatch"):
        run(further, TwoLanguages(), "fit")


def started_from_linear(labels):
    """Return a model with a linear layer that starts from another's weights, for these labels."""
    before = built(**PARTS | {"output": Linear})
    model = NeuralSystem(**PARTS | {"output": Linear})
    model.start_from(checkpoint_of(before))
    run(model, TwoLanguages(with_labels(labels, labels)), "fit")
    return before.state_dict(), model.state_dict()


def test_start_from_a_linear_layer():
    """Its labels are those that it was trained on; of the others it knows nothing anyway."""
    labels = {
        "english": LabelSet([*"LKR", *"abc"], ["rat"] * 6, [9, 5, 5, 0, 0, 0]),
        "german": LabelSet([*"NL", *"abc"], ["ratte"] * 5, [1, 1, 0, 0, 0]),
    }
    before, after = started_from_linear(labels)
    assert after.keys() == before.keys()
    assert all(torch.equal(after[key], before[key]) for key in after)


def test_start_from_a_linear_layer_with_its_labels_in_another_order():
    labels = LABELS | {"german": LabelSet([*"LN"], ["ratte"] * 2, [1] * 2)}
    before, after = started_from_linear(labels)
    for key, value in after.items():
        linear = key.startswith("networks.german.output.")
        assert torch.equal(value, before[key][[1, 0]] if linear else before[key])


def test_start_from_a_linear_layer_with_a_new_label():
    labels = LABELS | {"german": LabelSet([*"NLR"], ["ratte"] * 3, [1] * 3)}
    with pytest.raises(
        InputError, match=r"1 of the corpus' labels \(german; such as 'R'\) are none"
    ):
        started_from_linear(labels)


@pytest.mark.parametrize("vectors", [torch.arange(24.0).view(4, 6), None], ids=["some", "none"])
def test_start_from_weights_without_words(vectors):
    checkpoint = checkpoint_of(built(**PARTS))
    checkpoint["state_dict"].pop("networks.german.embedding.weight")
    checkpoint[STATE]["tasks"]["german"] = None
    model = NeuralSystem(**PARTS)
    model.start_from(checkpoint)
    data = TwoLanguages({"german": languages()["german"]})
    data.vectors = lambda name: vectors
    if vectors is None:
        with pytest.raises(InputError, match=r"the corpus brings none: set --data\.word_vectors"):
            run(model, data, "fit")
        return
    run(model, data, "fit")
    weights = model.state_dict()
    assert torch.equal(weights.pop("networks.german.embedding.weight"), vectors)
    assert all(torch.equal(value, checkpoint["state_dict"][key]) for key, value in weights.items())


# --- steps ---


def test_label_samples_follow_position_not_history():
    """A resumed run draws what an unbroken one draws."""
    model = NeuralSystem(**PARTS)
    model.build(languages())
    model.tasks = languages()

    def draw(name, batch):
        return torch.rand(4, generator=model.generator(name, batch)).tolist()

    places = [("english", 0), ("english", 1), ("german", 0)]
    first = [draw(*place) for place in places]
    assert [draw(*place) for place in reversed(places)] == first[::-1]
    assert len({tuple(numbers) for numbers in first}) == len(places)
    other = NeuralSystem(**PARTS, seed=5)
    other.tasks = languages()
    assert torch.rand(4, generator=other.generator("english", 0)).tolist() != first[0]


def test_linear_weights_start_as_in_the_authors_code():
    model = NeuralSystem(**PARTS)
    model.build(languages())
    linear = [m for m in model.modules() if isinstance(m, nn.Linear)]
    # per language 3 in the encoder and one unit; two projections to the joint space for both
    assert len(linear) == 2 * 4 + 2
    for layer in linear:
        limit = (6 / sum(layer.weight.shape)) ** 0.5  # Glorot and Bengio (2010)
        assert layer.weight.abs().max() <= limit
        assert layer.weight.abs().max() > 0.3 * limit
        assert not layer.bias.any()


def test_frozen_parts_are_not_trained():
    model = NeuralSystem(**PARTS | {"embedding": partial(WordEmbedding, dim=6, trainable=False)})
    model.build(languages())
    (group,) = model.configure_optimizers().param_groups
    trained = {id(parameter) for parameter in group["params"]}
    for name in languages():
        assert id(model.networks[name].embedding.weight) not in trained
    assert len(trained) == sum(p.requires_grad for p in model.parameters())


def test_linear_has_no_unseen_scores():
    model, data = NeuralSystem(**PARTS | {"output": Linear}), TwoLanguages()
    run(model, data, "fit", "test")
    assert model.results["seen"]["documents"] == 7
    assert model.results["unseen"]["documents"] == model.results["all"]["documents"] == 0


def test_scores_that_are_no_numbers():
    model, data = NeuralSystem(**PARTS), TwoLanguages()
    model.build(data.tasks)
    model.networks["german"].output.unit.weight.data.fill_(float("nan"))
    with pytest.raises(InputError, match="training diverged; lower the learning rate"):
        run(model, data, "test")


# --- settings ---


@pytest.mark.parametrize(
    ("parts", "error"),
    [
        ({"embedding": partial(WordEmbedding, dim=0)}, "dim is 0"),
        ({"embedding": partial(WordEmbedding, vectors=Path("none.txt"))}, "none.txt: no such file"),
        ({"output": partial(GILE, joint_dim=-1)}, "joint_dim is -1"),
        ({"optimizer": partial(torch.optim.SGD, lr=-1.0)}, r"model\.optimizer: Invalid learning"),
    ],
)
def test_check_finds_what_cannot_be_made(parts, error):
    model = NeuralSystem(**PARTS | parts)
    with pytest.raises(InputError, match=error):
        model.check()


def test_check_leaves_no_trace():
    model = NeuralSystem(**PARTS)
    torch.manual_seed(1)
    before = torch.get_rng_state()
    model.check()
    assert torch.equal(torch.get_rng_state(), before)
    assert not list(model.parameters())


def test_a_checkpoint_of_another_corpus_is_refused():
    model = NeuralSystem(**PARTS)
    model.build(languages())
    checkpoint = {}
    model.on_save_checkpoint(checkpoint)
    model.on_load_checkpoint(checkpoint)  # its own is fine
    other = languages()
    other["german"] = Task(Tokenizer(["leber", "UNK"]), LABELS["german"])
    model.set_tasks(other)
    with pytest.raises(InputError, match=r"trained with another corpus .* \(german\)"):
        model.on_load_checkpoint(checkpoint)


def test_weights_of_another_model_are_refused():
    model, other = NeuralSystem(**PARTS), NeuralSystem(**PARTS | {"output": Linear})
    for one in (model, other):
        one.build(languages())
    with pytest.raises(InputError, match=r"not that of the checkpoint: Missing key\(s\)"):
        model.load_state_dict(other.state_dict())


def test_the_norm_makes_documents_differ():
    """Without it, the mean of many small word vectors is nearly the same for every document."""
    words = [str(i) for i in range(500)]
    task = Task(Tokenizer([*words, "UNK"]), LabelSet(["a"], ["1 2"], [1]))
    draw = np.random.default_rng(0)
    texts = [[int(i) for i in draw.integers(0, 500, 190)] for _ in range(20)]
    spread = {}
    for norm in (nn.Identity, None):
        torch.manual_seed(0)
        model = NeuralSystem(**({} if norm is None else {"norm": norm}))
        model.build({"en": task})
        vectors = model.network("en").encode_documents(ragged(texts, [[]] * 20).texts)
        spread[norm] = float(vectors.detach().std(0).mean())
    assert spread[nn.Identity] < 0.01
    assert spread[None] > 20 * spread[nn.Identity]


@pytest.mark.parametrize("label_residual", [None, LabelResidual])
def test_no_joint_space_needs_other_scores(label_residual):
    model = NeuralSystem(**PARTS | {"output": MatchersOnly, "label_residual": label_residual})
    if label_residual is not None:
        model.check()
        return
    with pytest.raises(
        InputError, match=r"MatchersOnly .* set model\.matchers or model\.label_residual"
    ):
        model.check()


@pytest.mark.parametrize("key", ["dropout", "label_dropout"])
@pytest.mark.parametrize("share", [-0.1, 1.0, 1.5])
def test_dropout_is_a_share(key, share):
    with pytest.raises(InputError, match=rf"model\.{key} is {share:g}: a share from 0 to below 1"):
        NeuralSystem(**PARTS | {key: share})
