"""WorldCoder on PlanCraft, whole chains in the real sandbox: a program is fitted, mended, and decides."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from agents import buffer
from agents.prompts import fill
from agents.protocol import View
from agents.registry import create
from agents.worldcoder.scoring import PATH
from backbones.scripted import ScriptedBackboneClient
from backbones.scripted.client import reply_to
from backbones.scripted.plancraft.memory import facts_in
from backbones.scripted.plancraft.reading import seen_in, state_in
from envs.plancraft.environment import PlancraftEnvironment
from knowledge_store.memory import apply
from knowledge_store.sandbox import Policy, Sandbox
from ocm.spec import ScriptedBackbone
from ocm.types import Call, Episode, Message, Observation, TurnKind
from tasks.bench import EpisodeBench
from tests.scripted.test_scripted_text_learning import EPISODES, nowhere
from tests.scripted.test_scripted_text_learning import played as text_episode
from tests.scripted.texts import Boxed, acting, after, inventory, play_tasks, request

TASKS = ("TRAIN0288", "TRAIN0287", "TRAIN0289", "TRAIN0041", "TRAIN0043")
"""Three times a block of honeycombs, twice a slab of granite."""
Chain = tuple[list[Episode], dict[str, str]]


@pytest.fixture(scope="module")
def boxed() -> Iterator[Boxed]:
    with Sandbox(Policy()) as sandbox:
        yield Boxed(sandbox)


def played(boxed: Boxed, task_set: str, *ids: str, error_rate: float = 0.0) -> Chain:
    environment = PlancraftEnvironment()
    tasks = {task.id: task for task in environment.tasks(task_set)}
    chosen = [tasks[one] for one in ids] or list(tasks.values())[:5]
    return play_tasks(environment, chosen, "worldcoder", error_rate=error_rate, verifier=boxed)


@pytest.fixture(scope="module")
def chain(boxed: Boxed) -> Chain:
    return played(boxed, "train", *TASKS)


def learning(episode: Episode) -> list[Call]:
    return [call for call in episode.calls if call.request.purpose in ("init", "refine", "optimism")]


def reports(episode: Episode) -> list[str]:
    return [verdict.report for round_ in episode.update.rounds for verdict in round_.verdicts]


def test_a_program_is_fitted_to_the_buffer_and_its_score_is_recorded(chain: Chain) -> None:
    first, second = chain[0][:2]
    assert learning(first) == [] and "6 transitions of 10" in first.update.reason
    assert [call.request.purpose for call in learning(second)] == ["init"]
    assert reports(second) == ["init: explains 12 of 12, score 1.000"]
    assert json.loads(second.update.plan)["after"] == 1.0


def test_a_counter_example_refines_it_under_the_budget(chain: Chain) -> None:
    fourth = chain[0][3]
    scores = json.loads(fourth.update.plan)
    (call,) = learning(fourth)
    assert call.request.purpose == "refine" and scores["before"] < scores["after"] == 1.0
    assert "The program predicted:\nvalid: " in call.request.messages[1].content
    assert all(len(learning(episode)) <= 8 + 2 for episode in chain[0])


def test_a_plan_that_the_program_finds_good_is_acted_on_though_another_came_first(chain: Chain) -> None:
    """What was seen to give the block pays off where the stand-in's own first guess was another grid."""
    third = chain[0][2]
    turn = third.trajectory.turns[0]
    plans = [tuple(plan) for plan in json.loads(turn.reply)["plans"]]
    chosen = re.search(
        r"prefers plan (\d) \(\d actions\): it foresees \d valid and a reward of 1", turn.thought
    )
    assert chosen and int(chosen[1]) > 1
    taken = tuple(step.action for step in third.trajectory.steps)
    assert taken == plans[int(chosen[1]) - 1] != plans[0] and third.trajectory.success
    assert {call.request.purpose for call in third.calls} == {"propose"}
    assert all("RECIPES" not in message.content for call in third.calls for message in call.request.messages)


def test_the_tables_hold_what_was_seen_and_nothing_else(chain: Chain) -> None:
    memory = chain[1]
    stated = facts_in(f"```python\n{memory[PATH]}```")
    episodes = buffer.read(memory)
    states = [state_in(text) for one in episodes for text in (one.first, *(s.observation for s in one.steps))]
    seen = [seen_in(state, ()).facts.recipes for state in states]
    assert stated.recipes and all(any(item in one.items() for one in seen) for item in stated.recipes.items())
    assert len(episodes) == len(TASKS)


def test_the_same_chain_gives_the_same_memory(boxed: Boxed, chain: Chain) -> None:
    assert played(boxed, "train", *TASKS)[1] == chain[1]


def test_careless_programs_are_mended(boxed: Boxed) -> None:
    episodes, memory = played(boxed, "val.small", error_rate=0.5)
    found = [json.loads(episode.update.plan) for episode in episodes if episode.update.plan]
    assert all((one["before"] or 0.0) <= one["after"] for one in found) and found[-1]["after"] > 0.95
    assert any(not round_.ok for episode in episodes for round_ in episode.update.rounds)
    assert "goal_reward" in memory[PATH]


@pytest.mark.parametrize("environment", sorted(EPISODES))
@pytest.mark.parametrize("success", [True, False])
async def test_elsewhere_a_hopeful_program_is_written_and_plans_are_proposed(
    boxed: Boxed, environment: str, success: bool
) -> None:
    trajectory = text_episode(environment, success)
    client = ScriptedBackboneClient(ScriptedBackbone())
    bench = EpisodeBench(client, boxed, nowhere, trajectory.task, "chain", 0)
    agent = create("worldcoder", {"min_buffer": 2})
    memory = apply({}, (await agent.learn(trajectory, {}, bench)).delta)
    assert "def predict" in memory[PATH]
    first = Observation(trajectory.goal, trajectory.first_observation)
    decision = await agent.act(View(trajectory.task, "Rules.", 30, first, (), 0, (), memory, {}), bench)
    assert decision.kind is TurnKind.ACTION and "prefers plan 1" in decision.thought


def test_the_second_plan_does_without_the_first_action_and_alternatives_are_no_longer() -> None:
    """Else a player that insists on what is foreseen to fail would be moved to and fro by alternatives."""
    target, move = "honeycomb_block", "move: from [I1] to [A1] with quantity 1"
    shown = inventory(target, "A1 honeycomb 1", "I1 honeycomb 5", "I2 stick 9")
    *before, last = [*acting(target, "I1 honeycomb 6", "I2 stick 9"), *after(move, 1, shown)]
    asked = fill("agents.worldcoder.prompts", "propose", plans=5, length=5)
    messages = [*before, Message("user", f"{last.content}\n\n{asked}")]
    own, onward, *others = json.loads(reply_to(request(messages, "propose"), 0.0))["plans"]
    assert own[0].startswith("smelt") and own[1:] == onward[: len(own) - 1] and len(onward) == 5
    assert others and all(len(plan) <= 5 and plan[-1].startswith("move: from [0]") for plan in others)
