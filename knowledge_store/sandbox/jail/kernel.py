"""The few kernel calls that Python does not offer, by ctypes; Linux on x86_64 and aarch64."""

from __future__ import annotations

import ctypes
import os
import sys

LIBC = ctypes.PyDLL(None, use_errno=True)
"""PyDLL and not CDLL: it keeps the interpreter's lock, so a cloned child starts in a sane state."""

MACHINE = os.uname().machine
LINUX = sys.platform == "linux"

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_GET_DUMPABLE = 3
PR_GET_SECCOMP = 21
PR_SET_SECCOMP = 22
PR_CAPBSET_DROP = 24
PR_SET_NO_NEW_PRIVS = 38
PR_GET_NO_NEW_PRIVS = 39

CLONE_PARENT = 0x8000
SIGCHLD = 17

NUMBERS = {
    "x86_64": {
        "read": 0,
        "write": 1,
        "close": 3,
        "mmap": 9,
        "mprotect": 10,
        "munmap": 11,
        "brk": 12,
        "rt_sigprocmask": 14,
        "rt_sigreturn": 15,
        "mremap": 25,
        "madvise": 28,
        "setitimer": 38,
        "clone": 56,
        "exit": 60,
        "capset": 126,
        "pivot_root": 155,
        "prctl": 157,
        "futex": 202,
        "restart_syscall": 219,
        "exit_group": 231,
        "prlimit64": 302,
    },
    "aarch64": {
        "read": 63,
        "write": 64,
        "close": 57,
        "mmap": 222,
        "mprotect": 226,
        "munmap": 215,
        "brk": 214,
        "rt_sigprocmask": 135,
        "rt_sigreturn": 139,
        "mremap": 216,
        "madvise": 233,
        "setitimer": 103,
        "clone": 220,
        "exit": 93,
        "capset": 91,
        "pivot_root": 41,
        "prctl": 167,
        "futex": 98,
        "restart_syscall": 128,
        "exit_group": 94,
        "prlimit64": 261,
    },
}
LANDLOCK_CREATE_RULESET = 444
LANDLOCK_RESTRICT_SELF = 446


class Missing(Exception):
    """A layer cannot be put in force; the message is the reason that the user reads."""


def require(result: int, what: str) -> int:
    """The result of a kernel call, or :class:`Missing` with the kernel's reason."""
    if result < 0:
        raise Missing(f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


def numbers() -> dict[str, int]:
    """System call numbers of this machine."""
    if not LINUX:
        raise Missing(f"needs Linux, this is {sys.platform}")
    if MACHINE not in NUMBERS:
        raise Missing(f"no system call table for {MACHINE}")
    return NUMBERS[MACHINE]


def prctl(option: int, *arguments: int) -> int:
    """``prctl(2)``; -1 on failure, with errno kept."""
    if not LINUX:
        return -1
    padded = [ctypes.c_ulong(argument) for argument in (*arguments, 0, 0, 0, 0)[:4]]
    return int(LIBC.prctl(ctypes.c_int(option), *padded))


def syscall(number: int, *arguments: int) -> int:
    """A raw system call with integer arguments; -1 on failure, with errno kept."""
    return int(LIBC.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments)))


def clone_sibling() -> int:
    """Fork a child whose parent is *our* parent, so that it gets the exit status from the kernel."""
    return syscall(numbers()["clone"], CLONE_PARENT | SIGCHLD, 0, 0, 0, 0)
