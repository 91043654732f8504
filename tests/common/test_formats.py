"""What an older, a newer and this version may read."""

import pytest

from gile_lightning.common.errors import InputError
from gile_lightning.common.formats import check_format


@pytest.mark.parametrize(("found", "oldest"), [(3, 3), (3, 1), (2, 1), (1, 1)])
def test_known_formats_are_read(found, oldest):
    check_format("file", found, 3, "make it anew", oldest)


@pytest.mark.parametrize(
    ("found", "oldest", "said"),
    [
        (4, 3, "file: of format 4, and this version of gile_lightning reads 3; install a newer"),
        (4, 1, "file: of format 4, and this version of gile_lightning reads 1 to 3; install a"),
        (1, 2, "file: of format 1, and this version of gile_lightning reads 2 to 3; make it anew"),
        (0, 1, "file: of format 0, and this version of gile_lightning reads 1 to 3; make it anew"),
        (None, 1, "file: of no known format, and this version of gile_lightning reads 1 to 3; m"),
        ("2", 1, "file: of no known format, and"),
        (True, 1, "file: of no known format, and"),
    ],
)
def test_others_are_refused_with_what_to_do(found, oldest, said):
    with pytest.raises(InputError) as refused:
        check_format("file", found, 3, "make it anew", oldest)
    assert str(refused.value).startswith(said)
