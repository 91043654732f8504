"""The messages that the page of troubleshooting quotes are those of the code."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "troubleshooting.md"


def template(node):
    """The text of a string, with … for what is put in; None for anything else."""
    if isinstance(node, ast.JoinedStr):
        return "".join(template(part) or "…" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def templates():
    for path in sorted(ROOT.glob("gile_lightning/**/*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if text := template(node):
                yield text


def holds(text, message):
    """Whether the fixed parts of a message follow one another in the text of a string."""
    at = 0
    for part in message.split("…"):
        at = text.find(part, at) + len(part)
        if at < len(part):
            return False
    return True


def test_holds():
    assert holds("…: no file … here", "…: no file … here")
    assert holds("…: no file … here, set --path", "…: no file … here")
    assert not holds("…: no file … there", "…: no file … here")
    assert not holds("here … no file", "no file … here")


def test_messages_are_in_the_code():
    messages = re.findall(r"^\| `(.+?)` \|", PAGE.read_text(encoding="utf-8"), re.M)
    assert len(messages) > 30
    known = list(templates())
    # the longest fixed part tells messages apart
    assert all(max(map(len, message.split("…"))) > 10 for message in messages)
    missing = [message for message in messages if not any(holds(x, message) for x in known)]
    assert not missing
