"""Inputs that once failed are read, or refused by the named error.

They are in `cases`, in a folder per target; a new one needs a file there and no more.
"""

from pathlib import Path

import pytest

from fuzzing.targets import TARGETS

FOLDER = Path(__file__).with_name("cases")
NAMES = {name.replace("/", " "): name for name in TARGETS}
CASES = sorted(FOLDER.glob("*/*"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}-{case.name}")
def test_what_failed_once(case, tried):
    tried(NAMES[case.parent.name], case.read_bytes())


def test_there_are_cases():
    assert {case.parent.name for case in CASES} <= NAMES.keys()
    assert len(CASES) > 50
