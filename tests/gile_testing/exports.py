"""Runs that are exported, and what the exported model must give."""

from pathlib import Path

import torch

import gile_lightning
from gile_lightning import export
from gile_lightning.systems.loading import read_model
from gile_testing import runs

TEXTS = [
    "Fibrosis of the liver in mice, and asthma in children.",
    "Bacterial growth at 37 degrees; a trial. Die Wahl in Berlin!",
    "words that no vocabulary has: xyzzy plugh",
    "",
]


def exported(model: Path, folder: Path, *more: object) -> runs.Called:
    """Call the command."""
    return runs.call(export.main, "--checkpoint", model, "--output", folder, *more)


def same_scores(run: runs.Run, folder: Path) -> Path:
    """Export a run for the hub, and check that each language scores as its checkpoint does."""
    done = exported(run.output, folder)
    assert done.status is None, done.errors
    for language in read_model(run.best)["gile_lightning"]["tasks"]:
        before, after = (gile_lightning.load(x, language=language) for x in (run.best, folder))
        found, expected = after.logits(TEXTS), before.logits(TEXTS)
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)
        assert expected.std() > 0
        for threshold in (None, "tuned", *(["labels"] if before.system.calibrate else [])):
            given = {"threshold": threshold}
            assert after.predict(TEXTS, **given) == before.predict(TEXTS, **given)
    return folder
