import errno
import os
import resource
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from gile_lightning.common.files import new_text, save_array, write, write_above


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


def test_a_text_takes_its_place_when_it_is_whole(tmp_path):
    path = tmp_path / "out.jsonl"
    with new_text(path) as file:
        file.write("é")
        file.flush()
        assert not path.exists()
    assert path.read_bytes() == "é".encode()
    with largest(600), pytest.raises(OSError, match="File too large"), new_text(path) as file:
        file.write("x" * 100_000)
    assert path.read_bytes() == "é".encode()
    (tmp_path / "link").symlink_to(path)
    with new_text(tmp_path / "link") as file:
        file.write("new")
    assert (tmp_path / "link").is_symlink()
    assert path.read_text() == "new"
    assert sorted(x.name for x in tmp_path.iterdir()) == ["link", "out.jsonl"]


def test_a_pipe_gets_texts_at_once(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with new_text(pipe) as file:
        file.write("now")
        file.flush()
        assert os.read(reader, 10) == b"now"
    os.close(reader)


def test_a_pipe_gets_the_text_at_once(tmp_path):
    """Also by the name that a process has for its own end of it, which leads nowhere."""
    read, write = os.pipe()
    with new_text(Path(f"/dev/fd/{write}")) as file:
        file.write("text")
    os.close(write)
    with open(read) as end:
        assert end.read() == "text"


def test_what_is_below_the_mark_stays(tmp_path):
    path = tmp_path / "page.md"
    write_above(path, "First.\n\n", "<!-- mark -->")
    assert path.read_text() == "First.\n\n<!-- mark -->\n"
    path.write_text(path.read_text() + "\nBy hand.\n")
    write_above(path, "Second.\n\n", "<!-- mark -->")
    assert path.read_text() == "Second.\n\n<!-- mark -->\n\nBy hand.\n"
