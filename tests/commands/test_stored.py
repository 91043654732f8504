"""The configuration that a checkpoint passes on."""

import yaml

from gile_lightning.commands.stored import stored_configuration
from gile_lightning.training.checkpoint import STATE


def test_a_checkpoint_passes_on_all_but_the_keys_of_its_machine():
    stored = {"length": {"epochs": 9}, "early_stopping": {"patience": 2}, "test": False}
    config = yaml.safe_dump({**stored, "trainer": {"devices": 8}, "start_from": "run"})
    with stored_configuration({STATE: {"config": config}}) as file, open(file) as text:
        assert yaml.safe_load(text) == stored
