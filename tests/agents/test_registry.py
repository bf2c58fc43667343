"""Methods by name, their settings, and the identity of their prompts."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from string import Template
from typing import Any

import pytest

from agents.ocm.settings import OcmSettings
from agents.prompts import SHARED, fill, prompts_hash
from agents.registry import METHODS, create, full_settings, method, method_prompts
from ocm.errors import SpecError

ROOT = Path(__file__).parents[2] / "agents"


def test_every_method_can_be_made_with_its_own_settings() -> None:
    for name, entry in METHODS.items():
        assert isinstance(full_settings(name, {}), entry.settings_model)
        create(name, {})


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("ocm-no-verification", "verification", False),
        ("ocm-no-objects", "objects", False),
        ("ocm-no-procedures", "procedures", False),
        ("ocm-no-disclosure", "disclosure", "full"),
        ("ocm-no-reflection", "reflection", False),
    ],
)
def test_an_ablation_differs_in_one_setting(name: str, field: str, value: object) -> None:
    changed = full_settings(name, {}).model_dump()
    assert changed == {**OcmSettings().model_dump(), field: value}


@pytest.mark.parametrize(
    ("wrong", "right"), [("ocm-no-verify", "ocm-no-verification"), ("reakt", "react"), ("OCM", "ocm")]
)
def test_an_unknown_method_names_the_closest(wrong: str, right: str) -> None:
    with pytest.raises(SpecError, match=re.escape(right)) as caught:
        method(wrong)
    assert repr(wrong) in str(caught.value)


def test_nothing_close_lists_all() -> None:
    with pytest.raises(SpecError, match=r"ocm or .*react"):
        method("zzzzzz")


@pytest.mark.parametrize(
    ("settings", "where", "found", "mend"),
    [
        ({"verfication": True}, "settings.verfication", "True", "did you mean verification?"),
        ({"colour": 1}, "settings.colour", "1", "Known settings: verification, objects"),
        ({"max_repairs": -1}, "settings.max_repairs", "-1", "greater than or equal to 0"),
        ({"max_repairs": "2"}, "settings.max_repairs", "'2'", "valid integer"),
        ({"disclosure": "some"}, "settings.disclosure", "'some'", "'progressive' or 'full'"),
        ({"objects": False, "procedures": False}, "settings", "", "use the method react"),
    ],
)
def test_a_wrong_setting_is_a_problem(settings: dict[str, object], where: str, found: str, mend: str) -> None:
    with pytest.raises(SpecError) as caught:
        create("ocm", settings)
    (problem,) = caught.value.problems
    assert (problem.where, problem.found) == (where, found)
    assert mend in problem.mend


def test_every_wrong_setting_is_told_at_once() -> None:
    with pytest.raises(SpecError) as caught:
        create("ocm", {"max_repairs": -1, "level0_tokens": 1, "x": 0})
    assert [problem.where for problem in caught.value.problems] == [
        "settings.max_repairs",
        "settings.level0_tokens",
        "settings.x",
    ]


def test_react_has_no_settings() -> None:
    with pytest.raises(SpecError) as caught:
        create("react", {"max_repairs": 1})
    assert "Known settings: none" in caught.value.problems[0].mend


def test_an_ablation_that_leaves_nothing_is_refused() -> None:
    with pytest.raises(SpecError):
        create("ocm-no-objects", {"procedures": False})


# --- prompts -----------------------------------------------------------------------------------


@pytest.fixture
def package(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "prompts_of_a_test"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "one.md").write_text("Hello $name.\n")
    sys.path.insert(0, str(tmp_path))
    importlib.invalidate_caches()
    yield folder
    sys.path.remove(str(tmp_path))
    sys.modules.pop(folder.name, None)
    prompts_hash.cache_clear()


def test_the_hash_changes_with_a_prompt_s_text_and_name(package: Path) -> None:
    def now() -> str:
        prompts_hash.cache_clear()
        return prompts_hash(package.name)

    first = now()
    assert now() == first
    (package / "notes.txt").write_text("no prompt")
    assert now() == first
    (package / "one.md").write_text("Hello, $name.\n")
    changed = now()
    assert changed != first
    (package / "one.md").rename(package / "two.md")
    assert now() not in (first, changed)


def test_filling_does_not_read_the_values(package: Path) -> None:
    assert fill(package.name, "one", name="$other ${x} $$") == "Hello $other ${x} $$."
    with pytest.raises(KeyError, match="name"):
        fill(package.name, "one")


def test_methods_share_a_hash_only_where_they_share_prompts() -> None:
    assert method_prompts("ocm") == method_prompts("ocm-no-objects")
    assert method_prompts("ocm") != method_prompts("react") == prompts_hash(SHARED)


def test_every_prompt_is_a_template_and_is_used() -> None:
    code = "\n".join(path.read_text() for path in ROOT.rglob("*.py"))
    for path in ROOT.rglob("*.md"):
        assert Template(path.read_text("utf-8")).is_valid(), path
        stem = path.stem
        assert f'"{stem}"' in code or f'"{stem.rpartition("_")[0]}_{{' in code, (
            f"{path} is not read by any code"
        )


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("poeworld", {"theta_most": 0.1}),
        ("poeworld", {"prune": 20.0}),
        ("worldcoder", {"buffer_cap": 5}),
        ("awm", {"max_workflows": 5}),
    ],
)
def test_settings_that_make_a_method_learn_nothing_are_refused(name: str, settings: dict[str, Any]) -> None:
    with pytest.raises(SpecError) as caught:
        create(name, settings)
    (problem,) = caught.value.problems
    assert problem.mend
