"""Configurations by name, and those that are laid over others."""

import re
from pathlib import Path

import pytest
import yaml

from gile_lightning.commands.cli import GileCLI
from gile_lightning.commands.shipped import SHIPPED, with_bases
from gile_lightning.common.errors import InputError
from gile_lightning.data import ATTACK
from gile_testing import runs


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
        return str(path)

    return write


def test_bases(write):
    write("first.yaml", "model: {}")
    write("in/second.yaml", "base: ../first.yaml")
    last = write("last.yaml", "base: in/second.yaml\ndata: {}")
    names = [str(Path(file).resolve().name) for file in with_bases(last)]
    assert names == ["first.yaml", "second.yaml", "last.yaml"]
    shipped = with_bases(write("mine.yaml", "base: bow-10"))
    assert [Path(file).name for file in shipped] == ["bow-10.yaml", "mine.yaml"]


@pytest.mark.parametrize("content", ["model: {}", "base: null", "base: 5", "[", "", "- base"])
def test_no_base(write, content):
    file = write("mine.yaml", content)
    assert with_bases(file) == [file]


def test_refused_bases(write):
    with pytest.raises(InputError, match="did you mean 'best_scratch'"):
        with_bases(write("mine.yaml", "base: best_scrach"))
    write("a.yaml", "base: b.yaml")
    with pytest.raises(InputError, match=r"a\.yaml: its base b\.yaml leads back to it"):
        with_bases(write("b.yaml", "base: a.yaml"))


def configuration(folder, *args):
    """Return the whole configuration of a fit, as it is stored, and its run folder."""
    runs_off = ("--trainer.logger", "false", "--trainer.accelerator", "cpu")
    cli = GileCLI([*args, "--data.cache_dir", str(folder), *runs_off], "fit", "")
    assert isinstance(cli.datamodule, ATTACK) == any("attack" in arg for arg in args)
    return yaml.safe_load(cli.resolved()), cli.output


@pytest.mark.parametrize(
    ("under", "over"),
    [
        ("best_scratch", ["attack"]),
        ("best_scratch", [str(SHIPPED / "attack.yaml")]),
        ("best_scratch", ["best_scratch", "attack"]),
        ("best", ["best", "attack"]),
    ],
)
def test_attack_changes_the_data_alone(tmp_path, monkeypatch, under, over):
    if under == "best":
        pytest.importorskip("gile_testing.minilm")
    monkeypatch.chdir(tmp_path)
    model, _ = configuration(tmp_path, "--config", under)
    attack, output = configuration(tmp_path, *(x for name in over for x in ("--config", name)))
    # a run has the name of the first file, as it was given
    assert output.parts[1] == ("attack" if under == "best_scratch" else "best")
    data, own = (config.pop("data")["init_args"] for config in (model, attack))
    assert attack == model
    changed = {key for key in own if own[key] != data.get(key)}
    assert changed == {"split_year"}
    assert own["split_year"] == 2021
    assert own["path"] is None


def test_a_base_is_a_key_of_files(tmp_path):
    done = runs.call(lambda args: GileCLI(args, "fit", ""), "--base", "best", "--config", "bioasq")
    assert done.status == 2
    assert re.match("error: base is a key of files: give that file first", done.errors)
