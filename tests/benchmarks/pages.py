"""The page of all benchmarks with its data, and whether ratios of today are those of the page."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from measuring import shown, write

MARK = "<!-- Above: written by `report.py --page`. Below: by hand, and kept. -->"
RATIO = "x "  # columns that begin so are ratios of two programs in one process
FACTOR = 1.5  # by which a ratio may differ: another round, or another machine of the kind

Rows = Sequence[Mapping[str, Any]]


class Ratio(NamedTuple):
    """A ratio that the page has, and that of now: None if there is none."""

    benchmark: str
    program: str
    column: str
    kept: float
    now: float | None

    @property
    def within(self) -> bool:
        """Whether neither is more than ``FACTOR`` times the other."""
        return self.now is not None and 1 / FACTOR <= self.now / self.kept <= FACTOR

    def __str__(self) -> str:
        """Say both and whether they agree."""
        now = "none" if self.now is None else f"{self.now:.3g}"
        verdict = "within" if self.within else "OUTSIDE"
        name = f"{self.benchmark}, {self.program}, {self.column}"
        return f"{verdict:7} {name}: kept {self.kept:.3g}, now {now}"


def write_page(
    page: Path, results: Mapping[str, Any], benchmarks: Mapping[str, Callable[..., Any]]
) -> None:
    """Write the data beside a page, and the page; what is below the mark of an older one stays.

    Args:
        page: the Markdown file.
        results: ``machine``, and the rows of each benchmark by its name.
        benchmarks: the functions that measured them; the docstrings of their programs head the
            tables.
    """
    write({"date": datetime.now(UTC).date().isoformat(), **results}, page.with_suffix(".json"))
    machine = results["machine"]
    parts = [
        "# Speed and memory",
        "    python tests/benchmarks/report.py --page docs/results/speed.md",
    ]
    for name, measure in benchmarks.items():
        if name in results:
            parts.append(f"## {name.replace('_', ' ').capitalize()}")
            parts += [*_told(measure.__module__), markdown(results[name])]
    parts += [
        "## How it was made",
        f"On {datetime.now(UTC).date().isoformat()} with {machine['processor']}, "
        f"{machine['threads']} threads, {machine['gflops']:.0f} GFLOP/s in a matrix product, "
        f"Python {machine['python']}, torch {machine['torch']}; nothing ran beside. Programs take "
        f"turns in one process; medians. The figures: [{page.stem}.json]({page.stem}.json).",
        f"`python tests/benchmarks/report.py --check {page.with_suffix('.json').name}` measures "
        f"anew and holds the ratios (columns with an x) against these: a factor of {FACTOR} is "
        "allowed. `--only NAME` takes some tables. Documents per second are those of a machine, "
        "and are not held against anything.",
        MARK,
    ]
    old = page.read_text(encoding="utf-8") if page.is_file() else ""
    _, mark, below = old.partition(MARK)
    page.write_text("\n\n".join(parts) + (below if mark else "\n"), encoding="utf-8")


def _told(module: str) -> list[str]:
    """Return the paragraphs of a program's docstring, without its commands."""
    paragraphs = (sys.modules[module].__doc__ or "").strip().split("\n\n")
    program = f"`{module}.py`: "
    told = [" ".join(part.split()) for part in paragraphs if not part.startswith("python ")]
    return [program + told[0], *told[1:]]


def markdown(rows: Rows) -> str:
    """Lay rows out under their keys."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    lines = [columns, ["---"] + ["---:"] * (len(columns) - 1)]
    lines += [[shown(row.get(key)) for key in columns] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def compared(kept: Mapping[str, Any], results: Mapping[str, Any]) -> list[Ratio]:
    """Hold the ratios of benchmarks that were run now against those of a page."""
    found = []
    for name, rows in results.items():
        for row in kept.get(name, []) if isinstance(rows, list) else []:
            key, program = next(iter(row.items()))
            now = next((other for other in rows if other.get(key) == program), {})
            for column, value in row.items():
                if column.startswith(RATIO) and value is not None:
                    found.append(Ratio(name, str(program), column, value, now.get(column)))
    return found


def read(path: Path) -> dict[str, Any]:
    """Read the data of a page."""
    content: dict[str, Any] = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    return content
