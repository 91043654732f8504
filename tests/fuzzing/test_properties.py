"""Whatever a file holds, its reader reads it, or says what is wrong by the named error.

More examples: GILE_LIGHTNING_EXAMPLES=1000 pytest tests/fuzzing/test_properties.py
"""

import os
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzzing.targets import TARGETS
from gile_testing.broken import broken

EXAMPLES = int(os.environ.get("GILE_LIGHTNING_EXAMPLES", "3"))

edits = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 40), st.binary(max_size=20)), min_size=1, max_size=5
)
few = settings(
    max_examples=EXAMPLES,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)


def edited(content: bytes, changes: list[tuple[float, int, bytes]]) -> bytes:
    """Replace some bytes at each place, which is a share of the length."""
    for place, length, new in changes:
        start = round(place * len(content))
        content = content[:start] + new + content[start + length :]
    return content


@pytest.mark.parametrize("name", TARGETS)
def test_a_broken_file_is_read_or_refused(name, tried):
    sound = TARGETS[name].sound()

    @few
    @given(st.sampled_from(sound), st.one_of(edits, st.integers(0, 2**32)))
    def holds(content, change):
        changed = broken(Random(change), content) if isinstance(change, int) else None
        tried(name, edited(content, change) if changed is None else changed)

    holds()


SOUND_IN_PART = {"vectors of words", "remote manifest"}
SOUND_IN_PART |= {"corpus folder, URIs"}  # which tell nothing without a vocabulary


@pytest.mark.parametrize("name", TARGETS)
def test_the_files_to_begin_with_are_read(name, tried):
    found = [tried(name, content) for content in TARGETS[name].sound()]
    assert any(found) == (name in SOUND_IN_PART)
