"""``python attached.py PARENT CMD…``: become CMD, and die with the process PARENT that asked for it.

A driver that is killed cannot stop its servers; on Linux the kernel then does. The signal follows
the *thread* that started this program, so start it from one that lasts, such as the main thread.
Other kernels offer no such thing: there CMD just runs. Standard library only, so that it may run as
``python -I -S`` in a few milliseconds, wherever this file lies.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Sequence

PR_SET_PDEATHSIG = 1


def attached(command: Sequence[str]) -> list[str]:
    """The command line that runs ``command`` (a program and its arguments) tied to this process."""
    return [sys.executable, "-I", "-S", __file__, str(os.getpid()), *command]


def main(parent: int, command: Sequence[str]) -> None:
    """Ask for the signal, look whether the parent has died meanwhile, and become the command."""
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
        if os.getppid() != parent:
            sys.exit(f"the parent process {parent} is gone; {command[0]} is not started")
    os.execvp(command[0], list(command))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
