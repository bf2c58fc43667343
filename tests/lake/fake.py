"""Plausible fake chains and episodes, a pure function of their arguments."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping

from knowledge_store.memory import size
from ocm.identity import chain_id, memory_hash
from ocm.types import (
    Call,
    ChainKey,
    Change,
    Delta,
    EndReason,
    Episode,
    Files,
    Inspection,
    MemoryUpdate,
    Message,
    Reply,
    Request,
    Step,
    TaskRef,
    Trajectory,
    Turn,
    TurnKind,
    UpdateOutcome,
    Usage,
    Validity,
    Verdict,
    VerificationRound,
)

_VALIDITIES = (Validity.VALID,) * 7 + (Validity.MALFORMED, Validity.REFUSED, Validity.NO_EFFECT)
_STRATA = ("easy", "medium", "hard")


def fake_key(
    method: str = "ocm",
    seed: int = 0,
    environment: str = "plancraft",
    backbone: str = "scripted",
    settings: Mapping[str, object] | None = None,
) -> ChainKey:
    """A chain's key."""
    return ChainKey(
        method=method,
        agent=method.split("-")[0],
        method_settings=dict(settings or {}),
        environment=environment,
        environment_settings={},
        task_set="test.small",
        order="benchmark",
        backbone=backbone,
        backbone_settings={"model": backbone},
        seed=seed,
        prompts="0" * 64,
    )


def fake_episode(
    key: ChainKey,
    index: int,
    memory: Files | None = None,
    *,
    sweep: str = "demo",
    chain: str | None = None,
    steps: int = 8,
    success: bool | None = None,
    cost: float | None = 0.001,
    attempt: int = 1,
) -> Episode:
    """Episode ``index`` of a chain, acting with ``memory`` (path -> content) and adding to it."""
    chain = chain or chain_id(key)
    draw = random.Random(f"{chain}/{index}")
    won = draw.random() < 0.5 if success is None else success
    before = dict(memory or {})
    update = _update(index, before, draw)
    return Episode(
        sweep=sweep,
        chain=chain,
        index=index,
        key=key,
        trajectory=_trajectory(key, index, steps, won, draw),
        update=update,
        calls=tuple(
            _call(chain, index, number, cost, purpose)
            for number, purpose in enumerate([*["act"] * steps, "reflect", "update"])
        ),
        memory_before=memory_hash(before),
        memory_after=memory_hash(apply(before, update.delta)),
        started_at=1_760_000_000.0 + 60 * index,
        finished_at=1_760_000_030.0 + 60 * index,
        stages={"act": 1.0, "reflect": 0.5, "update": 0.5, "verify": 0.1},
        attempt=attempt,
        acting_calls=steps,
        rehearsal_steps=index % 3,
        memory_bytes=size(apply(before, update.delta)).bytes,
        provenance={"code": "0.1.0", "python": "3.11", "sandbox": "A", "model": "fake-1"},
    )


def fake_chain(key: ChainKey, episodes: int, *, sweep: str = "demo", steps: int = 8) -> Iterator[Episode]:
    """The first episodes of a chain, each acting with what the ones before it left."""
    memory: dict[str, str] = {}
    for index in range(episodes):
        episode = fake_episode(key, index, memory, sweep=sweep, steps=steps)
        memory = apply(memory, episode.update.delta)
        yield episode


def apply(memory: Files, delta: Delta) -> dict[str, str]:
    """A memory after a delta."""
    after = dict(memory)
    for change in delta:
        if change.content is None:
            after.pop(change.path, None)
        else:
            after[change.path] = change.content
    return after


def _trajectory(key: ChainKey, index: int, steps: int, won: bool, draw: random.Random) -> Trajectory:
    taken = tuple(_step(number, steps, won, draw) for number in range(1, steps + 1))
    turns = tuple(
        Turn(number, TurnKind.ACTION, f"thought {number}", step.action, f"Action: {step.action}", number - 1)
        for number, step in enumerate(taken, 1)
    )
    return Trajectory(
        task=TaskRef(key.environment, key.task_set, f"task-{index:03d}", _STRATA[index % 3]),
        goal=f"Craft item {index}.",
        first_observation="inventory: oak_log [I1] x 3",
        steps=taken,
        turns=turns,
        inspections=(
            Inspection(2, ("Crafter", "Nothing"), ("Crafter",), ("Nothing",), "class Crafter: ..."),
        ),
        end=EndReason.SUCCESS if won else EndReason.STEP_LIMIT,
    )


def _step(number: int, steps: int, won: bool, draw: random.Random) -> Step:
    last = number == steps
    return Step(
        action=f"move: from [I{number}] to [A1] with quantity 1",
        observation=f"inventory after {number}: {draw.randrange(1000)}",
        reward=1.0 if last and won else 0.0,
        done=last and won,
        success=last and won,
        validity=draw.choice(_VALIDITIES),
    )


def _call(chain: str, episode: int, number: int, cost: float | None, purpose: str) -> Call:
    history = tuple(
        Message("user" if place % 2 else "assistant", f"turn {episode}.{place}") for place in range(number)
    )
    messages = (Message("system", "You play PlanCraft. " * 20), *history)
    schema = {"type": "object", "required": ["action"]} if number % 2 else None
    reply = Reply(f"Action: {number}", "stop", Usage(100 + number, 10, 50, 0), cost, 0.2, "fake-1", "fp")
    return Call(Request(purpose, messages, schema, chain, episode, number), reply)


def _update(index: int, memory: Files, draw: random.Random) -> MemoryUpdate:
    verdict = Verdict("procedures/a.py", True, "ok", seconds=0.01)
    if draw.random() < 0.2:
        failed = Verdict("procedures/a.py", False, "exception", "line 3: AssertionError", "", 0.01)
        return MemoryUpdate(
            UpdateOutcome.REJECTED, (), "{}", "did not execute", (VerificationRound(0, (failed,)),)
        )
    changes = [Change("objects.py", f"class Item{index}:\n    number = {index}\n")]
    changes.append(Change(f"procedures/p{index % 5}.py", f"from objects import Item{index}\n"))
    if draw.random() < 0.2 and "procedures/p0.py" in memory and index % 5:
        changes.append(Change("procedures/p0.py", None))
    return MemoryUpdate(
        UpdateOutcome.COMMITTED, tuple(changes), "{}", "", (VerificationRound(0, (verdict,)),)
    )
