"""ALFWorld, learning: plans and code in the form asked for, verified to execute, broken and mended."""

from __future__ import annotations

import ast
import json
import random
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents.ocm.plan import read_plan
from agents.parsing import parse_code
from agents.prompts import fill
from backbones.scripted.alfworld.core import CORE
from backbones.scripted.alfworld.exercises import WAYS, way_procedure
from backbones.scripted.alfworld.facts import NEAR, PUT, TWO
from backbones.scripted.alfworld.knowledge import no_effect
from backbones.scripted.alfworld.memory import facts_in
from backbones.scripted.alfworld.player import AlfworldPlayer
from backbones.scripted.client import reply_to
from backbones.scripted.index import table_in
from backbones.scripted.report import read_report
from knowledge_store.inspection import resolve
from knowledge_store.merge import merge
from knowledge_store.rules import check
from knowledge_store.sandbox import Policy, Sandbox
from ocm.types import Files, Message, Request, Verdict
from tests.envs.alfworld_real import needs_alfworld
from tests.scripted.alfworld_texts import acting, episode, reflecting, room, updating
from tests.scripted.test_scripted_client import FOLDER
from tests.scripted.texts import OCM_PROMPTS, after, request

NOTHING = "Nothing happens."
HEAT = "heat some mug and put it in box."
FIRST = episode(
    room("box 2", "box 1", "rug 1", "stove 1", "tub 1"),
    ("go to rug 1", "You arrive at rug 1. On the rug 1, you see a mug 1, a mug 2, and a pen 1."),
    ("take mug 1 from rug 1", "You pick up the mug 1 from the rug 1."),
    ("take mug 2 from rug 1", NOTHING),
    ("go to tub 1", "You arrive at tub 1. On the tub 1, you see a cup 1."),
    ("heat mug 1 with tub 1", NOTHING),
    ("go to stove 1", "You arrive at stove 1. On the stove 1, you see nothing."),
    ("heat mug 1 with stove 1", "You heat the mug 1 using the stove 1."),
    ("go to box 1", "You arrive at box 1. The box 1 is closed."),
    ("put mug 1 in box 1", NOTHING),
    ("open box 1", "You open the box 1. The box 1 is open. In it, you see a pen 2."),
    ("move mug 1 to box 1", "You move the mug 1 to the box 1."),
)
SECOND = episode(
    room("box 1", "bed 1", "stove 1", "tub 1"),
    ("go to bed 1", "You arrive at bed 1. On the bed 1, you see a mug 3, and a lid 1."),
    ("take mug 3 from bed 1", "You pick up the mug 3 from the bed 1."),
    ("go to stove 1", "You arrive at stove 1. On the stove 1, you see nothing."),
    ("cool mug 3 with stove 1", NOTHING),
    ("go to tub 1", "You arrive at tub 1. On the tub 1, you see nothing."),
    ("cool mug 3 with tub 1", "You cool the mug 3 using the tub 1."),
    ("go to box 1", NOTHING),
    ("examine box 1", "The box 1 is closed."),
)
COOL = "put a cool mug in box."


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(Policy()) as sandbox:
        yield sandbox


def merged(memory: Files, reply: str) -> dict[str, str]:
    code = parse_code(reply)
    files = {path: text for path, text in memory.items() if path not in code.deleted_files} | code.procedures
    if not code.objects:
        return files
    return {**files, "objects.py": merge(memory.get("objects.py", ""), code.objects, code.deleted_names).text}


def learned(memory: Files, goal: str, trajectory: str, parts: str = "both") -> dict[str, str]:
    return merged(memory, reply_to(request(updating(goal, trajectory, memory, parts), "update"), 0.0))


def failures(files: Files, sandbox: Sandbox, *, needs_objects: bool = True) -> list[Verdict]:
    objects = files.get("objects.py", "")
    procedures = {path: text for path, text in files.items() if path != "objects.py"}
    static = check(objects, procedures, needs_objects=needs_objects)
    return [*static, *(verdict for verdict in sandbox.verify(objects, procedures) if not verdict.ok)]


def test_a_plan_names_what_was_seen_and_tried() -> None:
    plan = read_plan(json.loads(reply_to(reflecting(HEAT, FIRST, {}), 0.0)))
    names = {item.name for item in plan.objects}
    assert names >= {"Mug", "Stove", "Tub", "NO_EFFECT", *CORE}
    assert "procedures/heat_with_stove.py" in {item.name for item in plan.procedures}
    assert {item.action for item in (*plan.objects, *plan.procedures)} == {"create"}


def test_nothing_seen_is_nothing_planned() -> None:
    trajectory = episode(room("box 1", "rug 1"), ("look", "You are in the middle of a room."))
    assert read_plan(json.loads(reply_to(reflecting(HEAT, trajectory, {}), 0.0))).empty


def test_knowledge_executes_and_can_be_recalled(sandbox: Sandbox) -> None:
    memory = learned({}, HEAT, FIRST)
    assert failures(memory, sandbox) == []
    facts = facts_in(resolve(memory, ["Mug", "Stove", "Tub", "Box", "NO_EFFECT"]).text)
    assert facts.of("mug").seen == {"rug": 1}
    assert facts.treating("heat") == {"stove"}
    assert facts.failing("heat") == {"tub"}
    assert facts.in_vain == {TWO, PUT}


def test_no_instance_is_remembered() -> None:
    for text in learned({}, HEAT, FIRST).values():
        tree = ast.parse(text)
        strings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
        assert not any(isinstance(value, str) and value[-2:] in (" 1", " 2") for value in strings)


def test_knowledge_is_extended_not_replaced(sandbox: Sandbox) -> None:
    memory = learned(learned({}, HEAT, FIRST), COOL, SECOND)
    assert failures(memory, sandbox) == []
    facts = facts_in(resolve(memory, ["objects.py"], 50_000).text)
    assert facts.of("mug").seen == {"rug": 1, "bed": 1}
    assert (facts.treating("heat"), facts.treating("cool")) == ({"stove"}, {"tub"})
    assert (facts.failing("heat"), facts.failing("cool")) == ({"tub"}, {"stove"})
    assert facts.in_vain == {TWO, PUT, NEAR}


def test_what_was_seen_to_be_wrong_is_corrected() -> None:
    memory = learned({}, HEAT, FIRST)
    wrong = {**memory, "objects.py": memory["objects.py"].replace('fails = ("heat",)', 'treats = ("heat",)')}
    facts = facts_in(resolve(learned(wrong, HEAT, FIRST), ["Tub"]).text)
    assert facts.failing("heat") == {"tub"} and not facts.treating("heat")


def test_definitions_whose_source_was_not_shown_are_left_alone() -> None:
    memory = learned({}, HEAT, FIRST)
    unseen = updating(COOL, SECOND, memory, is_shown=False)
    code = parse_code(reply_to(request(unseen, "update"), 0.0))
    known = {name for name in ("Mug", "Stove", "Tub", "NO_EFFECT") if f"{name}" in memory["objects.py"]}
    written = {getattr(node, "name", "") for node in ast.parse(code.objects).body}
    assert known == {"Mug", "Stove", "Tub", "NO_EFFECT"} and not known & written
    assert "NO_EFFECT" not in code.objects


@pytest.mark.parametrize("parts", ["objects", "procedures"])
def test_an_ablation_gets_only_its_part(parts: str, sandbox: Sandbox) -> None:
    memory = learned({}, HEAT, FIRST, parts)
    assert ("objects.py" in memory) == (parts == "objects")
    assert bool(memory.keys() - {"objects.py"}) == (parts == "procedures")
    memory = learned(memory, COOL, SECOND, parts)
    assert failures(memory, sandbox, needs_objects=parts == "objects") == []
    facts = facts_in(resolve(memory, sorted(memory), 50_000).text)
    assert facts.treating("cool") == {"tub"} and facts.of("mug").seen == {"rug": 1, "bed": 1}
    assert facts.in_vain == {TWO, PUT, NEAR}


@pytest.mark.parametrize("what", sorted(WAYS))
def test_each_procedure_on_what_is_in_vain_executes(what: str, sandbox: Sandbox) -> None:
    objects = "\n\n".join([*CORE.values(), no_effect([what])])
    assert failures({"objects.py": objects, WAYS[what].path: way_procedure(what)}, sandbox) == []
    without = "\n\n".join([*CORE.values(), no_effect([])])
    assert failures({"objects.py": without, WAYS[what].path: way_procedure(what)}, sandbox)


def test_mistakes_are_caught_and_mostly_mended(sandbox: Sandbox) -> None:
    """Over many episodes at error rate 1: mistakes are caught, and most are mended in two rounds."""
    caught = mended = 0
    base = learned({}, HEAT, FIRST)
    for number in range(30):
        messages = updating(COOL, SECOND, base)
        replies = [_reply(messages, number, 0)]
        files = merged(base, replies[0])
        found = failures(files, sandbox)
        if not found:
            continue
        caught += 1
        for call in (1, 2):
            reports = "\n\n".join(f"### {v.path} ({v.kind})\n```text\n{v.report}\n```" for v in found)
            repair = fill(OCM_PROMPTS, "repair", count=len(found), reports=reports, source="")
            messages += [Message("assistant", replies[-1]), Message("user", repair)]
            replies.append(_reply(messages, number, call))
        mended += not failures(merged(files, replies[-1]), sandbox)
    assert caught >= 27
    assert 0.7 * caught <= mended <= caught


def _reply(messages: list[Message], number: int, call: int) -> str:
    return reply_to(Request("update", tuple(messages), None, "chain", number, call), 1.0)


@pytest.mark.parametrize("parts", ["both", "procedures"])
def test_misleading_knowledge_runs_and_fails_where_an_observation_is_asserted(
    parts: str, sandbox: Sandbox
) -> None:
    base = learned({}, HEAT, FIRST, parts)
    report = read_report(updating(COOL, SECOND, base, parts))
    player = AlfworldPlayer()
    good = player.write(report)
    caught = 0
    for seed in range(10):
        wrong = player.mislead(report, good, random.Random(seed))
        assert wrong.text() != good.text()
        found = failures(merged(base, wrong.text()), sandbox, needs_objects=parts == "both")
        assert all("AssertionError" in verdict.report for verdict in found)
        caught += bool(found)
    assert caught >= 8


NAMES = st.sampled_from(["mug 1", "box 1", "rug 1", "thing 2", "item 3", "none 1", "x", ""])
TEXTS = st.one_of(
    st.text(max_size=60),
    st.builds("You arrive at {}. On the {}, you see a {}, and a {}.".format, NAMES, NAMES, NAMES, NAMES),
    st.builds("You pick up the {} from the {}.".format, NAMES, NAMES),
    st.builds("The {} is open. In it, you see a {}.".format, NAMES, NAMES),
    st.builds("You heat the {} using the {}.".format, NAMES, NAMES),
    st.builds("You move the {} to the {}.".format, NAMES, NAMES),
    st.just(NOTHING),
)
ACTIONS = st.one_of(st.text(max_size=20), st.builds("{} {}".format, st.text(max_size=8), NAMES))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from(["put two item in place.", "put a hot mug in box.", "look at none under the thing."]),
    st.lists(st.tuples(ACTIONS, TEXTS), max_size=8),
    st.text(max_size=80),
)
def test_no_text_makes_it_fail(goal: str, steps: list[tuple[str, str]], source: str) -> None:
    messages = acting(
        goal, "box 1", "rug 1", "place 1", memory={"objects.py": f"class Mug:\n    x = {source!r}\n"}
    )
    for number, (action, observation) in enumerate(steps, start=1):
        messages += after(action, number, observation)
    assert reply_to(request(messages), 0.5)
    trajectory = episode(room("box 1", "rug 1", "place 1"), *steps)
    for parts in ("both", "procedures"):
        messages = updating(goal, trajectory, {}, parts)
        messages[1] = Message("user", f"{messages[1].content}\n### Mug\n```python\n{source}\n```")
        code = parse_code(reply_to(request(messages, "update"), 0.0))
        for text in (code.objects, *code.procedures.values()):
            ast.parse(text)


@needs_alfworld
def test_it_holds_no_knowledge_of_the_game() -> None:
    """No name of a thing or a place of the game stands in its code or in what the code says."""
    kinds = _kinds_of_the_game()
    assert len(kinds) > 100 and {"fridge", "mug", "sinkbasin"} <= kinds
    for path in (FOLDER / "alfworld").glob("*.py"):
        words = {word.lower() for word in re.findall(r"[A-Za-z]+", path.read_text("utf-8"))}
        assert not words & kinds, f"{path.name}: {words & kinds}"


def _kinds_of_the_game() -> set[str]:
    """The package's own list, read without importing the package."""
    spec = find_spec("alfworld")
    assert spec is not None and spec.submodule_search_locations
    text = (Path(spec.submodule_search_locations[0]) / "gen" / "constants.py").read_text("utf-8")
    tables = dict(filter(None, map(table_in, ast.parse(text).body)))
    return {kind.lower() for kind in tables["objects"]}
