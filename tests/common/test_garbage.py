import gc

import pytest

from gile_lightning.common.garbage import unwatched


def test_what_is_there_is_not_looked_at_and_what_comes_is():
    before = []
    with unwatched():
        assert not any(found is before for found in gc.get_objects())
        after = []
        assert any(found is after for found in gc.get_objects())
        with unwatched():
            pass
        assert gc.get_freeze_count()  # until the outer one ends
    assert any(found is before for found in gc.get_objects())
    assert not gc.get_freeze_count()


def test_all_is_looked_at_again_after_an_error():
    with pytest.raises(ValueError, match="away"), unwatched():
        raise ValueError("away")
    assert not gc.get_freeze_count()
