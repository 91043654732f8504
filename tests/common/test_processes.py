import pytest
import torch

from gile_lightning.common import processes


@pytest.mark.parametrize(
    ("count", "limit", "expected"),
    [(1, "", 8), (3, "", 2), (20, "", 1), (2, "3", 3), (4, "3", 2), (2, "many", 4)],
)
def test_threads_are_a_share_of_the_cores(monkeypatch, count, limit, expected):
    monkeypatch.setattr(processes, "cores", lambda: 8)
    monkeypatch.setenv("OMP_NUM_THREADS", limit)
    assert processes.threads(count) == expected


@pytest.mark.parametrize(
    ("visible", "expected"), [(None, ["0", "1"]), ("", ["0", "1"]), ("3,GPU-5", ["3", "GPU-5"])]
)
def test_devices_are_the_visible_ones(monkeypatch, visible, expected):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert processes.devices() == expected


def test_there_is_a_core():
    assert processes.cores() >= 1
