"""What the system tells of its processor, and what is measured of it."""

import torch

from gile_lightning.common import machine

INFO = "processor\t: 0\nmodel name\t: Some CPU\nflags\t\t: fpu sse\n\nprocessor\t: 1\n"


def test_the_name_of_the_processor(tmp_path, monkeypatch):
    file = tmp_path / "cpuinfo"
    file.write_text(INFO)
    monkeypatch.setattr(machine, "_INFO", file)
    assert machine.processor() == "Some CPU"


def test_a_system_that_tells_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "_INFO", tmp_path / "none")
    assert machine.processor()  # the kind


def test_bfloat16_against_float32(monkeypatch):
    # the clock of a machine that takes 6 s for a product in float32 and 2 s in bfloat16
    now = 0.0
    multiply = torch.nn.functional.linear

    def product(texts, weight):
        nonlocal now
        assert texts.dtype == weight.dtype
        assert texts.device.type == "cpu"
        assert not torch.is_autocast_enabled("cpu")
        now += {torch.float32: 6.0, torch.bfloat16: 2.0}[texts.dtype]
        return multiply(texts, weight)

    monkeypatch.setattr(torch.nn.functional, "linear", product)
    monkeypatch.setattr(machine.time, "perf_counter", lambda: now)
    with torch.device("meta"), torch.autocast("cpu", dtype=torch.bfloat16):
        assert machine.bfloat16_speedup() == 3.0
