"""Training and evaluation in every precision of the trainer."""

from functools import partial

import lightning
import numpy as np
import pytest
import torch
from lightning.pytorch.plugins import MixedPrecision
from torch.optim import SGD, Adam

from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.network.encoders import Mean, WordEmbedding
from gile_lightning.network.label_residual import LabelResidual
from gile_lightning.network.outputs import GILE, Bilinear, JointBilinear, Linear
from gile_lightning.systems import NeuralSystem
from gile_lightning.systems.gradient import Adam as FusedAdam
from gile_lightning.training.optimizers import LazyAdam
from gile_testing.two_languages import PARTS, TwoLanguages, ragged

# batches that are there already need no workers
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*does not have many workers"),
]

PRECISIONS = ["32-true", "64-true", "bf16-true", "bf16-mixed", "16-mixed"]
SPARSE = partial(WordEmbedding, dim=6, sparse=True)


def trainer(precision, **more):
    kind = {"precision": precision}
    if precision == "16-mixed":  # which Lightning replaces on a CPU unless it is given so
        scaler = torch.amp.GradScaler("cpu", init_scale=256.0)
        kind = {"plugins": [MixedPrecision(precision, "cpu", scaler)]}
    return lightning.Trainer(
        max_epochs=1,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        use_distributed_sampler=False,
        num_sanity_val_steps=0,
        **kind,
        **more,
    )


# --- clipping ---


class Weights(lightning.Callback):
    """Keeps the weights that the only step starts from."""

    def on_train_batch_start(self, trainer, model, *args):
        self.before = {key: p.detach().clone() for key, p in model.named_parameters()}


def step(precision, parts, **clipping):
    """Train one step; return the gradients that it was made by, the optimizer and the change."""
    torch.manual_seed(3)
    model, weights = NeuralSystem(**PARTS | parts), Weights()
    fit = trainer(precision, callbacks=[weights], limit_val_batches=0, **clipping)
    fit.fit(model, TwoLanguages())
    parameters = {k: p for k, p in model.named_parameters() if p.grad is not None}
    gradients = {key: p.grad.to_dense().double() for key, p in parameters.items()}
    changes = {key: p.detach().double() - weights.before[key] for key, p in parameters.items()}
    (optimizer,) = fit.optimizers
    return gradients, {key: optimizer.state[p] for key, p in parameters.items()}, changes


@pytest.mark.parametrize(
    ("precision", "algorithm"),
    [*((precision, "norm") for precision in PRECISIONS), ("16-mixed", "value")],
)
@pytest.mark.parametrize(
    "parts",
    [
        {"optimizer": FusedAdam},
        {"optimizer": Adam},
        {"optimizer": LazyAdam, "embedding": SPARSE},
        {"optimizer": partial(SGD, lr=1.0)},
        {"optimizer": partial(SGD, lr=1.0, fused=True)},
        {"optimizer": partial(SGD, lr=1.0), "embedding": SPARSE},
    ],
    ids=["fused Adam", "Adam", "LazyAdam", "SGD", "fused SGD", "sparse SGD"],
)
def test_clipping(precision, algorithm, parts):
    whole, _, _ = step(precision, parts)
    norm = np.sqrt(sum(float((g**2).sum()) for g in whole.values()))
    if algorithm == "norm":
        limit = norm / 4
        expected = {key: g / 4 for key, g in whole.items()}
    else:
        limit = max(float(g.abs().max()) for g in whole.values()) / 4
        expected = {key: g.clamp(-limit, limit) for key, g in whole.items()}
    found, states, changes = step(
        precision, parts, gradient_clip_val=limit, gradient_clip_algorithm=algorithm
    )
    rounding = 0.02 if precision == "bf16-true" else 1e-4
    for key, gradient in expected.items():
        near = partial(np.testing.assert_allclose, rtol=rounding, atol=rounding * limit / 100)
        near(found[key], gradient)
        if "exp_avg" in states[key]:  # the optimizer has seen these, neither scaled nor unscaled
            near(states[key]["exp_avg"].double(), 0.1 * gradient)
        elif precision != "bf16-true":  # where a weight hides a small change
            np.testing.assert_allclose(changes[key], -gradient, rtol=1e-3, atol=1e-6)


# --- metrics ---

WORDS, LABELS, TEXTS = 400, 20_000, 48


class ManyLabels(TwoLanguages):
    """Random documents and labels, with words from a small vocabulary; nothing is trained on."""

    def __init__(self):
        draw = np.random.default_rng(7)
        words = [f"w{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(WORDS)]
        texts = [" ".join(words[i] for i in row) for row in draw.integers(WORDS, size=(LABELS, 4))]
        names = [f"l{i}" for i in range(LABELS)]
        labels = LabelSet(names, texts, [1] * (LABELS - 1000) + [0] * 1000)
        super().__init__({"english": Task(Tokenizer([*words, "UNK"]), labels)})

    def fill(self, model):
        """Draw documents whose labels are some of those that the model ranks highest."""
        draw = np.random.default_rng(8)
        words = draw.integers(WORDS, size=(TEXTS, 12)).tolist()
        self.batches = [{"english": ragged(words, [[] for _ in words])}]
        name, labels = "english", self.tasks["english"].labels
        with torch.no_grad():
            prepared = model.prepare_labels(name, labels)
            ranked = model.score(name, self.batches[0][name].texts, prepared).argsort(1).flip(1)
        chosen = [draw.choice(60, 5, replace=False) for _ in words]
        ids = [
            row[torch.from_numpy(some)].tolist() for row, some in zip(ranked, chosen, strict=True)
        ]
        self.batches = [{"english": ragged(words, ids)}]


def scored(precision, parts):
    """Test a model with random weights; return its scores."""
    torch.manual_seed(5)
    parts = {"embedding": partial(WordEmbedding, dim=24), "encoder": Mean} | parts
    model, data = NeuralSystem(**PARTS | parts), ManyLabels()
    model.attach(data.training_data())
    network = model.network("english")
    with torch.no_grad():
        for p in [network.output.linear.bias] if isinstance(network.output, Linear) else []:
            p.normal_(-6, 1)  # as after training: most labels are wrong
        if isinstance(network.output, GILE):
            network.output.unit.bias.fill_(-6)
        if network.label_residual is not None:
            network.label_residual.vectors.normal_(0, 0.3)
            network.label_residual.biases.normal_(0, 0.3)
    data.fill(model)
    trainer(precision).test(model, data, verbose=False)
    return model.results


@pytest.mark.parametrize(
    "parts",
    [
        {"output": partial(GILE, joint_dim=30)},
        {"output": partial(GILE, joint_dim=30), "label_residual": LabelResidual},
        {"output": partial(JointBilinear, joint_dim=30)},
        {"output": Bilinear},
        {"output": Linear},
    ],
    ids=["GILE", "GILE, residuals", "JointBilinear", "Bilinear", "Linear"],
)
def test_metrics_are_those_of_other_precisions(parts):
    """Rounded logits would tie."""
    exact = scored("32-true", parts)["seen"]
    for precision in ("bf16-mixed", "16-mixed"):
        found = scored(precision, parts)["seen"]
        for key in ("average_precision", "ranking_loss"):
            assert found[key] == pytest.approx(exact[key], abs=5e-4), (precision, key)


def test_half_precision_ranks_without_rounding():
    """The weights are rounded, their products are not."""
    data, kinds = ManyLabels(), set()
    parts = {"output": partial(GILE, joint_dim=30), "label_residual": LabelResidual}
    model = NeuralSystem(**PARTS | parts)
    model.attach(data.training_data())
    data.fill(model)
    model.observer = lambda name, logits, documents, log_odds: kinds.add(logits.dtype)
    trainer("bf16-true").test(model, data, verbose=False)
    assert kinds == {torch.float32}
    assert model.network("english").output.unit.weight.dtype == torch.bfloat16
