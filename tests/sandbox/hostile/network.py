"""Talk to anybody."""

from __future__ import annotations

from tests.sandbox.hostile.attack import NATIVE, REFUSED, RUNNER, Attack, denied

ATTACKS = {
    "tcp": denied("socket.socket().connect(('127.0.0.1', $PORT))"),
    "udp": denied("socket.socket(type=socket.SOCK_DGRAM).sendto(b'out', ('127.0.0.1', $PORT))"),
    "tcp_ipv6": denied("socket.socket(socket.AF_INET6)"),
    "unix": denied("socket.socket(socket.AF_UNIX).connect('\\0bus')"),
    "listen": denied("socket.create_server(('127.0.0.1', 0))"),
    "raw": denied("socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)"),
    "netlink": denied("socket.socket(16, socket.SOCK_RAW)"),
    "vsock": denied("socket.socket(40, socket.SOCK_STREAM)"),
    "names": denied("socket.getaddrinfo('localhost', $PORT)", "Error"),
    "pair": denied("socket.socketpair()"),
    # the descriptors that are there: the report channel is a socket, too
    "pass_descriptors": Attack(
        NATIVE
        + "for descriptor in range(40):\n    try:\n"
        + "        socket.socket(fileno=descriptor).sendmsg([b'R{}'])\n"
        + "    except OSError as error:\n        last = error\n"
        + "raise last",
        ("exception",),
        "PermissionError",
        RUNNER,
    ),
    "receive_reports": Attack(
        NATIVE
        + "number = {'x86_64': 45, 'aarch64': 207}[modules['jail.kernel'].MACHINE]\n"
        + "buffer = ctypes.create_string_buffer(4096)\n"
        + "for descriptor in range(3, 20):\n"
        + "    try:\n        call(number, descriptor, ctypes.addressof(buffer), 4096, 0x40, 0, 0)\n"
        + "    except RuntimeError as error:\n        last = error\n"
        + "raise last",
        ("exception",),
        REFUSED,
    ),
}
