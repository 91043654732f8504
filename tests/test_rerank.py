"""The second stage from the command to predictions, with a tiny cross-encoder."""

import json
import re
import shutil

import pytest

pytest.importorskip("sentence_transformers")

import sentence_transformers
import torch

import gile_lightning
from gile_lightning import evaluate, predict, rerank
from gile_lightning.commands.launcher import RUNNING, lock
from gile_lightning.common.errors import InputError
from gile_lightning.training import pair_training
from gile_lightning.training.combination import Combination
from gile_testing import runs
from gile_testing.small_models import save_pairs

TEXTS = ["Fibrosis of the liver in mice.", ["The kidney of the rat", "after surgery"]]
SMALL = (
    *("--steps", 4, "--documents", 3, "--pairs", 4, "--lr", 0.01, "--depth", 10),
    *("--validation_documents", 20, "--trainer.accelerator", "cpu"),
)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return save_pairs(tmp_path_factory.mktemp("pairs"))


@pytest.fixture(scope="module")
def fitted(model, tmp_path_factory):
    """A copy of a run with a second stage; fitting was stopped after two steps."""
    run = tmp_path_factory.mktemp("fitted")
    (run / "checkpoints").mkdir()
    shutil.copy(runs.trained().best, run / "checkpoints")
    command = ("--checkpoint", run, "--pretrained", model, *SMALL)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pair_training, "KEPT_EVERY", 2)
        patch.setattr(rerank, "fit_reranker", _stopped)
        with pytest.raises(KeyboardInterrupt):
            _unguarded(*command)
    other = runs.call(rerank.main, *command[:-2], "--steps", 5)
    assert other.status == 2
    assert "begun with another training; give the same again" in other.errors
    done = runs.call(rerank.main, *command)
    assert done.status is None, done.errors
    assert "going on after 2 steps" in done.printed
    return run, done


def _stopped(*args):
    """Fit, but be stopped when the state has been written."""
    from gile_lightning.commands import reranking

    with pytest.MonkeyPatch.context() as patch:
        write = reranking.AtomicCheckpointIO.save_checkpoint

        def stop(self, *more):
            write(self, *more)
            raise KeyboardInterrupt

        patch.setattr(reranking.AtomicCheckpointIO, "save_checkpoint", stop)
        return reranking.fit_reranker(*args)


def _unguarded(*args):
    """Run the command without what turns an interruption into a status."""
    return rerank.main.__wrapped__([str(arg) for arg in args])


def test_going_on_gives_what_an_unbroken_fit_gives(fitted, model, tmp_path):
    run, done = fitted
    (tmp_path / "checkpoints").mkdir()
    shutil.copy(runs.trained().best, tmp_path / "checkpoints")
    again = runs.call(rerank.main, "--checkpoint", tmp_path, "--pretrained", model, *SMALL)
    ours, theirs = (folder / "checkpoints/reranker" for folder in (run, tmp_path))
    files = [file.name for file in sorted(ours.iterdir())]
    assert files == [file.name for file in sorted(theirs.iterdir())]
    assert "training.pt" not in files
    for name in ("gile_lightning.json", "model.safetensors"):
        assert (ours / name).read_bytes() == (theirs / name).read_bytes()
    assert "right labels among the 10 best" in again.printed
    assert again.printed.splitlines()[-4:-1] == done.printed.splitlines()[-4:-1]


def test_predictions_equal_hand_computation(fitted):
    run, _ = fitted
    plain, reranked = gile_lightning.load(run), gile_lightning.load(run, rerank=True)
    folder = run / "checkpoints/reranker"
    stored = json.loads((folder / "gile_lightning.json").read_text())
    ranking, probability = Combination(**stored["ranking"]), Combination(**stored["probability"])
    oracle = sentence_transformers.CrossEncoder(str(folder), device="cpu", max_length=60)
    descriptions = dict(zip(plain.task.labels.names, plain.task.labels.texts, strict=True))
    labels = {name: descriptions[name] for name in plain.label_names[5:40]}
    for given in (None, labels):
        if given is not None:
            plain.set_labels(given)
            reranked.set_labels(given)
        before = plain.predict(TEXTS, top_k=None)
        logits = plain.logits(TEXTS).sort(dim=1, descending=True).values
        found = reranked.predict(TEXTS, top_k=None)
        for i, text in enumerate(["Fibrosis of the liver in mice.", " ".join(TEXTS[1])]):
            pairs = [(text, descriptions[label["name"]]) for label in before[i][:10]]
            scores = oracle.predict(
                pairs, activation_fn=torch.nn.Identity(), convert_to_tensor=True
            )
            log_odds = torch.tensor([label["score"] for label in before[i]]).double().logit()
            order = ranking(logits[i, :10], scores).argsort(descending=True).tolist()
            names = [before[i][place]["name"] for place in order]
            assert [label["name"] for label in found[i][:10]] == names
            assert found[i][10:] == before[i][10:]
            expected = probability(log_odds[:10], scores.double())[order].sigmoid().tolist()
            assert [label["score"] for label in found[i][:10]] == pytest.approx(expected, abs=1e-4)
        three = reranked.predict(TEXTS, top_k=3)
        assert [_names(x) for x in three] == [_names(x)[:3] for x in found]
    assert before[0][:10] != found[0][:10]


def _names(prediction):
    return [label["name"] for label in prediction]


def test_commands_rerank(fitted, tmp_path):
    run, _ = fitted
    texts = tmp_path / "texts.txt"
    texts.write_text(TEXTS[0])
    said = runs.call(predict.main, "--checkpoint", run, "--input", texts, "--rerank")
    found = gile_lightning.load(run, rerank=True).predict([TEXTS[0]])[0]
    assert json.loads(said.printed)["labels"] == found
    keys = ("--checkpoint", run, "--trainer.accelerator", "cpu")
    output = tmp_path / "scored"
    again = ("--rerank", "--output", output)
    plain, second = (runs.call(evaluate.main, *keys, *more) for more in ((), again))
    assert second.status is None, second.errors
    changed = [key for key, value in plain.result.items() if second.result.get(key) != value]
    assert "test.seen.average_precision" in changed
    # positives below the ten best labels stay where they are
    assert "test.all.documents" not in changed
    assert plain.result == {key: runs.trained().metrics[key] for key in plain.result}
    headings = re.findall(r"<h2>(.*?)</h2>", (output / "report.html").read_text())
    assert "Examples" in headings
    assert "Explained" not in headings


def test_what_cannot_be_done_is_refused(fitted, model, tmp_path):
    run, _ = fitted
    reranked = gile_lightning.load(run, rerank=True)
    with pytest.raises(InputError, match="cannot be explained: load the model without it"):
        reranked.explain(TEXTS[0])
    with pytest.raises(InputError, match=r"second stage \(rerank\) has no thresholds of labels"):
        reranked.predict(TEXTS, threshold="labels")
    assert reranked.tuned_threshold == reranked.reranker.threshold
    command = ("--checkpoint", run, "--pretrained", model)
    for args, message in (
        (command, "holds a second stage already; delete the folder to fit anew"),
        (command[:2], "--pretrained NAME is needed"),
        (command[2:], "--checkpoint RUN is needed"),
        ((*command, "--depth", 0), "must be above 0: depth is 0"),
        ((*command, "--steps", 0), "must be above 0: steps is 0"),
    ):
        said = runs.call(rerank.main, *args)
        assert (said.status, message in said.errors) == (2, True), said.errors
    (tmp_path / "checkpoints").mkdir()
    copied = shutil.copy(run / "checkpoints/best.ckpt", tmp_path / "checkpoints")
    with lock(tmp_path / "checkpoints/reranker", RUNNING):
        said = runs.call(rerank.main, "--checkpoint", copied, "--pretrained", model)
    assert "reranker: another second stage is fitted there; wait for its end" in said.errors
    explained = (*("--checkpoint", run, "--explain", "-"), "--rerank", "true")
    assert "leave --rerank out" in runs.call(predict.main, *explained).errors
