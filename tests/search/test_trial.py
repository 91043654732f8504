"""Why a fit failed, in a line."""

import pytest
import torch

from gile_lightning.common.errors import InputError
from gile_lightning.search.trial import reason


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (InputError("the loss\nis no number"), "the loss is no number"),
        (torch.OutOfMemoryError("CUDA out of memory"), "out of memory: CUDA out of memory"),
        (MemoryError(), "out of memory: MemoryError"),
        (ZeroDivisionError("division by zero"), "ZeroDivisionError: division by zero"),
        (SystemExit(2), "ended with status 2"),
    ],
)
def test_reason(error, expected):
    assert reason(error) == expected


def test_no_memory_on_the_cpu():
    with pytest.raises(RuntimeError) as error:
        torch.empty(2**60)
    assert reason(error.value).startswith("out of memory: ")
