"""Become another Python program that ends with the process that has started it.

python guard.py PARENT ARGUMENT ...
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1  # Linux: the signal that a process gets when its parent has ended


def main() -> None:
    """Run Python with the arguments unless ``PARENT``, a process id, has ended already."""
    if sys.platform == "linux":  # elsewhere a program outlives a parent that is killed
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() == int(sys.argv[1]):
        os.execv(sys.executable, [sys.executable, *sys.argv[2:]])


if __name__ == "__main__":
    main()
