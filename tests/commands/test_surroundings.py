import errno
import os

import pytest
import torch

from gile_lightning.commands.parser import command
from gile_lightning.common.errors import out_of_memory
from gile_testing import runs


def disk(number):
    return OSError(number, os.strerror(number), "runs/a")


def because(error, cause):
    error.__cause__ = cause
    return error


ERRORS = [
    (disk(errno.ENOSPC), "runs/a: No space left on device; make room first"),
    (disk(errno.EROFS), "runs/a: Read-only file system; what is read must be readable, the folde"),
    (disk(errno.EACCES), "runs/a: Permission denied; what is read must be readable, the folders "),
    (disk(errno.EMFILE), "runs/a: Too many open files; raise the limit of open files first (ulim"),
    (disk(errno.EISDIR), "runs/a: Is a directory; a file stands where a folder is needed, or a fo"),
    (disk(errno.EIO), "runs/a: Input/output error; the disk or its connection is broken; start a"),
    (MemoryError(), "out of memory: MemoryError; lower the batch size (--data.batch_size, --data"),
    (torch.OutOfMemoryError("CUDA"), "out of memory: CUDA; lower the batch size (--data.batch_si"),
    (RuntimeError("unable to allocate shared memory(shm)"), "unable to allocate shared memory(sh"),
    (
        because(MemoryError("Unable to allocate 3 GiB"), KeyError("words")),
        "out of memory: Unable t",
    ),
    (RuntimeError("can't start new thread"), "out of memory: can't start new thread; lower the b"),
]


@pytest.mark.parametrize(("error", "told"), ERRORS, ids=lambda x: type(x).__name__)
def test_one_line_says_what_to_do(error, told):
    @command
    def main(args):
        raise error

    done = runs.call(main)
    assert done.status == 2
    assert done.errors.startswith(f"error: {told}")
    assert done.errors.count("\n") == 1


def test_the_allocator_of_pytorch():
    @command
    def main(args):
        torch.empty(2**60)

    done = runs.call(main)
    assert done.status == 2
    assert done.errors.startswith("error: out of memory: ")


def test_a_library_that_finds_no_memory_for_its_parts():
    @command
    def main(args):
        raise ImportError("it seems to be broken") from ImportError("a.so: failed to map segment")

    with pytest.raises(ImportError):
        runs.call(main)

    @command
    def other(args):
        cause = ImportError("a.so: failed to map segment from shared object")
        raise ImportError("it seems to be broken") from cause

    done = runs.call(other)
    assert done.status == 2
    assert done.errors.startswith("error: out of memory: a.so: failed to map segment from shared")


@pytest.mark.parametrize("error", [RuntimeError("a mistake"), disk(errno.ENOTEMPTY)])
def test_mistakes_of_ours_keep_their_traceback(error):
    @command
    def main(args):
        raise error

    with pytest.raises(type(error)):
        runs.call(main)


def test_errors_that_are_each_others_causes():
    first = RuntimeError("a")
    first.__cause__ = because(RuntimeError("b"), first)
    assert not out_of_memory(first)
