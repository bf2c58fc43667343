"""What an attack is, and the code that attacks begin with.

``REACH`` is how model-written code gets at modules that it may not import: an in-process allow-list is
no wall, so every attack starts from full access to ``os``, ``ctypes`` and ``socket``.

In a source, ``$FILE`` is a file outside that anybody may write, ``$PORT`` a port at which somebody
listens, ``$PID`` a process of the same user, ``$OWNER`` the process that owns the sandbox. Its
environment holds a key that looks like ``KEY``.
"""

from __future__ import annotations

from typing import NamedTuple

OBJECTS = '''
class Box:
    """Something to use."""

    def __init__(self, n):
        self.n = n

    def add(self, other):
        if other < 0:
            raise ValueError(f"negative: {other}")
        return self.n + other
'''

REACH = """
import json
from objects import Box
Box(1).add(1)
modules = json.codecs.sys.modules
os, ctypes, socket, sys = modules["os"], modules["ctypes"], modules["socket"], modules["sys"]

def tell(message):
    for descriptor in range(40):
        try:
            os.write(descriptor, message)
        except OSError:
            pass
"""
NATIVE = (
    REACH
    + """
lib = ctypes.PyDLL(None, use_errno=True)

def call(number, *arguments):
    result = lib.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments))
    if result < 0:
        raise RuntimeError(result, ctypes.get_errno())
    return result

"""
)
REFUSED = "RuntimeError: (-1, 1)"
"""What a raw system call says that the filter refuses: EPERM."""

# Public faults whose kind an attack follows.
GETATTR = "attribute paths to restricted modules (CVE-2025-5120)"
HIERARCHY = "class hierarchy to a process launcher (CVE-2025-9959)"
OVERWRITTEN = "code and attributes overwritten (CVE-2026-4963)"
FORMATS = "format fields, late __del__ and __eq__, ctypes (smolagents #2271, #2395, #2406, #2094, #1637)"
FRAMES = "frames, generators, AttributeError.obj, except* (RestrictedPython CVE-2023-37271 to 2025-22153)"
RUNNER = "native runner: formatting and exception handling (n8n CVE-2025-68668, CVE-2026-0863)"
VALIDATING = "code that is run while it is validated (Langflow CVE-2025-3248, CVE-2026-33017)"
EXHAUSTING = "limits that a spin in C, a large number or a daemon outlives (prime-rl #2790 and others)"
OURS = "verification of knowledge: forged, watched, leaked, never twice the same"


class Attack(NamedTuple):
    """A procedure that must fail, and how it is to be reported."""

    source: str
    kinds: tuple[str, ...]
    says: str
    follows: str = OURS


def denied(line: str, says: str = "PermissionError", follows: str = GETATTR) -> Attack:
    """An attack whose last line must be refused by the kernel."""
    return Attack(REACH + line, ("exception",), says, follows)
