"""``ocm show`` tells also the turns that are more, or less, than one action."""

from __future__ import annotations

from dataclasses import replace

from flows.cli.show import _episode
from ocm.types import Turn, TurnKind
from tests.lake.fake import fake_chain, fake_key


def test_programs_held_back_actions_and_rehearsals_are_shown() -> None:
    (episode,) = fake_chain(fake_key(), 1)
    turns = (
        Turn(1, TurnKind.VETOED, "", "go up", "Action: go up", 0),
        Turn(1, TurnKind.PROGRAM, "I walk.", "walk(2)\nlook()", "Action: walk(2)", 1),
    )
    trajectory = replace(episode.trajectory, turns=turns)
    shown = [text for text, _ in _episode(replace(episode, trajectory=trajectory, rehearsal_steps=4))]
    start = shown.index("  held back: go up")
    assert shown[start : start + 5] == [
        "  held back: go up",
        "  · I walk.",
        "  program:",
        "    walk(2)",
        "    look()",
    ]
    assert any("  4 rehearsal steps" in line for line in shown)
