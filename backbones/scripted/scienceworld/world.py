"""An episode so far as a world: where the agent is, what it saw, what it did and what came of it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from backbones.scripted.scienceworld.reading import (
    Command,
    Look,
    Thing,
    command_in,
    look_in,
    options_in,
    thing_in,
    understood,
    worked,
)

DOOR = "door to "
_WENT = re.compile(r"^You move to the (.+?)\.")
_TOOK = re.compile(r"^You move the (.+?) to the inventory")
_OPEN_ALREADY = re.compile(r"already open")
_SHUT = re.compile(r"not open")


class Deed(NamedTuple):
    """One action and its answer."""

    room: str
    action: str
    command: Command
    observation: str
    worked: bool


@dataclass
class World:
    """What a history shows; :meth:`hear` takes its actions one by one."""

    room: str = ""
    looks: dict[str, Look] = field(default_factory=dict)
    stale: set[str] = field(default_factory=set)
    """Rooms where something changed since they were looked at."""
    open_doors: dict[frozenset[str], bool] = field(default_factory=dict)
    blocked: set[tuple[str, str]] = field(default_factory=set)
    """(room, next room) where there is no way."""
    held: dict[str, Thing] = field(default_factory=dict)
    """What is carried, with what was seen in it."""
    moved_into: dict[str, str] = field(default_factory=dict)
    """Thing -> what the agent put it into or onto."""
    contents: dict[str, list[str]] = field(default_factory=dict)
    """Thing -> what the agent put into it, in order, since it was last mixed."""
    deeds: list[Deed] = field(default_factory=list)
    options: tuple[str, ...] = ()
    """The choices of an open menu."""
    asked: str = ""
    """The action that the menu is about."""
    failed: set[tuple[str, str]] = field(default_factory=set)
    """(room, action) that did not work."""
    done: set[str] = field(default_factory=set)
    """Actions that worked."""
    done_at: set[tuple[str, str]] = field(default_factory=set)
    """(room, action) that worked."""
    views: dict[str, tuple[Thing, ...]] = field(default_factory=dict)
    """Room -> everything in it, in the order of its description."""

    def see(self, text: str) -> None:
        """Take in the description of a room, if it is one."""
        look = look_in(text)
        if look is None:
            return
        self.room = look.room
        self.looks[look.room] = look
        self.views[look.room] = tuple(thing for thing, _ in look.everything)
        self.stale.discard(look.room)
        for other, is_open in look.doors:
            self.open_doors[frozenset((look.room, other))] = is_open

    def hear(self, said: str, observation: str) -> None:
        """Take in one action and its answer."""
        action = " ".join(said.lower().split())
        asked = self.asked if self.options and action.isdigit() and int(action) < len(self.options) else ""
        if asked:
            action = self.options[int(action)]
        self.options = options_in(observation)
        self.asked = action if self.options else ""
        command, is_done = command_in(action), worked(observation)
        self.deeds.append(Deed(self.room, action, command, observation, is_done))
        self._note(asked or action, is_done)
        self._note(action, is_done)
        if is_done:
            self._follow(command, observation)
        else:
            self._doubt(command, observation)
        self.see(observation)

    def lose_track(self) -> None:
        """Forget where the agent is and what it was asked: some of the history is left out."""
        self.room, self.asked, self.options = "", "", ()

    def _note(self, action: str, is_done: bool) -> None:
        """What came of an action; of one that led to a menu, what came of the choice."""
        if is_done:
            self.failed.discard((self.room, action))
            self.done.add(action)
            self.done_at.add((self.room, action))
        else:
            self.failed.add((self.room, action))

    def _follow(self, command: Command, observation: str) -> None:
        """What a carried out command changes."""
        if went := _WENT.match(observation):
            self.room = went[1]
        elif command.verb == "open" and command.thing.startswith(DOOR):
            self.open_doors[self._edge(command.thing.removeprefix(DOOR))] = True
        elif command.verb in _REVEALING:
            self.stale.add(self.room)
        if took := _TOOK.match(observation):
            name = took[1].lower()
            self.held[name] = self._lift(name)
        elif command.verb in ("move", "pour", "put") and command.other:
            self._put(command.thing, command.other)
        if command.verb == "mix":
            self.contents.pop(command.thing, None)
        if command.verb in ("look at", "look in") and (thing := thing_in(observation)):
            self.views[self.room] = (*self.views.get(self.room, ()), *thing.inside)

    def _put(self, thing: str, target: str) -> None:
        moved = self.held.pop(thing, None) or self._lift(thing)
        if target not in self.held:
            self.views[self.room] = (*self.views.get(self.room, ()), *moved.all())
        self.moved_into[thing] = target
        self.contents.setdefault(target, []).append(thing)

    def _lift(self, name: str) -> Thing:
        """Take a thing, with all that is in it, out of the view of this room."""
        things = self.views.get(self.room, ())
        found = next((thing for thing in things if thing.name == name), Thing(name, name))
        gone = {id(thing) for thing in found.all()}
        self.views[self.room] = tuple(thing for thing in things if id(thing) not in gone)
        return found

    def _doubt(self, command: Command, observation: str) -> None:
        """What a command that failed shows of the map."""
        target = command.thing.removeprefix(DOOR)
        if command.verb == "open" and _OPEN_ALREADY.search(observation):
            self.open_doors[self._edge(target)] = True
        elif command.verb == "go" and _SHUT.search(observation):
            self.open_doors[self._edge(target)] = False
            self.failed.discard((self.room, f"go to {target}"))
        elif command.verb == "go" or (command.thing.startswith(DOOR) and not understood(observation)):
            self.blocked.add((self.room, target))

    def _edge(self, other: str) -> frozenset[str]:
        return frozenset((self.room, other))

    def count(self, action: str) -> int:
        """How often an action was taken, in any room."""
        return sum(deed.action == action for deed in self.deeds)


_REVEALING = frozenset({"open", "mix"})
"""Verbs after which there may be more to see."""


def world_of(first: str, exchanges: Iterable[tuple[str, str]]) -> World:
    """The world after these (action, observation), from the description at the start."""
    world = World()
    world.see(first)
    for action, observation in exchanges:
        world.hear(action, observation)
    return world
