"""What every environment promises, over all that are registered and can be played here."""

from __future__ import annotations

import random
from collections.abc import Iterator

import psutil
import pytest

from envs import registry
from envs.protocol import Environment
from ocm.errors import EnvironmentFault, SpecError
from ocm.types import Step, TaskRef, Validity
from tests.envs.worlds import World, available, play, probed

HOSTILE = {
    "empty": "",
    "blanks": " \t ",
    "100 kB": "look " * 20_000,
    "100 kB without a blank": "x" * 100_000,
    "several lines": "look\naround\r\nnow",
    "NUL": "look\x00around",
    "terminal codes": "\x1b[2J\x1b[31mlook",
    "lone surrogate": "look \ud83d around",
    "emoji": "look around 🙂👩‍🚀",
    "right to left": "look ‮around",
    "SQL": "'; DROP TABLE episodes; --",
    "py4j": "c\nt\nshutdown\ne\n",
    "py4j's quit": "q\ne\n",
    "Java": "${jndi:ldap://127.0.0.1/x}",
    "format": "%s%n{0}{__class__}",
    "Python": "__import__('os').getpid()",
    "PDDL": "(define (problem x) (:goal ()))",
    "a reply": "Thought: done.\nAction: Inspect[all]",
}
"""None of them is an action of any environment."""


@pytest.fixture(scope="module", params=registry.names())
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    """One environment for all tests: its simulator starts once."""
    found = available(request.param)
    yield found
    found.environment.close()


def test_it_is_an_environment(world: World) -> None:
    environment = world.environment
    assert isinstance(environment, Environment)
    assert environment.name == world.entry.name
    assert environment.version and environment.rules.strip()
    assert environment.step_limit > 0
    assert environment.deterministic in (True, False)


def test_tasks_are_stable_and_their_ids_unique(world: World) -> None:
    for task_set in world.entry.task_sets:
        try:
            tasks = world.environment.tasks(task_set)
        except SpecError:  # its data set is not on this machine
            assert task_set != world.tasks[0].task_set
            continue
        assert len({task.id for task in tasks}) == len(tasks) > 0
        assert all(task.stratum and task.id.strip() == task.id for task in tasks)
        assert {(task.environment, task.task_set) for task in tasks} == {(world.entry.name, task_set)}
        assert list(registry.create(world.entry.name, {}).tasks(task_set)) == list(tasks)
        assert set(world.entry.strata) <= set(registry.strata(world.entry.name, tasks))


def test_a_task_set_that_does_not_exist_is_wrong_input(world: World) -> None:
    assert world.entry.default_task_set in world.entry.task_sets
    with pytest.raises(SpecError, match=world.entry.default_task_set):
        world.environment.tasks("no such set")


def test_nothing_is_started_before_the_first_reset(world: World) -> None:
    process = psutil.Process()
    before = process.children(recursive=True), process.num_threads()
    fresh = registry.create(world.entry.name, {})
    assert fresh.rules and fresh.tasks(world.tasks[0].task_set)
    assert (process.children(recursive=True), process.num_threads()) == before
    fresh.close()


def test_a_step_before_reset_is_a_fault_and_close_may_be_called_twice(world: World) -> None:
    fresh = registry.create(world.entry.name, {})
    with pytest.raises(EnvironmentFault, match="reset"):
        fresh.step("look")
    fresh.close()
    fresh.close()


def test_an_unknown_task_is_a_fault(world: World) -> None:
    task = world.tasks[0]
    for wrong in (
        TaskRef(task.environment, task.task_set, "no such task", task.stratum),
        TaskRef(task.environment, "no such set", task.id, task.stratum),
        TaskRef(task.environment, task.task_set, "../../etc/passwd", task.stratum),
    ):
        with pytest.raises(EnvironmentFault):
            world.environment.reset(wrong)
        with pytest.raises(EnvironmentFault, match="reset"):
            world.environment.step("look")


def test_a_solved_task_is_done_with_reward_one_and_then_faults(world: World) -> None:
    task, actions = world.win
    steps = play(world.environment, task, actions)
    assert [step.action for step in steps] == list(actions)
    assert all(step.validity is Validity.VALID for step in steps)
    assert [step.done for step in steps] == [False] * (len(actions) - 1) + [True]
    assert [step.success for step in steps] == [step.done for step in steps]
    assert steps[-1].reward == 1.0 and sorted(step.reward for step in steps) == [s.reward for s in steps]
    with pytest.raises(EnvironmentFault, match="reset"):
        world.environment.step(actions[-1])


def test_it_plays_on_after_a_close(world: World) -> None:
    task, actions = world.win
    first = play(world.environment, task, actions)
    world.environment.close()
    with pytest.raises(EnvironmentFault, match="reset"):
        world.environment.step(actions[-1])
    assert play(world.environment, task, actions) == first


def test_the_last_action_of_the_limit_is_carried_out_and_ends_the_episode(world: World) -> None:
    for task in _some(world, 3):
        steps = probed(world, task, most=world.environment.step_limit + 1)
        assert len(steps) <= world.environment.step_limit
        assert [step.done for step in steps] == [False] * (len(steps) - 1) + [True]
        assert all(_is_sound(step) for step in steps)
        with pytest.raises(EnvironmentFault, match="reset"):
            world.environment.step("look")


def test_same_task_and_same_actions_give_the_same_steps(world: World) -> None:
    assert world.environment.deterministic
    another = registry.create(world.entry.name, {})
    for task in _some(world, 3):
        first = world.environment.reset(task)
        steps = probed(world, task, most=25)
        actions = [step.action for step in steps]
        for environment in (world.environment, another):
            assert environment.reset(task) == first
            assert play(environment, task, actions) == steps
    another.close()


def test_hostile_texts_are_invalid_actions_and_change_nothing(world: World) -> None:
    task = next(task for task in world.tasks if len(_valid_actions(world, task)) > 5)
    actions = _valid_actions(world, task)
    undisturbed = play(world.environment, task, actions)
    names = list(HOSTILE)
    for start in range(0, len(names), len(actions)):
        world.environment.reset(task)
        for name, action, expected in zip(names[start:], actions, undisturbed, strict=False):
            step = world.environment.step(HOSTILE[name])
            assert step.action == HOSTILE[name]
            assert step.validity is not Validity.VALID and _is_sound(step) and not step.done, name
            assert len(step.observation) < 10_000, name
            assert world.environment.step(action) == expected, name


@pytest.mark.parametrize("name", registry.names())
def test_probes_are_mostly_valid_and_show_the_length_of_observations(name: str) -> None:
    world = available(name)
    steps = [step for task in _some(world, 5) for step in probed(world, task, most=30)]
    world.environment.close()
    assert sum(step.validity is Validity.VALID for step in steps) >= len(steps) / 2
    assert any(step.validity is not Validity.VALID for step in steps)
    length = sum(len(step.observation) for step in steps) / len(steps)
    assert 0.6 < world.entry.observation_characters / length < 1.6


def _is_sound(step: Step) -> bool:
    """NaN is not between 0 and 1."""
    won = step.done and step.reward == 1.0
    return 0.0 <= step.reward <= 1.0 and (won if step.success else True)


def _valid_actions(world: World, task: TaskRef) -> list[str]:
    """Of the probe's first ten, those that are carried out and do not end the episode."""
    steps = probed(world, task, most=10)
    return [step.action for step in steps if step.validity is Validity.VALID and not step.done]


def _some(world: World, count: int) -> list[TaskRef]:
    return random.Random(0).sample(list(world.tasks), count)
