"""Whatever a model answers to a request to learn: nothing of it is kept, it is recorded, the chain goes on.

Chains of every learning method on PlanCraft with the embedded backbone, whose answers to learning requests
are spoiled: all of them, or those of one purpose only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import gettempdir

import pytest

from agents.registry import METHODS, create
from backbones.scripted import ScriptedBackboneClient
from envs.plancraft.environment import PlancraftEnvironment
from knowledge_store.memory import apply
from knowledge_store.sandbox import Policy, Sandbox
from ocm.spec import ScriptedBackbone
from ocm.types import ChainKey, Episode, Files, Reply, Request, Verdict
from tasks.episode import Setting, play_episode
from tests.scripted.texts import Table

EPISODES = 6
MARK = "zzspoiledzz"
WITNESS = Path(gettempdir()) / "ocm-hostile-code-ran"
METHODS_THAT_LEARN = sorted({method.agent for method in METHODS.values()} - {"react"})
RECORDS = ("transitions/", "experience/")
"""Files that hold what the episode itself showed, whatever the model answers."""
FREE_TEXT = {"reflect", "describe"}
"""Purposes whose answer is prose: only an empty one is malformed there."""

Spoil = Callable[[Reply], Reply]

SPOILS: dict[str, Spoil] = {
    "empty": lambda reply: replace(reply, text=""),
    "prose": lambda reply: replace(reply, text=f"I am sorry, I cannot help with {MARK}."),
    "cut off": lambda reply: replace(reply, text=reply.text[: len(reply.text) // 2], finish_reason="length"),
    "wrong JSON": lambda reply: replace(
        reply, text=f'{{"{MARK}": [1, {{"code": null}}], "rules": "{MARK}"}}'
    ),
    "hostile code": lambda reply: replace(
        reply,
        text=f"```python\nimport os\nos.system('touch {WITNESS}')\n\n\ndef {MARK}(*given):\n"
        f"    open('{WITNESS}', 'w')\n    while True:\n        pass\n```",
    ),
}


class Spoiled:
    """The embedded backbone, whose replies to learning requests come out wrong."""

    label = "scripted"
    model = "spoiled"

    def __init__(self, spoil: Spoil, purpose: str | None) -> None:
        self._inner = ScriptedBackboneClient(ScriptedBackbone())
        self._spoil = spoil
        self._purpose = purpose
        self.spoiled: list[str] = []

    async def complete(self, request: Request) -> Reply:
        reply = await self._inner.complete(request)
        purpose = request.purpose.removesuffix("_correction")
        if not is_learning(request) or self._purpose not in (None, purpose):
            return reply
        self.spoiled.append(purpose)
        return self._spoil(reply)

    async def close(self) -> None: ...


def is_learning(request: Request) -> bool:
    return not request.messages[0].content.startswith("You act in a text environment")


class Boxed:
    """The real sandbox without Ray."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    async def verify(self, objects: str, procedures: Files) -> tuple[Verdict, ...]:
        return self._sandbox.verify(objects, dict(procedures))


@pytest.fixture(scope="module")
def boxed() -> Iterator[Boxed]:
    with Sandbox(Policy(wall_seconds=1.0, cpu_seconds=1)) as sandbox:
        yield Boxed(sandbox)


@cache
def environment() -> PlancraftEnvironment:
    return PlancraftEnvironment()


async def play(method: str, backbone: Spoiled, boxed: Boxed) -> tuple[list[Episode], Files]:
    world = environment()
    setting = Setting(
        sweep="test",
        chain=f"{method}-0",
        key=ChainKey(method, method, {}, world.name, {}, "", "benchmark", "scripted", {}, 0, ""),
        agent=create(method, {}),
        backbone=backbone,
        verifier=boxed,
        lease=lambda: Table(world),
        rules=world.rules,
        step_limit=world.step_limit,
        provenance={},
    )
    memory: Files = {}
    episodes = []
    for index, task in enumerate(world.tasks("val.small")[:EPISODES]):
        episode = await play_episode(setting, index, task, memory, {})
        memory = apply(memory, episode.update.delta)
        episodes.append(episode)
    return episodes, memory


def knowledge(memory: Files) -> Files:
    return {path: text for path, text in memory.items() if not path.startswith(RECORDS)}


@pytest.mark.parametrize("method", METHODS_THAT_LEARN)
@pytest.mark.parametrize("kind", SPOILS)
async def test_no_spoiled_reply_enters_the_memory(method: str, kind: str, boxed: Boxed) -> None:
    backbone = Spoiled(SPOILS[kind], None)
    episodes, memory = await play(method, backbone, boxed)
    assert len(episodes) == EPISODES and backbone.spoiled, "the chain went on, and something was spoiled"
    if kind == "empty" or not FREE_TEXT.intersection(backbone.spoiled):
        assert knowledge(memory) == {}
    assert not WITNESS.exists()
    for episode in episodes:
        asked = [call for call in episode.calls if is_learning(call.request)]
        if asked and not knowledge({change.path: "" for change in episode.update.delta}):
            assert episode.update.reason or not all(one.ok for one in episode.update.rounds), "it is recorded"


@pytest.mark.parametrize("method", METHODS_THAT_LEARN)
async def test_one_spoiled_purpose_stops_no_chain_and_leaves_no_trace(method: str, boxed: Boxed) -> None:
    listening = Spoiled(lambda reply: reply, None)
    _, learned = await play(method, listening, boxed)
    assert knowledge(learned), "undisturbed, it learns"
    for purpose in sorted(set(listening.spoiled)):
        for kind, spoil in SPOILS.items():
            episodes, memory = await play(method, Spoiled(spoil, purpose), boxed)
            assert len(episodes) == EPISODES, (purpose, kind)
            if purpose not in FREE_TEXT:
                assert MARK not in "".join((*memory, *memory.values())), (purpose, kind)
