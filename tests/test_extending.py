"""The examples of docs/extending.md, as a reader would run them, named by import path."""

import json
import math
import re
import shlex
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from gile_lightning import fit, load
from gile_lightning.training.checkpoint import HPARAMS, STATE, read_checkpoint
from gile_testing import children, runs

PAGE = (Path(__file__).parents[1] / "docs/extending.md").read_text()
NOTES = "".join(f"{kind},note\ta {kind} of {i}\n" for i in range(40) for kind in ("bird", "fish"))


class Example(NamedTuple):
    options: list[str]
    code: str

    @property
    def path(self) -> str:
        """The import path of the class."""
        return re.findall(r"my_parts\.\w+", " ".join(self.options))[0]


def example(section: str) -> Example:
    (options,) = re.findall(r"^    (--.*)", section, re.M)
    (code,) = re.findall(r"```python\n(.*?)```", section, re.S)
    return Example(shlex.split(options), code)


EXAMPLES = {
    title: example(section)
    for title, section in re.findall(r"^## ([^\n]*)\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S)
    if "```python" in section
}


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory):
    """The folder in which a reader works, with `my_parts.py`."""
    folder = tmp_path_factory.mktemp("extending")
    (folder / "my_parts.py").write_text("\n\n".join(made.code for made in EXAMPLES.values()))
    (folder / "notes.tsv").write_text(NOTES)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.syspath_prepend(folder)
        yield folder


def test_every_kind_has_an_example():
    listed = re.findall(r"^\| \[an? ([\w ]+)\]", PAGE, re.M)
    assert [title.lower() for title in EXAMPLES] == listed


def described(value, path):
    """Find the part with an import path in a description in plain values."""
    if isinstance(value, dict):
        if value.get("class_path") == path:
            return value
        value = list(value.values())
    found = [described(item, path) for item in value] if isinstance(value, list) else []
    return next(filter(None, found), None)


@pytest.fixture(scope="module")
def fits(folder):
    """What the fits with the examples returned, in the run folders of their titles."""
    found = {}
    for title, made in EXAMPLES.items():
        builtin = [] if title == "Reader" else ["--data.builtin_documents", "100"]
        given = {
            **{"config": runs.CONFIG, "output": folder / title, "data.cache_dir": folder / "cache"},
            **{"data.min_count": 1, "trainer.max_epochs": 1, "trainer.accelerator": "cpu"},
            **{"trainer.enable_progress_bar": "false", "trainer.logger": "false"},
        }
        arguments = [part for key, value in given.items() for part in (f"--{key}", value)]
        done = runs.call(fit.main, *arguments, *builtin, *made.options)
        assert done.status is None, done.errors
        found[title] = done.result
    return found


@pytest.mark.parametrize("title", EXAMPLES)
def test_example_trains_and_is_loaded_with_its_arguments(title, folder, fits):
    made = EXAMPLES[title]
    checkpoint = read_checkpoint(folder / title / "checkpoints/best.ckpt")
    state = checkpoint[STATE]
    system = {"class_path": state["class_path"], "init_args": checkpoint[HPARAMS]}
    data = yaml.safe_load(state["config"])["data"]
    part = described(data if title == "Reader" else system, made.path)
    own = [
        (described(yaml.safe_load(value), made.path) or {"init_args": {}})["init_args"]
        if made.path in value
        else {key.rpartition(".")[2]: yaml.safe_load(value)}
        for key, value in zip(made.options[::2], made.options[1::2], strict=True)
    ]
    for arguments in own:
        assert arguments.items() <= part["init_args"].items()
    if title == "Metric":
        assert 0 < fits[title]["test.seen.reciprocal_rank_5"] < 1


def test_another_process_computes_the_same(folder, fits):
    """Parts have their arguments there, and the reader reads the same documents."""
    log = folder / "log.txt"
    with children.forked(log, "gile_testing.examples", *EXAMPLES, folder=folder) as process:
        assert process.wait(240) == 0, log.read_text()
    scores = json.loads((folder / "elsewhere.json").read_text())
    tested = {key: value for key, value in fits["Reader"].items() if key.startswith("test.")}
    assert tested.items() <= scores.pop("test").items()
    for title, found in scores.items():
        assert found == load(folder / title).predict(["a bird in the liver"], top_k=2)
        assert len(found[0]) == 2
        assert all(math.isfinite(label["score"]) for label in found[0])
