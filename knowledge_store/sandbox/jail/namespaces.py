"""A world of its own: user, mount, PID, network, IPC and UTS namespaces, and an empty root."""

from __future__ import annotations

import ctypes
import os
import socket

from . import kernel

NEW_MOUNT, NEW_UTS, NEW_IPC = 0x00020000, 0x04000000, 0x08000000
NEW_USER, NEW_PID, NEW_NETWORK = 0x10000000, 0x20000000, 0x40000000
EVERYTHING = NEW_MOUNT | NEW_UTS | NEW_IPC | NEW_USER | NEW_PID | NEW_NETWORK

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 32, 4096, 16384, 1 << 18
MNT_DETACH = 2
NOBODY = 65534


def drop_root() -> None:
    """Become ``nobody`` when root; an ordinary user stays who they are."""
    if os.geteuid() != 0:
        return
    kernel.numbers()
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    kernel.prctl(kernel.PR_SET_DUMPABLE, 1)  # else /proc/self/uid_map belongs to root


def separate() -> None:
    """Enter new namespaces; the PID namespace begins with the next fork."""
    kernel.numbers()
    uid, gid = os.getuid(), os.getgid()
    what = "unshare (the kernel or the container forbids user namespaces)"
    kernel.require(kernel.LIBC.unshare(EVERYTHING), what)
    try:
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{uid} {uid} 1")
        _write("/proc/self/gid_map", f"{gid} {gid} 1")
    except OSError as error:
        raise kernel.Missing(f"mapping the user: {error.strerror}") from error


def _write(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def check_separate() -> None:
    """Whether this process really is alone: first of its PIDs, with no interface but a loopback."""
    if os.getpid() != 1:
        raise kernel.Missing("the process is not the first of a PID namespace")
    if [name for _, name in socket.if_nameindex() if name != "lo"]:
        raise kernel.Missing("network interfaces are visible")


def _mount(source: bytes | None, target: bytes, kind: bytes | None, flags: int, data: bytes | None) -> None:
    result = kernel.LIBC.mount(source, target, kind, ctypes.c_ulong(flags), data)
    kernel.require(result, f"mount {target.decode()}")


def empty_root() -> None:
    """Replace the root by an empty, read-only file system; needs the mount namespace."""
    flags = MS_NOSUID | MS_NODEV | MS_NOEXEC
    _mount(None, b"/", None, MS_REC | MS_PRIVATE, None)
    _mount(b"none", b"/tmp", b"tmpfs", flags, b"size=4k,mode=555")
    os.chdir("/tmp")
    here = ctypes.create_string_buffer(b".")
    address = ctypes.addressof(here)
    kernel.require(kernel.syscall(kernel.numbers()["pivot_root"], address, address), "pivot_root")
    kernel.require(kernel.LIBC.umount2(b".", MNT_DETACH), "umount of the old root")
    os.chdir("/")
    _mount(None, b"/", None, flags | MS_REMOUNT | MS_BIND | MS_RDONLY, None)


def check_empty_root() -> None:
    """Whether nothing is left to see."""
    with os.scandir("/") as entries:
        if next(entries, None):
            raise kernel.Missing("the root is not empty")


def drop_capabilities() -> None:
    """Give up every capability, also for later; after this only the user's own rights are left."""
    for capability in range(64):
        kernel.prctl(kernel.PR_CAPBSET_DROP, capability)  # fails past the last one, and without the right
    header = ctypes.create_string_buffer(bytes.fromhex("2205082000000000"))  # version 3, this process
    nothing = ctypes.create_string_buffer(24)
    arguments = (ctypes.addressof(header), ctypes.addressof(nothing))
    kernel.require(kernel.syscall(kernel.numbers()["capset"], *arguments), "capset")
    if os.geteuid() == 0:
        raise kernel.Missing("still running as root")
