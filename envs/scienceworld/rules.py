"""ScienceWorld's public description of its actions, for the simplifications that are chosen.

``rules.md`` says what the simulator's ``help`` and the paper say: templates, menus, time and focus. It
holds no demonstration and no answer.
"""

from __future__ import annotations

from importlib.resources import files

from envs.scienceworld.settings import EASY, NO_ELECTRICAL, TELEPORT, ScienceworldSettings


def rules(settings: ScienceworldSettings) -> str:
    """The rules without the lines of actions that there are not."""
    text = (files("envs.scienceworld") / "rules.md").read_text("utf-8").strip()
    hidden = () if TELEPORT in settings.names(electrical=True) else ("- teleport",)
    text = "\n".join(line for line in text.split("\n") if not line.startswith(hidden))
    assert NO_ELECTRICAL not in settings.simplifications
    note = " (only in tasks about electricity)" if EASY in settings.simplifications else ""
    return text.replace(" {electrical}", note)
