"""ExpeL at work on PlanCraft: a past success helps a similar task, and an insight gains votes and is used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from agents import registry
from agents.expel.insights import PATH, Insight, read
from envs.plancraft.environment import PlancraftEnvironment
from ocm.types import Episode, Files
from tests.scripted.texts import play, play_tasks

STAIRS, FURTHER = "VAL0500", "VAL0501"
"""Stairs from planks; then the same stairs, with a stem that has to become planks first."""
FAILS = "VAL0559"
"""Stairs that are not found at once."""
OTHERS = ("VAL0596", "VAL0491")
"""Two more successes, so that four can be looked at together."""
KNOWN = "As I know, for crimson_stairs I can craft it as"


def chain(method: str, *tasks: str) -> tuple[list[Episode], Files]:
    environment = PlancraftEnvironment()
    by_id = {task.id: task for task in environment.tasks("val.small")}
    return play_tasks(environment, [by_id[task] for task in tasks], method)


def system_prompts(episode: Episode) -> list[str]:
    return [
        call.request.messages[0].content for call in episode.calls if call.request.purpose.startswith("act")
    ]


def asked(episodes: Sequence[Episode]) -> list[list[str]]:
    return [
        [call.request.purpose for call in episode.calls if not call.request.purpose.startswith("act")]
        for episode in episodes
    ]


def insights_after(episode: Episode) -> tuple[Insight, ...]:
    return next(read(change.content or "") for change in episode.update.delta if change.path == PATH)


def thinks(episode: Episode, words: str) -> bool:
    return any(words in turn.thought for turn in episode.trajectory.turns)


def test_a_retrieved_success_is_used_by_a_later_one() -> None:
    without, _ = chain("react", STAIRS, FURTHER)
    (first, second), memory = chain("expel", STAIRS, FURTHER)
    assert first.trajectory.success and not without[1].trajectory.success
    assert PATH not in memory, "there is no insight yet that could have helped"
    example = f"## {first.trajectory.goal}\n{memory['experience/0001.md']}"
    assert all(example in prompt for prompt in system_prompts(second))
    assert thinks(second, KNOWN) and not thinks(without[1], KNOWN)
    assert second.trajectory.success


def test_an_insight_is_added_shown_used_and_agreed_with(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = replace(registry.METHODS["expel"], preset={"similar_successes": 0})
    monkeypatch.setattr(registry, "METHODS", {**registry.METHODS, "expel": alone})
    episodes, _ = chain("expel", STAIRS, FAILS, FURTHER, *OTHERS)
    assert [episode.trajectory.success for episode in episodes] == [True, False, True, True, True]
    assert asked(episodes) == [[], ["compare"], [], [], ["critique"]]
    _, compared, used, _, last = episodes

    insight = insights_after(compared)[0]
    assert insight.importance == 2 and insight.text.endswith("gives 4 crimson_stairs.")
    assert all("# Insights\n" in prompt and f"1. {insight.text}" in prompt for prompt in system_prompts(used))
    assert not any("Similar tasks" in prompt for prompt in system_prompts(used)), "no example helps"
    assert thinks(used, KNOWN)
    assert f"AGREE 1: {insight.text}" in last.update.plan
    assert insights_after(last)[0] == Insight(insight.text, 3)


def test_insights_stay_few_and_sorted_and_it_does_no_worse_than_without_memory() -> None:
    episodes, memory = play("expel", 24)
    without, _ = play("react", 24)
    insights = read(memory[PATH])
    assert 1 < len(insights) <= 15
    assert [one.importance for one in insights] == sorted((one.importance for one in insights), reverse=True)
    assert sum(e.trajectory.success for e in episodes) >= sum(e.trajectory.success for e in without)
