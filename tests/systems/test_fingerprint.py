"""Fingerprints of pretrained models."""

from types import SimpleNamespace

import pytest

from gile_lightning.common.errors import InputError
from gile_lightning.systems.fingerprint import check_fingerprints

TASKS = {"english": SimpleNamespace(tokenizer=SimpleNamespace(pretrained="a-model"))}


def test_another_model_is_refused():
    check_fingerprints(TASKS, {"english": [0.6, 0.8]}, {"english": [0.6, 0.8]})
    for found in ({"english": [0.8, 0.6]}, {"english": [1.0]}, {}):
        with pytest.raises(InputError, match="a-model: not the pretrained model that the check"):
            check_fingerprints(TASKS, found, {"english": [0.6, 0.8]})


def test_languages_that_are_not_gone_on_with_are_left_out():
    stored = {"english": [0.6, 0.8], "german": [1.0, 0.0]}
    check_fingerprints(TASKS, {"english": [0.6, 0.8]}, stored)
