"""The cores and devices of the machine."""

import os
import sys


def cores() -> int:
    """Return the number of CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def threads(count: int) -> int:
    """Return the number of threads for each of ``count`` processes: its share of the cores.

    It is at most OMP_NUM_THREADS, which leaves cores to other commands on the machine. More threads
    than cores mostly wait for each other.
    """
    share = max(1, cores() // count)
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return min(share, int(limit)) if limit.isdigit() and int(limit) else share


def found_device(name: str) -> str:
    """Return the device of a name: ``auto`` is ``cuda`` if there is a GPU, else ``cpu``."""
    import torch

    if name != "auto":
        return name
    return "cuda" if torch.cuda.is_available() else "cpu"


def devices() -> list[str]:
    """Return the names of the CUDA devices that this process may use."""
    import torch

    count = torch.cuda.device_count()
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    return visible.split(",")[:count] if visible else list(map(str, range(count)))
