"""The base of our metrics: sums over documents, batches and processes."""

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torchmetrics.metric import Metric


class SummedMetric(Metric):
    """A metric of sums that keep their precision, and may be empty on a process."""

    is_differentiable = False
    full_state_update = False

    def _wrap_compute(self, compute: Callable[..., Any]) -> Callable[..., Any]:
        wrapped = super()._wrap_compute(compute)

        @functools.wraps(wrapped)
        def without_warning(*args: Any, **kwargs: Any) -> Any:
            # A process without a document is no mistake: its means are NaN and its count says so.
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="The ``compute`` method of metric")
                return wrapped(*args, **kwargs)

        return without_warning

    def _apply(self, fn: Callable[[Tensor], Tensor], exclude_state: Sequence[str] = "") -> Any:
        # torchmetrics ignores .half() and its like, but not .to(dtype), which would leave sums
        # that stop growing in bfloat16. So take only the device from the move. MPS has no float64:
        # from there sums stay on the CPU.
        def to_device(tensor: Tensor) -> Tensor:
            device = fn(tensor.new_empty(0, dtype=torch.float32)).device
            return tensor.to("cpu" if device.type == "mps" else device)

        return super()._apply(to_device, exclude_state)
