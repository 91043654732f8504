import random

import pytest

from gile_lightning.data.shards.id_set import IdSet


@pytest.mark.parametrize("recent", [1, 3, 100, 10_000])
def test_known_ids_are_a_set(recent):
    generator = random.Random(recent)
    known, oracle = IdSet(recent), set()
    for _ in range(500):
        key = str(generator.randrange(400))
        assert (key in known) == (key in oracle)
        if generator.random() < 0.5:
            known.add(key)
            oracle.add(key)
    assert all(key in known for key in oracle)
