"""The reference of the configuration: no part and no key without a description."""

import inspect
import pkgutil
import re
from importlib import import_module

import pytest

import gile_lightning
from gile_lightning.common.factories import Part
from gile_lightning.data import Columns
from gile_lightning.network.outputs import GILE
from gile_site import pages
from gile_site.classes import keys_of
from gile_site.configuration import entries, paper_values, run_keys
from gile_site.links import ROOT

# what no configuration names
INTERNAL = {
    "Configured",  # a base
    "OneProjection",  # a base, of GILEOnlyLabel and GILEOnlyInput
    *("Multilingual", "Articles", "ReleasedArticles"),  # what DW is made of
    *("Nam16AveragePrecision", "Nam16OneError", "Nam16RankingLoss"),  # model.nam16 adds them
}


def subclasses(kind):
    return {kind}.union(*map(subclasses, kind.__subclasses__()))


@pytest.fixture(scope="module")
def parts():
    """The names of all parts of the package that can be made."""
    for module in pkgutil.walk_packages(gile_lightning.__path__, "gile_lightning."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    found = {part for part in subclasses(Part) if part.__module__.startswith("gile_lightning.")}
    return {part.__name__ for part in found if not inspect.isabstract(part)} - {"Part"}


@pytest.fixture(scope="module")
def generated():
    return pages.generated()


def test_every_part_is_there(parts):
    assert len(parts) > 50
    assert parts - INTERNAL <= set(entries())
    assert parts >= INTERNAL


def test_every_key_has_a_description_and_a_kind():
    keys = [(name, key) for name, entry in entries().items() for key in entry.own]
    keys += [("", key) for key in run_keys().values() if not key.name.startswith("trainer.")]
    assert len(keys) > 150
    assert [f"{name}.{key.name}" for name, key in keys if not (key.text and key.kind)] == []
    assert [name for name, entry in entries().items() if not entry.kind.__doc__] == []


def test_keys_are_those_of_the_command_line():
    named = {key.name: key for key in keys_of(GILE, given=4)}
    assert list(named) == ["joint_dim", "activation", "layers"]
    assert named["joint_dim"].default == "500"
    assert named["joint_dim"].kind == "a whole number, or `matched`"
    assert named["activation"].default == "ReLU"
    bioasq = entries()["BioASQ"]
    own = {"path", "descriptors", "builtin_documents"}
    columns = {f"columns.{name}" for name in Columns.__dataclass_fields__}
    assert {key.name for key in bioasq.own} == own | columns
    assert bioasq.inherited["split_year"] == ("Corpus", "2005")
    assert bioasq.inherited["batch_size"] == ("DocumentDataModule", "64")
    assert entries()["ATTACK"].inherited["label_text"][0] == "Corpus"
    assert "columns.id" not in entries()["ATTACK"].inherited  # its constructor sets it


def test_the_paper_s_values():
    values = paper_values()
    assert values["UniformLabels", "rate"] == {"BioASQ": "`0.003`"}
    assert values["Dense", "dim"] == {"BioASQ": "`100`", "DW": "`100`"}
    assert values["WordEmbedding", "dim"] == {"BioASQ": "`100`", "DW": "`40`"}
    assert values["DocumentDataModule", "max_document_words"] == {"BioASQ": "`300`"}
    assert values["NeuralSystem", "sharing"] == {"DW": "`attention`"}
    assert values["", "early_stopping.patience"] == {"BioASQ": "`3`", "DW": "`20`"}
    assert "100000" in values["DocumentDataModule", "validation_size"]["BioASQ"]  # its remark
    declared = {(name, key.name) for name, entry in entries().items() for key in entry.own}
    declared |= {("", name) for name in run_keys()}
    unknown = {owner for owner, _ in values.keys() - declared}
    assert unknown == {"Adam"}, "PyTorch has a reference of its own"


def test_pages_show_every_key(generated):
    for name, entry in entries().items():
        text = generated[entry.page]
        assert f"### {name} {{ #{name} }}" in text
        for key in entry.own:
            assert f"{{ #{name}.{key.name} .key }}" in text
    shown = generated[pages.RUN] + generated[pages.SWEEP]
    hidden = {"config", "model", "data", "sweep", "length"}  # sections
    for name in run_keys():
        assert (
            f"#### `{name}`" in shown
            or f"### `{name}`" in shown
            or name in hidden
            or (name.startswith("trainer.") and name.partition(".")[2] not in pages.TRAINER)
        ), name
    for file in ROOT.glob("sweeps/*.yaml"):
        assert file.read_text() in generated[pages.SHIPPED]


def test_links_of_the_pages_arrive(generated):
    anchors = {
        page: set(re.findall(r"\{ #(\S+)", text))
        | {line.lower().replace(" ", "-") for line in re.findall(r"^## ([\w ,]+)$", text, re.M)}
        for page, text in generated.items()
    }
    for page, text in generated.items():
        prose = re.sub(r"```.*?```", "", text, flags=re.S)
        for file, anchor in re.findall(r"\]\(([\w/.]*)#?([^)\s]*)\)", prose):
            if file.startswith("../"):
                assert (ROOT / "docs" / file.removeprefix("../")).is_file(), file
            else:
                target = f"reference/{file}" if file else page
                assert not anchor or anchor.replace(",", "") in {
                    known.replace(",", "") for known in anchors[target]
                }, (page, file, anchor)


def test_documented_objects_exist():
    for _, *names in pages.API.values():
        for path in names:
            if path.startswith("gile_lightning."):
                module, _, name = path.rpartition(".")
                assert hasattr(import_module(module), name), path
