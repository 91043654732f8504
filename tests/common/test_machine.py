"""What the system tells of its processor."""

import pytest

from gile_lightning.common import machine

INFO = "processor\t: 0\nmodel name\t: Some CPU\nflags\t\t: fpu sse {}\n\nprocessor\t: 1\n"


@pytest.mark.parametrize(
    ("flag", "able"), [("avx512_bf16", True), ("amx_bf16", True), ("avx512f", False)]
)
def test_bfloat16(tmp_path, monkeypatch, flag, able):
    file = tmp_path / "cpuinfo"
    file.write_text(INFO.format(flag))
    monkeypatch.setattr(machine, "_INFO", file)
    assert machine.multiplies_bfloat16() is able
    assert machine.processor() == "Some CPU"


def test_a_system_that_tells_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "_INFO", tmp_path / "none")
    assert not machine.multiplies_bfloat16()
    assert machine.processor()  # the kind
