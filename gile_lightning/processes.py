"""What processes share: the cores and devices of a machine, locks and logs."""

import fcntl
import os
import sys
from pathlib import Path
from typing import IO


def cores() -> int:
    """Return the number of CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def threads(count: int) -> int:
    """Return how many threads each of so many processes at a time has: its share of the cores.

    Never more than OMP_NUM_THREADS says, for those who share the machine with other commands:
    where there are more threads than cores, they mostly wait for each other.
    """
    share = max(1, cores() // count)
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return min(share, int(limit)) if limit.isdigit() and int(limit) else share


def devices() -> list[str]:
    """Return the names of the CUDA devices that this process may use."""
    import torch

    count = torch.cuda.device_count()
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    return visible.split(",")[:count] if visible else list(map(str, range(count)))


def lock(path: Path) -> IO[str] | None:
    """Lock a file until it is closed here and by the process that inherits it; None if it is."""
    file = path.open("a")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        return None
    return file


def tail(log: Path, lines: int = 15) -> str:
    """Return the last lines of a log."""
    found = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join(found[-lines:])
