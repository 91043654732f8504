"""Which versions are allowed, and which are installed: pyproject.toml against the files of pins."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
# what `jsonargparse[signatures]` adds, as a file of constraints cannot name an extra
SIGNATURES = {"docstring-parser", "typeshed-client"}


def by_name(lines):
    found = [Requirement(line) for line in lines]
    return {canonicalize_name(requirement.name): requirement for requirement in found}


def pins(name):
    lines = re.findall(r"^[^#\s-].*", (ROOT / name).read_text(), re.M)
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines)
    return by_name(lines)


DIRECT = by_name(PROJECT["dependencies"])
OTHERS = by_name(line for lines in EXTRAS.values() for line in lines)
del OTHERS["gile-lightning"], OTHERS["setuptools"]  # extras name others; pip brings setuptools
PINS = pins("requirements.txt")
MORE_PINS = pins("constraints.txt")


def test_each_dependency_has_a_pin_and_each_pin_a_dependency():
    assert PINS.keys() == DIRECT.keys() | SIGNATURES
    assert MORE_PINS.keys() == OTHERS.keys()
    assert "-c requirements.txt" in (ROOT / "constraints.txt").read_text().splitlines()


@pytest.mark.parametrize("name", [*DIRECT, *OTHERS])
def test_a_range_has_a_floor_and_holds_the_pin(name):
    allowed = (DIRECT | OTHERS)[name].specifier
    operators = {specifier.operator for specifier in allowed}
    assert ">=" in operators
    assert operators <= {">=", "<"}
    (pin,) = (PINS | MORE_PINS)[name].specifier
    assert pin.version in allowed


def test_every_library_that_is_imported_is_a_dependency():
    named = set()
    for path in ROOT.glob("gile_lightning/**/*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                named |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                named.add((node.module or "").partition(".")[0])
    # `words` is a copy of a module of the package, in the folders of ONNX models
    named -= {"gile_lightning", "words", *sys.stdlib_module_names}
    owners = packages_distributions()
    known = DIRECT.keys() | OTHERS.keys()
    unknown = {
        name
        for name in named
        if not known & {canonicalize_name(owner) for owner in owners.get(name, [name])}
    }
    assert not unknown
    assert len(named) > 20
