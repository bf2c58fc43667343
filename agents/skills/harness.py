"""Calls a function that acts, up to the first action that has not been observed yet. For the sandbox only.

The sandbox keeps nothing from one execution to the next, so the function begins anew each time: it is
handed the observations so far, and is stopped where it wants another one.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any


class _Stop(BaseException):
    """No :class:`Exception`, so that an ordinary handler lets it through."""


class _Stage:
    """What the function is given of the world."""

    def __init__(self, before: str, seen: list[str]) -> None:
        self.before = before
        self.seen = seen
        self.acts = 0
        self.action: str | None = None

    def act(self, command: str) -> str:
        if self.action is not None:
            raise _Stop  # the first one was caught: the code goes no further all the same
        if not isinstance(command, str):
            raise TypeError("act takes an action as text")
        self.acts += 1
        if self.acts > len(self.seen):
            self.action = command
            raise _Stop
        return self.seen[self.acts - 1]

    def last_observation(self) -> str:
        return self.seen[self.acts - 1] if self.acts else self.before


def main(program: dict[str, Any], data: Mapping[str, Any]) -> str | None:
    """The next action, or None where the function has come to its end.

    Args:
        program: the namespace of the function.
        data: ``call`` = [name, arguments, named arguments], ``library`` = name -> source of functions that
            may be called too, ``before`` = the observation before, ``seen`` = the observations since.
    """
    stage = _Stage(data["before"], data["seen"])
    world = {"act": stage.act, "last_observation": stage.last_observation}
    rooms = {name: {**world, "__name__": name} for name in data["library"]}
    for name, source in data["library"].items():
        exec(compile(source, f"{name}.py", "exec"), rooms[name])  # noqa: S102 - this is in the sandbox
    shared = {name: room[name] for name, room in rooms.items()}
    for room in (program, *rooms.values()):
        room.update(world)
        for name, function in shared.items():
            room.setdefault(name, function)
    name, arguments, named = data["call"]
    if name not in program:
        raise NameError(f"{name} is not defined")
    with suppress(_Stop):
        program[name](*arguments, **named)
    return stage.action
