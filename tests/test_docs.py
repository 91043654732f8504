"""The pages: links lead somewhere, commands parse, classes of the glossary are in the code."""

import re
import shlex
from pathlib import Path

import pytest
import yaml

from gile_lightning.data import Columns, Corpus
from gile_lightning.data.formats.skipped import Skipped
from gile_lightning.prepare import PrepareCLI

ROOT = Path(__file__).parents[1]
FILES = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")]
DOCS = [*ROOT.glob("docs/*.md"), *ROOT.glob("docs/results/*.md")]
PAGES = {str(page.relative_to(ROOT)): page for page in (*FILES, *DOCS)}
YAML = re.compile("```yaml\n(.*?)```", re.S)
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
    texts = (PAGES[name].read_text() for name in (page, "README.md"))
    mine.write_text(next(found[1] for text in texts if (found := YAML.search(text))))
    args = shlex.split(
        arguments.replace("mine.yaml", str(mine))
        .replace("FILE", "sweeps/best.yaml")
        .replace("$more", "--ckpt_path last")  # what a script may set
    )
    args = [str(ROOT / arg) if arg.startswith("sweeps/") else arg for arg in args]
    with pytest.raises(SystemExit) as left:
        PrepareCLI([*args, "--print_config"], "fit", "")
    assert not left.value.code, capsys.readouterr().err


def test_files_of_the_first_page_go_together(tmp_path):
    page = PAGES["docs/start.md"].read_text()
    for name, lines in zip(
        ("topics", "articles"), re.findall("```json\n(.*?)```", page, re.S), strict=True
    ):
        (tmp_path / f"{name}.jsonl").write_text(lines)
    options = yaml.safe_load(YAML.search(page)[1])["data"]["init_args"]
    options |= {key: str(tmp_path / options[key]) for key in ("path", "labels")}
    options["columns"] = Columns(**options["columns"])
    corpus, skipped = Corpus(**options, cache_dir=tmp_path), Skipped()
    assert set(corpus.label_texts(skipped)) == {"Rail", "Harbour"}
    documents = list(corpus.documents(skipped))
    assert [document.labels for document in documents] == [["Rail"], ["Harbour", "Rail"]]
    assert [len(document.pieces) for document in documents] == [2, 2]  # title and body


def test_every_result_is_listed():
    listed = PAGES["docs/results/README.md"].read_text()
    for page in ROOT.glob("docs/results/*.md"):
        assert page.name == "README.md" or f"({page.name})" in listed


def test_classes_of_the_glossary_exist():
    code = "".join(path.read_text() for path in ROOT.glob("gile_lightning/**/*.py"))
    named = set(re.findall(r"\bclass `(\w+)`", PAGES["docs/glossary.md"].read_text()))
    assert len(named) > 10
    assert named <= set(re.findall(r"^class (\w+)", code, re.M))
