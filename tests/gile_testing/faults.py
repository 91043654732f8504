"""Runs a command with a fault.

python -m gile_testing.faults FAULT MODULE ARGUMENT ...

FAULT is JSON with any of
    below, log: a folder, and a file that gets a line for every write below that folder
    write, sent: the number of such a write, and the signal that comes just before it
    bytes: beyond which no file may grow, as if the disk were full
    memory: MB that may be allocated beside what the imports take
    humble: true to be bound by the permissions of files, which root is not
    clock: seconds by which the clock jumps, forth and back, at each look at it
    shared: true for a /dev/shm without room, for this process and its children
    outage: seconds between two calls of a storage that does not answer
"""

import ctypes
import itertools
import json
import os
import resource
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_CHANGES = ("os.rename", "os.mkdir", "os.remove", "os.rmdir")
_CAPABILITIES = 0x20080522  # the version of the call
_MOUNTS = 0x00020000  # CLONE_NEWNS
_OVERRIDE = 0b110  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH


def watch(below: str, log: str, write: int = 0, sent: str = "SIGKILL") -> None:
    """Write down every file or folder that Python is about to write; end at one of them."""
    lines = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    numbers = itertools.count(1)

    def look(event, args) -> None:
        writes = event == "open" and args[2] & _WRITING
        if (writes or event in _CHANGES) and str(args[0]).startswith(below):
            number = next(numbers)
            os.write(lines, f"{number} {event} {args[0]}\n".encode())
            if number == write:
                os.kill(os.getpid(), getattr(signal, sent))

    sys.addaudithook(look)


def be_humble() -> None:
    """Give up the right of root to write where the permissions forbid it."""
    libc = ctypes.CDLL(None, use_errno=True)
    header, sets = (ctypes.c_uint32 * 2)(_CAPABILITIES, 0), (ctypes.c_uint32 * 6)()
    assert libc.capget(header, sets) == 0
    sets[0] &= ~_OVERRIDE
    assert libc.capset(header, sets) == 0


def limit_memory(megabytes: int) -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    size = pages * resource.getpagesize() + megabytes * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (size, size))


def fill_shared_memory() -> None:
    """Mount a small disk there, in a name space of this process, and fill it."""
    assert ctypes.CDLL(None).unshare(_MOUNTS) == 0
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "none", "/dev/shm"], check=True)
    Path("/dev/shm/filler").write_bytes(bytes(4096))


def jump(seconds: int) -> None:
    true, sign = time.time, itertools.cycle([0, 1, -1])
    time.time = lambda: true() + next(sign) * seconds


def main() -> None:
    fault, (module, *arguments) = json.loads(sys.argv[1]), sys.argv[2:]
    sys.argv[1:] = arguments
    if "outage" in fault:
        from gile_lightning.search import outage

        outage._PAUSE = fault["outage"]
    if "clock" in fault:
        jump(fault["clock"])
    if fault.get("shared"):
        fill_shared_memory()
    if fault.get("humble"):
        be_humble()
    if "below" in fault:
        watch(**{k: fault[k] for k in ("below", "log", "write", "sent") if k in fault})
    if "bytes" in fault:
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (fault["bytes"], hard))
    if "memory" in fault:
        limit_memory(fault["memory"])
    sys.modules.pop(module, None)
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
