"""The acting loop with turns that are more, or less, than one action: programs and vetoed actions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from agents.acting import program_report, take_turn
from agents.protocol import Bench, Decision, View
from ocm.types import EndReason, Exchange, Files, MemoryUpdate, Trajectory, TurnKind
from tests.tasks.test_act import Play, kinds


class Walk:
    """A program: the words of the action, one by one."""

    def __init__(self, actions: Sequence[str]) -> None:
        self._actions = actions
        self.seen: list[list[Exchange]] = []

    async def next(self, taken: Sequence[Exchange]) -> str | None:
        self.seen.append(list(taken))
        return self._actions[len(taken)] if len(taken) < len(self._actions) else None

    def told(self, taken: Sequence[Exchange]) -> str:
        return program_report(taken, "It ended.")


class Walker:
    """Plays every action as a program of its words; vetoes ``fly`` once per step."""

    def __init__(self) -> None:
        self.views: list[View] = []
        self.programs: list[Walk] = []

    async def act(self, view: View, bench: Bench) -> Decision:
        self.views.append(view)
        decision = await take_turn(view, bench)
        if decision.kind is not TurnKind.ACTION:
            return decision
        if decision.content == "fly":
            return self._veto(decision, view)
        self.programs.append(Walk(decision.content.split()))
        return replace(decision, kind=TurnKind.PROGRAM, program=self.programs[-1])

    def _veto(self, decision: Decision, view: View) -> Decision:
        vetoed = [turn.kind for turn in view.turns if turn.step == view.steps_taken + 1]
        if TurnKind.VETOED in vetoed:
            return decision
        return replace(decision, kind=TurnKind.VETOED, veto="Nobody can fly.")

    async def learn(self, trajectory: Trajectory, memory: Files, bench: Bench) -> MemoryUpdate:
        raise AssertionError("only acting is tested")


async def test_every_action_of_a_program_is_a_step_of_one_turn() -> None:
    play = Play("I walk.\nAction: go go", "Action: go win")
    trajectory = await play.by(Walker())
    assert [step.action for step in trajectory.steps] == ["go", "go", "go", "win"]
    assert kinds(trajectory) == "1p 3p" and trajectory.success
    assert [turn.content for turn in trajectory.turns] == ["go go", "go win"]
    assert play.said_to(1) == "Observation (after action 2 of 10):\n> go\nseen 1\n> go\nseen 2\nIt ended."


async def test_a_program_sees_only_what_it_has_done_itself() -> None:
    agent = Walker()
    await Play("Action: go", "Action: go win").by(agent)
    assert agent.programs[1].seen == [[], [Exchange("go", "seen 2")]]
    assert agent.views[1].exchanges == (Exchange("go", "seen 1"),)


@pytest.mark.parametrize(
    ("text", "steps", "end"),
    [
        ("win go go", 1, EndReason.SUCCESS),
        ("go " * 9, 4, EndReason.STEP_LIMIT),
        ("die go", 1, EndReason.FAILURE),
    ],
)
async def test_episode_and_step_limit_end_a_program(text: str, steps: int, end: EndReason) -> None:
    trajectory = await Play(f"Action: {text}", step_limit=4).by(Walker())
    assert (len(trajectory.steps), trajectory.end) == (steps, end)


async def test_a_vetoed_action_is_told_and_costs_no_step() -> None:
    play = Play("Action: fly", "Action: win")
    trajectory = await play.by(Walker())
    assert kinds(trajectory) == "1v 1p" and play.world.actions == ["win"]
    assert play.said_to(1) == "Nobody can fly."
    assert play.script.requests[1].messages[-2].content == "Action: fly"


async def test_the_agent_sees_its_vetoes_and_may_insist() -> None:
    agent = Walker()
    play = Play("Action: fly", "Action: fly", "Action: fly", "hm", "Action: win")
    trajectory = await play.by(agent)
    assert kinds(trajectory) == "1v 1a 2v 2m 2p" and play.world.actions == ["fly", "win"]
    assert [turn.kind for turn in agent.views[-1].turns if turn.step == 2] == ["vetoed", "malformed"]


async def test_a_program_may_follow_a_correction() -> None:
    trajectory = await Play("hm", "Action: go", "hm", "Action: win").by(Walker())
    assert kinds(trajectory) == "1m 1p 2m 2p"


def test_a_report_cuts_all_observations_but_the_last() -> None:
    long = "x" * 5_000
    told = program_report([Exchange("a", long), Exchange("b", long)])
    assert len(told) < 5_400 and told.endswith(f"> b\n{long}") and "x…\n> b" in told
    assert program_report([], "It did nothing.") == "It did nothing."
