"""The standard-library modules that model-written code may import.

One list for the static rules (good messages) and for the sandbox (which preloads exactly these).
All are pure computation: no files, processes, network, clock or interpreter internals as a purpose.
"""

from __future__ import annotations

ALLOWED_MODULES = frozenset(
    {
        "__future__",
        "abc",
        "bisect",
        "collections",
        "contextlib",
        "copy",
        "dataclasses",
        "decimal",
        "enum",
        "fractions",
        "functools",
        "heapq",
        "itertools",
        "json",
        "math",
        "numbers",
        "operator",
        "random",
        "re",
        "statistics",
        "string",
        "textwrap",
        "types",
        "typing",
    }
)
"""Top-level names: a submodule such as ``collections.abc`` is allowed with its parent."""
