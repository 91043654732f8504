"""Two processes that Lightning starts, with sparse gradients and matchers."""

import json

import lightning
import pytest
import torch

from gile_lightning import evaluate
from gile_lightning.commands.run_folder import read_metrics
from gile_testing import children, runs

EPOCHS = 2


class Record(lightning.Callback):
    """Gives processes different embeddings, as rounding may, and keeps what each ends with."""

    def on_fit_start(self, trainer, module) -> None:
        for parameter in module.sparse_parameters().values():
            parameter.data += 0.1 * trainer.global_rank

    def on_train_end(self, trainer, module) -> None:
        weights = torch.cat([p.detach().double().flatten() for p in module.parameters()])
        torch.save(weights, f"rank-{trainer.global_rank}.pt")


def test_processes_have_the_same_weights_and_score_as_one(tmp_path):
    runs.trained()  # encodes the corpus
    record = json.dumps([{"class_path": "test_ddp.Record"}])
    arguments = runs.arguments(
        None,
        *("--config", runs.CONFIG.with_name("fast.yaml"), "--model.embedding.dim", 20),
        *("--trainer.gradient_clip_val", 1.0, *runs.MATCHING),  # whose gradients are dense
        *("--trainer.devices", 2, "--trainer.strategy", "ddp", "--trainer.callbacks", record),
        epochs=EPOCHS,
    )
    log = tmp_path / "log.txt"
    with children.forked(log, "gile_lightning.fit", *arguments, folder=tmp_path) as process:
        assert process.wait(240) == 0, log.read_text()[-3000:]
    assert log.read_text().count("run folder: ") == 1  # only the first process speaks
    assert torch.equal(*(torch.load(tmp_path / f"rank-{rank}.pt") for rank in (0, 1)))

    (folder,) = tmp_path.glob("runs/*/*")
    (history,) = tmp_path.rglob("metrics.csv")
    assert len(history.read_text().splitlines()) == 1 + EPOCHS
    stored = read_metrics(folder)
    metrics = evaluate.main(["--checkpoint", str(folder)])
    assert {key for key in metrics if key.startswith("test.unseen.")}
    for key, value in metrics.items():
        exact = 1e-9 if "calibration" in key else 1e-12  # probabilities have float32's digits
        assert stored[key] == pytest.approx(value, rel=0, abs=exact), key
