"""What can be wrong with knowledge as text.

::

    OcmError
    └── KnowledgeError
        ├── PathError    a path that a memory does not hold
        ├── ParseError   source that Python cannot parse
        └── MergeError   a merge that would have changed more than it was asked to
"""

from __future__ import annotations

from ocm.errors import OcmError

__all__ = ["KnowledgeError", "MergeError", "ParseError", "PathError"]


class KnowledgeError(OcmError):
    """A memory, or an update of one, is not acceptable."""

    boundary = "knowledge"


class PathError(KnowledgeError):
    """A path or a content that a memory does not hold. ``details``: ``path``."""


class MergeError(KnowledgeError):
    """A merge would have changed text that the update does not name. ``details``: ``path``."""


class ParseError(KnowledgeError):
    """Source that Python cannot parse. ``details``: ``path``, ``line`` (from 1; 0 unknown), ``reason``."""

    @property
    def path(self) -> str:
        return str(self.details.get("path", ""))

    @property
    def line(self) -> int:
        return int(self.details.get("line", 0))

    @property
    def reason(self) -> str:
        return str(self.details.get("reason", ""))
