"""Large tensors lie in pages of 2 MB, where the system gives them on request."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SETTING = Path("/sys/kernel/mm/transparent_hugepage/enabled")
ALLOCATE = """
import re
import gile_lightning
import torch
kept = torch.zeros(2**24)  # 64 MB
print(sum(map(int, re.findall(r"AnonHugePages: +(\\d+) kB", open("/proc/self/smaps").read()))))
"""


def kilobytes(**environment):
    rest = {key: x for key, x in os.environ.items() if key != "THP_MEM_ALLOC_ENABLE"}
    command = [sys.executable, "-c", ALLOCATE]
    return int(subprocess.check_output(command, env=rest | environment, text=True))


@pytest.mark.skipif(
    not SETTING.exists() or "[madvise]" not in SETTING.read_text(),
    reason="the system gives no huge pages on request",
)
def test_huge_pages_are_on_unless_they_are_turned_off():
    assert kilobytes() >= 32 * 1024
    assert kilobytes(THP_MEM_ALLOC_ENABLE="0") < 32 * 1024
