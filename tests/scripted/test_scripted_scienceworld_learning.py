"""ScienceWorld's learning: plans and code that execute, survive source and inspection, and are corrected."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from agents.ocm.plan import read_plan
from agents.parsing import parse_code
from agents.prompts import fill
from backbones.scripted.client import reply_to
from backbones.scripted.index import index_in
from backbones.scripted.scienceworld.exercises import ALL_PROCEDURES
from backbones.scripted.scienceworld.facts import Facts, Range
from backbones.scripted.scienceworld.knowledge import ENTRIES_PER_TABLE, HOLDERS, tables_of
from backbones.scripted.scienceworld.memory import facts_in, room_class, table_name, to_read
from knowledge_store.index import level0
from knowledge_store.inspection import resolve
from knowledge_store.merge import merge
from knowledge_store.rules import check
from knowledge_store.sandbox import Policy, Sandbox
from ocm.types import Message, Request, Verdict
from tests.scripted.scienceworld_texts import (
    ATTIC,
    NOT_KNOWN,
    episode,
    recorded,
    reflecting,
    room,
    updating,
)
from tests.scripted.texts import OCM_PROMPTS, request

CELLAR = room("cellar", {"attic": "open", "garden": "closed"}, "a mat", "a oven, which is turned on")
GARDEN = room("garden", {"cellar": "open"}, "a gong")
WALK = (
    ("open crate", "The crate is now open."),
    ("open lamp", "The lamp is not openable."),
    ("paint lamp", NOT_KNOWN),
    ("open door to cellar", "The door is now open."),
    ("go to cellar", "You move to the cellar."),
    ("look around", CELLAR),
    ("move egg to oven", "You move the egg to the oven."),
    ("use dial on egg", "the dial measures a temperature of 80 degrees celsius"),
    ("open door to garden", "The door is now open."),
    ("go to garden", "You move to the garden."),
    ("look around", GARDEN),
    ("pour moss in tub", "You pour the moss into the tub."),
    ("pour mud in tub", "You pour the mud into the tub."),
    ("mix tub", "Moss and mud mix to produce green goo."),
    ("focus on gong", "You focus on the gong."),
)
EPISODE = episode(ATTIC, *WALK)
SECOND = EPISODE.replace("crate", "chest").replace("gong", "bell").replace("80 deg", "95 deg")
FIND = (
    "Your task is to find a(n) imp. First, focus on the thing. Then, move it to the pink box in the cellar."
)
LOST = "Failure: the environment ended the episode. Reward 0"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(Policy()) as sandbox:
        yield sandbox


def merged(memory: dict[str, str], reply: str) -> dict[str, str]:
    code = parse_code(reply)
    files = {path: text for path, text in memory.items() if path not in code.deleted_files} | code.procedures
    return {**files, "objects.py": merge(memory.get("objects.py", ""), code.objects, code.deleted_names).text}


def failures(files: dict[str, str], sandbox: Sandbox) -> list[Verdict]:
    procedures = {path: text for path, text in files.items() if path != "objects.py"}
    static = check(files["objects.py"], procedures)
    return [*static, *(one for one in sandbox.verify(files["objects.py"], procedures) if not one.ok)]


def learned(memory: dict[str, str], trajectory: str = EPISODE, **task: str) -> dict[str, str]:
    return merged(memory, reply_to(request(updating(trajectory, memory, **task), "update"), 0.0))


def recalled(memory: dict[str, str]) -> Facts:
    """What is read of a memory by inspecting all that its index offers to a player."""
    return facts_in(resolve(memory, list(to_read(index_in(level0(memory).text))), 40_000).text)


def test_knowledge_executes_and_is_recalled_by_inspection(sandbox: Sandbox) -> None:
    memory = learned({})
    assert failures(memory, sandbox) == []
    facts = recalled(memory)
    assert facts.doors == {"attic": ("cellar",), "cellar": ("attic", "garden"), "garden": ("cellar",)}
    assert facts.rooms_with("gong") == ["garden"] and facts.rooms_with("egg") == []
    assert facts.works("open", "crate") and facts.refuses("open", "lamp") and facts.refuses("say", "paint")
    assert facts.mixtures == {"moss + mud": "green goo"} and facts.warmth == {"oven": Range(80, 80)}
    paths = {path for path in memory if path != "objects.py"}
    assert {
        "procedures/make_green_goo.py",
        "procedures/warmth_of_oven.py",
        "procedures/open_crate.py",
    } <= paths


def test_the_plan_names_what_will_be_written() -> None:
    plan = read_plan(json.loads(reply_to(reflecting(EPISODE, {}), 0.0)))
    assert {item.action for item in (*plan.objects, *plan.procedures)} == {"create"}
    names = {item.name for item in plan.objects}
    assert {"RoomAttic", "RoomCellar", "RoomGarden", "TRIED_OPEN", "MIXTURES", "WARMTH", "Room"} <= names
    memory = learned({})
    again = read_plan(json.loads(reply_to(reflecting(EPISODE, memory), 0.0)))
    assert {item.action for item in again.objects} == {"modify"} and "RoomAttic" in again.inspect


def test_knowledge_is_extended_not_replaced(sandbox: Sandbox) -> None:
    first = learned({})
    memory = learned(first, SECOND)
    assert failures(memory, sandbox) == []
    facts = recalled(memory)
    assert set(facts.things["garden"]) == {"gong", "bell"} and facts.warmth == {"oven": Range(80, 95)}
    assert facts.works("open", "crate") and facts.works("open", "chest")


def test_what_says_nothing_new_changes_nothing() -> None:
    memory = learned({})
    for _ in range(4):
        memory = learned(memory)
    assert learned(memory) == memory


def test_what_was_not_shown_is_left_as_it_is() -> None:
    memory = learned({})
    messages = updating(SECOND, memory)
    hidden = (
        messages[1].content.replace("### RoomGarden", "### Hidden").replace("### TRIED_OPEN", "### Hidden")
    )
    code = parse_code(reply_to(request([messages[0], Message("user", hidden)], "update"), 0.0))
    assert "RoomGarden" not in code.objects and "TRIED_OPEN" not in code.objects
    assert "RoomCellar" not in code.objects or "mat" in code.objects
    assert "find_bell" not in "".join(code.procedures)


def test_a_wrong_map_is_corrected_by_what_is_seen() -> None:
    memory = learned({})
    wrong = {**memory, "objects.py": memory["objects.py"].replace("doors = ('cellar',)", "doors = ('roof',)")}
    assert recalled(wrong).doors["attic"] == ("roof",)
    assert recalled(learned(wrong)).doors["attic"] == ("cellar",)


@pytest.mark.parametrize("outcome", [LOST, "Failure: all actions were used up."])
def test_a_fatal_choice_is_remembered_as_wrong(outcome: str) -> None:
    trajectory = episode(
        ATTIC, ("pick up lamp", "You move the lamp to the inventory."), ("focus on lamp", "You focus.")
    )
    facts = recalled(learned({}, trajectory, goal=FIND, outcome=outcome))
    assert facts.refuses("imp", "lamp") == (outcome == LOST)
    assert facts.works("imp", "lamp") == (outcome != LOST)


@pytest.mark.parametrize("parts", ["objects", "procedures"])
def test_an_ablation_gets_only_its_part(parts: str, sandbox: Sandbox) -> None:
    code = parse_code(reply_to(request(updating(EPISODE, {}, parts), "update"), 0.0))
    assert bool(code.objects) == (parts == "objects")
    assert bool(code.procedures) == (parts == "procedures")
    if parts == "procedures":
        assert all(verdict.ok for verdict in sandbox.verify("", code.procedures))
        facts = recalled(dict(code.procedures))
        assert facts == recalled(learned({}))
        again = updating(SECOND, dict(code.procedures), parts)
        more = parse_code(reply_to(request(again, "update"), 0.0))
        both = recalled({**code.procedures, **more.procedures})
        assert set(both.things["garden"]) == {"gong", "bell"}


def test_mistakes_are_caught_and_mostly_mended(sandbox: Sandbox) -> None:
    """Over many episodes at error rate 1: most mistakes are caught, and most of those are mended."""
    caught = mended = 0
    base = learned({})
    for number in range(24):
        messages = updating(SECOND, base)
        reply = _reply(messages, number, 0)
        found = failures(merged(base, reply), sandbox)
        if not found:
            continue
        caught += 1
        for call in (1, 2):
            reports = "\n\n".join(f"### {v.path} ({v.kind})\n```text\n{v.report}\n```" for v in found)
            repair = fill(OCM_PROMPTS, "repair", count=len(found), reports=reports, source="")
            messages += [Message("assistant", reply), Message("user", repair)]
            reply = _reply(messages, number, call)
        first = merged(base, _reply(messages[:2], number, 0))
        mended += not failures(merged(first, reply), sandbox)
    assert caught >= 18
    assert 0.7 * caught <= mended <= caught


def _reply(messages: list[Message], number: int, call: int) -> str:
    return reply_to(Request("update", tuple(messages), None, "chain", number, call), 1.0)


def test_recorded_episodes_are_learned_from(sandbox: Sandbox) -> None:
    memory: dict[str, str] = {}
    for one in recorded():
        trajectory = episode(one["first"], *((action, text) for action, text, _ in one["steps"]))
        memory = learned(memory, trajectory, goal=one["goal"], outcome="Failure: all actions were used up.")
        assert failures(memory, sandbox) == [], one["task"]
    facts = recalled(memory)
    assert len(facts.doors) >= 9 and facts.tried["open"]


def test_what_is_kept_is_bounded() -> None:
    many = {f"thing {number}": "product" for number in range(500)}
    assert len(tables_of(Facts(mixtures=many))["MIXTURES"]) == ENTRIES_PER_TABLE
    full = "".join(f"TRIED_Q{number} = {{}}\n\n\n" for number in range(HOLDERS))
    code = parse_code(reply_to(request(updating(EPISODE, {"objects.py": full}), "update"), 0.0))
    assert "class Room:" in code.objects and "TRIED_OPEN = {" in code.objects
    assert "RoomAttic" not in code.objects and "TRIED_SAY" not in code.objects
    files = {f"procedures/p{number}.py": '"""Old."""\n' for number in range(ALL_PROCEDURES)}
    code = parse_code(reply_to(request(updating(EPISODE, files), "update"), 0.0))
    assert code.objects and not code.procedures


@pytest.mark.parametrize("name", ["attic", "3rd floor", "room", "back-yard"])
def test_names_become_identifiers(name: str) -> None:
    assert room_class(name).isidentifier() and room_class(name) != "Room"
    assert table_name(f"seen in {name.replace('-', ' ')}").isidentifier()
