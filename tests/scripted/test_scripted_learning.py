"""Learning: plans and code in the form asked for, verified to execute, broken and mended on purpose."""

from __future__ import annotations

import builtins
import json
from collections.abc import Iterator

import pytest

from agents.ocm.plan import read_plan
from agents.parsing import parse_code
from agents.prompts import fill
from backbones.scripted.client import reply_to
from backbones.scripted.index import index_in
from backbones.scripted.plancraft.facts import Facts, Made
from backbones.scripted.plancraft.knowledge import CORE, by_kinds, class_name
from backbones.scripted.plancraft.memory import about, facts_in
from knowledge_store.index import level0
from knowledge_store.inspection import resolve
from knowledge_store.merge import merge
from knowledge_store.rules import check
from knowledge_store.sandbox import Policy, Sandbox
from ocm.types import Message, Request, Verdict
from tests.scripted.texts import OCM_PROMPTS, inventory, request

EPISODE = "\n".join(
    [
        f"[0] {inventory('elm_shelf', 'I1 elm_log 1', 'I2 wet_clay 2', 'I3 rag 1')}",
        "[1] thought: Perhaps.\n    action: move: from [I1] to [A1] with quantity 1\n    outcome: valid",
        inventory("elm_shelf", "0 elm_board 4", "A1 elm_log 1", "I2 wet_clay 2", "I3 rag 1"),
        "[2] action: smelt: from [I2] to [I4] with quantity 1\n    outcome: valid",
        inventory("elm_shelf", "0 elm_board 4", "A1 elm_log 1", "I2 wet_clay 1", "I3 rag 1", "I4 brick 1"),
        "[3] action: smelt: from [I3] to [I5] with quantity 1\n    outcome: invalid: refused",
        inventory("elm_shelf", "0 elm_board 4", "A1 elm_log 1", "I2 wet_clay 1", "I3 rag 1", "I4 brick 1"),
    ]
)
PARTS = {"both": "objects", "objects": "objects", "procedures": "alone"}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(Policy()) as sandbox:
        yield sandbox


def texts(memory: dict[str, str], episode: str = EPISODE) -> dict[str, str]:
    return {
        "goal": "Craft an item of type: elm_shelf",
        "outcome": "Failure.",
        "trajectory": episode,
        "knowledge": level0(memory).text if memory else "Nothing yet.",
    }


def reflecting(memory: dict[str, str], parts: str = "both", episode: str = EPISODE) -> Request:
    system = fill(OCM_PROMPTS, "reflect_system", parts=fill(OCM_PROMPTS, f"parts_{parts}"))
    user = fill(OCM_PROMPTS, "reflect_user", **texts(memory, episode))
    return request([Message("system", system), Message("user", user)], "reflect")


def updating(memory: dict[str, str], parts: str = "both", episode: str = EPISODE) -> list[Message]:
    plan = read_plan(json.loads(reply_to(reflecting(memory, parts, episode), 0.0)))
    system = fill(
        OCM_PROMPTS,
        "update_system",
        parts=fill(OCM_PROMPTS, f"parts_{parts}"),
        procedure_rule=fill(OCM_PROMPTS, f"procedure_rule_{PARTS[parts]}"),
        modules="re",
    )
    source = resolve(memory, plan.names_to_read()).text if memory else "None."
    user = fill(OCM_PROMPTS, "update_user", plan=plan.to_json(), source=source, **texts(memory, episode))
    return [Message("system", system), Message("user", user)]


def merged(memory: dict[str, str], reply: str) -> dict[str, str]:
    code = parse_code(reply)
    files = {path: text for path, text in memory.items() if path not in code.deleted_files} | code.procedures
    return {**files, "objects.py": merge(memory.get("objects.py", ""), code.objects, code.deleted_names).text}


def verified(files: dict[str, str], sandbox: Sandbox) -> list[Verdict]:
    """The failures."""
    procedures = {path: text for path, text in files.items() if path != "objects.py"}
    static = check(files["objects.py"], procedures)
    return [*static, *(v for v in sandbox.verify(files["objects.py"], procedures) if not v.ok)]


def learned(memory: dict[str, str], episode: str = EPISODE) -> dict[str, str]:
    return merged(memory, reply_to(request(updating(memory, episode=episode), "update"), 0.0))


def test_a_plan_names_what_was_seen() -> None:
    plan = read_plan(json.loads(reply_to(reflecting({}), 0.0)))
    assert {item.action for item in (*plan.objects, *plan.procedures)} == {"create"}
    assert {"Board", "SMELTS", "UNSMELTABLE"} <= {item.name for item in plan.objects}
    assert {item.name for item in plan.procedures} == {
        "procedures/craft_elm_board.py",
        "procedures/smelt_wet_clay.py",
    }


def test_nothing_seen_is_nothing_planned() -> None:
    episode = f"[0] {inventory('elm_shelf', 'I1 elm_log 1')}"
    assert read_plan(json.loads(reply_to(reflecting({}, episode=episode), 0.0))).empty


def test_knowledge_executes_and_can_be_recalled(sandbox: Sandbox) -> None:
    memory = learned({})
    assert verified(memory, sandbox) == []
    facts = facts_in(resolve(memory, ["Board", "SMELTS", "UNSMELTABLE"]).text)
    assert facts.recipes == {"elm_log": Made("elm_board", 4)}
    assert facts.smelts == {"wet_clay": "brick"}
    assert facts.unsmeltable == {"rag"}


def test_knowledge_is_extended_not_replaced(sandbox: Sandbox) -> None:
    second = EPISODE.replace("elm_", "ash_").replace("wet_clay", "raw_fish").replace("brick", "cooked_fish")
    memory = learned(learned({}), second)
    assert verified(memory, sandbox) == []
    facts = facts_in(resolve(memory, ["Board", "SMELTS"]).text)
    assert set(facts.recipes) == {"elm_log", "ash_log"}
    assert set(facts.smelts) == {"wet_clay", "raw_fish"}
    assert learned(memory, second) == memory


def test_what_was_seen_to_be_wrong_is_corrected() -> None:
    memory = learned({})
    action = "    action: move: from [I1] to [A1] with quantity 1\n    outcome: valid"
    episode = "\n".join(
        [
            f"[0] {inventory('elm_board', 'I1 elm_log 1')}",
            f"[1] thought: As I know, for elm_board I can craft it as 'elm_log'.\n{action}",
            inventory("elm_board", "0 elm_plank 4", "A1 elm_log 1"),
        ]
    )
    facts = facts_in(resolve(learned(memory, episode), ["Board", "Plank"]).text)
    assert facts.recipes == {"elm_log": Made("elm_plank", 4)}


@pytest.mark.parametrize("parts", ["objects", "procedures"])
def test_an_ablation_gets_only_its_part(parts: str, sandbox: Sandbox) -> None:
    code = parse_code(reply_to(request(updating({}, parts), "update"), 0.0))
    assert bool(code.objects) == (parts == "objects")
    assert bool(code.procedures) == (parts == "procedures")
    if parts == "procedures":
        assert all(verdict.ok for verdict in sandbox.verify("", code.procedures))
        assert facts_in("".join(f"```\n{text}```\n" for text in code.procedures.values())).smelts


def test_mistakes_are_caught_and_mostly_mended(sandbox: Sandbox) -> None:
    """Over many episodes at error rate 1: each mistake is caught, and most are mended in two rounds."""
    caught = mended = 0
    base = learned({})
    second = EPISODE.replace("elm_", "ash_").replace("wet_clay", "raw_fish").replace("brick", "cooked_fish")
    for episode in range(30):
        messages = updating(base, episode=second)
        reply = _reply(messages, episode, 0)
        failures = verified(merged(base, reply), sandbox)
        if not failures:
            continue
        caught += 1
        for number in (1, 2):
            reports = "\n\n".join(f"### {v.path} ({v.kind})\n```text\n{v.report}\n```" for v in failures)
            repair = fill(OCM_PROMPTS, "repair", count=len(failures), reports=reports, source="")
            messages += [Message("assistant", reply), Message("user", repair)]
            reply = _reply(messages, episode, number)
        files = merged(merged(base, _reply(messages[:2], episode, 0)), reply)
        mended += not verified(files, sandbox)
    assert caught >= 27
    assert 0.7 * caught <= mended <= caught


def _reply(messages: list[Message], episode: int, call: int) -> str:
    return reply_to(Request("update", tuple(messages), None, "chain", episode, call), 1.0)


def test_without_mistakes_the_error_rate_is_no_matter() -> None:
    messages = updating({})
    flawed = sum(
        reply_to(Request("update", tuple(messages), None, "c", n), 0.2) != reply_to(request(messages), 0.0)
        for n in range(300)
    )
    assert 35 <= flawed <= 85


def test_a_failing_file_that_is_not_its_mistake_is_deleted() -> None:
    memory = learned({})
    second = EPISODE.replace("elm_", "ash_")
    messages = updating(memory, episode=second)
    good = reply_to(request(messages, "update"), 0.0)
    repair = fill(OCM_PROMPTS, "repair", count=1, reports="### procedures/old.py (exception)", source="")
    answers = {
        reply_to(
            Request("repair", (*messages, Message("assistant", good), Message("user", repair)), None, "c", n),
            0.0,
        )
        for n in range(20)
    }
    assert any(parse_code(answer).deleted_files == ("procedures/old.py",) for answer in answers)


@pytest.mark.parametrize("word", ["board", "map", "13", "kind", "none"])
def test_the_class_of_a_kind_is_found_by_its_items(word: str) -> None:
    name = class_name(word)
    assert name.isidentifier() and not hasattr(builtins, name) and name not in CORE
    assert list(about(index_in(f"class {name}(Kind):"), f"red_{word}")) == [name]


def test_many_failures_of_a_kind_stand_for_the_kind() -> None:
    colours = {f"{colour}_egg" for colour in ("red", "blue", "pink", "gray")}
    assert by_kinds(Facts(unsmeltable=frozenset({*colours, "rag"}))) == {"*_egg", "rag"}
    assert by_kinds(Facts(smelts={"raw_egg": "egg"}, unsmeltable=frozenset(colours))) == colours
