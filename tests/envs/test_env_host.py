"""The host as a plain object."""

from __future__ import annotations

import os
from unittest.mock import Mock

import pytest

from envs import registry
from envs.host import EnvHost
from ocm.errors import EnvironmentFault, SpecError
from ocm.types import TaskRef
from tests.envs.echo import echo

PLANCRAFT = registry.entry("plancraft")
TASK = TaskRef("plancraft", "test.small", "TEST0487", "easy")


def test_an_environment_is_made_once_and_not_before_its_first_task(monkeypatch: pytest.MonkeyPatch) -> None:
    build = Mock(side_effect=registry.build)
    monkeypatch.setattr(registry, "build", build)
    host = EnvHost(PLANCRAFT, {})
    assert build.call_count == 0
    for _ in range(3):
        host.reset(TASK)
    assert build.call_count == 1


def test_it_plays_with_its_settings() -> None:
    thinking, silent = EnvHost(PLANCRAFT, {"think": True}), EnvHost(PLANCRAFT, {})
    assert thinking.reset(TASK).goal == silent.reset(TASK).goal == "Craft an item of type: coal"
    assert thinking.step("think: well").observation == "Ok"
    assert silent.step("think: well").observation.startswith("Only select")


def test_an_environment_that_no_registry_knows_is_played_by_its_entry() -> None:
    host = EnvHost(echo(), {"steps": 2})
    assert host.reset(TaskRef("echo", "all", "e1", "easy")).text == "task e1"
    assert [host.step(word).done for word in ("a", "b")] == [False, True]
    host.close()


def test_wrong_settings_show_at_the_first_task() -> None:
    host = EnvHost(PLANCRAFT, {"thing": 1})
    with pytest.raises(SpecError, match="plancraft"):
        host.reset(TASK)


def test_a_step_without_a_task_is_a_fault() -> None:
    host = EnvHost(PLANCRAFT, {})
    with pytest.raises(EnvironmentFault, match="reset"):
        host.step("move")
    host.reset(TASK)
    with pytest.raises(EnvironmentFault):
        host.reset(TaskRef("plancraft", "test.small", "nothing", "easy"))
    with pytest.raises(EnvironmentFault, match="reset"):
        host.step("move")


def test_close_closes_the_environment_and_may_be_called_twice() -> None:
    host = EnvHost(PLANCRAFT, {})
    host.close()
    host.reset(TASK)
    closed = Mock()
    host._environment = closed
    host.close()
    host.close()
    closed.close.assert_called_once()
    with pytest.raises(EnvironmentFault, match="reset"):
        host.step("move")


def test_it_tells_of_itself() -> None:
    host = EnvHost(PLANCRAFT, {})
    assert host.ping() == os.getpid()
    assert 10 < host.memory_mb() < 100_000
