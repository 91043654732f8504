"""The tests that the page of promises names are there."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/promises.md"


def named_in(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_each_promise_has_a_test():
    text = PAGE.read_text(encoding="utf-8").partition("## What was tried")[0]
    rows = re.findall(r"^\| .* \|$", text, re.M)
    promises = [row for row in rows if not row.startswith("| Promise |")]
    assert len(promises) > 30
    for row in promises:
        named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)` \|$", row)
        assert named, row
        ((path, name),) = named
        assert (ROOT / path).is_file(), path
        assert name in named_in(ROOT / path), name
