"""What was killed from outside is executed again; code that crashes by itself stays a crash."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from knowledge_store.memory import OBJECTS
from ocm.types import Files, Verdict
from tasks.verify import KILLED_AGAIN, settled

PROCEDURES = {"a.py": "", "b.py": "", "c.py": ""}
Kinds = Mapping[str, str]


class Runs:
    """Gives each run's kinds by path; ``ok`` where nothing is said."""

    def __init__(self, *runs: Kinds) -> None:
        self._runs = list(runs)
        self.asked: list[list[str]] = []

    async def __call__(self, part: Files) -> tuple[Verdict, ...]:
        kinds = self._runs[min(len(self.asked), len(self._runs) - 1)]
        self.asked.append(sorted(part))
        if OBJECTS in kinds:
            return (Verdict(OBJECTS, False, kinds[OBJECTS]),)
        return tuple(
            Verdict(path, kinds.get(path, "ok") == "ok", kinds.get(path, "ok")) for path in sorted(part)
        )


@pytest.mark.parametrize(
    ("runs", "expected", "asked"),
    [
        ([{}], {}, [["a.py", "b.py", "c.py"]]),
        ([{"b.py": "killed"}, {}], {}, [["a.py", "b.py", "c.py"], ["b.py"]]),
        ([{"b.py": "killed", "a.py": "exception"}, {}], {"a.py": "exception"}, [[*PROCEDURES], ["b.py"]]),
        ([{OBJECTS: "killed"}, {}], {}, [[*PROCEDURES], [*PROCEDURES]]),
        ([{"c.py": "killed"}, {OBJECTS: "killed"}, {}], {}, [[*PROCEDURES], ["c.py"], [*PROCEDURES]]),
        ([{OBJECTS: "exception"}], {OBJECTS: "exception"}, [[*PROCEDURES]]),
    ],
)
async def test_only_what_was_killed_runs_again(
    runs: list[Kinds], expected: Kinds, asked: list[list[str]]
) -> None:
    given = Runs(*runs)
    found = {verdict.path: verdict.kind for verdict in await settled(given, PROCEDURES)}
    whole = dict(expected) if OBJECTS in expected else {**dict.fromkeys(PROCEDURES, "ok"), **expected}
    assert found == whole
    assert given.asked == asked


async def test_code_that_crashes_is_not_run_for_ever() -> None:
    given = Runs({"a.py": "killed"})
    verdicts = await settled(given, PROCEDURES)
    assert [one.kind for one in verdicts] == ["killed", "ok", "ok"]
    assert len(given.asked) == 1 + KILLED_AGAIN
