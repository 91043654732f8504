"""Become another Python program that ends with the process that has started it.

python guard.py PARENT ARGUMENT ...
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1  # Linux: the signal that a process gets when its parent has ended


def end_with_parent(parent: int) -> None:
    """Have this process killed when its parent ends, or end it if that has happened already.

    Args:
        parent: the process id that the parent has, or had.
    """
    if sys.platform == "linux":  # elsewhere a program outlives a parent that is killed
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(1)


def main() -> None:
    """Run Python with the arguments unless ``PARENT``, a process id, has ended already."""
    end_with_parent(int(sys.argv[1]))
    os.execv(sys.executable, [sys.executable, *sys.argv[2:]])


if __name__ == "__main__":
    main()
