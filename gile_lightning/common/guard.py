"""Run a Python program that ends with the process that started it.

python guard.py PARENT ARGUMENT ...
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1  # Linux: sets the signal that a process gets when its parent ends


def end_with_parent(parent: int) -> None:
    """Let the system kill this process when its parent ends; exit if the parent has ended.

    Args:
        parent: the process id of the parent.
    """
    if sys.platform == "linux":  # elsewhere a program outlives a parent that is killed
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(1)


def main() -> None:
    """Become Python with the arguments, unless the process ``PARENT`` has ended."""
    end_with_parent(int(sys.argv[1]))
    os.execv(sys.executable, [sys.executable, *sys.argv[2:]])


if __name__ == "__main__":
    main()
