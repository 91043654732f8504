"""Search for the best settings: a study of many fits.

python -m gile_lightning.sweep --config sweeps/bioasq.yaml
"""

import sys
from pathlib import Path

from gile_lightning.commands.parser import command


@command
def main(args: list[str] | None = None) -> Path:
    """Run the command; returns the study's folder."""
    from lightning.pytorch.utilities import rank_zero_only

    from gile_lightning.search.storage import without_password
    from gile_lightning.search.sweep import sweep
    from gile_lightning.search.sweep_cli import SweepCLI

    args = list(sys.argv[1:] if args is None else args)
    sys.argv[1:] = map(without_password, sys.argv[1:])  # W&B keeps the arguments of a process
    rank_zero_only.rank = 0  # type: ignore[attr-defined]  # each task of SLURM is its own worker
    return sweep(SweepCLI(args))


if __name__ == "__main__":
    main()
