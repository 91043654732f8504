"""Mutants of files, made with the operators of Cosmic Ray, and a seeded sample of them."""

import ast
import hashlib
from collections import Counter
from dataclasses import dataclass
from functools import cache
from itertools import takewhile
from pathlib import Path

from cosmic_ray.ast import Visitor, ast_nodes, get_ast
from cosmic_ray.operators.provider import OperatorProvider
from groups import ROOT

# those left out need the names of variables
OPERATORS = sorted({*OperatorProvider()} - {"VariableReplacer", "VariableInserter"})


@dataclass(frozen=True)
class Mutant:
    path: str  # from the root of the repository
    line: int
    column: int
    operator: str  # class of Cosmic Ray
    occurrence: int  # which of the places of this operator in the file
    number: int  # which of those in lines of the same text

    def source(self) -> str:
        """Return the mutated source of the file."""
        tree = get_ast((ROOT / self.path).read_text(encoding="utf-8"))
        return _Mutate(self).walk(tree).get_code()

    def __str__(self) -> str:
        """Name the mutant by its lines, so that those above may change."""
        old, new = (ROOT / self.path).read_text(encoding="utf-8"), self.source()
        start = old.rfind("\n", 0, _common(old, new)) + 1
        same = _common(old[start:][::-1], new[start:][::-1])
        end = old.find("\n", len(old) - same)
        text, changed = old[start:end], new[start : len(new) - len(old) + end]
        again = f" ({self.number})" if self.number > 1 else ""
        return f"{self.path}: {' '.join(text.split())} -> {' '.join(changed.split())}{again}"


def _common(one: str, other: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other)))  # noqa: B905


class _Mutate(Visitor):
    def __init__(self, mutant: Mutant) -> None:
        self.operator = OperatorProvider()[mutant.operator]()
        self.left = mutant.occurrence

    def visit(self, node):
        for index, _ in enumerate(self.operator.mutation_positions(node)):
            if self.left == 0:
                node = self.operator.mutate(node, index)
            self.left -= 1
        return node


def _ordered(path: Path, seed: int) -> list[tuple[bytes, Mutant]]:
    source = path.read_text(encoding="utf-8")
    lines, nodes, name = source.splitlines(), [*ast_nodes(get_ast(source))], path.relative_to(ROOT)
    seen: Counter[tuple] = Counter()
    found = []
    for operator in OPERATORS:
        positions = OperatorProvider()[operator]().mutation_positions
        places = (start for node in nodes for start, _ in positions(node))
        for occurrence, (line, column) in enumerate(places):
            text = f"{seed} {name} {operator} {column} {lines[line - 1]}"
            seen[text] += 1
            order = hashlib.sha256(f"{text} {seen[text]}".encode()).digest()
            mutant = Mutant(str(name), line, column, operator, occurrence, seen[text])
            found.append((order, mutant))
    return found


class _Bare(ast.NodeTransformer):
    """Drops what no test can notice: types of parameters, results and variables."""

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return ast.arg(node.arg)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Name("Any")
        return self.generic_visit(node)


@cache
def _bare(source: str) -> str:
    return ast.dump(_Bare().visit(ast.parse(source)))


def _valid(mutant: Mutant) -> bool:
    """Tell whether Cosmic Ray can make it, Python compiles it, and it changes more than types."""
    try:
        return _bare(mutant.source()) != _bare((ROOT / mutant.path).read_text(encoding="utf-8"))
    except (AttributeError, SyntaxError):
        return False


def sample(paths: list[Path], count: int, seed: int) -> list[Mutant]:
    """Draw mutants uniformly: one of each operator in the code, then more if these are too few.

    Their order is that of hashes of their lines: a change elsewhere leaves the sample as it is.
    """
    pairs = sorted((pair for path in paths for pair in _ordered(path, seed)), key=lambda p: p[0])
    first: dict[tuple, Mutant] = {}
    for _, mutant in pairs:
        replaced = "_".join(mutant.operator.split("_")[:2])  # whatever by
        first.setdefault((mutant.path, mutant.line, mutant.column, replaced), mutant)
    taken: list[Mutant] = []
    for mutant in dict.fromkeys([*first.values(), *(mutant for _, mutant in pairs)]):
        if len(taken) < count and _valid(mutant):
            taken.append(mutant)
    return taken
