"""A part of one's own keeps its arguments in a checkpoint, without doing anything for it."""

import pytest

from gile_lightning import fit
from gile_testing import own_parts, runs


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("own-parts")


@pytest.fixture(scope="module")
def run(folder):
    """A fit on the corpus of an own reader."""
    given = {
        "data": "gile_testing.own_parts.Reader",
        "data.factor": 3,
        "data.min_count": 1,
        "data.cache_dir": folder / "cache",
        "model.encoder": "gile_testing.own_parts.OwnEncoder",
        "model.encoder.factor": 3,
        "model.norm": "torch.nn.Identity",
        "model.optimizer": "torch.optim.SGD",
        "model.optimizer.lr": 0.5,
        "model.loss": "gile_testing.own_parts.OwnLoss",
        "model.loss.factor": 3,
        "trainer.max_epochs": 1,
        "trainer.accelerator": "cpu",
        "trainer.enable_progress_bar": "false",
        "trainer.logger": "false",
        "output": folder / "run",
    }
    done = runs.call(fit.main, *(x for key, value in given.items() for x in (f"--{key}", value)))
    assert done.status is None, done.errors
    return done.result


@pytest.fixture(scope="module")
def elsewhere(folder, run):
    for kind in own_parts.SYSTEMS:
        own_parts.train(kind, 3.0, folder)
    return own_parts.elsewhere(folder)


@pytest.mark.parametrize("kind", own_parts.SYSTEMS)
def test_same_scores_in_another_process(kind, elsewhere, folder, tmp_path):
    expected = own_parts.scores(folder / f"{kind}-3.0.ckpt")
    assert elsewhere[f"{kind}-3.0"] == expected
    assert own_parts.scores(own_parts.train(kind, 1.0, tmp_path)) != expected


def test_same_documents_of_a_reader_in_another_process(run, elsewhere):
    tested = {key: value for key, value in run.items() if key.startswith("test.")}
    assert tested.items() <= elsewhere["run"].items()


def test_documents_of_a_reader_with_other_arguments_are_not_taken_from_the_cache(tmp_path):
    keys = {own_parts.Reader(factor, cache_dir=tmp_path).fingerprint() for factor in (1, 3)}
    assert len(keys) == 2
    same = own_parts.Reader(3, cache_dir=tmp_path, batch_size=7)
    assert same.fingerprint() in keys
