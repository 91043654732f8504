"""The page of all benchmarks with its data, and whether ratios of today are those of the page."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from measuring import shown, write

from gile_lightning.common.files import write_above

MARK = "<!-- Above: written by `report.py --page`. Below: by hand, and kept. -->"
COMMAND = "python tests/benchmarks/report.py"
RATIO = "x "  # columns that begin so hold two programs, or two sizes, against each other
FACTOR = 1.5  # by which a ratio may differ: another round, or another machine of the kind

Rows = Sequence[Mapping[str, Any]]


class Ratio(NamedTuple):
    """A ratio that the page has, and that of now; None where there is none."""

    benchmark: str
    program: str
    column: str
    kept: float | None
    now: float | None

    @property
    def within(self) -> bool:
        """Whether neither is more than ``FACTOR`` times the other."""
        if not self.now or not self.kept:
            return False
        return 1 / FACTOR <= self.now / self.kept <= FACTOR

    def __str__(self) -> str:
        """Say both and whether they agree."""
        kept, now = ("none" if x is None else f"{x:.3g}" for x in (self.kept, self.now))
        verdict = "within" if self.within else "OUTSIDE"
        name = f"{self.benchmark}, {self.program}, {self.column}"
        return f"{verdict:7} {name}: kept {kept}, now {now}"


def write_page(
    page: Path, results: Mapping[str, Any], benchmarks: Mapping[str, Callable[..., Any]]
) -> None:
    """Write the data beside a page, and the page; what is below the mark of an older one stays.

    Benchmarks that were not run now keep the figures that they had on the same machine.

    Args:
        page: the Markdown file.
        results: ``machine``, and the rows of each benchmark by its name.
        benchmarks: the functions that measured them; the docstrings of their programs head the
            tables.
    """
    data, machine = page.with_suffix(".json"), results["machine"]
    before = read(data) if data.is_file() else {}
    if _kind(before.get("machine", {})) != _kind(machine):
        before = {}
    every = {**before, **results}
    rows = {name: every[name] for name in benchmarks if name in every}
    day = datetime.now(UTC).date().isoformat()
    write({"date": day, "machine": machine, **rows}, data)
    parts = ["# Speed and memory", f"    {COMMAND} --page docs/results/{page.name}"]
    parts.append("An empty cell: the row has no such figure.")
    told = ""
    for name in rows:
        parts.append(f"## {name.replace('_', ' ').capitalize()}")
        module = benchmarks[name].__module__
        parts += [*(_told(module) if module != told else ()), markdown(rows[name])]
        told = module
    pages = "pages of 2 MB" if machine.get("huge pages") else "usual pages"
    parts += [
        "## How it was made",
        f"On {day} with {machine['processor']}, {machine['threads']} threads, "
        f"{machine['gflops']:.0f} GFLOP/s in a matrix product, {pages}, Python "
        f"{machine['python']}, torch {machine['torch']}. Programs that are held against each other "
        f"take turns; medians of {machine['rounds']} rounds, but for encoding memory and for the "
        f"writing of vectors, which are run once. The figures: [{data.name}]({data.name}).",
        f"`{COMMAND} --check docs/results/{data.name}` measures anew and holds the ratios (columns "
        f"with an x) against these: a factor of {FACTOR} is allowed. `--only NAME` takes some "
        "tables. Documents per second are those of a machine, and are not held against anything.",
        "",
    ]
    write_above(page, "\n\n".join(parts), MARK)


def _kind(machine: Mapping[str, Any]) -> list[Any]:
    """Return what must be the same for figures to stand on one page."""
    return [machine.get(key) for key in ("processor", "threads", "torch", "rounds", "huge pages")]


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
    """Hold the ratios of benchmarks that were run now against those of a page.

    A program beside itself is left out. A row or a benchmark that one of both lacks has no ratio
    now, or no ratio that was kept: it is not within anything.
    """
    found = []
    for name, rows in results.items():
        if name not in ("date", "machine"):
            before = {(place, *_first(row)): row for place, row in enumerate(kept.get(name, []))}
            now = {(place, *_first(row)): row for place, row in enumerate(rows)}
            for key in dict.fromkeys((*before, *now)):
                old, new = before.get(key, {}), now.get(key, {})
                for column in dict.fromkeys((*old, *new)):
                    pair = old.get(column), new.get(column)
                    if column.startswith(RATIO) and pair not in ((None, None), (1, 1)):
                        found.append(Ratio(name, str(key[-1]), column, *pair))
    return found


def _first(row: Mapping[str, Any]) -> tuple[str, Any]:
    return next(iter(row.items()))


def read(path: Path) -> dict[str, Any]:
    """Read the data of a page."""
    content: dict[str, Any] = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    if "machine" not in content or "lines" in content:
        raise ValueError(f"{path}: not what report.py --page writes")
    return content
