"""Find the owner's keys: in the environment, in other processes, in this one's memory."""

from __future__ import annotations

from tests.sandbox.hostile.attack import NATIVE, REACH, Attack, denied

KEY = "ocm-canary-[0-9a-f]{64}"
"""What the owner's key looks like; no attack's own text does."""

SEARCH = f"""
import re
KEY = re.compile(rb"{KEY}")

def report(where, data):
    found = KEY.search(data if isinstance(data, bytes) else str(data).encode("utf-8", "replace"))
    if found:
        print("FOUND", where, found.group().decode())
"""
END = "\nraise RuntimeError('searched')\n"


def searching(lines: str) -> Attack:
    """An attack that ends without a find."""
    return Attack(NATIVE + SEARCH + lines + END, ("exception",), "RuntimeError: searched")


ATTACKS = {
    "environ": searching("report('environ', dict(os.environ))\nreport('environb', dict(os.environb))"),
    "native_environ": searching(
        "pointers = ctypes.POINTER(ctypes.c_char_p).in_dll(lib, 'environ')\nindex = 0\n"
        "while pointers and pointers[index]:\n    report('environ', pointers[index])\n    index += 1"
    ),
    "getenv": searching(
        "lib.getenv.restype = ctypes.c_char_p\n"
        "for name in (b'OPENAI_API_KEY', b'OCM_HOSTILE_KEY', b'AWS_SECRET_ACCESS_KEY', b'HOME', b'PATH'):\n"
        "    report('getenv', lib.getenv(name) or b'')"
    ),
    "arguments": searching(
        "report('arguments', (sys.argv, sys.orig_argv, sys.path, sys.flags, sys._xoptions, sys.warnoptions))"
    ),
    "every_object": searching(
        "gc = modules['gc']\nfor one in gc.get_objects():\n"
        "    for held in gc.get_referents(one):\n"
        "        if type(held) in (str, bytes):\n            report('object', held)"
    ),
    "every_frame": searching(
        "frame = sys._getframe()\nwhile frame:\n    report('frame', list(frame.f_locals.items()))\n"
        "    frame = frame.f_back"
    ),
    # madvise tells which pages are there without a fault
    "own_stack": searching(
        "where = ctypes.addressof(ctypes.c_char_p.in_dll(lib, 'environ'))\n"
        "top = ctypes.c_size_t.in_dll(lib, 'environ').value & ~4095\n"
        "page = top\n"
        "while lib.madvise(ctypes.c_size_t(page), ctypes.c_size_t(4096), 0) == 0:\n"
        "    report('stack', ctypes.string_at(page, 4096))\n    page += 4096"
    ),
    "own_heap": searching(
        "for start in {id(one) & ~0xFFFFF for one in modules['gc'].get_objects()}:\n"
        "    for page in range(start, start + (1 << 20), 4096):\n"
        "        if lib.madvise(ctypes.c_size_t(page), ctypes.c_size_t(4096), 0) == 0:\n"
        "            try:\n                report('heap', ctypes.string_at(page, 4096))\n"
        "            except OSError:\n                pass"
    ),
    "owners_environment": denied("open('/proc/$OWNER/environ', 'rb').read().index(b'ocm-canary')"),
    "parents_environment": denied("open('/proc/%d/environ' % os.getppid(), 'rb')", "Error"),
    "everybodys_environment": denied(
        "for pid in os.listdir('/proc'):\n    if pid.isdigit():\n"
        "        print(open(f'/proc/{pid}/environ', 'rb').read())"
    ),
    "read_memory": denied("open('/proc/1/mem', 'rb')"),
    "key_files": denied(
        "for name in ('~/.netrc', '~/.aws/credentials', '~/.ssh/id_ed25519', '~/.config', '/run/secrets'):\n"
        "    os.stat(os.path.expanduser(name))",
        "Error",
    ),
    "kernel_keyring": Attack(
        NATIVE + "number = {'x86_64': 250, 'aarch64': 219}[modules['jail.kernel'].MACHINE]\n"
        "call(number, 0, -3, 1)",
        ("exception",),
        "RuntimeError: (-1, 1)",
    ),
    "ask_for_it": Attack(REACH + "input('your key: ')", ("exception",), "Error"),
}
