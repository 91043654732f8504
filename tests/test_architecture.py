"""The table of docs/architecture.md, held against the imports of the package."""

import ast
import graphlib
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "gile_lightning"
ROW = re.compile(r"^\| (\d) \| `?(\w+)`? \| .* \| (.*) \|$", re.M)
ROWS = ROW.findall((ROOT / "docs/architecture.md").read_text(encoding="utf-8"))
LEVELS = {package: int(level) for level, package, _ in ROWS}
LISTED = {package: set(re.findall(r"`(\w+)`", imports)) for _, package, imports in ROWS}


def imported(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names = [name.name for name in node.names] if isinstance(node, ast.Import) else names
        for name in names:
            if name.startswith("gile_lightning."):
                yield name.split(".")[1]


def test_every_subpackage_is_listed():
    subpackages = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file()}
    assert subpackages == LEVELS.keys() - {"root"}


def test_imports_go_to_lower_levels_and_are_those_of_the_table():
    for package in LEVELS.keys() - {"root"}:
        found = {name for path in (PACKAGE / package).rglob("*.py") for name in imported(path)}
        found -= {package}
        assert found == LISTED[package], package
        assert all(LEVELS[name] < LEVELS[package] for name in found), package


def test_modules_of_commands_are_short():
    modules = [path for path in PACKAGE.glob("*.py") if not path.name.startswith("__")]
    assert all(len(path.read_text(encoding="utf-8").splitlines()) < 100 for path in modules)


MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in PACKAGE.rglob("*.py")
}


def statements(body):
    """Yield the imports that are made when a module is."""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif ast.unparse(node).startswith("if TYPE_CHECKING"):
            continue
        elif isinstance(node, ast.If | ast.Try | ast.With):
            yield from statements([*node.body, *getattr(node, "orelse", [])])


def needed(name):
    """Yield the modules that have to be whole before this one is; its own packages need not."""
    for node in statements(ast.parse(MODULES[name].read_text(encoding="utf-8")).body):
        found = {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            full = {f"{node.module}.{alias}" for alias in found}
            found = {path if path in MODULES else node.module for path in full}
        for path in found & MODULES.keys():
            yield path
            while path := path.rpartition(".")[0]:
                if not f"{name}.".startswith(f"{path}."):
                    yield path


def test_any_module_can_be_imported_first():
    """No circle of imports; that each can be imported at all, the collection of doctests shows."""
    graph = {name: {*needed(name)} - {name} for name in MODULES}
    assert len([*graphlib.TopologicalSorter(graph).static_order()]) == len(MODULES)
