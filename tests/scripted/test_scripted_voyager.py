"""Voyager at work on PlanCraft: a program reaches a goal, is kept, found again, and called by later ones."""

from __future__ import annotations

from agents.acting import observed, program_report
from agents.voyager.library import descriptions_in
from backbones.scripted.dialogue import read_dialogue
from envs.plancraft.environment import PlancraftEnvironment
from knowledge_store.sandbox import Policy, Sandbox
from ocm.types import Episode, Exchange, Message, TurnKind, UpdateOutcome
from tests.scripted.texts import Boxed, acting, play_tasks

WALL, OTHER_WALL, BASALT, POLISHED = "VAL0346", "VAL0155", "VAL0441", "VAL0592"
"""Walls of two stones; polished basalt; a polished wall, which may come of both ways together."""


def chain(*tasks: str) -> tuple[list[Episode], dict[str, str]]:
    environment = PlancraftEnvironment()
    by_id = {task.id: task for task in environment.tasks("val.small")}
    with Sandbox(Policy(wall_seconds=2.0)) as sandbox:
        return play_tasks(environment, [by_id[one] for one in tasks], "voyager", verifier=Boxed(sandbox))


def programs(episode: Episode) -> list[str]:
    return [turn.content for turn in episode.trajectory.turns if turn.kind is TurnKind.PROGRAM]


def test_a_program_is_kept_with_its_description_and_carries_a_later_task() -> None:
    (taught, used), memory = chain(WALL, OTHER_WALL)
    assert taught.trajectory.success and taught.update.outcome is UpdateOutcome.COMMITTED
    assert [call.request.purpose for call in taught.calls].count("describe") == 1
    assert "mossy_cobblestone_wall" in descriptions_in(memory)["craft_wall"]

    system = used.calls[0].request.messages[0].content
    assert f"# craft_wall: {descriptions_in(memory)['craft_wall']}" in system
    assert memory["skills/craft_wall.py"].strip() in system
    assert programs(used) == ["craft_wall('cobblestone_wall', ['cobblestone'], 1)\n"]
    assert used.trajectory.success and len(used.trajectory.steps) == 7


def test_a_later_program_calls_two_stored_ones_one_after_the_other() -> None:
    (wall, basalt, both), memory = chain(WALL, BASALT, POLISHED)
    assert wall.trajectory.success and basalt.trajectory.success
    assert list(descriptions_in(memory)) == ["craft_wall", "craft_basalt"]
    (program,) = (code for code in programs(both) if code.startswith("def make_wall():"))
    assert "craft_wall('blackstone_wall'" in program and "craft_basalt('polished_blackstone_wall'" in program
    assert "def craft" not in program, "what it calls is stored"
    seen = "".join(step.observation for step in both.trajectory.steps)
    assert " - blackstone_wall [I" in seen, "the first of them did its part"


def test_a_critic_is_asked_between_programs_and_heard_once() -> None:
    ((episode,), _) = chain(WALL)
    purposes = [call.request.purpose for call in episode.calls if call.request.purpose != "describe"]
    assert "critic" in purposes and "critic critic" not in " ".join(purposes)
    for before, call in zip(purposes, episode.calls, strict=False):
        last = call.request.messages[-1].content
        assert last.count("Critique: ") <= 1, before
    told = [call.request.messages[-1].content for call in episode.calls if call.request.purpose == "act"]
    assert (
        any(text.endswith("Critique: The goal is not reached yet.") for text in told)
        and "Critique" not in told[0]
    )


def test_the_stand_in_reads_what_a_program_did_as_far_as_it_is_shown_whole() -> None:
    taken = [Exchange("one", "x" * 400), Exchange("two", "short\n > no action"), Exchange("three", "y" * 400)]
    told = f"{program_report(taken, 'It came to its end.')}\n\nCritique: go on."
    said = Message("assistant", "I go on.\n\n```python\nf()\n```")
    (first, second) = read_dialogue([*acting("stick"), said, observed(told, 3, 30)]).exchanges
    assert (first.action, first.observation.strip()) == ("two", "short\n > no action")
    assert (second.action, second.observation) == ("three", "y" * 400)
