"""Commands with a pretrained encoder: fit, evaluate and predict from the raw text."""

import json

import pytest
import runs
import torch
from minilm import NAME, oracle

from gile_lightning import evaluate, fit, load

pytestmark = pytest.mark.slow
LENGTH = 32
ENCODER = "gile_lightning.encoders.Pretrained"
KEYS = (
    *("--data.pretrained", NAME, "--data.max_subwords", LENGTH, "--data.builtin_documents", 120),
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
    metrics = json.loads((run / "metrics.json").read_text())
    again = call(evaluate.main, "--checkpoint", run)
    scores = [key for key in metrics if key.startswith("test.")]
    assert scores
    for key in scores:
        assert again[key] == pytest.approx(metrics[key], abs=1e-6, nan_ok=True)


def test_the_checkpoint_only_names_the_model(run):
    checkpoint = torch.load(run / "checkpoints/best.ckpt", weights_only=True)
    assert not [key for key in checkpoint["state_dict"] if "encoder" in key]
    language = checkpoint["gile_lightning"]["languages"]["english"]
    assert (language["pretrained"], language["max_subwords"]) == (NAME, LENGTH)


def test_predict_scores_what_training_scored(run):
    predictor = load(run)
    scorer = predictor.classifier.scorer("english")
    texts = [["Insulin", "Insulin lowers glucose in mice."], "Hearts of rats were examined."]
    documents = oracle(["Insulin Insulin lowers glucose in mice.", texts[1]], LENGTH)
    labels = oracle(predictor.language.labels.texts, LENGTH)
    with torch.no_grad():
        expected = scorer.output(scorer.document_norm(documents), scorer.label_norm(labels))
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
