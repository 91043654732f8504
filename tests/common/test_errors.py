import pytest

from gile_lightning.common.errors import InputError, nearest, positive


@pytest.mark.parametrize(
    ("word", "expected"),
    [("batchsize", "batch_size"), ("batch_size", "batch_size"), ("ouput", "output"), ("xyz", None)],
)
def test_nearest(word, expected):
    found = nearest(word, (known for known in ["output", "batch_size", "epochs"]))
    assert found == (f"; did you mean {expected!r}?" if expected else "")
    assert nearest(word, []) == ""


def test_every_number_that_is_not_positive_is_named():
    positive(dim=1, rate=1e-9)
    with pytest.raises(InputError, match=r"above 0: dim is 0, rate is -0\.5"):
        positive(dim=0, batch_size=8, rate=-0.5)


def test_long_words_are_not_compared():
    """It would take hours: the time grows with the square of the length."""
    word = "".join(map(chr, range(10_000, 40_000))) * 30
    assert nearest(word, [word[1:], "b"]) == ""
    assert nearest("labels", [word, "label"]) == "; did you mean 'label'?"
