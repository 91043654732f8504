"""Tests that need a GPU are skipped without one.

``GILE_LIGHTNING_DEVICE=cpu pytest -n 0 tests/gpu`` tries the tests themselves on a CPU.
"""

import os

import pytest
import torch

DEVICE = os.environ.get("GILE_LIGHTNING_DEVICE", "cuda")


def pytest_collection_modifyitems(items) -> None:
    if DEVICE == "cuda" and not torch.cuda.is_available():
        for item in items:
            if item.get_closest_marker("gpu"):
                item.add_marker(pytest.mark.skip(reason="no GPU"))


@pytest.fixture
def device(monkeypatch) -> torch.device:
    """Where to compute, with all bits of float32: PyTorch has GRU layers take fewer."""
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    return torch.device(DEVICE)


@pytest.fixture
def accelerator() -> str:
    """What ``trainer.accelerator`` is."""
    return "gpu" if DEVICE == "cuda" else DEVICE
