"""ONNX scores as PyTorch does. `tox -e onnx` runs this file, as it needs further packages."""

import inspect
import json
import os
import random
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnxscript")
pytest.importorskip("onnxruntime")

import torch
from torch import nn

from gile_lightning.common.errors import InputError
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.exporting.onnx_folder import FILES, export_to_onnx, is_onnx_folder
from gile_lightning.exporting.predict import Model
from gile_lightning.network import LabelResidual, Ridge
from gile_lightning.network.encoders import (
    GRU,
    HAN,
    HNN,
    WAN,
    BiGRU,
    Concatenation,
    Dense,
    HashedWords,
    IdfMean,
    Mean,
    SumPooling,
    WordEmbedding,
)
from gile_lightning.network.matchers import LexicalMatch
from gile_lightning.network.outputs import (
    GILE,
    Bilinear,
    GILEOnlyInput,
    GILEOnlyLabel,
    JointBilinear,
    Linear,
)
from gile_lightning.systems import NeuralSystem
from gile_lightning.systems.baselines import TfidfCosine
from gile_lightning.systems.calibrated import training_ids
from gile_lightning.systems.loading import load_system
from gile_lightning.systems.predictor import Predictor
from gile_lightning.training.calibration import Calibration, Curve
from gile_lightning.training.checkpoint import HPARAMS
from gile_lightning.training.losses import SoftmaxCrossEntropy
from gile_testing.two_languages import checkpoint_of

pytestmark = pytest.mark.filterwarnings("ignore")  # of the exporter's own packages

WORDS = [f"{a}{b}" for a in "abcdef" for b in "uvwxyz"]
SEEN, UNSEEN = 9, 4
DIM = 7


def text(rng, low=0, high=12):
    sentences = (" ".join(rng.choices(WORDS, k=rng.randint(1, 5))) for _ in range(high))
    return ". ".join(sentence.title() for sentence in list(sentences)[: rng.randint(low, high)])


def task(**settings):
    rng = random.Random(3)
    count = SEEN + UNSEEN
    labels = LabelSet(
        [f"label {i}" for i in range(count)],
        [text(rng, 1, 3) for _ in range(count)],
        [20 - i for i in range(SEEN)] + [0] * UNSEEN,
        documents=50,
        uris=["urn:x:0"] + [""] * (count - 1),
    )
    given = {"sentences": "en", "max_document_words": 25, "max_sentences": 6, **settings}
    return Task(Tokenizer([*WORDS[:-4], ".", "UNK"], **given), labels)


def checkpoint(names=("english",), kind=NeuralSystem, settings=None, **parts):
    """Return the checkpoint of a model whose weights are all random numbers."""
    torch.manual_seed(5)
    if kind is NeuralSystem:
        own = {"embedding": partial(WordEmbedding, dim=DIM), "output": partial(GILE, joint_dim=24)}
        parts = own | parts
    model = kind(**parts)
    model.build({name: task(**(settings or {})) for name in names})
    with torch.no_grad():
        for value in (*model.parameters(), *model.buffers()):
            if value.is_floating_point():
                value.uniform_(-0.3, 0.3)
        for module in model.modules():
            if hasattr(module, "count_words") and hasattr(module, "weights"):
                module.weights.abs_()
    for name in names:
        frequencies = [20 - i for i in range(SEEN)]
        curves = Curve(-0.4, 0.7, 1.2, 0.1), Curve(-1.0, 0.8, 0.9, 0.0)
        rates = -torch.rand(SEEN)
        model.calibrations.by_task[name] = Calibration(rates, frequencies, *curves)
        model.calibrations.thresholds[name] = torch.full((SEEN,), 0.4)
    return checkpoint_of(model) | {HPARAMS: dict(model.hparams)}


DENSE = partial(Dense, dim=6)
CASES = {
    "WAN": {"encoder": partial(WAN, layer=DENSE)},
    "WAN-sum": {"encoder": partial(WAN, layer=DENSE, pooling=SumPooling)},
    "WAN-GRU": {"encoder": partial(WAN, layer=partial(GRU, dim=5))},
    "HAN": {"encoder": partial(HAN, layer=DENSE)},
    "HAN-biGRU": {"encoder": partial(HAN, layer=partial(BiGRU, dim=4))},
    "HNN": {"encoder": partial(HNN, layer=DENSE)},
    "NN": {"encoder": Mean},
    "hashed": {"encoder": partial(HashedWords, dim=16)},
    "side by side": {
        "encoder": partial(
            Concatenation, encoders=[partial(WAN, layer=DENSE), partial(IdfMean, learned=True)]
        ),
        "label_encoder": partial(WAN, layer=DENSE),
    },
    "Linear": {"output": Linear},
    "Bilinear": {"output": Bilinear},
    "JointBilinear": {"output": partial(JointBilinear, joint_dim=5)},
    "deep": {"output": partial(GILE, joint_dim=5, layers=3, activation=nn.Tanh)},
    "only label": {"output": GILEOnlyLabel},
    "only input": {"output": GILEOnlyInput},
    "softmax": {"loss": SoftmaxCrossEntropy()},
    "residual": {
        "encoder": partial(IdfMean, sublinear_tf=True),
        "label_residual": LabelResidual,
        "ridge": partial(Ridge, word_features=32, ngram_features=16),
    },
    "ridge": {"norm": nn.Identity, "ridge": Ridge},
}
BOTH = ("WAN", "residual")  # with labels frozen and given; others have one of these
FROZEN = ("Linear", "HAN", "softmax", "ridge", "NN")
MODELS = [(name, frozen) for name in CASES for frozen in (True, False)
          if name in BOTH or frozen == (name in FROZEN)]  # fmt: skip


def assert_same(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)


def assert_predicted(found, predictor, texts):
    """Check predictions; labels whose logits are equal but for rounding may come in any order."""
    everything = predictor.predict(texts, top_k=None)
    for labels, whole, logits in zip(found, everything, predictor.logits(texts), strict=True):
        assert len(labels) == min(5, len(whole))
        scores = {label["name"]: label for label in whole}
        of_names = dict(zip(predictor.label_names, logits.tolist(), strict=False))
        for label, wanted in zip(labels, whole, strict=False):
            own = scores[label["name"]]
            assert of_names[label["name"]] == pytest.approx(of_names[wanted["name"]], abs=1e-5)
            assert label["score"] == pytest.approx(own["score"], abs=1e-5)
            assert label.keys() == own.keys()
            assert label.get("uri") == own.get("uri")


@pytest.mark.parametrize(("name", "frozen"), MODELS)
def test_scores(name, frozen, tmp_path):
    """Batches of any size and of texts of any length, empty ones among them."""
    stored = checkpoint(**CASES[name])
    export_to_onnx(stored, tmp_path, "a model", frozen=frozen)
    predictor, model = Predictor(load_system(stored)), Model(tmp_path, threads=1)
    rng = random.Random(9)
    for count in (1, 2, 40):
        texts = [text(rng) for _ in range(count)]
        logits, scores = model.run["model"](
            None, model.inputs([*map(model.sentences, texts)]) | model.label_inputs
        )
        expected = predictor.logits(texts)
        assert expected.std() > 0.01
        assert_same(logits, expected)
        ids = training_ids(predictor.task.labels)[: expected.shape[1]]
        log_odds = predictor.system.log_odds(expected)
        of_labels = predictor.system.calibrations.apply("english", log_odds, ids)
        assert_same(scores, of_labels.sigmoid())
    assert_predicted(model.predict([*texts, ""]), predictor, [*texts, ""])
    assert_same(
        model.run["model"](None, model.inputs([[]]) | model.label_inputs)[0], predictor.logits([""])
    )


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    """A model whose labels are given as vectors, and its checkpoint."""
    folder, stored = tmp_path_factory.mktemp("given"), checkpoint(**CASES["residual"])
    export_to_onnx(stored, folder, "a model", frozen=False)
    return folder, stored


def test_new_labels(given):
    folder, stored = given
    model, predictor = Model(folder), Predictor(load_system(stored))
    rng = random.Random(1)
    texts = [text(rng, 1) for _ in range(8)]
    new = {"label 2": text(rng, 1), "another": text(rng, 1), "a third": text(rng, 1)}
    ids = {label["name"]: label["id"] for label in model.labels}
    model.set_labels([{"name": k, "text": v, "id": ids.get(k, -1)} for k, v in new.items()])
    predictor.set_labels(new)
    assert_predicted(model.predict(texts), predictor, texts)


def test_a_new_label_needs_a_text(given):
    with pytest.raises(ValueError, match=r"labels without a text: \['A'\]"):
        Model(given[0]).set_labels([{"name": "A"}])


def test_frozen_labels_stay(tmp_path):
    """Other names would get their scores."""
    export_to_onnx(checkpoint(**CASES["WAN"]), tmp_path, "a model")
    model = Model(tmp_path)
    model.set_labels(model.labels)
    for other in (model.labels[::-1], model.labels[1:], [{"name": "new", "text": "au bv"}]):
        with pytest.raises(ValueError, match="labels of this model are frozen: export it with"):
            model.set_labels(other)
    file = tmp_path / "labels.jsonl"
    file.write_text("".join(file.read_text().splitlines(True)[::-1]))
    with pytest.raises(ValueError, match="frozen"):
        Model(tmp_path)


def test_the_script_is_short():
    assert len(Path(inspect.getfile(Model)).read_text().splitlines()) <= 75


def test_many_lines_are_read_a_few_at_a_time(given, tmp_path):
    folder = shutil.copytree(given[0], tmp_path / "model")
    script = folder / "predict.py"
    counted = "len(texts), file=sys.stderr)\n        documents = [self"
    script.write_text(script.read_text().replace("documents = [self", f"print({counted}"))
    done = subprocess.run(
        [sys.executable, script],
        input="au bv\n" * 600,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.split() == ["256", "256", "88"]
    assert len(done.stdout.splitlines()) == 600


def test_without_torch(given, tmp_path):
    """The script runs where torch and this package cannot be imported."""
    folder, stored = given
    for name in ("torch", "gile_lightning"):
        (tmp_path / f"{name}.py").write_text("raise ImportError('not here')")
    rng = random.Random(2)
    texts = [text(rng, 1) for _ in range(3)]
    texts[1] += "\u2028" + texts[0]  # a line is a text
    done = subprocess.run(
        [sys.executable, folder / "predict.py"],
        input="\n".join(texts),
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert_predicted(found, Predictor(load_system(stored)), texts)


def odd_texts():
    """A few hundred texts of all kinds of signs, and of words between them."""
    rng = random.Random(4)
    ranges = ((0, 0x250), (0x370, 0x530), (0x590, 0x700), (0x900, 0xE00), (0x2000, 0x2100))
    ranges += ((0x3040, 0x3100), (0x4E00, 0x4E80), (0xAC00, 0xAC40), (0xFE00, 0xFF60))
    ranges += ((0x1D400, 0x1D480), (0x1F600, 0x1F650))
    kinds = [[chr(c) for c in range(*some)] for some in ranges]
    pieces = [*WORDS, "U.S.", "l'eau", "don’t", "1,234.5", "٣٤", "ǅ", "İ", "ß", "a\u00adb", "x‑y"]
    for _ in range(400):
        signs = rng.choice(kinds)
        yield "".join(
            rng.choice((rng.choice(signs), rng.choice(pieces), " ", ". "))
            for _ in range(rng.randint(1, 30))
        )


@pytest.mark.parametrize("known_words_only", [False, True])
@pytest.mark.parametrize("sentences", [None, "de"])
@pytest.mark.parametrize("elision", [False, True])
def test_words_are_ours(known_words_only, sentences, elision, given):
    """Of each text the script reads the ids that the tokenizer gives."""
    settings = {"known_words_only": known_words_only, "sentences": sentences, "elision": elision}
    own = task(**settings)
    more = sorted({sign for line in odd_texts() for sign in line.lower().split()})[::3]
    vocabulary = [*dict.fromkeys([*own.tokenizer.vocabulary[:-1], *more, "l", "'eau", "ß"]), "UNK"]
    tokenizer = Tokenizer(vocabulary, **own.tokenizer.settings())
    model = Model(given[0])
    reading = {"known_words_only": known_words_only, "language": sentences, "elision": elision}
    assert model.settings["reading"].keys() == {*reading, "limits"}
    model.settings["reading"] |= reading
    model.ids = {w: i for i, w in enumerate(vocabulary[:-1] if known_words_only else vocabulary)}
    model.unknown = len(vocabulary) - 1
    texts = list(odd_texts())
    found = model.inputs([*map(model.sentences, texts)])
    for mine, ours in zip(found.values(), tokenizer.documents(texts), strict=True):
        np.testing.assert_array_equal(mine, ours)
    assert len(set(found["words"])) > 100


# --- what is left out, and what is refused ---


MATCHED = {**CASES["residual"], "matchers": [LexicalMatch]}


def test_without_matchers(tmp_path):
    stored = checkpoint(**MATCHED)
    with pytest.raises(InputError, match=r"\(LexicalMatch\) compare words .*--without_match"):
        export_to_onnx(stored, tmp_path, "a model")
    assert not list(tmp_path.iterdir())
    metrics = {"test.seen.documents": 3, "test.seen.average_precision": 0.5}
    export_to_onnx(stored, tmp_path, "a model", metrics=metrics, without_matchers=True)
    system = load_system(stored)
    system.network("english").matchers = nn.ModuleList()
    system.encoded("english").matcher_labels = nn.ModuleList()
    rng = random.Random(7)
    texts = [text(rng, 1) for _ in range(5)]
    expected = Predictor(system).logits(texts)
    model = Model(tmp_path)
    logits, scores = model.run["model"](None, model.inputs([*map(model.sentences, texts)]))
    assert_same(logits, expected)
    assert_same(scores, expected.sigmoid())  # a calibration is of the whole model
    card = (tmp_path / "README.md").read_text()
    assert "matchers of the model are left out" in card
    assert "50.00" not in card


def test_one_of_several_languages(tmp_path):
    stored = checkpoint(("english", "german"))
    with pytest.raises(InputError, match=r"has several \(english, german\): choose one"):
        export_to_onnx(stored, tmp_path, "a model")
    metrics = {"test.seen.documents": 3, "german.test.seen.documents": 7}
    export_to_onnx(stored, tmp_path, "a model", metrics=metrics, language="german")
    model, predictor = Model(tmp_path), Predictor(load_system(stored), language="german")
    given = model.inputs([model.sentences("Au bv.")])
    assert_same(model.run["model"](None, given)[0], predictor.logits(["Au bv."]))
    assert "| seen | 7 |" in (tmp_path / "README.md").read_text()
    assert is_onnx_folder(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {*FILES} - {"labels.onnx", "*.onnx.data"}


class OwnResidual(LabelResidual):
    """A residual of one's own, which may compute anything."""


class OwnSystem(NeuralSystem):
    """A system with scores of its own."""

    def score(self, *args):
        return super().score(*args) * 2


class Own(Mean):
    """An encoder of one's own, which may compute anything."""


@pytest.mark.parametrize(
    ("parts", "frozen", "error"),
    [
        ({"kind": TfidfCosine}, True, "TfidfCosine cannot be exported to ONNX"),
        ({"encoder": Own}, True, "the encoder Own cannot be exported to ONNX: Mean, IdfMean,"),
        ({"output": Linear}, False, "Linear knows its labels by number"),
        ({"label_residual": OwnResidual}, True, "OwnResidual is not LabelResidual itself, whose"),
        ({"kind": OwnSystem}, True, "OwnSystem has a score of its own, which ONNX would leave out"),
    ],
)
def test_refused(parts, frozen, error, tmp_path):
    with pytest.raises(InputError, match=error):
        export_to_onnx(checkpoint(**parts), tmp_path / "x", "a model", frozen=frozen)
    assert not Path(tmp_path / "x").exists()
