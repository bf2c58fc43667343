"""WALL-E on PlanCraft, whole chains in the real sandbox: what failed is foreseen in later episodes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import pytest

from backbones.scripted.dialogue import read_dialogue
from envs.plancraft.environment import PlancraftEnvironment
from knowledge_store.sandbox import Policy, Sandbox
from ocm.types import Episode, Message, Turn, TurnKind, Validity, Verdict
from tests.scripted.texts import Boxed, acting, after, play_tasks

EPISODES = 32
NOT_SENT = "The action was not sent"
Chain = tuple[list[Episode], dict[str, str]]


@pytest.fixture(scope="module")
def boxed() -> Iterator[Boxed]:
    with Sandbox(Policy()) as sandbox:
        yield Boxed(sandbox)


@pytest.fixture(scope="module")
def chain(boxed: Boxed) -> Chain:
    return played(boxed, EPISODES)


def played(boxed: Boxed, episodes: int, error_rate: float = 0.0) -> Chain:
    environment = PlancraftEnvironment()
    tasks = environment.tasks("val.small")[:episodes]
    return play_tasks(environment, tasks, "walle", error_rate=error_rate, verifier=boxed)


def verdicts(episodes: Sequence[Episode]) -> list[Verdict]:
    return [one for episode in episodes for round_ in episode.update.rounds for one in round_.verdicts]


def vetoed(episode: Episode) -> list[Turn]:
    return [turn for turn in episode.trajectory.turns if turn.kind is TurnKind.VETOED]


def told(episode: Episode) -> list[str]:
    """What the agent was told of each action that was held back."""
    asked = [call.request.messages[-1].content for call in episode.calls]
    return [text for text in asked if text.startswith(NOT_SENT)]


def test_a_failure_that_was_not_foreseen_becomes_a_rule(chain: Chain) -> None:
    first = next(episode for episode in chain[0] if episode.trajectory.count(Validity.REFUSED))
    learning = [call.request for call in first.calls if not call.request.purpose.startswith("act")]
    assert [(one.purpose, one.temperature) for one in learning] == [
        ("predict", 0.0),
        ("mine", 0.3),
        ("code", 0.0),
    ]
    (verdict,) = verdicts([first])
    assert (verdict.path, verdict.ok) == ("rules/smelt_00001.py", True)
    failed = first.trajectory.count(Validity.REFUSED)
    assert verdict.output == f"foresees {failed} of {failed} failures"
    assert {"rules.json", verdict.path} <= {change.path for change in first.update.delta}


def test_nothing_is_asked_where_nothing_failed(chain: Chain) -> None:
    for episode in chain[0]:
        failed = [step for step in episode.trajectory.steps if step.validity is Validity.REFUSED]
        assert any(call.request.purpose == "predict" for call in episode.calls) == bool(failed)


def test_a_later_episode_holds_an_action_back_and_sends_another(chain: Chain) -> None:
    """The held-back action costs no step, and something else is sent in its place."""
    held = [(episode, turn) for episode in chain[0] for turn in vetoed(episode)]
    assert len(held) >= 3
    for episode, turn in held:
        assert turn.content.startswith("smelt:")
        assert episode.trajectory.steps[turn.step - 1].action != turn.content
        assert len(told(episode)) == len(vetoed(episode))


def test_rules_hold_for_things_that_were_never_tried(chain: Chain) -> None:
    """Some rules speak of a kind of things, learned from others of it."""
    smelted: set[str] = set()
    foreseen: set[str] = set()
    for episode in chain[0]:
        foreseen |= {
            item for text in told(episode) for item in re.findall(r"Smelting (\w+) has", text)
        } - smelted
        smelted |= {item for rule in rules(episode) for item in re.findall(r'"(\w+)",', rule)}
    assert foreseen


def rules(episode: Episode) -> list[str]:
    return [change.content or "" for change in episode.update.delta if change.path.startswith("rules/")]


def test_rules_are_not_in_the_prompt(chain: Chain) -> None:
    prompts = {
        call.request.messages[0].content
        for e in chain[0]
        for call in e.calls
        if call.request.purpose == "act"
    }
    assert len(prompts) == 1


def test_there_are_fewer_invalid_actions_than_without_rules(chain: Chain) -> None:
    environment = PlancraftEnvironment()
    without, _ = play_tasks(environment, environment.tasks("val.small")[:EPISODES], "react")
    assert invalid(chain[0]) < invalid(without)


def invalid(episodes: Sequence[Episode]) -> int:
    return sum(episode.trajectory.invalid_actions for episode in episodes)


def test_a_rule_that_goes_too_far_is_dropped(boxed: Boxed) -> None:
    """A careless backbone says that nothing can be smelted; what was smelted before contradicts it."""
    episodes, memory = played(boxed, 8, error_rate=1.0)
    found = verdicts(episodes)
    assert found and {verdict.kind for verdict in found} == {"false_alarm"}
    assert "it would have held back 'smelt: from" in found[0].report
    assert not any(path.startswith(("rules/", "pool/")) for path in memory)
    assert not any(map(vetoed, episodes))


def test_equal_chains_are_equal(chain: Chain, boxed: Boxed) -> None:
    again, _ = played(boxed, 8)
    assert [e.memory_after for e in again] == [e.memory_after for e in chain[0][:8]]


def test_the_stand_in_hears_what_was_not_sent() -> None:
    smelt = "smelt: from [I1] to [I2] with quantity 1"
    held = [
        Message("assistant", f"Well.\n\nAction: {smelt}"),
        Message("user", f"{NOT_SENT}. By what was learned:\n- Smelting dirt has no effect.\nChoose again."),
    ]
    start = acting("glass", "I1 dirt 3")
    heard = read_dialogue([*start, *held])
    assert (heard.held_back, heard.exchanges) == (frozenset({smelt}), ())
    later = read_dialogue([*start, *held, *after("move: from [I1] to [A1] with quantity 1", 1, "ok")])
    assert later.held_back == frozenset() and "Smelting dirt has no effect" in later.objections
