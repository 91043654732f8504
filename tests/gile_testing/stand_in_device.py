"""A stand-in for an accelerator: it computes on the CPU, and sees where the host would wait.

A `DeviceTensor` holds a tensor of the CPU and says that it lies on another device. That device is
called ``meta``, since autograd runs it in the thread of the host and no driver is asked. Within
`StandInDevice`, tensors that are made for the device or moved there are such tensors. An operation
that joins tensors of both places raises an error, as CUDA does. So does one that CUDA is known to
refuse where ``trainer.deterministic`` is true, as its result may differ from run to run. One whose
result the host must know before it goes on is counted.
"""

from collections import Counter
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing
from torch.utils._pytree import tree_flatten, tree_map_only
from torchmetrics.metric import Metric

DEVICE = torch.device("meta")
aten = torch.ops.aten

WAITING = {  # the host must know a number, or the size of the result
    aten._local_scalar_dense,
    aten.equal,
    aten.nonzero,
    aten.masked_select,
    aten.bincount,
    aten._coalesce,
    aten.unique_dim,
    aten._unique,
    aten._unique2,
    aten.unique_consecutive,
}
REFUSED = {  # by CUDA where results are to be the same in every run
    aten.cumsum,  # of fractions
    aten.histc,
    aten.kthvalue,
    aten.median,
    aten.put_,
}
MOVING = {aten._to_copy, aten.copy_, aten.lift_fresh, aten.detach}


class DeviceTensor(Tensor):
    """A tensor of the CPU that says it lies on another device."""

    inner: Tensor

    @staticmethod
    def __new__(cls, inner: Tensor) -> "DeviceTensor":
        made = Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls,
            inner.size(),
            strides=inner.stride(),
            storage_offset=inner.storage_offset(),
            dtype=inner.dtype,
            layout=inner.layout,
            device=DEVICE,
        )
        made.inner = inner
        return made

    def __repr__(self, *, tensor_contents: object = None) -> str:
        return f"DeviceTensor({self.inner})"

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return run(func, args, kwargs or {}, Counter())


class StandInDevice(TorchDispatchMode):
    """Counts, by the name of the operation, how often the host would wait.

    Attributes:
        waits: the counts.
    """

    def __init__(self) -> None:
        super().__init__()
        self.waits: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if torch.is_inference_mode_enabled():  # where compound operations come in one piece
            with self:
                result = func.decompose(*args, **kwargs or {})
            if result is not NotImplemented:
                return result
        return run(func, args, kwargs or {}, self.waits)


def run(func: Any, args: Any, kwargs: Any, waits: Counter[str]) -> Any:
    """Run an operation on the CPU, and count it if the host would wait for its result."""
    tensors = [x for x in tree_flatten((args, kwargs))[0] if isinstance(x, Tensor)]
    inside = [x for x in tensors if isinstance(x, DeviceTensor)]
    asked, packet = kwargs.get("device"), func.overloadpacket
    on_device = bool(inside) if asked is None else torch.device(asked) == DEVICE
    if not inside and not on_device:
        return func(*args, **kwargs)
    _count(func, args, kwargs, inside, on_device, waits)
    if inside and packet not in MOVING and packet is not aten.index:
        strangers = [x for x in tensors if not isinstance(x, DeviceTensor) and x.dim()]
        if strangers:
            raise RuntimeError(f"{func}: some tensors are on the device and some are not")
    fractions = (
        any(x.is_floating_point() for x in inside)
        or (kwargs.get("dtype") or torch.long).is_floating_point
    )
    if packet in REFUSED and (fractions or packet is not aten.cumsum):
        raise RuntimeError(f"{func}: CUDA has no deterministic implementation")
    if packet is aten.bincount and len(inside) > 1:
        raise RuntimeError(f"{func} with weights: CUDA has no deterministic implementation")
    if asked is not None:
        kwargs = {**kwargs, "device": torch.device("cpu"), "pin_memory": None}
        kwargs = {key: kwargs[key] for key in kwargs if key != "pin_memory"}
    own_args, own_kwargs = tree_map_only(DeviceTensor, lambda x: x.inner, (args, kwargs))
    if packet is aten._to_copy:  # always another memory, as between devices
        own_kwargs = {**own_kwargs, "non_blocking": False}
    result = func(*own_args, **own_kwargs)
    if packet is aten.copy_:
        return args[0]
    if not on_device or packet is aten._local_scalar_dense:
        return result
    result = tree_map_only(Tensor, DeviceTensor, result)
    if packet is aten._to_copy or not inside:
        return result
    return return_and_correct_aliasing(func, args, kwargs, result)


def _count(
    func: Any, args: Any, kwargs: Any, inside: list[Any], on_device: bool, waits: Counter[str]
) -> None:
    packet = func.overloadpacket
    name = packet.__name__
    unknown = packet is aten.repeat_interleave and kwargs.get("output_size") is None
    looked_at = packet is aten.segment_reduce and not kwargs.get("unsafe")
    if packet in WAITING or unknown or looked_at:
        waits[name] += 1
    elif packet in (aten.index, aten.index_put, aten.index_put_):
        ids = [x for x in args[1] if x is not None]
        if any(x.dtype in (torch.bool, torch.uint8) for x in ids):
            waits[f"{name} by a mask"] += 1
        elif any(not isinstance(x, DeviceTensor) for x in ids):
            waits[f"{name} by numbers of the host"] += 1
    elif packet is aten._to_copy:
        if inside and not on_device:
            waits["copy to the host"] += 1
        elif not inside and not kwargs.get("non_blocking"):
            waits["copy to the device that is waited for"] += 1
    elif packet is aten.copy_ and inside and not isinstance(args[0], DeviceTensor):
        waits["copy to the host"] += 1


def move(module: nn.Module) -> None:
    """Move a module's parameters and buffers to the device."""
    for part in module.modules():
        for key, parameter in part._parameters.items():
            if parameter is not None and not isinstance(parameter.data, DeviceTensor):
                moved = DeviceTensor(parameter.detach())
                part._parameters[key] = nn.Parameter(moved, parameter.requires_grad)
        for key, buffer in part._buffers.items():
            if buffer is not None and not isinstance(buffer, DeviceTensor):
                part._buffers[key] = DeviceTensor(buffer)
        if isinstance(part, Metric):  # its state is neither
            for key in part._defaults:
                setattr(part, key, DeviceTensor(getattr(part, key)))
        if hasattr(part, "_device"):
            part._device = DEVICE
