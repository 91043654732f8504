"""What a figure was measured with: the processor and the versions of the libraries."""

import platform
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from gile_lightning.common import processes

_LIBRARIES = ("torch", "lightning", "numpy")
_INFO = Path("/proc/cpuinfo")
_PRODUCTS = 10  # of each kind, of which the fastest counts


def processor() -> str:
    """Return the name of the processor, or its kind where the system does not tell."""
    return _told("model name") or platform.processor() or platform.machine()


def bfloat16_speedup() -> float:
    """Return how many times as fast as float32 the processor multiplies bfloat16.

    It is measured, in a fraction of a second, as instructions do not tell: with avx512_bf16 an AMD
    EPYC is faster than in float32, and an Intel Xeon slower.
    """
    import torch
    import torch.nn.functional as F

    seconds: dict[torch.dtype, list[float]] = {torch.float32: [], torch.bfloat16: []}
    with torch.no_grad(), torch.autocast("cpu", enabled=False):
        for _ in range(_PRODUCTS + 1):  # by turns, as other programs may take the processor
            for dtype, times in seconds.items():
                # a layer of a small encoder
                texts = torch.ones(512, 384, dtype=dtype, device="cpu")
                weight = torch.ones(1536, 384, dtype=dtype, device="cpu")
                start = time.perf_counter()
                F.linear(texts, weight)
                times.append(time.perf_counter() - start)
    exact, rounded = (min(times[1:]) for times in seconds.values())
    return exact / rounded


def _told(key: str) -> str:
    """Return what the system tells of the first core; empty if nothing."""
    lines = _INFO.read_text(encoding="utf-8").splitlines() if _INFO.exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(key)), "")


def describe() -> str:
    """Describe the machine and its libraries in one line."""
    devices = processes.devices()
    cores = processes.cores()
    parts = [f"{processor()} ({cores} core{'s' if cores > 1 else ''})"]
    if devices:
        parts.append(f"{len(devices)} GPUs")
    parts.append(f"Python {platform.python_version()}")
    for library in _LIBRARIES:
        try:
            parts.append(f"{library} {version(library)}")
        except PackageNotFoundError:  # run from its files
            continue
    return ", ".join(parts)
