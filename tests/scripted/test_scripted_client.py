"""The client: pure, deterministic, honest; and that what it learns shows in whole chains."""

from __future__ import annotations

import ast
import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import backbones.scripted as package
from agents.ocm.plan import PLAN_SCHEMA, read_plan
from backbones.scripted import ScriptedBackboneClient
from backbones.scripted.client import MODEL, reply_to
from envs.plancraft.package import stack_sizes
from ocm.spec import ScriptedBackbone
from ocm.types import Episode, Message, Request
from tests.scripted.texts import acting, play, request

FOLDER = Path(package.__file__).parent


def test_a_reply_costs_nothing_and_is_counted() -> None:
    client = ScriptedBackboneClient(ScriptedBackbone())
    reply = asyncio.run(client.complete(request(acting("robe", "I1 rag 1"))))
    assert (reply.model, reply.cost, reply.finish_reason) == (MODEL, 0.0, "stop")
    assert reply.usage.prompt > 100 and reply.usage.completion > 0
    asyncio.run(client.close())


@pytest.mark.parametrize("chain", ["", "chain-a"])
def test_the_same_request_gets_the_same_reply(chain: str) -> None:
    messages = tuple(acting("robe", "I1 rag 4", "I2 robe_cloth 2"))
    replies = {reply_to(Request("act", messages, None, chain, 3, 1), 0.1) for _ in range(3)}
    assert len(replies) == 1


def test_replies_do_not_depend_on_the_order_of_sets() -> None:
    """Whole chains in two processes with other hash seeds."""
    script = (
        "from tests.scripted.texts import play\n"
        "from ocm.identity import memory_hash, sha256\n"
        "episodes, memory = play('ocm', 8, error_rate=0.3)\n"
        "print(memory_hash(memory), sha256(''.join(c.reply.text for e in episodes for c in e.calls)))\n"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=FOLDER.parent.parent,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(
        [
            "You act in a text environment.",
            "You reflect on one episode",
            "You update an executable model",
            "Hi",
        ]
    ),
    st.lists(st.text(max_size=80), max_size=4),
    st.lists(st.text(max_size=80), max_size=4),
)
def test_no_text_makes_it_fail(opening: str, system: list[str], later: list[str]) -> None:
    messages = [Message("system", "\n".join([opening, *system]))]
    messages += [Message("user" if n % 2 == 0 else "assistant", text) for n, text in enumerate(later)]
    assert reply_to(request(messages), 0.5)


def test_other_questions_get_the_emptiest_answer() -> None:
    messages = (Message("system", "You summarise."), Message("user", "Summarise."))
    plan = reply_to(Request("reflect", messages, PLAN_SCHEMA), 0.0)
    assert read_plan(json.loads(plan)).empty
    assert reply_to(Request("insights", messages), 0.0)


def test_it_holds_no_knowledge_of_the_game() -> None:
    """No item's name stands in its code, and it imports nothing that knows items."""
    items = set(stack_sizes())
    assert len(items) > 500
    for path in FOLDER.rglob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and id(node) not in documentation
            ):
                assert node.value not in items, f"{path.name}:{node.lineno} {node.value!r}"
            if isinstance(node, ast.ImportFrom):
                assert str(node.module).split(".")[0] not in {"envs", "plancraft", "agents"}, path.name


def _share(episodes: list[Episode]) -> float:
    return sum(episode.trajectory.success for episode in episodes) / len(episodes)


def _invalid(episodes: list[Episode]) -> float:
    return sum(episode.trajectory.invalid_actions for episode in episodes) / len(episodes)


def test_what_is_learned_shows() -> None:
    """Over one chain: later episodes succeed more often and try fewer invalid actions than without memory."""
    without, _ = play("react", 60)
    learned, memory = play("ocm", 60)
    assert _share(learned) > _share(without)
    assert _share(learned[30:]) >= _share(without[30:]) + 0.05
    assert _invalid(learned[30:]) < 0.5 * _invalid(without[30:])
    assert sum(map(len, memory.values())) < 100_000
