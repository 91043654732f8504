"""The metrics of documents on two processes are those on one; oracles of one are elsewhere."""

import pytest

from gile_testing.own_metric import HitAt, everything, fed, many, on_processes


# uneven, and all documents on one process
@pytest.mark.parametrize(("first", "without_positive"), [(11, "skip"), (40, "released")])
def test_two_processes_equal_one(tmp_path, first, without_positive):
    settings = {"nam16": True, "without_positive": without_positive}
    expected = everything(fed(*many(), 40, **settings, added=[HitAt(2)]))
    for found in on_processes(tmp_path, [slice(0, first), slice(first, 40)], **settings):
        assert list(found) == list(expected)
        for key in expected.keys() - {"best"}:
            assert found[key].keys() == expected[key].keys()
            for name, value in expected[key].items():
                assert found[key][name] == pytest.approx(value, abs=1e-12), (key, name)
        assert found["best"] == expected["best"]
