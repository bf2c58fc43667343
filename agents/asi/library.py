"""The skills as files: which there are, how often each was called, which go when there are too many."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from agents.asi.settings import AsiSettings
from agents.skills.source import Function, NoCall, one_function, read_call
from ocm.types import Files, Trajectory, TurnKind

FOLDER = "skills/"
USAGE = "usage.json"
CHARS_PER_TOKEN = 4


def skill_path(name: str) -> str:
    """The file of a skill."""
    return f"{FOLDER}{name}.py"


def skills_in(memory: Files) -> dict[str, Function]:
    """Name -> skill, by name."""
    names = [path.removeprefix(FOLDER).removesuffix(".py") for path in sorted(memory) if _is_skill(path)]
    return {name: one_function(memory[skill_path(name)], name) for name in names}


def _is_skill(path: str) -> bool:
    return path.startswith(FOLDER) and path.endswith(".py")


def usage_in(memory: Files) -> dict[str, int]:
    """Skill -> how often it was called in all episodes so far, the oldest skill first."""
    usage: dict[str, int] = json.loads(memory.get(USAGE, "{}"))
    return usage


def with_calls(usage: Mapping[str, int], trajectory: Trajectory) -> dict[str, int]:
    """The usage after an episode."""
    calls = Counter(
        name for turn in trajectory.turns if turn.kind is TurnKind.PROGRAM for name in _named(turn.content)
    )
    return {name: count + calls[name] for name, count in usage.items()}


def _named(action: str) -> Iterable[str]:
    try:
        call = read_call(action)
    except NoCall:
        return ()
    return (call.name,) if call else ()


def with_usage(memory: Files, usage: Mapping[str, int]) -> dict[str, str]:
    """The memory with these counts; a memory without skills has no file of them."""
    return {**memory, USAGE: f"{json.dumps(usage, indent=2)}\n"} if usage else dict(memory)


def with_skills(
    memory: Files, usage: Mapping[str, int], new: Iterable[Function], settings: AsiSettings
) -> dict[str, str]:
    """The memory with new skills, which stay, and without the least used of the others past the bounds."""
    files, counts = dict(memory), dict(usage)
    for skill in new:
        files[skill_path(skill.name)] = skill.source
        counts[skill.name] = 0
    for name in sorted(usage, key=lambda name: usage[name]):  # stable: the oldest of equals first
        if fits([text for path, text in files.items() if _is_skill(path)], settings):
            break
        del files[skill_path(name)], counts[name]
    return with_usage(files, counts)


def fits(sources: Sequence[str], settings: AsiSettings) -> bool:
    """Whether skills are within the bounds."""
    most = settings.skill_tokens * CHARS_PER_TOKEN
    return len(sources) <= settings.max_skills and sum(map(len, sources)) <= most
