import logging
import warnings
from types import SimpleNamespace

import pytest
from lightning.pytorch.callbacks import TQDMProgressBar
from lightning.pytorch.utilities import rank_zero_only

from gile_lightning.common.console import ProgressBar, quiet, say


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
