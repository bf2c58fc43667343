"""What an update should write: the lesson merged with the source that it was shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from backbones.scripted.code import Code
from backbones.scripted.report import Report
from backbones.scripted.scienceworld.exercises import exercises
from backbones.scripted.scienceworld.facts import Facts, together
from backbones.scripted.scienceworld.knowledge import (
    CORE,
    CORE_TABLES,
    HOLDERS,
    THINGS_PER_ROOM,
    room_procedure,
    room_text,
    table_procedure,
    table_text,
    tables_of,
)
from backbones.scripted.scienceworld.lessons import Lesson, lesson_in
from backbones.scripted.scienceworld.memory import facts_in, room_class, to_read


@dataclass(frozen=True)
class Room:
    """What is stated of a room."""

    doors: tuple[str, ...]
    things: tuple[str, ...]


@dataclass(frozen=True)
class Contents:
    """What K_o states, by what holds it."""

    rooms: Mapping[str, Room]
    tables: Mapping[str, Mapping[str, object]]

    def over(self, older: Contents) -> Contents:
        """These in place of the older ones."""
        return Contents({**older.rooms, **self.rooms}, {**older.tables, **self.tables})

    def states(self, holder: str, entry: str) -> bool:
        """Whether a table or a room has an entry."""
        room = self.rooms.get(holder)
        return entry in self.tables.get(holder, ()) or bool(room and entry in (*room.doors, *room.things))


@dataclass(frozen=True)
class Draft:
    """An update, and what it states."""

    contents: Contents
    """Only what it may write and what is new."""
    known: Contents
    """What the memory stated before, as far as it was shown."""
    lesson: Lesson
    code: Code


def draft(report: Report) -> Draft:
    """What an update should write, given the source that it was shown."""
    lesson, before = lesson_in(report), facts_in(report.source)
    known = Contents(_rooms(before), tables_of(before))
    after = together(before, lesson.facts)
    rooms = {
        room: after_room
        for room, after_room in _rooms(after).items()
        if room in lesson.rooms
        and _may_write(lesson, lesson.holder_of_room(room), report.readable)
        and known.rooms.get(room) != after_room
    }
    wanted = [*lesson.tables, *(name for name in CORE_TABLES if not lesson.index.has(name))]
    if not lesson.keeps_objects:
        wanted = lesson.tables
    tables = {
        name: table
        for name, table in tables_of(after).items()
        if name in wanted
        and _may_write(lesson, lesson.holder_of_table(name), report.readable)
        and (known.tables.get(name) != table or not lesson.index.has(lesson.holder_of_table(name)))
    }
    if lesson.keeps_objects:
        tables |= {name: {} for name in CORE_TABLES if name not in tables and not lesson.index.has(name)}
    contents = Contents(rooms, tables)
    return Draft(contents, known, lesson, rendered(lesson, contents, known))


def rendered(lesson: Lesson, contents: Contents, known: Contents) -> Code:
    """Contents as code, in the parts that the memory keeps."""
    if not lesson.keeps_objects:
        return Code({}, _alone(lesson, contents))
    objects = {name: text for name, text in CORE.items() if not lesson.index.has(name)}
    objects |= {name: table_text(name, table) for name, table in contents.tables.items()}
    objects |= {
        room_class(room): room_text(room, stated.doors, stated.things)
        for room, stated in contents.rooms.items()
    }
    stated = contents.over(known)
    possible = (one for one in exercises(lesson) if all(stated.states(*need) for need in one.needs))
    return Code(objects, {one.path: one.text for one in possible} if lesson.keeps_procedures else {})


def _may_write(lesson: Lesson, holder: str, readable: frozenset[str]) -> bool:
    """Whether there is room for it or it was shown whole: what was not is left as it is."""
    if lesson.index.has(holder):
        return holder in readable
    return len(list(to_read(lesson.index))) < HOLDERS


def _rooms(facts: Facts) -> dict[str, Room]:
    return {
        room: Room(doors, facts.things.get(room, ())[:THINGS_PER_ROOM]) for room, doors in facts.doors.items()
    }


def _alone(lesson: Lesson, contents: Contents) -> dict[str, str]:
    """Files for what K_o would hold; their checks are the observations."""
    found = {
        lesson.holder_of_room(room): room_procedure(room, stated.doors, stated.things)
        for room, stated in contents.rooms.items()
    }
    return found | {
        lesson.holder_of_table(name): table_procedure(name, table) for name, table in contents.tables.items()
    }
