"""Times of several programs taken by turns in one process, and the memory that each needs."""

import ctypes
import gc
import json
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import torch

from gile_lightning.common.machine import processor


def by_turns(
    programs: Mapping[str, Callable[[int], object]], rounds: int, steps: int
) -> dict[str, float]:
    """Return the median seconds of a step of every program, after one round to warm up.

    The programs take turns, so that other work on the machine slows all of them.
    """
    seconds: dict[str, list[float]] = {name: [] for name in programs}
    for number in range(rounds + 1):
        for name, step in programs.items():
            for place in range(steps):
                start = time.perf_counter()
                step(place)
                if number:
                    seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(found) for name, found in seconds.items()}


def peak_memory(run: Callable[[], object]) -> float | None:
    """Return by how many MiB the process grows at most while something runs (Linux only)."""
    status = Path("/proc/self/status")
    if not status.exists():
        return None
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # hand back what is free
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before = _field(status, "VmRSS")
    run()
    return (_field(status, "VmHWM") - before) / 1024


def highest_memory() -> float:
    """Return the most MiB that this program has had, imports and all (Linux only).

    ``ru_maxrss`` would begin with the memory of the process that started it.
    """
    return _field(Path("/proc/self/status"), "VmHWM") / 1024


def _field(status: Path, name: str) -> int:
    line = next(line for line in status.read_text().splitlines() if line.startswith(name))
    return int(line.split()[1])


def machine(size: int = 2_048) -> dict[str, object]:
    """Describe the machine: processor, threads, versions, and its matrix product in GFLOP/s."""
    matrix = torch.randn(size, size)
    seconds = by_turns({"product": lambda _: matrix @ matrix}, 5, 3)["product"]
    return {
        "processor": processor(),
        "threads": torch.get_num_threads(),
        "gflops": 2 * size**3 / seconds / 1e9,
        "torch": torch.__version__,
        "python": sys.version.split()[0],
    }


def table(rows: list[dict[str, object]]) -> str:
    """Lay rows out under their keys."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    cells = [columns, *([shown(row.get(key)) for key in columns] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    lines = [
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]
    return "\n".join(lines)


def shown(value: object) -> str:
    """Write a cell: numbers short, nothing for None."""
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return "" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def write(results: object, path: Path | None) -> None:
    """Write results as JSON, if a file is named."""
    if path is not None:
        path.write_text(json.dumps(results, indent=1))
