"""Commands with a pretrained encoder: fit, evaluate and predict from the raw text."""

import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from gile_lightning import evaluate, fit, load, predict
from gile_lightning.commands.run_folder import read_metrics
from gile_lightning.common.errors import InputError
from gile_lightning.data import document_data_module
from gile_lightning.data.pretrained import quantized
from gile_lightning.data.pretrained.model import find_model
from gile_lightning.data.pretrained.transformer import frozen
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.network.encoders import Pretrained
from gile_lightning.network.matchers import BestPassage, Cosine
from gile_lightning.systems import NeuralSystem, loading
from gile_lightning.systems.predictor import Predictor
from gile_testing import dw_runs, runs
from gile_testing.minilm import NAME, oracle

pytestmark = pytest.mark.slow
LENGTH = 32
ENCODER = "gile_lightning.network.encoders.Pretrained"
KEYS = (
    *("--data.pretrained", NAME, "--data.max_subwords", LENGTH, "--data.builtin_documents", 80),
    *("--model.encoder", ENCODER, "--model.label_encoder", ENCODER),
)


def call(main, *arguments):
    done = runs.call(main, *arguments)
    assert done.status is None, done.errors
    return done.result


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    output = tmp_path_factory.mktemp("pretrained") / "run"
    call(fit.main, *runs.arguments(output, *KEYS))
    return output


def test_evaluate_gives_the_figures_of_the_run(run):
    metrics = read_metrics(run)
    again = call(evaluate.main, "--checkpoint", run)
    scores = [key for key in metrics if key.startswith("test.")]
    assert scores
    for key in scores:
        assert again[key] == pytest.approx(metrics[key], abs=1e-6, nan_ok=True)


def test_the_checkpoint_only_names_the_model(run):
    checkpoint = torch.load(run / "checkpoints/best.ckpt", weights_only=True)
    assert not [key for key in checkpoint["state_dict"] if "encoder" in key]
    language = checkpoint["gile_lightning"]["tasks"]["english"]
    assert (language["pretrained"], language["max_subwords"]) == (NAME, LENGTH)


def test_an_explanation_reads_the_text_without_a_sentence():
    """Also by the pretrained model, whose vectors are a part of their own in a matcher."""
    model = NeuralSystem(encoder=Pretrained, matchers=[Cosine, BestPassage])
    torch.manual_seed(1)
    labels = LabelSet(["A", "B"], ["Insulin", "Kidneys of rats"], [2, 0])
    model.build({"english": Task(Tokenizer(["insulin", "the", "UNK"], pretrained=NAME), labels)})
    predictor = Predictor(model)
    first, second = "Insulin for mice with diabetes.", "The kidney of the rat."
    whole, without = predictor.logits([f"{first} {second}", second]).tolist()
    for label in predictor.explain(f"{first} {second}").labels:
        place = labels.ids[label.name]
        assert sum(label.contributions.values()) == pytest.approx(whole[place], abs=1e-4)
        effects = label.sentences[0]
        assert effects["logit"] == pytest.approx(whole[place] - without[place], abs=1e-4)
        matchers = {"pretrained vectors", "best passage"}
        assert effects.keys() == {"joint space", "prior", "logit", *matchers}
        assert min(abs(effects[name]) for name in matchers) > 0.1


def test_a_fine_tuned_model_is_held(tmp_path):
    """Its weights come from the checkpoint, not from the model that training began with.

    A matcher beside it reads passages with the frozen model.
    """
    more = (*KEYS, "--data.builtin_documents", 20, "--trainer.limit_train_batches", 2)
    tuned = ("--model.encoder.trainable", "true", "--model.encoder.lr", 1e-3)
    more += ("--model.matchers", '["gile_lightning.network.matchers.BestPassage"]')
    output = tmp_path / "run"
    call(fit.main, *runs.arguments(output, *more, *tuned, epochs=1))
    predictor = load(output)
    vectors = predictor.system.network("english").encoder.transformer.state_dict()
    checkpoint = torch.load(output / "checkpoints/best.ckpt", weights_only=True)["state_dict"]
    key = "model.0.model.encoder.layer.0.output.dense.weight"
    (stored,) = (
        value for name, value in checkpoint.items() if name.endswith(f"encoder.transformer.{key}")
    )
    torch.testing.assert_close(vectors[key], stored)
    assert not torch.equal(stored, frozen(NAME).state_dict()[key])
    assert len(predictor.predict(["Insulin lowers glucose."], top_k=3)[0]) == 3


def test_another_model_in_its_place_is_refused(run, tmp_path):
    """One whose files are others but whose weights are the same is not."""
    checkpoint = torch.load(run / "checkpoints/best.ckpt", weights_only=True)
    for name, same in (("same", True), ("other", False)):
        folder = tmp_path / name
        shutil.copytree(find_model(NAME), folder)
        (folder / "more.json").write_text("{}")
        if not same:
            weights = load_file(folder / "model.safetensors")
            key = "encoder.layer.5.output.dense.weight"
            weights[key] = weights[key].flip(0)
            save_file(weights, folder / "model.safetensors", {"format": "pt"})
        checkpoint["gile_lightning"]["tasks"]["english"]["pretrained"] = str(folder)
        torch.save(checkpoint, tmp_path / f"{name}.ckpt")
    assert load(tmp_path / "same.ckpt").predict(["Insulin."], top_k=1)
    with pytest.raises(InputError, match=r"other: not the pretrained model that the checkpoint"):
        load(tmp_path / "other.ckpt")


def test_several_languages():
    """Every language's documents and labels get the model's vectors."""
    encoders = ("--model.encoder", ENCODER, "--model.label_encoder", ENCODER)
    options = ("--data.pretrained", NAME, "--data.max_subwords", str(LENGTH), *encoders)
    run = dw_runs.trained(*options, "--model.sharing", "none", epochs=1)
    again = call(evaluate.main, "--checkpoint", run.output)
    for language in ("english", "german"):
        key = f"{language}.test.seen.average_precision"
        assert again[key] == pytest.approx(run.metrics[key], abs=1e-6)
        predictor = load(run.output, language=language)
        vectors = predictor.system.encoded(language).texts_of(torch.arange(3)).vectors
        expected = oracle(predictor.task.labels.texts[:3], LENGTH)
        torch.testing.assert_close(vectors, expected, rtol=0, atol=1e-5)


def test_predict_scores_what_training_scored(run):
    predictor = load(run)
    network = predictor.system.network("english")
    texts = [["Insulin", "Insulin lowers glucose in mice."], "Hearts of rats were examined."]
    documents = oracle(["Insulin Insulin lowers glucose in mice.", texts[1]], LENGTH)
    labels = oracle(predictor.task.labels.texts, LENGTH)
    with torch.no_grad():
        expected = network.output(network.document_norm(documents), network.label_norm(labels))
    torch.testing.assert_close(predictor.logits(texts), expected, rtol=1e-3, atol=1e-3)
    found = predictor.predict(texts, labels={"a": "glucose", "b": "rats"}, top_k=1)
    assert [len(labels) for labels in found] == [1, 1]


def test_without_the_model(tmp_path):
    more = ("--data.pretrained", "none/such", "--model.encoder", ENCODER)
    done = runs.call(fit.main, *runs.arguments(tmp_path / "run", *more))
    assert done.status == 2
    assert "'none/such', which is no folder here" in done.errors
    done = runs.call(fit.main, *runs.arguments(tmp_path / "run", "--model.encoder", ENCODER))
    assert done.status == 2
    assert "set --data.pretrained" in done.errors


def test_a_model_in_8_bits(tmp_path, monkeypatch):
    """The checkpoint remembers what ran it; another backend is a key of predict and evaluate."""
    pytest.importorskip("openvino")
    pytest.importorskip("nncf")
    from gile_testing.small_models import save

    monkeypatch.setattr(quantized, "TEXTS", 30)
    save(tmp_path, "bert")
    output, texts = tmp_path / "run", tmp_path / "texts.txt"
    texts.write_text("Insulin lowers glucose.\nHearts of rats were examined.\n")
    model = ("--data.pretrained", tmp_path / "model", "--data.builtin_documents", 60)
    small = (*KEYS[2:4], *KEYS[6:], *model, "--data.pretrained_backend", "openvino-int8")
    call(fit.main, *runs.arguments(output, *small, epochs=1))
    rounded, exact = load(output), load(output, pretrained_backend="torch")
    assert rounded.task.tokenizer.pretrained_backend == "openvino-int8"
    scores = [model.logits(["Insulin lowers glucose."]) for model in (rounded, exact)]
    assert torch.cosine_similarity(*scores).item() > 0.95
    assert not torch.equal(*scores)
    for more, said in (((), False), (("--pretrained_backend", "torch"), True)):
        done = runs.call(predict.main, "--checkpoint", output, "--input", texts, *more)
        assert done.status is None, done.errors
        assert ("run by torch, unlike in training" in done.errors) is said
    metrics = read_metrics(output)
    for backend, same in (("openvino-int8", True), ("torch", False)):
        again = call(evaluate.main, *("--checkpoint", output, "--data.pretrained_backend", backend))
        key = "test.seen.ranking_loss"
        assert (again[key] == pytest.approx(metrics[key], abs=1e-6)) is same


def test_a_model_in_bfloat16(run, tmp_path):
    texts = tmp_path / "texts.txt"
    texts.write_text("Insulin lowers glucose.\nHearts of rats were examined.\n")
    given = ("--checkpoint", run, "--input", texts, "--pretrained_backend", "torch-bfloat16")
    done = runs.call(predict.main, *given)
    assert done.status is None, done.errors
    assert "run by torch-bfloat16, unlike in training\n" in done.errors
    exact, rounded = load(run), load(run, pretrained_backend="torch-bfloat16")
    scores = [model.logits(["Insulin lowers glucose."]) for model in (exact, rounded)]
    assert not torch.equal(*scores)
    torch.testing.assert_close(*scores, rtol=0, atol=0.1)


def test_a_model_that_runs_as_the_machine_does_best(tmp_path, monkeypatch):
    """A run remembers what was chosen; `predict` chooses anew where it is asked to."""
    output, texts = tmp_path / "run", tmp_path / "texts.txt"
    texts.write_text("Insulin lowers glucose.\n")
    choice = "torch-bfloat16"

    def chosen(given, cache):
        return choice if given == "auto" else given

    for module in (document_data_module, loading):
        monkeypatch.setattr(module, "chosen", chosen)
    model = ("--data.pretrained_backend", "auto", "--data.builtin_documents", 60)
    call(fit.main, *runs.arguments(output, *KEYS, *model, epochs=1))
    choice = "torch"
    for given, backend in (({}, "torch-bfloat16"), ({"pretrained_backend": "auto"}, "torch")):
        assert load(output, **given).task.tokenizer.pretrained_backend == backend
        more = [part for key, value in given.items() for part in (f"--{key}", value)]
        done = runs.call(predict.main, "--checkpoint", output, "--input", texts, *more)
        assert ("run by torch, unlike in training" in done.errors) is (backend == "torch")


def test_a_backend_without_pretrained_vectors():
    output = runs.trained().output
    with pytest.raises(InputError, match="reads no pretrained vectors: leave pretrained_backend"):
        load(output, pretrained_backend="torch")
