"""Two processes on the CPU: every document once per epoch, and the scores of one process."""

import json
import subprocess
import sys

import lightning
import pytest
import torch

from gile_lightning import evaluate
from gile_lightning.network.encoders.segments import document_words
from gile_testing import children, runs

EPOCHS = 2


class Record(lightning.Callback):
    """Writes down the documents of every batch, for the test to count."""

    def on_train_batch_end(self, trainer, module, outputs, batch, number) -> None:
        (documents,) = batch.values()
        lengths = document_words(documents.sentence_lengths, documents.document_lengths)
        words = documents.words.split(lengths.tolist())
        with open(f"rank-{trainer.global_rank}.jsonl", "a") as file:
            seen = [document.tolist() for document in words]
            file.write(json.dumps([trainer.current_epoch, number, seen]) + "\n")

    def on_train_end(self, trainer, module) -> None:
        weights = torch.cat([p.detach().double().flatten() for p in module.parameters()])
        torch.save(weights, f"rank-{trainer.global_rank}.pt")


SPARSE = (
    *("--config", runs.CONFIG.with_name("fast.yaml"), "--model.embedding.dim", 20),
    *("--trainer.gradient_clip_val", 1.0),
    *runs.MATCHING,  # whose gradients are dense
)


@pytest.fixture(
    scope="module", params=[(), SPARSE], ids=["dense gradients", "sparse gradients and matchers"]
)
def run(request, tmp_path_factory):
    """The working directory of a run without --output."""
    directory = tmp_path_factory.mktemp("ddp")
    runs.trained()  # encodes the corpus
    record = json.dumps([{"class_path": "test_ddp.Record"}])
    devices = ("--trainer.devices", 2, "--trainer.strategy", "ddp", "--trainer.callbacks", record)
    arguments = runs.arguments(None, *devices, *request.param, epochs=EPOCHS)
    done = subprocess.run(
        [sys.executable, "-m", "gile_lightning.fit", *arguments],
        cwd=directory,
        env=children.environment(),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.count("run folder: ") == 1  # only the first process speaks
    return directory


def test_processes_have_the_same_weights(run):
    weights = [torch.load(run / f"rank-{rank}.pt") for rank in (0, 1)]
    assert torch.equal(*weights)


def test_scores_of_one_process(run):
    (folder,) = run.glob("runs/bioasq/*")
    (path,) = run.rglob("metrics.json")
    stored = json.loads(path.read_text())
    metrics = evaluate.main(["--checkpoint", str(folder)])
    assert {key for key in metrics if key.startswith("test.unseen.")}
    for key, value in metrics.items():
        assert stored[key] == pytest.approx(value, rel=0, abs=1e-12), key
