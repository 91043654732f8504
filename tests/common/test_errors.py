import errno
import os

import pytest

from gile_lightning.common.errors import InputError, nearest, nearest_file, of_the_machine, positive
from gile_lightning.released.tensors import read_tensors


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


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        *((OSError(number, os.strerror(number)), True) for number in (errno.EMFILE, errno.EIO)),
        (MemoryError(), True),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), True),
        *((OSError(number, ""), False) for number in (errno.ENOENT, errno.EISDIR, errno.EINVAL)),
        (OSError(errno.ENAMETOOLONG, "a name in a damaged file"), False),
        (OSError("file signature not found"), False),
        (ValueError("no number"), False),
    ],
)
def test_faults_of_the_machine(error, expected):
    assert of_the_machine(error) is expected


@pytest.mark.parametrize("error", [OSError(errno.EMFILE, "Too many open files"), MemoryError()])
def test_a_sound_file_is_not_called_damaged_if_the_machine_cannot_read_it(
    error, monkeypatch, tmp_path
):
    def refuse(*args, **kwargs):
        raise error

    (tmp_path / "weights.h5").write_bytes(b"HDF")
    monkeypatch.setattr("h5py.File", refuse)
    with pytest.raises(type(error)):
        read_tensors(tmp_path / "weights.h5")


def test_the_nearest_file(tmp_path):
    (tmp_path / "tickets.csv").touch()
    assert nearest_file(tmp_path / "ticket.csv") == "; did you mean 'tickets.csv'?"
    assert nearest_file(tmp_path / "nothing alike") == ""
    assert nearest_file(tmp_path / "tickets.csv") == ""  # a pipe, of which a caller makes nothing
    assert nearest_file(tmp_path) == ", but a folder"
    assert nearest_file("a\0/b") == ""
    assert nearest_file(tmp_path / "no folder" / "tickets.csv") == ""
