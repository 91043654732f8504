import logging
import warnings
from types import SimpleNamespace

import lightning
import pytest
from lightning.pytorch.callbacks import TQDMProgressBar
from lightning.pytorch.utilities import rank_zero_only

import gile_lightning
from gile_lightning.common.console import (
    ProgressBar,
    Sizes,
    count_parameters,
    parameters,
    quiet,
    say,
)
from gile_testing import runs


@pytest.fixture(scope="module")
def model():
    return gile_lightning.load(runs.trained().best).system


def test_counts_of_the_parts(model):
    words = len(model.tasks["english"].tokenizer.vocabulary)
    dim, hidden, joint = (
        runs.MODEL[key] for key in ("embedding.dim", "encoder.layer.dim", "output.joint_dim")
    )
    embedding = words * dim
    encoder = (dim + 1) * hidden + (hidden + 1) * hidden + hidden + 1
    output = (hidden + 1) * joint + (dim + 1) * joint + joint + 1
    assert parameters(model).splitlines() == [
        f"parameters (english): embedding {embedding:,}, encoder {encoder:,}, output {output:,}",
        f"parameters in all: {embedding + encoder + output:,}",
    ]
    assert count_parameters(model) == embedding + encoder + output


def test_sizes_are_printed_once_the_model_is_built(model, capsys):
    Sizes().on_fit_start(None, model)
    assert capsys.readouterr().out == parameters(model) + "\n"
    Sizes().on_fit_start(None, lightning.LightningModule())
    assert capsys.readouterr().out == ""


def test_only_the_first_process_speaks(monkeypatch, capsys):
    say("one")
    monkeypatch.setattr(rank_zero_only, "rank", 1)
    say("two")
    assert capsys.readouterr().out == "one\n"


@pytest.mark.parametrize(("terminal", "rate"), [(True, 5), (False, 100)])
def test_progress_bar(monkeypatch, terminal, rate):
    monkeypatch.setattr("sys.stderr", SimpleNamespace(isatty=lambda: terminal))
    monkeypatch.setattr(
        TQDMProgressBar, "get_metrics", lambda *args: {"v_num": "abc", "train/loss": 0.5}
    )
    bar = ProgressBar()
    assert bar.get_metrics(None, None) == {"train/loss": 0.5}
    assert bar.refresh_rate == rate


def test_messages_that_tell_nothing_are_left_out(caplog):
    quiet()
    logger = logging.getLogger("lightning.pytorch.utilities.rank_zero")
    with caplog.at_level(logging.INFO):
        for message in ("GPU available: False", "Seed set to 3", "`Trainer.fit` stopped"):
            logger.info(message)
    assert [record.getMessage() for record in caplog.records] == ["`Trainer.fit` stopped"]


def test_warnings_that_tell_nothing_are_left_out():
    quiet()
    warnings.warn("Checkpoint directory x exists and is not empty.", stacklevel=1)
    with pytest.raises(UserWarning, match="look out"):  # an error in these tests
        warnings.warn("look out", stacklevel=1)
