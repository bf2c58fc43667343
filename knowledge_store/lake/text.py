"""Text that UTF-8 cannot hold, made storable without loss.

A model's JSON may say ``"\\ud800"``, which Python reads as a lone surrogate: valid in a ``str``, but in
no Parquet file. An episode with such a text is stored with backslash escapes in all its strings, and
its column ``escaped`` says so; all other episodes are stored as they are.
"""

from __future__ import annotations

import re
from typing import Any

_ESCAPE = re.compile(r"\\(?:\\|u(d[89a-f][0-9a-f]{2}))")


def escape(value: Any) -> Any:
    """The value with every string in it, however deep, escaped."""
    if isinstance(value, str):
        return value.replace("\\", "\\\\").encode("utf-8", "backslashreplace").decode()
    return _mapped(escape, value)


def unescape(value: Any) -> Any:
    """Inverse of :func:`escape`."""
    if isinstance(value, str):
        return _ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else "\\", value)
    return _mapped(unescape, value)


def _mapped(function: Any, value: Any) -> Any:
    if isinstance(value, dict):
        return {name: function(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(function(part) for part in value)
    return value
