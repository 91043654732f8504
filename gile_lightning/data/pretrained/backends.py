"""What runs a frozen pretrained model."""

from importlib.util import find_spec
from typing import Literal

import torch
from torch import Tensor

from gile_lightning.common.errors import InputError
from gile_lightning.common.machine import bfloat16_speedup
from gile_lightning.data.pretrained import model, quantized, transformer
from gile_lightning.data.pretrained.batches import Encoded

ChosenBackend = Literal["torch", "torch-bfloat16", "openvino-int8"]
Backend = Literal["auto", "torch", "torch-bfloat16", "openvino-int8"]
"""What runs a frozen pretrained model.

- ``auto``: ``torch-bfloat16`` where that is faster, ``torch`` elsewhere; see `chosen`.
- ``torch``: on any device, as its authors meant it.
- ``torch-bfloat16``: with weights and activations in bfloat16, for GPUs, and for CPUs that
  multiply such numbers.
- ``openvino-int8``: on a CPU, with weights and activations rounded to 8 bits.
"""

_FASTER = 1.4  # times as fast as in float32, for bfloat16 to be chosen


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


def chosen(backend: Backend, device: torch.device | str) -> ChosenBackend:
    """Return what ``auto`` stands for on a device; other backends as they are.

    A GPU that has bfloat16 gets it, and a CPU that multiplies such numbers clearly faster than
    those of float32, which is measured once.
    """
    if backend != "auto":
        return backend
    kind = torch.device(device).type
    if kind == "cuda":
        fast = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        fast = kind == "cpu" and bfloat16_speedup() >= _FASTER
    return "torch-bfloat16" if fast else "torch"


def rounded_to(backend: Backend, device: torch.device) -> torch.dtype | None:
    """Return the type of numbers that a model computes with by PyTorch; None for its own."""
    return torch.bfloat16 if chosen(backend, device) == "torch-bfloat16" else None


def identity(name: str, backend: ChosenBackend) -> str:
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
        dtype = rounded_to(backend, device)
        frozen = transformer.frozen(name) if dtype is None else transformer.frozen(name, dtype)
        model = frozen.to(device)
        return model.encode(subwords, counts, passages)
