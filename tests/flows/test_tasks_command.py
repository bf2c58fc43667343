"""``ocm tasks`` and ``ocm tasks --check``: on real hosts, with environments that fail or are not there."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from envs import registry
from envs.registry import EnvironmentEntry
from ocm.errors import EnvironmentFault, SpecError
from ocm.types import Observation, TaskRef
from tests.envs.example_environment import LampsEnvironment, LampsSettings
from tests.envs.test_example_environment import documented_entry
from tests.flows.test_command_line import ocm


class Absent(LampsEnvironment):
    """One whose package is not installed."""

    def __init__(self, settings: LampsSettings) -> None:
        raise SpecError("lamps are not installed; run: pip install lamps")


class Flickering(LampsEnvironment):
    """One whose simulator fails in one task, and whose code fails in another."""

    def reset(self, task: TaskRef) -> Observation:
        if task.id == "two-rooms":
            raise EnvironmentFault("the fuse is blown; the episode starts again")
        if task.id == "six-rooms":
            raise ZeroDivisionError("no lamps")
        return super().reset(task)


def entry(environment: type[LampsEnvironment], name: str) -> EnvironmentEntry:
    return replace(documented_entry(), name=name, factory=f"{__name__}:{environment.__name__}")


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Only these environments are registered."""
    entries = {"lamps": documented_entry(), "absent": entry(Absent, "absent")}
    monkeypatch.setattr(registry, "ENVIRONMENTS", {name: entries[name] for name in request.param})


def test_tasks_on_standard_output_and_strata_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert ocm("tasks", "plancraft", "--limit", 41) == 0
    shown = capsys.readouterr()
    assert [line.split("\t")[1] for line in shown.out.splitlines()] == ["easy"] * 40 + ["medium"]
    assert shown.err == "41 tasks of plancraft: easy 40, medium 1\n"
    assert ocm("tasks", "plancraft", "--task-set", "test", "--json") == 0
    shown = capsys.readouterr()
    assert all(json.loads(line)["task_set"] == "test" for line in shown.out.splitlines())
    assert shown.err == "580 tasks of plancraft: easy 200, medium 100, hard 180, impossible 100\n"


@pytest.mark.usefixtures("ray_session")
def test_a_check_plays_every_task_and_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert ocm("tasks", "plancraft", "--check", "--limit", 3, "--steps", 2, "--json") == 0
    (line,) = capsys.readouterr().out.splitlines()
    found = json.loads(line)
    assert (found["tasks"], found["resets"], found["errors"]) == (3, 3, [])
    assert 3 <= found["steps"] <= 6
    assert ocm("tasks", "--check", "plancraft", "--limit", 3, "--steps", 2) == 0
    assert "plancraft test.small" in capsys.readouterr().out


@pytest.mark.usefixtures("ray_session")
def test_each_failing_task_is_named_and_the_others_are_played(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(registry, "ENVIRONMENTS", {"flickering": entry(Flickering, "flickering")})
    assert ocm("tasks", "--check", "--json") == 1
    shown = capsys.readouterr()
    found = json.loads(shown.out)
    assert (found["tasks"], found["resets"], found["steps"]) == (4, 2, 20)
    assert {error["task"] for error in found["errors"]} == {"two-rooms", "six-rooms"}
    assert "flickering two-rooms: environment: the fuse is blown" in shown.err
    assert "flickering six-rooms: environment: " in shown.err and "ZeroDivisionError" in shown.err


@pytest.mark.usefixtures("ray_session", "only")
@pytest.mark.parametrize("only", [("lamps", "absent")], indirect=True)
def test_what_is_not_installed_is_skipped_unless_it_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert ocm("tasks", "--check", "--steps", 0) == 0
    assert "absent: skipped: lamps are not installed; run: pip install lamps" in capsys.readouterr().err
    assert ocm("tasks", "--check", "absent") == 1
    assert "absent: error: lamps are not installed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--check", "plancrft"), "did you mean plancraft"),
        (("plancraft", "--steps", 3), "--steps goes with --check"),
        (("plancraft", "--task-set", "tset"), "test.small"),
    ],
)
def test_wrong_arguments(
    arguments: tuple[object, ...], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ocm("tasks", *arguments) == 2
    assert expected in capsys.readouterr().err


def test_an_environment_without_settings_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert ocm("tasks", "alfworld", "--settings") == 0
    assert capsys.readouterr().err == "alfworld has no settings\n"
