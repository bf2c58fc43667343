"""The wall: an allow-list of system calls, as a BPF program written by hand.

Besides memory and exit, the code's process may write to the report channel, read its control pipe, and
set its own timer and limits (which it can only lower). Where it holds K_o for others it may also clone
siblings; a clone gives that up by a limit of no further processes, since a second filter for each clone
would cost more than everything else (the kernel compiles every filter). A refused call fails with EPERM,
so honest code gets a ``PermissionError`` that can be reported; a call of a foreign architecture ends
the process.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Mapping

from . import kernel

ALLOW = 0x7FFF0000
REFUSE = 0x00050001
"""SECCOMP_RET_ERRNO with EPERM."""
KILL = 0x80000000

LOAD, JUMP_EQUAL, JUMP_SET, JUMP_GREATER_EQUAL, RETURN = 0x20, 0x15, 0x45, 0x35, 0x06
NUMBER_AT, ARCHITECTURE_AT = 0, 4
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
X32_BIT = 0x40000000
PROT_EXEC = 4
MAP_SHARED = 1
SIGKILL = 9

SIMPLE = (
    "munmap",
    "brk",
    "madvise",
    "mremap",
    "futex",
    "rt_sigreturn",
    "rt_sigprocmask",
    "restart_syscall",
    "exit",
    "exit_group",
    "read",
    "close",
    "setitimer",
)

Code = list[bytes]


def _op(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("HBBI", code, yes, no, value)


def _argument_at(index: int) -> int:
    """Offset of the low word of an argument; both architectures here are little-endian."""
    return 16 + 8 * index


def _head() -> Code:
    return [
        _op(LOAD, ARCHITECTURE_AT),
        _op(JUMP_EQUAL, ARCHITECTURES[kernel.MACHINE], 1, 0),
        _op(RETURN, KILL),
        _op(LOAD, NUMBER_AT),
        _op(JUMP_GREATER_EQUAL, X32_BIT, 0, 1),
        _op(RETURN, KILL),
    ]


def _answer(number: int, action: int) -> Code:
    return [_op(JUMP_EQUAL, number, 0, 1), _op(RETURN, action)]


def _when_equal(number: int, values: Mapping[int, int]) -> Code:
    """Allow the call when each of these arguments has its value."""
    body: Code = []
    for argument, value in values.items():
        body += [_op(LOAD, _argument_at(argument)), _op(JUMP_EQUAL, value, 1, 0), _op(RETURN, REFUSE)]
    body.append(_op(RETURN, ALLOW))
    return [_op(JUMP_EQUAL, number, 0, len(body)), *body]


def _when_clear(number: int, forbidden: Mapping[int, int]) -> Code:
    """Allow the call when each of these arguments has none of its forbidden bits."""
    body: Code = []
    for argument, bits in forbidden.items():
        body += [_op(LOAD, _argument_at(argument)), _op(JUMP_SET, bits, 0, 1), _op(RETURN, REFUSE)]
    body.append(_op(RETURN, ALLOW))
    return [_op(JUMP_EQUAL, number, 0, len(body)), *body]


def program(report: int, may_clone: bool) -> bytes:
    """BPF for the process that executes K_o. ``report`` is the one descriptor it may write to."""
    number = kernel.numbers()
    code = _head()
    code += _when_clear(number["mmap"], {2: PROT_EXEC, 3: MAP_SHARED})  # what clones share is a leak
    for name in SIMPLE:
        code += _answer(number[name], ALLOW)
    code += _when_clear(number["mprotect"], {2: PROT_EXEC})
    code += _when_equal(number["write"], {0: report})
    code += _when_equal(number["prctl"], {0: kernel.PR_SET_PDEATHSIG, 1: SIGKILL})  # and never off again
    code += _when_equal(number["prlimit64"], {0: 0})
    if may_clone:
        code += _when_equal(number["clone"], {0: kernel.CLONE_PARENT | kernel.SIGCHLD})
    return b"".join([*code, _op(RETURN, REFUSE)])


def install(code: bytes) -> None:
    """Put a filter in force for this process and its descendants; needs ``no_new_privs``."""
    buffer = ctypes.create_string_buffer(code, len(code))
    header = struct.pack("HxxxxxxQ", len(code) // 8, ctypes.addressof(buffer))
    pointer = ctypes.create_string_buffer(header, len(header))
    result = kernel.prctl(kernel.PR_SET_SECCOMP, 2, ctypes.addressof(pointer))
    kernel.require(result, "prctl(PR_SET_SECCOMP)")
