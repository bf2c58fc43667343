"""What an episode shows that holds in other episodes too."""

from __future__ import annotations

import re
from collections.abc import Iterator

from backbones.scripted.scienceworld.facts import (
    CLAIMS,
    POWER,
    REFER,
    SAY,
    Facts,
    Range,
    Tally,
    claim,
    mixture,
    wording,
)
from backbones.scripted.scienceworld.goals import Goal
from backbones.scripted.scienceworld.reading import Thing, degrees_in, points_in, understood
from backbones.scripted.scienceworld.world import DOOR, Deed, World

VERBS = ("open", "pick up", "activate", "look in", "read", "mix")
"""Verbs that tell of a thing what can be done with it."""
_PRODUCED = re.compile(r"\bproduce ([\w -]+?)\.")
_RECIPE = re.compile(r"To make (.+?), you need to mix (.+?)\.")
_SEVERAL = re.compile(r"^Ambiguous")
_ALREADY = re.compile(r"\balready\b")
_NO_MATTER = re.compile(r"only one thing")
"""What is said of a moment, not of a thing."""


def facts_of(world: World, goal: Goal, success: bool | None = None) -> Facts:
    """The facts that a history shows. ``success`` is None while the episode goes on."""
    tried: dict[str, dict[str, Tally]] = {}
    for what, thing, is_good in (*_trials(world), *judgements(world, goal, success)):
        tally = tried.setdefault(what, {}).get(thing, Tally())
        tried[what][thing] = Tally(max(tally.worked, is_good), max(tally.refused, not is_good))
    return Facts(
        doors={
            room: tuple(door for door, _ in look.doors) for room, look in world.looks.items() if look.doors
        },
        things=_things(world),
        tried=tried,
        mixtures=dict(_mixtures(world)),
        warmth=_warmth(world),
        points=points_of(world),
    )


def _things(world: World) -> dict[str, tuple[str, ...]]:
    """What was found in each room, less what the agent itself moved."""
    moved = {*world.moved_into, *world.held}
    return {
        room: tuple(dict.fromkeys(thing.name for thing in things if thing.name not in moved))
        for room, things in world.views.items()
    }


def _trials(world: World) -> Iterator[tuple[str, str, bool]]:
    """(verb, thing, whether it worked) for all that was tried on things."""
    for deed in world.deeds:
        verb, thing, _ = deed.command
        if thing.startswith(DOOR) or not thing:
            continue
        if _SEVERAL.match(deed.observation):
            yield REFER, thing, False
        elif not understood(deed.observation):
            if verb not in _RULES:
                yield SAY, verb, False
            elif any(thing == one.name for one in world.views.get(deed.room, ())):
                yield REFER, thing, False
        elif verb in VERBS and not _NO_MATTER.search(deed.observation):
            yield verb, thing, deed.worked or bool(_ALREADY.search(deed.observation))


_RULES = frozenset(
    (*VERBS, "go", "look at", "put down", "focus on", "close", "deactivate", "eat", "flush", "move")
) | {"pour", "dunk", "use", "connect", "disconnect", "wait", "wait1", "look around", "put"}


def focused(world: World) -> Iterator[Deed]:
    """The deeds that focus on something, in order."""
    return (deed for deed in world.deeds if deed.command.verb == "focus on" and deed.worked)


def judgements(world: World, goal: Goal, success: bool | None) -> Iterator[tuple[str, str, bool]]:
    """(question, thing, whether it was the right one), and claims in the same form."""
    last = world.deeds[-1] if world.deeds else None
    failed = success is False and last is not None and last.worked and last.command.verb in _DECIDING
    asked = 0
    for deed in focused(world):
        question, thing = question_of(goal, asked), answer_of(goal, deed.command.thing)
        if not question or wording(deed.command.thing) in map(wording, goal.focuses):
            continue
        asked += 1
        yield question, thing, not (failed and deed is last)
    if last is not None and success is not None and (success or failed):
        for branch in goal.branches:
            if branch.thing in (last.command.thing, last.command.other):
                yield CLAIMS, claim(branch.condition, goal.subject), success
    if goal.verb == "turn" and success is not None:
        for name in sources_of(world, goal.subject):
            yield POWER, name, success


_DECIDING = ("focus on", "move", "put")


def sources_of(world: World, device: str) -> tuple[str, ...]:
    """What was connected and has the same points of contact as the device: what was to power it."""
    points = points_of(world)
    ends = [
        end
        for deed in world.deeds
        if deed.command.verb == "connect" and deed.worked
        for end in (deed.command.thing, deed.command.other)
    ]
    return tuple(
        name
        for name, own in points.items()
        if own and own == points.get(device) and name != device and any(end.startswith(name) for end in ends)
    )


def points_of(world: World) -> dict[str, tuple[str, ...]]:
    """Points of contact by thing, of all that was looked at."""
    return {
        deed.command.thing: tuple(points_in(deed.observation))
        for deed in world.deeds
        if deed.command.verb == "look at" and deed.worked and "\n" not in deed.observation
    }


def question_of(goal: Goal, asked: int) -> str:
    """What the next thing to focus on is to be, in words; empty where the text asks nothing of that kind."""
    if goal.stages:
        return f"life stage {asked + 1}"
    return wording(goal.described[min(asked, len(goal.described) - 1)]) if goal.described else ""


def answer_of(goal: Goal, thing: str) -> str:
    """A thing as the answer to a question: which option it is, or what it is called beside its owner."""
    words = wording(thing)
    for option in goal.options:
        if f" {wording(option)} " in f" {words} ":
            return wording(option)
    if goal.stages:
        owner = wording(goal.stages).split()
        return " ".join(word for word in words.split() if word not in owner) or "alone"
    return thing


def _mixtures(world: World) -> Iterator[tuple[str, str]]:
    poured: dict[str, list[str]] = {}
    for deed in world.deeds:
        verb, thing, other = deed.command
        if verb in ("pour", "move") and deed.worked and other:
            poured.setdefault(other, []).append(thing)
        if found := _RECIPE.search(deed.observation):
            yield mixture(tuple(part.strip() for part in found[2].split(","))), found[1]
        elif verb == "mix" and (made := _PRODUCED.search(deed.observation)):
            parts = tuple(poured.pop(thing, ()))
            if len(parts) > 1:
                yield mixture(parts), made[1]


def _warmth(world: World) -> dict[str, Range]:
    """Device -> temperatures read of what was in or on it."""
    readings: dict[str, list[int]] = {}
    device = ""
    for deed in world.deeds:
        if deed.command.verb == "move" and deed.worked:
            device = deed.command.other
        if deed.command.verb == "use" and device and (degrees := degrees_in(deed.observation)) is not None:
            readings.setdefault(device, []).append(degrees)
    for look in world.looks.values():
        for thing, inside in look.everything:
            if inside and inside.holds and (degrees := _shown(thing)) is not None:
                readings.setdefault(inside.name, []).append(degrees)
    return {name: Range(min(seen), max(seen)) for name, seen in readings.items()}


def _shown(thing: Thing) -> int | None:
    return None if thing.inside else degrees_in(thing.text)
