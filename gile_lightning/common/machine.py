"""What a figure was measured with: the processor and the versions of the libraries."""

import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from gile_lightning.common import processes

_LIBRARIES = ("torch", "lightning", "numpy")
_INFO = Path("/proc/cpuinfo")


def processor() -> str:
    """Return the name of the processor, or its kind where the system does not tell."""
    return _told("model name") or platform.processor() or platform.machine()


def multiplies_bfloat16() -> bool:
    """Whether the processor is known to have instructions that multiply bfloat16 (x86, Linux)."""
    return not {"avx512_bf16", "amx_bf16"}.isdisjoint(_told("flags").split())


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
