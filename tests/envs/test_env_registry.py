"""The registry: names, settings, laziness."""

from __future__ import annotations

import subprocess
import sys

import pytest

from envs import registry
from envs.protocol import Environment
from ocm.errors import SpecError


def test_plancraft_is_created_with_settings() -> None:
    environment = registry.create("plancraft", {"think": True})
    assert isinstance(environment, Environment)
    assert "think:" in environment.rules and "search:" not in environment.rules


def test_every_entry_has_settings_with_descriptions_and_its_default_task_set() -> None:
    for name in registry.names():
        fields = registry.settings_model(name).model_fields
        assert all(field.description for field in fields.values())
        entry = registry.entry(name)
        assert entry.summary and entry.default_task_set in entry.task_sets
        if name != "alfworld":  # needs an extra and a data set; see test_alfworld.py
            assert registry.create(name, {}).tasks(entry.default_task_set)


def test_an_unknown_name_suggests_the_closest() -> None:
    with pytest.raises(SpecError, match="did you mean plancraft"):
        registry.create("plancrafft", {})


def test_full_settings_hold_the_defaults() -> None:
    assert registry.full_settings("plancraft", {"search": True}) == {"search": True, "think": False}


@pytest.mark.parametrize(
    ("settings", "where"), [({"serch": True}, "settings.serch"), ({"search": "yes"}, "settings.search")]
)
def test_wrong_settings_are_named_with_the_known_ones(settings: dict[str, object], where: str) -> None:
    (problem,) = registry.check_settings("plancraft", settings)
    assert problem.where == where and "search, think" in problem.mend
    with pytest.raises(SpecError, match="plancraft") as caught:
        registry.create("plancraft", settings)
    assert caught.value.problems == (problem,)


def test_right_settings_have_no_problem() -> None:
    assert registry.check_settings("plancraft", {"search": True}) == []


def test_importing_the_registry_loads_no_environment() -> None:
    code = (
        "import sys; from envs import registry, host;"
        "print(sorted(m for m in sys.modules if m == 'ray' or 'plancraft' in m))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_wrong_settings_are_told_in_our_words() -> None:
    """Pydantic's began with "Value error" and "Extra inputs"."""
    (unknown,) = registry.check_settings("alfworld", {"x": 1})
    assert unknown.mend == "no such setting; known settings: none"
    (wrong,) = registry.check_settings("scienceworld", {"simplifications": ["nope"]})
    assert wrong.mend.startswith("'nope' is none of easy, ")
