"""The pages: links lead somewhere, commands parse, classes of the glossary are in the code."""

import re
import shlex
from pathlib import Path

import pytest

from gile_lightning.prepare import PrepareCLI

ROOT = Path(__file__).parents[1]
PAGES = {
    str(page.relative_to(ROOT)): page for page in (ROOT / "README.md", *ROOT.glob("docs/*.md"))
}
SHORT = dict(re.findall(r"\b([EOBS])=(\S+)", PAGES["docs/systems.md"].read_text()))


def commands():
    """Every training of the pages, with its continuation lines, by page."""
    for name, page in PAGES.items():
        text = page.read_text().replace("\\\n", "")
        for arguments in re.findall(r"-m gile_lightning\.(?:fit|prepare)( [^|`\n]*)", text):
            if "--start_from" not in arguments:  # which reads a checkpoint
                yield name, re.sub(r"\$([EOBS])\b", lambda m: SHORT[m[1]], arguments)


def headings(page):
    lines = re.findall(r"^#+ (.*)", page.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-") for line in lines}


@pytest.mark.parametrize("name", PAGES)
def test_links(name):
    for link in re.findall(r"\]\(([^)]+)\)", PAGES[name].read_text()):
        if not link.startswith("http"):
            path, _, heading = link.partition("#")
            page = PAGES[name].parent / path
            assert page.is_file(), link
            assert not heading or heading in headings(page), link


@pytest.mark.parametrize(("page", "arguments"), sorted(set(commands())))
def test_commands_parse(page, arguments, tmp_path, capsys):
    mine = tmp_path / "mine.yaml"
    mine.write_text(re.findall("```yaml\n(.*?)```", PAGES["README.md"].read_text(), re.S)[0])
    args = shlex.split(
        arguments.replace("mine.yaml", str(mine))
        .replace("FILE", "sweeps/best.yaml")
        .replace("$more", "--ckpt_path last")  # what a script may set
    )
    args = [str(ROOT / arg) if arg.startswith("sweeps/") else arg for arg in args]
    with pytest.raises(SystemExit) as left:
        PrepareCLI([*args, "--print_config"], "fit", "")
    assert not left.value.code, capsys.readouterr().err


def test_classes_of_the_glossary_exist():
    code = "".join(path.read_text() for path in ROOT.glob("gile_lightning/**/*.py"))
    named = set(re.findall(r"\bclass `(\w+)`", PAGES["docs/glossary.md"].read_text()))
    assert len(named) > 10
    assert named <= set(re.findall(r"^class (\w+)", code, re.M))
