"""What the README's first commands print, run here and now.

PYTHONPATH=website python -m gile_site.readme_outputs

runs them, keeps their tables in ``docs/results/first_commands.json``, and writes them into the
README, rounded. It keeps the first label of the README's sentence on an attack, too. With
``--check`` it writes nothing, and tells by how much the figures differ.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from textwrap import indent
from typing import Any

from gile_lightning.common.grid import TextGrid
from gile_lightning.common.machine import describe
from gile_site.links import ROOT

README = ROOT / "README.md"
RESULTS = ROOT / "docs/results/first_commands.json"
TABLES = {"bioasq": "labels", "dw": "micro-F1", "attack": "labels"}
"""The first heading of the table that the README shows, by the name of the configuration."""
LEFT_OUT = {"attack": {"ECE", "1 to 5 documents", "6 to 50 documents", "above 50 documents"}}
AS_PRINTED = ("threshold", "tuned threshold")
TOLERANCE = 5.0  # points, or hundredths of a threshold, between machines

Table = dict[str, Any]  # ``header`` and ``rows``, as printed


def run(name: str, folder: Path) -> Table:
    """Run a configuration and return its table."""
    command = ["gile_lightning.fit", "--config", f"sweeps/{name}.yaml", "--output", folder / name]
    found = subprocess.run(
        [sys.executable, "-m", *map(str, command)],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    rest = r".+\n-+\n(?:(?!parameters ).+\n)+"  # "parameters" follow the last table
    (block,) = re.findall(rf"^{TABLES[name]} {rest}", found.stdout, re.MULTILINE)
    return parsed(block)


def first_label(run_folder: Path) -> str:
    """Predict the label of the README's sentence on an attack."""
    sentence = attack_example(README.read_text(encoding="utf-8"))[0]
    command = ["gile_lightning.predict", "--checkpoint", run_folder, "--top_k", 1]
    found = subprocess.run(
        [sys.executable, "-m", *map(str, command)],
        cwd=ROOT,
        check=True,
        input=sentence,
        stdout=subprocess.PIPE,
        text=True,
    )
    label: str = json.loads(found.stdout)["labels"][0]["name"]
    return label


def attack_example(text: str) -> tuple[str, str]:
    """Return the README's sentence on an attack, and the label that it shows."""
    found = re.search(
        r'echo "([^"]+)" \|\n.*--checkpoint runs/attack/TIME --top_k 1\n\n +{.*"name": "([^"]+)"',
        text,
    )
    if found is None:
        raise ValueError("README.md lacks the prediction of a sentence on an attack")
    return found[1], found[2]


def parsed(block: str) -> Table:
    """Read a printed table; a cell ends where its title does."""
    title, _, *lines = block.splitlines()
    first, *others = re.finditer(r"\S+(?: \S+)*", title)
    rows = []
    for line in lines:
        name, *figures = re.finditer(r"\S+(?: \S+)*", line)
        by_end = {found.end(): found.group() for found in figures}
        rows.append([name.group(), *(by_end.get(found.end(), "") for found in others)])
    return {"header": [first.group(), *(found.group() for found in others)], "rows": rows}


def rounded(name: str, table: Table) -> str:
    """Return a table as the README shows it: in whole numbers, without what is left out there."""
    header, left_out = table["header"], LEFT_OUT.get(name, set())
    kept = [i for i, title in enumerate(header) if title not in left_out]

    def cell(row: list[str], i: int) -> str:
        text = row[i]
        whole = re.fullmatch(r"\d+\.\d\d", text) and header[i] not in AS_PRINTED
        return f"{float(text):.0f}" if whole else text

    rows = [[cell(row, i) for i in kept] for row in table["rows"] if row[0] not in left_out]
    lines = str(TextGrid([header[i] for i in kept], rows)).splitlines()
    return indent("\n".join(line.rstrip() for line in lines), "    ")


def with_outputs(text: str, tables: Mapping[str, Table]) -> str:
    """Return the text of the README with the tables.

    Raises:
        ValueError: the README has no place for one.
    """
    for name, table in tables.items():
        begin, end = f"<!-- made of {RESULTS.name}: {name} -->\n\n", "\n\n<!-- end -->"
        before, found, rest = text.partition(begin)
        if not found or end not in rest:
            raise ValueError(f"README.md lacks {begin.strip()} or {end.strip()}")
        text = before + begin + rounded(name, table) + end + rest.partition(end)[2]
    return text


def differences(kept: Mapping[str, Table], now: Mapping[str, Table]) -> list[str]:
    """Tell of each table by how much its figures differ at most, or that others are there."""
    found = []
    for name, table in kept.items():
        if _shape(table) != _shape(now[name]):
            found.append(f"OUTSIDE {name}: other rows, columns or empty cells")
            continue
        pairs = zip(table["rows"], now[name]["rows"], strict=True)
        points = max(
            abs(_number(x) - _number(y)) * (100 if title in AS_PRINTED else 1)
            for one, other in pairs
            for title, x, y in zip(table["header"][1:], one[1:], other[1:], strict=True)
            if x
        )
        found.append(f"{'within' if points <= TOLERANCE else 'OUTSIDE'} {name}: {points:.2f}")
    return found


def _shape(table: Table) -> list[list[str]]:
    """Return a table with nothing but its names, and where it has figures."""
    rows = [[row[0], *("0" if cell else "" for cell in row[1:])] for row in table["rows"]]
    return [table["header"], *rows]


def _number(text: str) -> float:
    return float(text.replace(",", ""))


def main(args: list[str]) -> None:
    """Run the commands; write what they print, or compare it."""
    with tempfile.TemporaryDirectory() as folder:
        now = {name: run(name, Path(folder)) for name in TABLES}
        label = first_label(Path(folder) / "attack")
    if args == ["--check"]:
        kept = json.loads(RESULTS.read_text(encoding="utf-8"))
        told = differences(kept["tables"], now)
        same = "within" if label == kept["first_label"] else "OUTSIDE"
        told.append(f"{same} attack: its sentence has the label {label!r}")
        print("\n".join(told))
        sys.exit(any(line.startswith("OUTSIDE") for line in told))
    made = f"{datetime.now(UTC).date()} with {describe()}"
    RESULTS.write_text(
        json.dumps({"made": made, "first_label": label, "tables": now}, indent=1) + "\n",
        encoding="utf-8",
    )
    README.write_text(with_outputs(README.read_text(encoding="utf-8"), now), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
