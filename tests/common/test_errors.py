import pytest

from gile_lightning.common.errors import InputError, nearest, positive


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("batchsize", "; did you mean 'batch_size'?"),
        ("batch_size", "; did you mean 'batch_size'?"),
        ("ouput", "; did you mean 'output'?"),
        ("xyz", ""),
    ],
)
def test_nearest(word, expected):
    assert nearest(word, (known for known in ["output", "batch_size", "epochs"])) == expected


def test_nearest_of_nothing():
    assert nearest("output", []) == ""


def test_positive_numbers_pass():
    positive(dim=1, rate=1e-9)


def test_every_number_that_is_not_positive_is_named():
    with pytest.raises(InputError) as error:
        positive(dim=0, batch_size=8, rate=-0.5)
    assert str(error.value) == "must be above 0: dim is 0, rate is -0.5"
