"""Every method plays under the same rules: prompts, corrections, limits and counts."""

from __future__ import annotations

import pytest

from agents.registry import METHODS, create
from ocm.types import Message
from tasks.act import act
from tests.tasks.test_act import FIRST, Play, kinds, react

OWN_REPLY_FORM = {"voyager"}
"""Agents that act by programs: only the part of the system prompt on how to reply is their own."""
ONE_ACTION = sorted(name for name, method in METHODS.items() if method.agent not in OWN_REPLY_FORM)
REPLIES = (
    "hm",
    "Action: go",
    "hm",
    "still hm",
    "Action: fly",
    "<think>",
    "",
    "Action: go\nAction: die",
    "Action: win",
)


@pytest.mark.parametrize("name", ONE_ACTION)
async def test_without_memory_the_same_replies_make_the_same_episode(name: str) -> None:
    """Whatever a method does beyond ReAct comes from what it has learned."""
    plain, other = Play(*REPLIES, memory={}), Play(*REPLIES, memory={})
    expected = await plain.by(react())
    played = await other.by(create(name, {}))
    assert played == expected and kinds(played) == "1m 1a 2m 2m 3a 4m 4m 5a 6a"
    assert [one.messages for one in other.script.requests] == [one.messages for one in plain.script.requests]


@pytest.mark.parametrize("name", sorted(METHODS))
async def test_rules_limit_goal_and_observation_reach_every_method_in_the_same_words(name: str) -> None:
    plain, other = await first_messages("react"), await first_messages(name)
    assert other[1] == plain[1]
    for part in (
        "You act in a text environment.",
        "at most 7 actions",
        "# The environment\nRules: go, win, die.",
    ):
        assert part in plain[0].content and part in other[0].content
    assert other[0].content.rstrip().endswith("write nothing after it: the environment answers.")


async def first_messages(name: str) -> tuple[Message, ...]:
    play = Play("hm", "hm", memory={}, step_limit=7)
    with pytest.raises(IndexError):  # the replies are at an end
        await act(create(name, {}), play.world, play.scene, FIRST, play.bench)
    return play.script.requests[0].messages


@pytest.mark.parametrize("name", sorted(METHODS))
async def test_only_malformed_replies_end_every_method_at_the_step_limit(name: str) -> None:
    play = Play(*["hm"] * 6, memory={}, step_limit=3)
    trajectory = await play.by(create(name, {}))
    assert kinds(trajectory) == "1m 1m 2m 2m 3m 3m" and not play.world.actions
