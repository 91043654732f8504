"""A command that runs fits, for which a program stands in: PROGRAM FOLDER WHAT..."""

import sys
from pathlib import Path

from gile_lightning.reproduction.grid import Fit, Row
from gile_lightning.reproduction.runner import Runner


def fits(*what: str) -> list[Fit]:
    """Return fits that do what is said."""
    row = Row("HAN", seconds=10)
    arguments = [("--config", "x.yaml", "--do", word) for word in what]
    return [Fit("", row, "", i, 1, given, f"fit-{i}") for i, given in enumerate(arguments)]


if __name__ == "__main__":
    Runner.program = (sys.argv[1],)
    Runner(Path(sys.argv[2]), jobs=1).run(fits(*sys.argv[3:]), lambda: None)
