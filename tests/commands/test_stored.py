"""The configuration that a checkpoint passes on."""

from types import SimpleNamespace

import yaml

from gile_lightning.commands.stored import dropped_keys, stored_configuration
from gile_lightning.training.checkpoint import STATE


def test_a_checkpoint_passes_on_all_but_the_keys_of_its_machine():
    stored = {"length": {"epochs": 9}, "early_stopping": {"patience": 2}, "test": False}
    config = yaml.safe_dump({**stored, "trainer": {"devices": 8}, "start_from": "run"})
    with stored_configuration({STATE: {"config": config}}) as file, open(file) as text:
        assert yaml.safe_load(text) == stored


def test_keys_that_another_class_does_not_take(tmp_path):
    def dropped(before):
        (tmp_path / "c.yaml").write_text(yaml.safe_dump({"sampler": before}))
        final = {"sampler": {"class_path": "AllLabels"}, "config": [tmp_path / "c.yaml"]}
        config = SimpleNamespace(as_dict=lambda: final, get=final.get)
        return dropped_keys(config)

    assert dropped({"class_path": "Uniform", "init_args": {"rate": 0.1}}) == {
        ("AllLabels", ("rate",))
    }
    assert not dropped({"class_path": "AllLabels", "init_args": {}})
