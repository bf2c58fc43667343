"""Read, write and change files; links and archives among them."""

from __future__ import annotations

from tests.sandbox.hostile.attack import NATIVE, REACH, REFUSED, VALIDATING, Attack, denied

ATTACKS = {
    "read": denied("open('/etc/passwd').read()", follows=VALIDATING),
    "write": denied("open('$FILE', 'w').write('hostile')", follows=VALIDATING),
    "list": denied("os.listdir('/')"),
    "stat": denied("os.stat('$FILE')"),
    "remove": denied("os.unlink('$FILE')"),
    "rename": denied("os.rename('$FILE', '$FILE.moved')"),
    "chmod": denied("os.chmod('$FILE', 0o600)"),
    "touch": denied("os.utime('$FILE', (0, 0))"),
    "cut": denied("os.truncate('$FILE', 0)"),
    "make_folder": denied("os.mkdir('$FILE.folder')"),
    "symlink": denied("os.symlink('/etc/passwd', '$FILE.link')"),
    "hard_link": denied("os.link('$FILE', '$FILE.hard')"),
    "follow_link": denied("os.readlink('/proc/self/exe')"),
    "go_up": denied("os.chdir('../../../../../../..'); open('etc/passwd')"),
    "relative_to_descriptor": denied("os.open('etc/passwd', os.O_RDONLY, dir_fd=0)"),
    "descriptor_link": denied("open('/proc/self/fd/0')"),
    "attributes": denied("os.setxattr('$FILE', 'user.hostile', b'1')"),
    "own_source": denied("open(modules['jail.kernel'].__file__).read()"),
    "import_from_file": Attack(
        REACH + "sys.path.insert(0, '/tmp')\nsys.path_importer_cache.clear()\n"
        "importlib = modules['importlib']\nimportlib.invalidate_caches()\n"
        "importlib.import_module('this')",
        ("exception",),
        "Error",
    ),
    "by_handle": Attack(
        NATIVE
        + "number = {'x86_64': 304, 'aarch64': 265}[modules['jail.kernel'].MACHINE]\n"
        + "call(number, -100, id(b'handle'), 0)",
        ("exception",),
        REFUSED,
    ),
    "open_beneath": Attack(
        NATIVE
        + "path = ctypes.create_string_buffer(b'/etc/passwd')\nhow = ctypes.create_string_buffer(24)\n"
        + "call(437, -100, ctypes.addressof(path), ctypes.addressof(how), 24)",
        ("exception",),
        REFUSED,
    ),
    # an archive's names decide where it is unpacked: no archive can be opened, and none unpacked
    "zip_slip": denied(
        "loader = modules.get('zipimport') or sys.modules['importlib'].import_module('zipfile')\n"
        "loader.zipimporter('$FILE').load_module('../../evil')",
        "Error",
    ),
    "unpack_by_hand": denied(
        "for name, text in {'../../$FILE': 'hostile', '$FILE': 'hostile', 'C:\\\\evil': 'x'}.items():\n"
        "    with open(name, 'w') as file:\n        file.write(text)"
    ),
}
