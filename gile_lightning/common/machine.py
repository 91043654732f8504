"""What a figure was measured with: the processor and the versions of the libraries."""

import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from gile_lightning.common import processes

_LIBRARIES = ("torch", "lightning", "numpy")


def processor() -> str:
    """Return the name of the processor, or its kind where the system does not tell."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.processor() or platform.machine()


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
