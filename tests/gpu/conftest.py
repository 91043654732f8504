"""Without a GPU the first case of each test of a part runs on the CPU; the others are skipped.

That tries the tests themselves. ``GILE_LIGHTNING_DEVICE=cpu pytest -n 0 tests/gpu`` runs all there.
"""

import os

import pytest
import torch

CHOSEN = os.environ.get("GILE_LIGHTNING_DEVICE")
DEVICE = CHOSEN or ("cuda" if torch.cuda.is_available() else "cpu")


def pytest_collection_modifyitems(items) -> None:
    if CHOSEN or DEVICE == "cuda":
        return
    tried = set()
    for item in items:
        if not item.get_closest_marker("gpu"):
            continue
        if "device" in item.fixturenames and item.function not in tried:
            tried.add(item.function)
        else:
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
