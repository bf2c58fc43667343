"""Look at the harness, and change what it is made of."""

from __future__ import annotations

from tests.sandbox.hostile.attack import OVERWRITTEN, REACH, Attack, denied

ATTACKS = {
    "replace_objects": Attack(
        "import objects\nobjects.Box.add = lambda *_: 99\nobjects.Box = None\nraise RuntimeError('done')",
        ("exception",),
        "done",
        OVERWRITTEN,
    ),
    "import_procedure": Attack("from procedures.good import x", ("exception",), "must not import another"),
    "import_harness": Attack("import jail", ("exception",), "'jail' is not available"),
    "import_project": Attack(
        REACH + "modules['importlib'].import_module('knowledge_store.sandbox')",
        ("exception",),
        "ModuleNotFound",
    ),
    "read_harness": denied("modules['io'].open('/proc/self/exe', 'rb')"),
    "list_descriptors": denied("os.listdir('/proc/self/fd')"),
    "look_up_owner": denied("open('/proc/$OWNER/cmdline')"),
    "machine": denied("os.uname()", "Error"),
    "load": denied("os.getloadavg()", "Error"),
    "who": denied("os.getlogin()", "Error"),
    "report_limits": Attack(
        REACH + "frame = sys._getframe()\nwhile 'self' not in frame.f_locals:\n    frame = frame.f_back\n"
        "executor = frame.f_locals['self']\nexecutor._limit = 10**9\n"
        "executor._settings['output_bytes'] = executor._settings['report_chars'] = 10**9\n"
        "raise ValueError('y' * 10**6)",
        ("exception", "protocol"),
        "",
        OVERWRITTEN,
    ),
    "own_settings": Attack(
        REACH + "frame = sys._getframe()\nwhile 'self' not in frame.f_locals:\n    frame = frame.f_back\n"
        "frame.f_locals['self']._settings.update(wall_seconds=10**6, cpu_seconds=10**6, allowed=['os'])\n"
        "import os\nos.listdir('/')",
        ("exception",),
        "Error",
        OVERWRITTEN,
    ),
    "other_procedures": Attack(
        REACH
        + "frame = sys._getframe()\nwhile frame:\n    for name, value in list(frame.f_locals.items()):\n"
        "        if name == 'procedures':\n            value[:] = []\n    frame = frame.f_back\n"
        "raise ValueError('emptied')",
        ("exception",),
        "emptied",
    ),
    "every_class": Attack(
        REACH + "for one in object.__subclasses__():\n    try:\n        one.__init__ = None\n"
        "    except TypeError:\n        pass\nraise ValueError('all changed')",
        ("exception", "protocol", "killed"),
        "",
        OVERWRITTEN,
    ),
    "built_in_types": Attack(
        REACH
        + "modules['gc'].get_referents(str.__dict__)[0]['format'] = None\nraise ValueError('str changed')",
        ("exception", "protocol", "killed"),
        "",
        OVERWRITTEN,
    ),
}
