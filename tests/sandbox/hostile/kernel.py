"""System calls in which kernels have had their faults: none of them is answered."""

from __future__ import annotations

from tests.sandbox.hostile.attack import NATIVE, REFUSED, RUNNER, Attack

SURFACE = {  # number on x86_64 and aarch64, arguments
    "io_uring": (425, 425, "8, id(bytes(200)) + 64"),
    "bpf": (321, 280, "0, id(bytes(200)) + 64, 64"),
    "userfaultfd": (323, 282, "1"),
    "perf_event": (298, 241, "id(bytes(200)) + 64, 0, -1, -1, 0"),
    "add_key": (248, 217, "0, 0, 0, 0, -3"),
    "mount": (165, 40, "0, id(b'/') + 32, 0, 1 << 18, 0"),
    "new_mount": (428, 428, "-100, 0, 0"),
    "pivot_root": (155, 41, "id(b'.') + 32, id(b'.') + 32"),
    "chroot": (161, 51, "id(b'.') + 32"),
    "unshare": (272, 97, "0x10000000"),
    "setns": (308, 268, "0, 0"),
    "clone3": (435, 435, "id(bytes(200)) + 64, 64"),
    "memfd": (319, 279, "id(b'hidden') + 32, 0"),
    "memfd_secret": (447, 447, "0"),
    "exec_descriptor": (322, 281, "0, 0, 0, 0, 0x1000"),
    "ioctl": (16, 29, "0, 0x5412, id(b'x')"),
    "fcntl": (72, 25, "1, 2, 0"),
    "read_process": (310, 270, "$PID, 0, 0, 0, 0, 0"),
    "write_process": (311, 271, "$PID, 0, 0, 0, 0, 0"),
    "take_descriptor": (438, 438, "0, 0, 0"),
    "compare_processes": (312, 272, "1, $PID, 0, 0, 0"),
    "own_filter": (317, 277, "1, 0, 0"),
    "personality": (135, 92, "0x0040000"),
    "timer": (222, 107, "1, 0, id(bytes(8)) + 32"),
    "eventfd": (290, 19, "0, 0"),
    "epoll": (291, 20, "0"),
    "inotify": (294, 26, "0"),
    "fanotify": (300, 262, "0, 0"),
    "shared_memory": (29, 194, "0, 4096, 0o1777"),
    "semaphores": (64, 190, "0, 1, 0o1777"),
    "messages": (68, 186, "0, 0o1777"),
    "message_queue": (240, 180, "id(b'queue') + 32, 0o102, 0o777, 0"),
    "splice": (275, 76, "0, 0, 1, 0, 16, 0"),
    "send_file": (40, 71, "1, 0, 0, 16"),
    "numa_pages": (279, 239, "0, 0, 0, 0, 0, 0"),
    "affinity": (203, 122, "0, 8, id(bytes(64)) + 32"),
    "module": (175, 105, "0, 0, 0"),
    "swap": (167, 224, "0, 0"),
    "host_name": (170, 161, "id(b'hostile') + 32, 7"),
    "clock_set": (227, 112, "0, 0"),
    "chance": (318, 278, "id(bytes(64)) + 32, 8, 0"),
    "landlock": (444, 444, "0, 0, 1"),
}


def _surface(x86: int, arm: int, arguments: str) -> Attack:
    number = f"{{'x86_64': {x86}, 'aarch64': {arm}}}[modules['jail.kernel'].MACHINE]"
    return Attack(f"{NATIVE}call({number}, {arguments})", ("exception",), REFUSED, RUNNER)


ATTACKS = {name: _surface(*surface) for name, surface in SURFACE.items()} | {
    "executable_memory": Attack(
        NATIVE + "lib.mmap.restype = ctypes.c_long\n"
        "if lib.mmap(0, 4096, 7, 0x22, -1, 0) == -1:\n    raise RuntimeError(-1, ctypes.get_errno())",
        ("exception",),
        REFUSED,
    ),
    "make_executable": Attack(
        NATIVE + "page = (id(bytes(10**6)) + 8192) & ~4095\n"
        "if lib.mprotect(ctypes.c_size_t(page), 4096, 7):\n    raise RuntimeError(-1, ctypes.get_errno())",
        ("exception",),
        REFUSED,
    ),
    "prctl": Attack(
        NATIVE
        + "results = {option: lib.prctl(option, 1, 0, 0, 0) for option in (4, 15, 22, 23, 38, 47, 59)}\n"
        "raise RuntimeError(set(results.values()))",
        ("exception",),
        "RuntimeError: {-1}",
    ),
    "foreign_calls": Attack(NATIVE + "call(0x40000000 + 39)", ("killed",), "SIGSYS", RUNNER),
    "beyond_the_table": Attack(NATIVE + "call(100_000)", ("exception",), REFUSED),
}
