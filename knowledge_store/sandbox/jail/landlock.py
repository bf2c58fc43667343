"""Landlock: no path may be opened, no TCP port bound or reached, no process outside signalled."""

from __future__ import annotations

import ctypes
import os
import struct

from . import kernel

FILE_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
TCP_RIGHTS = 3
SCOPES = 3
"""Abstract Unix sockets and signals."""


def version() -> int:
    """The kernel's Landlock ABI, 1 or more."""
    kernel.numbers()
    return kernel.require(kernel.syscall(kernel.LANDLOCK_CREATE_RULESET, 0, 0, 1), "landlock")


def restrict() -> None:
    """Handle every right that this kernel knows and allow none. Needs ``no_new_privs``."""
    abi = version()
    rights = struct.pack("QQQ", FILE_RIGHTS[min(abi, 5)], TCP_RIGHTS, SCOPES)
    size = 8 if abi < 4 else 16 if abi < 6 else 24
    buffer = ctypes.create_string_buffer(rights, len(rights))
    arguments = (ctypes.addressof(buffer), size, 0)
    ruleset = kernel.require(kernel.syscall(kernel.LANDLOCK_CREATE_RULESET, *arguments), "landlock")
    result = kernel.syscall(kernel.LANDLOCK_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)
    kernel.require(result, "landlock_restrict_self")
