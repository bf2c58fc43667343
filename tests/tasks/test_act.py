"""The acting loop with a fake world and a scripted backbone."""

from __future__ import annotations

from contextlib import nullcontext
from itertools import pairwise
from typing import Any

import pytest

from agents.acting import malformed_observation
from agents.ocm.agent import OcmAgent
from agents.ocm.settings import OcmSettings
from agents.protocol import Agent, Bench, Decision, View
from agents.react.agent import ReactAgent, ReactSettings
from ocm.types import (
    EndReason,
    Files,
    MemoryUpdate,
    Observation,
    Reply,
    Request,
    Step,
    TaskRef,
    Trajectory,
    TurnKind,
    Usage,
    Validity,
    Verdict,
)
from tasks.act import Scene, act
from tasks.bench import EpisodeBench

TASK = TaskRef("fake", "set", "t1", "easy")
FIRST = Observation("reach the end", "a corridor")
MEMORY = {
    "objects.py": 'class Door:\n    """A door."""\n\n    locked = False\n',
    "procedures/open.py": '"""Open a door."""\nfrom objects import Door\n\nassert not Door().locked\n',
}


class Corridor:
    """Each ``go`` is worth 0.1; ``win`` ends well, ``die`` badly; all else is refused."""

    def __init__(self) -> None:
        self.actions: list[str] = []

    async def reset(self, task: TaskRef) -> Observation:
        return FIRST

    async def step(self, action: str) -> Step:
        self.actions.append(action)
        reward = 1.0 if action == "win" else 0.1 * self.actions.count("go")
        validity = Validity.VALID if action in ("go", "win", "die") else Validity.REFUSED
        return Step(
            action, f"seen {len(self.actions)}", reward, action in ("win", "die"), action == "win", validity
        )


class Script:
    """A backbone that says a list of replies."""

    label = "script"
    model = "script-1"

    def __init__(self, *replies: str) -> None:
        self.replies = list(replies)
        self.requests: list[Request] = []

    async def complete(self, request: Request) -> Reply:
        self.requests.append(request)
        return Reply(self.replies.pop(0), "stop", Usage(1, 1), 0.0, 0.0, "script-1")

    async def close(self) -> None: ...


class NoVerifier:
    async def verify(self, objects: str, procedures: Files) -> tuple[Verdict, ...]:
        raise AssertionError("nothing is verified while acting")


class Play:
    """One played episode and all that was seen of it."""

    def __init__(self, *replies: str, memory: Files = MEMORY, step_limit: int = 10) -> None:
        self.script = Script(*replies)
        self.world = Corridor()
        self.bench = EpisodeBench(
            self.script, NoVerifier(), lambda: nullcontext(self.world), TASK, "chain", 3
        )
        self.scene = Scene(TASK, "Rules: go, win, die.", step_limit, memory, {})

    async def by(self, agent: Agent) -> Trajectory:
        trajectory = await act(agent, self.world, self.scene, FIRST, self.bench)
        assert not self.script.replies, "not all replies were asked for"
        assert [turn.call for turn in trajectory.turns] == list(range(len(self.bench.calls)))
        assert [call.request.call for call in self.bench.calls] == list(range(len(self.bench.calls)))
        assert [turn.reply for turn in trajectory.turns] == [call.reply.text for call in self.bench.calls]
        assert self.world.actions == [
            s.action for s in trajectory.steps if s.validity is not Validity.MALFORMED
        ]
        return trajectory

    def said_to(self, call: int) -> str:
        return self.script.requests[call].messages[-1].content


def ocm(**settings: Any) -> OcmAgent:
    return OcmAgent(OcmSettings(**settings))


def react() -> ReactAgent:
    return ReactAgent(ReactSettings())


def kinds(trajectory: Trajectory) -> str:
    return " ".join(f"{turn.step}{turn.kind[0]}" for turn in trajectory.turns)


# --- ends --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("replies", "end", "reward"),
    [
        (["Action: go", "Action: win"], EndReason.SUCCESS, 1.0),
        (["Action: go", "Action: die"], EndReason.FAILURE, 0.1),
        (["Action: go"] * 3, EndReason.STEP_LIMIT, 0.3),
        (["Action: go", "Action: go", "Action: win"], EndReason.SUCCESS, 1.0),
        (["Action: go", "Action: go", "Action: die"], EndReason.STEP_LIMIT, 0.2),
    ],
)
async def test_ends(replies: list[str], end: EndReason, reward: float) -> None:
    trajectory = await Play(*replies, step_limit=3).by(react())
    assert (trajectory.end, trajectory.success) == (end, end is EndReason.SUCCESS)
    assert trajectory.reward == pytest.approx(reward)
    assert (trajectory.task, trajectory.goal, trajectory.first_observation) == (TASK, FIRST.goal, FIRST.text)


async def test_a_refused_action_is_a_step() -> None:
    trajectory = await Play("Action: fly", "Action: win").by(react())
    assert [s.validity for s in trajectory.steps] == [Validity.REFUSED, Validity.VALID]
    assert trajectory.invalid_actions == 1


# --- malformed replies -------------------------------------------------------------------------


async def test_a_malformed_reply_is_corrected_once() -> None:
    play = Play("hm", "Action: win")
    trajectory = await play.by(react())
    assert kinds(trajectory) == "1m 1a" and len(trajectory.steps) == 1
    assert [request.purpose for request in play.script.requests] == ["act", "act_correction"]
    assert "no line begins with `Action:`" in play.said_to(1)
    assert play.script.requests[1].messages[-2].content == "hm"


async def test_malformed_again_consumes_a_step_and_not_the_world() -> None:
    play = Play("Action: go", "hm", "still hm", "Action: win")
    trajectory = await play.by(react())
    assert kinds(trajectory) == "1a 2m 2m 3a"
    assert trajectory.steps[1] == Step(
        "still hm", malformed_observation(), 0.1, False, False, Validity.MALFORMED
    )
    assert play.world.actions == ["go", "win"]
    assert "after action 2 of 10" in play.said_to(3) and "Format error" in play.said_to(3)


async def test_the_correction_is_new_for_every_step() -> None:
    trajectory = await Play("a", "b", "c", "d", "e", "Action: win").by(react())
    assert kinds(trajectory) == "1m 1m 2m 2m 3m 3a"


async def test_only_malformed_replies_end_at_the_step_limit() -> None:
    trajectory = await Play(*["hm"] * 6, step_limit=3).by(react())
    assert trajectory.end is EndReason.STEP_LIMIT and trajectory.reward == 0.0
    assert trajectory.count(Validity.MALFORMED) == 3


async def test_a_long_unusable_reply_is_cut_in_record_and_dialogue() -> None:
    play = Play("x" * 9_000, "", "Action: win")
    trajectory = await play.by(react())
    assert trajectory.steps[0].action == "" and len(play.script.requests[1].messages[-2].content) == 2_000
    assert play.script.requests[2].messages[-2].content == "(no answer)", "no server takes an empty message"


async def test_thinking_and_imagined_observations_leave_the_dialogue() -> None:
    play = Play("<think>secret</think>I go.\nAction: go\nObservation: you win!", "Action: win")
    trajectory = await play.by(react())
    assert [m.content for m in play.script.requests[1].messages[2:]] == [
        "I go.\n\nAction: go",
        "Observation (after action 1 of 10):\nseen 1",
    ]
    assert "secret" in trajectory.turns[0].reply, "the record keeps the reply as it came"


# --- inspects ----------------------------------------------------------------------------------


async def test_an_inspect_costs_no_step() -> None:
    play = Play("Source?\nInspect[Door, Window]", "Action: win")
    trajectory = await play.by(ocm())
    (seen,) = trajectory.inspections
    assert kinds(trajectory) == "1i 1a" and len(trajectory.steps) == 1
    assert (seen.step, seen.names, seen.found, seen.missing) == (
        1,
        ("Door", "Window"),
        ("Door",),
        ("Window",),
    )
    assert "locked = False" in seen.text and play.said_to(1) == seen.text
    assert trajectory.turns[0].content == "Door, Window"


async def test_three_inspects_before_one_step() -> None:
    ask = "Inspect[Door]"
    play = Play(ask, ask, ask, ask, "Action: go", ask, ask, ask, ask, ask, "Action: win")
    trajectory = await play.by(ocm())
    assert kinds(trajectory) == "1i 1i 1i 1m 1a 2i 2i 2i 2m 2m 3a"
    assert "3 inspects before one action are the most" in play.said_to(4)
    assert trajectory.steps[1].validity is Validity.MALFORMED
    assert play.world.actions == ["go", "win"]


async def test_fifteen_inspects_in_an_episode() -> None:
    round_ = ["Inspect[Door]", "Inspect[Door]", "Inspect[Door]", "Action: go"]
    play = Play(*round_ * 5, "Inspect[Door]", "Action: win")
    trajectory = await play.by(ocm())
    assert len(trajectory.inspections) == 15 and kinds(trajectory).endswith("6m 6a")
    assert "all 15 inspects of this episode are used up" in play.said_to(21)


async def test_the_limits_are_settings() -> None:
    trajectory = await Play("Inspect[Door]", "Inspect[Door]", "Action: win").by(ocm(inspects_per_step=1))
    assert kinds(trajectory) == "1i 1m 1a"
    trajectory = await Play("Inspect[Door]", "Action: win").by(ocm(inspects_per_episode=0))
    assert kinds(trajectory) == "1m 1a"


async def test_an_inspect_may_be_the_correction() -> None:
    trajectory = await Play("hm", "Inspect[Door]", "hm", "Action: win").by(ocm())
    assert kinds(trajectory) == "1m 1i 1m 1a" and len(trajectory.steps) == 1


async def test_react_refuses_inspects() -> None:
    play = Play("Inspect[Door]", "Action: win")
    trajectory = await play.by(react())
    assert kinds(trajectory) == "1m 1a" and not trajectory.inspections
    assert "there is nothing to inspect" in play.said_to(1)


@pytest.mark.parametrize(
    ("memory", "settings", "why"),
    [
        ({}, {}, "nothing to inspect yet"),
        ({"notes.md": "not OCM's"}, {}, "nothing to inspect yet"),
        ({"objects.py": "A = 1\n"}, {"objects": False}, "nothing to inspect yet"),
        (MEMORY, {"disclosure": "full"}, "all source is already shown"),
    ],
)
async def test_no_inspect_without_reason(memory: Files, settings: dict[str, Any], why: str) -> None:
    play = Play("Inspect[Door]", "Action: win", memory=memory)
    assert kinds(await play.by(ocm(**settings))) == "1m 1a"
    assert why in play.said_to(1)


# --- prompts -----------------------------------------------------------------------------------


async def test_the_system_prompt_is_the_same_in_every_call_and_ends_with_the_memory() -> None:
    play = Play("Inspect[Door]", "hm", "Action: go", "Action: win")
    await play.by(ocm())
    systems = {request.messages[0].content for request in play.script.requests}
    (system,) = systems
    rules, reply, known = (system.index(part) for part in ("Rules: go", "# How to reply", "# What you know"))
    assert rules < reply < known
    assert system.endswith("procedures/open.py  # Open a door.")
    assert "class Door" in system and "locked" in system and "assert not Door" not in system
    assert [m.role for m in play.script.requests[-1].messages[:2]] == ["system", "user"]
    assert play.script.requests[0].messages[1].content == "Goal: reach the end\n\nObservation:\na corridor"


async def test_every_call_extends_the_one_before() -> None:
    play = Play("hm", "Action: go", "Inspect[Door]", "Action: win")
    await play.by(ocm())
    asked = [request.messages for request in play.script.requests]
    for earlier, later in pairwise(asked):
        assert later[: len(earlier)] == earlier, "so that the server's prompt cache works"


async def test_all_methods_share_the_text_before_the_memory() -> None:
    with_memory, without, none = Play("Action: win"), Play("Action: win", memory={}), Play("Action: win")
    await with_memory.by(ocm())
    await without.by(ocm())
    await none.by(react())
    system = [play.script.requests[0].messages[0].content for play in (with_memory, without, none)]
    assert system[1] == system[2] and system[0].startswith(system[1])


async def test_full_disclosure_shows_all_source() -> None:
    long = {**MEMORY, "procedures/long.py": "# " + "x" * 50_000 + "\n"}
    play = Play("Action: win", memory=long)
    await play.by(ocm(disclosure="full", level0_tokens=100))
    system = play.script.requests[0].messages[0].content
    assert "assert not Door().locked" in system and "x" * 50_000 in system and "Inspect[" not in system


async def test_requests_say_where_they_belong() -> None:
    play = Play("hm", "Action: win")
    await play.by(react())
    assert [(r.chain, r.episode, r.call) for r in play.script.requests] == [("chain", 3, 0), ("chain", 3, 1)]


class Recorder:
    """An agent that keeps every view."""

    def __init__(self) -> None:
        self.views: list[View] = []

    async def act(self, view: View, bench: Bench) -> Decision:
        self.views.append(view)
        return await react().act(view, bench)

    async def learn(self, trajectory: Trajectory, memory: Files, bench: Bench) -> MemoryUpdate:
        raise AssertionError("only acting is tested")


async def test_a_view_holds_only_what_happened_so_far() -> None:
    agent = Recorder()
    await Play("hm", "Action: go", "Action: win").by(agent)
    assert [(len(v.transcript), v.steps_taken, v.correcting) for v in agent.views] == [
        (0, 0, False),
        (2, 0, True),
        (4, 1, False),
    ]
    told = "".join(message.content for message in agent.views[-1].transcript)
    assert "seen 1" in told and "seen 2" not in told and "reward" not in told.lower()


async def test_the_outcome_is_not_told_while_acting() -> None:
    play = Play("Action: go", "Action: win")
    await play.by(react())
    asked = "".join(message.content for request in play.script.requests for message in request.messages)
    assert "0.1" not in asked and "success" not in asked.lower()


async def test_a_turn_kind_has_a_meaning_for_every_member() -> None:
    assert {kind[0] for kind in TurnKind} == set("aimpv"), "the letters of these tests"


async def test_one_agent_shows_each_episode_its_own_memory() -> None:
    agent = ocm()
    for name in ("Door", "Gate"):
        play = Play("Action: win", memory={"objects.py": f"class {name}:\n    pass\n"})
        await play.by(agent)
        system = play.script.requests[0].messages[0].content
        assert [word for word in ("Door", "Gate") if f"class {word}" in system] == [name]
