"""The host as a plain object."""

from __future__ import annotations

import os
from unittest.mock import Mock

import pytest

from envs import registry
from envs.host import EnvHost
from ocm.errors import EnvironmentFault, SpecError
from ocm.types import TaskRef

TASK = TaskRef("plancraft", "test.small", "TEST0487", "easy")


def test_an_environment_is_made_once_per_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    create = Mock(side_effect=registry.create)
    monkeypatch.setattr(registry, "create", create)
    host = EnvHost()
    for settings in ({}, {}, {"think": True}, {}):
        host.reset("plancraft", settings, TASK)
    assert create.call_count == 2


def test_a_task_is_played_with_the_settings_of_its_reset() -> None:
    host = EnvHost()
    assert host.reset("plancraft", {"think": True}, TASK).goal == "Craft an item of type: coal"
    assert host.step("think: well").observation == "Ok"
    host.reset("plancraft", {}, TASK)
    assert host.step("think: well").observation.startswith("Only select")


def test_a_step_without_a_task_is_a_fault() -> None:
    host = EnvHost()
    with pytest.raises(EnvironmentFault, match="reset"):
        host.step("move")
    host.reset("plancraft", {}, TASK)
    with pytest.raises(SpecError):
        host.reset("nowhere", {}, TASK)
    with pytest.raises(EnvironmentFault, match="reset"):
        host.step("move")


def test_close_closes_every_environment_and_may_be_called_twice() -> None:
    host = EnvHost()
    host.reset("plancraft", {}, TASK)
    closed = Mock()
    host._environments["x"] = closed
    host.close()
    host.close()
    closed.close.assert_called_once()


def test_it_tells_of_itself() -> None:
    host = EnvHost()
    assert host.ping() == os.getpid()
    assert 10 < host.memory_mb() < 100_000
