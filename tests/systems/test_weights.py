"""The weights that networks begin with."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from gile_lightning.common.errors import InputError
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.network import Ridge
from gile_lightning.network.encoders import LSA, PPMI, IdfMean, WordEmbedding
from gile_lightning.network.encoders import lsa as lsa_module
from gile_lightning.network.matchers import DistilledCosine, LexicalMatch, NameMention
from gile_lightning.network.outputs import GILE, Linear
from gile_lightning.systems import NeuralSystem
from gile_lightning.systems import weights as module
from gile_lightning.systems.earlier_model import penalty_of
from gile_lightning.training.checkpoint import HPARAMS, STATE
from gile_testing.two_languages import (
    HIERARCHICAL,
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

MATCHED = HIERARCHICAL | {"output": partial(GILE, joint_dim="matched")}


def test_matched_joint_space_is_that_of_all_languages():
    model = built(**MATCHED)
    # Eq. 19: d_h k / (d_h + d) = 5 (3 + 2) / (5 + 6)
    assert model.network("english").output.document_projection.out_features == 2
    assert checkpoint_of(model)[STATE]["extra"]["joint_dim"] == 2
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
    assert checkpoint_of(model)[STATE]["extra"]["joint_dim"] == 2
    assert model.tasks["german"].labels == MORE["german"]


def test_weights_of_words_are_those_of_the_training_documents():
    parts = PARTS | {"encoder": IdfMean, "label_encoder": IdfMean}
    model = NeuralSystem(**parts, matchers=[LexicalMatch, NameMention])
    run(model, TwoLanguages(), "fit")
    network = model.network("english")
    lexical, mention = network.matchers
    # of two documents one has the words 0, 1 and 2, the other the word 3, none has UNK
    expected = np.log(3 / np.array([2, 2, 2, 2, 1]))
    for counted in (network.encoder.idf.weights, network.label_encoder.idf.weights):
        np.testing.assert_allclose(counted, expected, rtol=1e-6)
    for counted in (lexical.idf, mention.rarity):
        np.testing.assert_allclose(counted, expected, rtol=1e-6, atol=1e-7)
    checkpoint = checkpoint_of(model)
    further = NeuralSystem(**model.arguments)
    further.start_from(checkpoint)
    data = TwoLanguages()
    # other documents, with a label that is seen, but the model's weights
    others = {
        name: batch._replace(
            label_ids=torch.zeros_like(batch.label_counts),
            label_counts=torch.ones_like(batch.label_counts),
        )
        for name, batch in data.batches[1].items()
    }
    data.batches = [others, data.batches[0]]
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


def lsa(dim, **settings):
    return PARTS | {"embedding": partial(WordEmbedding, dim=dim, start=LSA(**settings))}


@pytest.mark.parametrize(
    ("texts_per_dimension", "dim"),
    [(1, 4), (2, 2), (9, 1)],  # English has five texts, German four: two documents, seen labels
)
def test_few_texts_have_vectors_of_few_dimensions(texts_per_dimension, dim, monkeypatch, capsys):
    monkeypatch.setattr(lsa_module, "LEAST", 1)
    parts = lsa(6, texts_per_dimension=texts_per_dimension)
    model, data = NeuralSystem(**parts), TwoLanguages()
    run(model, data, "fit")
    start = parts["embedding"].keywords["start"]
    texts = ragged([[0, 0], [1, 2], [2, 3]], [[]] * 3).texts  # of the seen labels
    expected = start.learn([data.batches[0]["english"].texts], texts, 5, dim)
    assert expected[:4].any(dim=1).all()
    assert f"word vectors of {dim} dimensions, as there are few texts" in capsys.readouterr().out
    assert torch.equal(model.network("english").word_vectors[:4], expected[:4])
    assert {model.network(name).word_vectors.shape[1] for name in data.tasks} == {dim}
    checkpoint = checkpoint_of(model)

    loaded = NeuralSystem(**parts)
    loaded.build(languages(), checkpoint[STATE]["extra"])
    loaded.load_state_dict(checkpoint["state_dict"])
    further = NeuralSystem(**lsa(6, texts_per_dimension=3))  # it would have one dimension
    further.start_from(checkpoint)
    run(further, data, "fit")
    for other in (loaded, further):
        vectors = other.network("english").word_vectors
        assert torch.equal(vectors, model.network("english").word_vectors)
    assert checkpoint_of(further)[STATE]["extra"]["word_dim"] == dim


def test_vectors_of_all_dimensions():
    """With texts enough, vectors of the corpus, or a checkpoint of an earlier version."""
    enough = NeuralSystem(**lsa(4, texts_per_dimension=1))
    run(enough, TwoLanguages(), "fit")
    assert enough.network("german").word_vectors.shape == (4, 4)
    assert checkpoint_of(enough)[STATE]["extra"]["word_dim"] is None

    vectors = {name: torch.randn(len(words) + 1, 6) for name, words in WORDS.items()}
    data, given = TwoLanguages(), NeuralSystem(**lsa(6))
    data.vectors = vectors.get
    run(given, data, "fit")
    assert torch.equal(given.network("german").word_vectors, vectors["german"])

    earlier = NeuralSystem(**lsa(6))
    earlier.build(languages(), {"joint_dim": 2})
    assert earlier.network("german").word_vectors.shape == (4, 6)


def test_the_size_of_word_vectors_takes_no_random_numbers(monkeypatch):
    """So that the same seed gives the same weights, whatever the embedding."""
    model, seen, build = NeuralSystem(**lsa(6)), [], NeuralSystem.build
    monkeypatch.setattr(
        NeuralSystem, "build", lambda *args: (seen.append(torch.get_rng_state()), build(*args))
    )
    before = torch.get_rng_state()
    model.attach(TwoLanguages().training_data())
    assert torch.equal(seen[0], before)


def test_start_from_a_checkpoint_without_the_language():
    model = NeuralSystem(**PARTS)
    model.build({"english": languages()["english"]})
    further = NeuralSystem(**PARTS)
    further.start_from(checkpoint_of(model))
    with pytest.raises(InputError, match=r"checkpoint knows english, not german: set data\.lang"):
        run(further, TwoLanguages(), "fit")


@pytest.mark.parametrize(
    ("english", "german", "order"),
    [  # its labels are those that it was trained on; all others are unseen
        (LabelSet([*"LKRabc"], ["rat"] * 6, [9, 5, 5, 0, 0, 0]), ["N", "L", "a"], [0, 1]),
        (LABELS["english"], ["L", "N"], [1, 0]),
        (LABELS["english"], ["N", "L", "R"], None),
    ],
    ids=["more", "in another order", "a new one"],
)
def test_start_from_a_linear_layer(english, german, order):
    seen = 3 if order is None else 2
    frequencies = [1] * seen + [0] * (len(german) - seen)
    labels = {"english": english, "german": LabelSet(german, ["ratte"] * len(german), frequencies)}
    before = built(**PARTS | {"output": Linear})
    model = NeuralSystem(**PARTS | {"output": Linear})
    model.start_from(checkpoint_of(before))
    data = TwoLanguages(with_labels(labels, labels))
    if order is None:
        with pytest.raises(InputError, match=r"1 of the corpus' labels \(german; such as 'R'\)"):
            run(model, data, "fit")
        return
    run(model, data, "fit")
    after = model.state_dict()
    assert after.keys() == before.state_dict().keys()
    for key, value in before.state_dict().items():
        german_output = key.startswith("networks.german.output.")
        assert torch.equal(after[key], value[order] if german_output else value)


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


@pytest.mark.parametrize("ridge", [Ridge, partial(Ridge, penalty=0.7)])
def test_a_checkpoint_has_the_penalty_of_its_regression(ridge):
    """Also where the arguments of the system do not name it."""
    frozen = partial(WordEmbedding, dim=6, trainable=False)
    checkpoint = checkpoint_of(built(embedding=frozen, encoder=IdfMean, ridge=ridge))
    expected = ridge(6, 2).penalty
    assert {penalty_of(checkpoint, name) for name in languages()} == {expected}
    assert penalty_of(checkpoint, "french") is None
    assert penalty_of(checkpoint_of(built(encoder=IdfMean)), "english") is None
    del checkpoint[STATE]["extra"]["penalties"]
    checkpoint[HPARAMS] = {"ridge": {"init_args": {"penalty": 0.4}}}  # as earlier versions have it
    assert penalty_of(checkpoint, "english") == 0.4


def test_distilled_vectors_are_fitted_to_one_backend(monkeypatch, tmp_path):
    class FoundError(Exception):
        pass

    def store(*given):
        raise FoundError(*given)

    monkeypatch.setattr(module, "VectorStore", store)
    tokenizer = Tokenizer(["UNK"], pretrained="some", pretrained_backend="torch-bfloat16")
    task = Task(tokenizer, LabelSet([], [], []))
    network = SimpleNamespace(matchers=[object.__new__(DistilledCosine)])
    with pytest.raises(FoundError) as found:
        module.distil(network, task, list, tmp_path, torch.device("cpu"))
    assert found.value.args == ("some", tmp_path, "torch-bfloat16")  # as labels are encoded
