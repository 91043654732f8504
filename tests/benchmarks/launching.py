"""Many small fits: forked from a process that has imported everything, against a process each.

Both run the same fits, two epochs on 200 documents, one at a time, by turns; what they write must
be the same figures.

python tests/benchmarks/report.py --only launching
"""

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from gile_lightning.commands import launcher
from gile_lightning.commands.fork_server import ForkServer
from gile_lightning.commands.run_folder import read_metrics
from gile_lightning.reproduction.grid import Fit, Grid, Row
from gile_lightning.reproduction.runner import Runner

SMALL = {
    "data.languages": "english",
    "data.builtin_documents": 200,
    "trainer.max_epochs": 2,
    "trainer.logger": "false",
    "trainer.accelerator": "cpu",
}


def measure(rounds: int, number: int = 4) -> list[dict[str, object]]:
    """Return the seconds of each of a number of fits, both ways: medians of rounds."""
    root = Path(__file__).parents[2]
    grid = Grid("", "sweeps/dw.yaml", (), (Row("GILE"),), root=root)
    servers: dict[str, Callable[..., Any]] = {
        "forked": ForkServer,
        "a process each": lambda *arguments: None,
    }
    seconds: dict[str, list[float]] = {name: [] for name in servers}
    known: list[float] = []
    with TemporaryDirectory() as folder:
        cache = {"data.cache_dir": f"{folder}/cache"}
        fits = grid.fits(number, {**SMALL, **cache})
        _run(Path(folder) / "first", fits[:1])  # writes the cache
        for turn in range(rounds):
            for name, server in servers.items():
                start = time.perf_counter()
                with patch.object(launcher, "ForkServer", server):
                    figures = _run(Path(folder) / f"{name} {turn}", fits)
                seconds[name].append((time.perf_counter() - start) / number)
                if figures != (known := known or figures):
                    raise SystemExit("the same fits gave other figures")
    medians = {name: statistics.median(found) for name, found in seconds.items()}
    return [
        {
            "fits": name,
            "seconds each": median,
            "x a process each": medians["a process each"] / median,
        }
        for name, median in medians.items()
    ]


def _run(folder: Path, fits: list[Fit]) -> list[float]:
    runner = Runner(folder, 1)
    runner.run(fits, lambda: None)
    if runner.failed:
        raise SystemExit("a fit has failed")
    return [read_metrics(folder / fit.key)["test.micro.f1"] for fit in fits]
