"""Start, signal, trace, read and outlive processes."""

from __future__ import annotations

from tests.sandbox.hostile.attack import EXHAUSTING, HIERARCHY, NATIVE, REACH, REFUSED, Attack, denied

ATTACKS = {
    "launcher": Attack(
        "from objects import Box\nBox(1)\n"
        "found = [c for c in ().__class__.__base__.__subclasses__() if c.__name__ == '_wrap_close']\n"
        "found[0].__init__.__globals__['system']('true') == 0 or 1/0\n",
        ("exception",),
        "ZeroDivisionError",
        HIERARCHY,
    ),
    "exec": denied("os.execv('/bin/sh', ['sh', '-c', 'true'])", follows=HIERARCHY),
    "spawn": denied("os.posix_spawn('/bin/sh', ['sh'], {})", follows=HIERARCHY),
    "fork": denied("os.fork()", "Error"),
    "daemon": denied("os.fork() or os.setsid() or os.fork()", "Error", EXHAUSTING),
    "terminal_fork": denied("os.forkpty()", "Error"),
    "thread": Attack(
        REACH + "modules['_thread'].start_new_thread(print, ())", ("exception",), "can't start new thread"
    ),
    "signal_bystander": denied("os.kill($PID, 19)"),
    "signal_owner": denied("os.kill($OWNER, 0)"),
    "signal_parent": denied("os.kill(1, 9)"),
    "signal_group": denied("os.killpg(0, 9)"),
    "signal_all": denied("os.kill(-1, 9)"),
    "signal_thread": denied("modules['signal'].raise_signal(9)", "Error"),
    "pidfd": denied("modules['signal'].pidfd_send_signal(os.pidfd_open($PID), 19)"),
    "own_session": denied("os.setsid()"),
    "own_group": denied("os.setpgid(0, 0)"),
    "priority": denied("os.setpriority(0, $PID, 19)"),
    "wait_for_others": denied("os.waitpid(-1, 0)", "Error"),
    "outlive_the_zygote": Attack(NATIVE + "lib.prctl(1, 0, 0, 0, 0) == 0 or 1/0", ("exception",), "ZeroDiv"),
    "ptrace": Attack(
        NATIVE + "if lib.ptrace(0x4206, $OWNER, 0, 0) < 0:\n    raise RuntimeError(-1, ctypes.get_errno())",
        ("exception",),
        REFUSED,
    ),
    "native_clone": Attack(
        NATIVE + "number = modules['jail.kernel'].numbers()['clone']\n"
        "raise RuntimeError([lib.syscall(number, flags, 0, 0, 0, 0) for flags in (17, 0x8011, 0x100)])",
        ("exception",),
        "RuntimeError: [-1, -1, -1]",
    ),
    "raise_process_limit": Attack(
        REACH + "r = modules['resource']\nr.setrlimit(r.RLIMIT_NPROC, (50, 50))\n"
        "r.setrlimit(r.RLIMIT_NPROC, (99, 99))",
        ("exception",),
        "not allowed to raise maximum limit",
    ),
    "limits_of_others": Attack(
        REACH + "r = modules['resource']\nr.prlimit($PID, r.RLIMIT_NOFILE, (1, 1))",
        ("exception",),
        "PermissionError",
    ),
}
