"""A code reply in parts, and its text in the form that was asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Code:
    """What an update writes and deletes."""

    objects: Mapping[str, str] = field(default_factory=dict)
    """Name -> definition for ``objects.py``."""
    procedures: Mapping[str, str] = field(default_factory=dict)
    """Path -> file."""
    deleted: tuple[str, ...] = ()

    def text(self) -> str:
        """The reply."""
        blocks = []
        if self.objects:
            blocks.append("### objects.py\n```python\n" + "\n\n".join(self.objects.values()) + "```")
        blocks += [f"### {path}\n```python\n{text}```" for path, text in self.procedures.items()]
        blocks += [f"DELETE {path}" for path in self.deleted]
        return "\n\n".join(blocks) or "NO CHANGES"
