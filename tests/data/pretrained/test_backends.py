"""What runs a pretrained model where the machine decides."""

import pytest
import torch

from gile_lightning.common.errors import InputError
from gile_lightning.data.pretrained import backends
from gile_lightning.data.pretrained.backends import chosen


@pytest.fixture
def processor(monkeypatch):
    """Sets the speed-up of the processor; the list that it returns counts the measurements."""

    def have(speedup, name="Some CPU (R) @ 2"):
        measured = []
        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
        monkeypatch.setattr(backends, "processor", lambda: name)
        monkeypatch.setattr(backends, "bfloat16_speedup", lambda: measured.append(name) or speedup)
        return measured

    return have


@pytest.mark.parametrize(("speedup", "expected"), [(1.3, "torch"), (1.5, "torch-bfloat16")])
def test_a_processor_is_measured_once(processor, tmp_path, speedup, expected):
    measured = processor(speedup)
    assert chosen("auto", tmp_path) == chosen("auto", tmp_path) == expected
    assert len(measured) == 1
    again = processor(9.0)  # as if it had been busy: what was chosen stays
    assert chosen("auto", tmp_path) == expected
    assert not again
    processor(9.0, "another")
    assert chosen("auto", tmp_path) == "torch-bfloat16"


def test_others_are_what_they_are(processor, tmp_path):
    measured = processor(9.0)
    for backend in ("torch", "torch-bfloat16", "openvino-int8"):
        assert chosen(backend, tmp_path) == backend
    assert not measured
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("has", "expected"), [(False, "torch"), (True, "torch-bfloat16")])
def test_a_gpu(monkeypatch, processor, tmp_path, has, expected):
    """Its own instructions count, whatever the processor does."""
    processor(9.0)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: has)
    assert chosen("auto", tmp_path) == expected


def test_a_cache_that_cannot_be_written(processor, tmp_path):
    processor(9.0)
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"bfloat16.*; set data\.cache_dir"):
        chosen("auto", tmp_path / "file")
