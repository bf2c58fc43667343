"""PlanCraft's own public description of its actions, for the actions that are allowed.

``rules.md`` is the package's system prompt (``get_system_prompt``) with every action; its dialogue
of demonstrations is left out. The two examples in it show the format, no recipe.
"""

from __future__ import annotations

from collections.abc import Collection
from importlib.resources import files

from envs.plancraft.actions import ACTIONS


def rules(allowed: Collection[str]) -> str:
    """The rules without the lines of actions that are not allowed."""
    text = (files("envs.plancraft") / "rules.md").read_text("utf-8").strip()
    starts = tuple(
        start for name in ACTIONS if name not in allowed for start in (f"    - {name}:", f"    - `{name}:")
    )
    return "\n".join(line for line in text.split("\n") if not line.startswith(starts))
