"""What runs a frozen pretrained model."""

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, get_args

import torch
from filelock import FileLock
from torch import Tensor

from gile_lightning.common.errors import InputError, nearest
from gile_lightning.common.files import write
from gile_lightning.common.machine import bfloat16_speedup, processor
from gile_lightning.data.pretrained import model, quantized, transformer
from gile_lightning.data.pretrained.batches import Encoded

Backend = Literal["torch", "torch-bfloat16", "openvino-int8"]
"""What runs a frozen pretrained model.

- ``torch``: on any device, as its authors meant it.
- ``torch-bfloat16``: with weights and activations in bfloat16, for GPUs, and for CPUs that
  multiply such numbers fast.
- ``openvino-int8``: on a CPU, with weights and activations rounded to 8 bits.
"""

BackendChoice = Literal["auto", "torch", "torch-bfloat16", "openvino-int8"]
"""A backend, or ``auto``: ``torch-bfloat16`` where it is faster, else ``torch``; see `chosen`."""

FASTER = 1.4  # times as fast as in float32, for bfloat16 to be chosen


def check_backend(backend: Backend) -> None:
    """Refuse a backend that is not installed.

    Raises:
        InputError: its packages are missing.
    """
    missing = [name for name in ("openvino", "nncf") if find_spec(name) is None]
    if backend == "openvino-int8" and missing:
        raise InputError(
            f"{backend} (pretrained_backend) needs {' and '.join(missing)}: pip install "
            "'gile_lightning[openvino]', or set it to torch"
        )


def chosen(choice: BackendChoice, cache: Path) -> Backend:
    """Return what ``auto`` stands for on this machine; other backends as they are.

    It is ``torch-bfloat16`` where there is a GPU that has such numbers, or no GPU and a CPU that
    multiplies them clearly faster than those of float32.

    Args:
        choice: the backend, or ``auto``.
        cache: the folder that keeps what was measured of the CPU, so that all programs that have it
            choose alike.

    Raises:
        InputError: there is no such backend, or the cache cannot be written.
    """
    names = get_args(BackendChoice)
    if choice not in names:
        raise InputError(
            f"there is no backend {choice!r} (pretrained_backend); there are {', '.join(names)}"
            f"{nearest(choice, names)}"
        )
    if choice != "auto":
        return choice
    if torch.cuda.is_available():
        fast = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        fast = _speedup(cache) >= FASTER
    return "torch-bfloat16" if fast else "torch"


def _speedup(cache: Path) -> float:
    """Return how many times as fast as float32 this CPU multiplies bfloat16; measured once."""
    name = re.sub(r"[^\w.+-]+", "_", f"{processor()}-torch-{torch.__version__}")
    file = cache / "bfloat16" / f"{name}.txt"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(file.with_suffix(".lock")):
            if not file.exists():
                write(file, f"{bfloat16_speedup():.2f}\n")
    except OSError as error:
        raise InputError(
            f"{file}: {error.strerror}; set data.cache_dir, or XDG_CACHE_HOME, to another disk"
        ) from error
    return float(file.read_text(encoding="utf-8"))


def rounded_to(backend: Backend) -> torch.dtype | None:
    """Return the type of numbers that a model computes with by PyTorch; None for its own."""
    return torch.bfloat16 if backend == "torch-bfloat16" else None


def identity(name: str, backend: Backend) -> str:
    """Return a name of what decides on the vectors: the model's files, and what runs it."""
    if backend == "openvino-int8":
        return quantized.identity(name)
    return model.identity(name) + ("-bfloat16" if backend == "torch-bfloat16" else "")


def encode(
    name: str,
    subwords: Tensor,
    counts: Tensor,
    backend: Backend = "torch",
    device: torch.device | None = None,
) -> Tensor:
    """Encode texts with a frozen model: [B, d]; see `encode_with_passages`."""
    return _encode(name, subwords, counts, backend, device, passages=False).vectors


def encode_with_passages(
    name: str,
    subwords: Tensor,
    counts: Tensor,
    backend: Backend = "torch",
    device: torch.device | None = None,
) -> Encoded:
    """Encode texts and their passages with a frozen model; see `Transformer.encode`.

    Args:
        name: of the model, as `find_model` takes it.
        subwords: ids [N].
        counts: of the texts [B].
        backend: what runs the model.
        device: where it runs; by default where the texts are.

    Raises:
        InputError: the backend does not run on this device, or cannot run this model.
    """
    return _encode(name, subwords, counts, backend, device, passages=True)


@torch.no_grad()
def _encode(
    name: str,
    subwords: Tensor,
    counts: Tensor,
    backend: Backend,
    device: torch.device | None,
    passages: bool,
) -> Encoded:
    if backend == "openvino-int8":
        return quantized.encode(name, subwords, counts, passages)
    device = subwords.device if device is None else device
    with torch.autocast(device.type, enabled=False):
        dtype = rounded_to(backend)
        frozen = transformer.frozen(name) if dtype is None else transformer.frozen(name, dtype)
        model = frozen.to(device)
        return model.encode(subwords, counts, passages)
