import errno
import resource
from contextlib import contextmanager

import numpy as np
import pytest

from gile_lightning.common.files import save_array, write


@contextmanager
def largest(size):
    """Let no file grow beyond a number of bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "folder/report.html"
    write(path, "é")
    assert path.read_bytes() == "é".encode()
    with pytest.raises(UnicodeEncodeError):
        write(path, "new \ud800")
    assert path.read_text(encoding="utf-8") == "é"
    write(path, b"new")
    assert [(x.name, x.read_bytes()) for x in path.parent.iterdir()] == [("report.html", b"new")]


@pytest.mark.parametrize("numbers", [200, 100_000])  # less and more than the buffers of C
def test_an_array_is_written_whole_or_not_at_all(numbers, tmp_path):
    array = np.arange(numbers, dtype=np.float32)
    save_array(tmp_path / "a.npy", array)
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), array)
    with largest(600), pytest.raises(OSError, match="File too large") as error:
        save_array(tmp_path / "a.npy", array + 1)
    assert (error.value.errno, error.value.filename) == (errno.EFBIG, str(tmp_path / "a.npy"))
    assert [file.name for file in tmp_path.iterdir()] == ["a.npy"]
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), array)
