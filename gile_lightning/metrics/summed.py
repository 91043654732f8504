"""The base class of metrics that are sums over documents, batches and processes."""

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torchmetrics.metric import Metric


class SummedMetric(Metric):
    """A metric whose state is sums. They keep their precision, and may be empty on a process."""

    is_differentiable = False
    full_state_update = False

    def _wrap_compute(self, compute: Callable[..., Any]) -> Callable[..., Any]:
        wrapped = super()._wrap_compute(compute)

        @functools.wraps(wrapped)
        def without_warning(*args: Any, **kwargs: Any) -> Any:
            # A process may have no document: its means are NaN, and its count is 0.
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="The ``compute`` method of metric")
                return wrapped(*args, **kwargs)

        return without_warning

    def _apply(self, fn: Callable[[Tensor], Tensor], exclude_state: Sequence[str] = "") -> Any:
        # torchmetrics ignores .half(), but not .to(dtype), and sums in bfloat16 stop growing. So
        # only the device changes. MPS has no float64: there sums stay on the CPU.
        def to_device(tensor: Tensor) -> Tensor:
            device = fn(tensor.new_empty(0, dtype=torch.float32)).device
            return tensor.to("cpu" if device.type == "mps" else device)

        return super()._apply(to_device, exclude_state)
