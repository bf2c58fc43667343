"""A new environment is one file and one entry: the example of ``docs/environments.md``, played for real."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from envs import registry
from envs.protocol import Environment
from envs.registry import EnvironmentEntry
from flows.checking import check_environment
from flows.hosting import host_pool
from ocm.types import Step, Validity
from tests.envs.example_environment import LampsEnvironment, LampsSettings, probe
from tests.envs.worlds import available

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "environments.md"
CODE = Path(__file__).parent / "example_environment.py"
SWEEP = """
name = "lamps"
methods = ["ocm", "react"]
backbones = ["scripted"]
seeds = [0, 1]

[[environments]]
name = "lamps"
order = "shuffled"
limit = 3
settings = { plan = true }
"""
REGISTER_AND_RUN = """
import sys
from envs import registry
from flows.cli import main
from tests.envs.test_example_environment import documented_entry
registry.ENVIRONMENTS = {**registry.ENVIRONMENTS, "lamps": documented_entry()}
main(sys.argv[1:])
"""


def documented(opening: str) -> str:
    """The block of the page that begins so."""
    blocks = re.findall(r"```python\n(.+?)```", PAGE.read_text("utf-8"), re.DOTALL)
    (found,) = (block for block in blocks if block.startswith(opening))
    return str(found)


def documented_entry() -> EnvironmentEntry:
    """The registry entry as the page has it."""
    entry = eval(documented("EnvironmentEntry("), {"EnvironmentEntry": EnvironmentEntry})  # noqa: S307
    assert isinstance(entry, EnvironmentEntry)
    return entry


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> EnvironmentEntry:
    entry = documented_entry()
    monkeypatch.setattr(registry, "ENVIRONMENTS", {**registry.ENVIRONMENTS, entry.name: entry})
    return entry


def test_the_page_holds_the_example_as_it_is() -> None:
    assert documented('"""Lamps') == CODE.read_text("utf-8")


@pytest.mark.parametrize("name", registry.names())
def test_the_pages_table_is_true(name: str) -> None:
    world = available(name)
    rows = [line.split("|")[1:-1] for line in PAGE.read_text("utf-8").splitlines() if line.startswith("|")]
    column = [cell.strip(" `") for cell in rows[0]].index(name)
    table = {row[0].strip(): row[column].strip() for row in reversed(rows)}
    assert table["step limit"] == str(world.environment.step_limit)
    assert table["memory of a host, as registered"].startswith(f"{world.entry.memory_mb} MB")
    assert f"`{world.entry.default_task_set}`" in table["paper's task set"]
    assert table["same actions, same observations"].startswith("yes") is world.environment.deterministic
    for setting in registry.settings_model(name).model_fields:
        assert f"`{setting}`" in table["settings"]
    if world.tasks[0].task_set == world.entry.default_task_set:
        assert f" {len(world.tasks)}" in table["paper's task set"]


def test_it_is_made_with_its_settings(registered: EnvironmentEntry) -> None:
    world = registry.create("lamps", {"plan": True})
    assert isinstance(world, Environment)
    assert [task.stratum for task in world.tasks("all")] == ["short", "short", "long", "long"]
    assert world.reset(world.tasks("all")[0]).text.endswith("There are 2 rooms.")
    assert [problem.where for problem in registry.check_settings("lamps", {"plann": 1})] == ["settings.plann"]


def test_its_actions_have_all_validities() -> None:
    world = LampsEnvironment(LampsSettings())
    world.reset(world.tasks("all")[1])
    wanted = {
        "look around": Validity.VALID,
        "light lamp": Validity.VALID,
        "light  lamp": Validity.MALFORMED,
        " light lamp\n": Validity.NO_EFFECT,
        "go east": Validity.VALID,
        "go east ": Validity.REFUSED,
    }
    assert {action: world.step(action).validity for action in wanted} == wanted


async def solved(registered: EnvironmentEntry, actions: Sequence[str]) -> list[Step]:
    (task, *_) = registry.create("lamps", {}).tasks("all")
    pool = host_pool([registered], hosts=1)
    try:
        async with pool.lease(registered, {"plan": True}) as host:
            assert "2 rooms" in (await host.reset(task)).text
            return [await host.step(action) for action in actions]
    finally:
        await pool.close()


@pytest.mark.usefixtures("ray_session")
async def test_it_is_played_on_a_real_host(registered: EnvironmentEntry) -> None:
    steps = await solved(registered, ("light lamp", "go west", "go east", "light lamp"))
    assert [step.reward for step in steps] == [0.5, 0.5, 0.5, 1.0]
    assert [step.done for step in steps] == [step.success for step in steps] == [False, False, False, True]


@pytest.mark.usefixtures("ray_session")
async def test_it_is_checked_like_any_other(registered: EnvironmentEntry) -> None:
    tasks = registry.create("lamps", {}).tasks("all")
    pool = host_pool([registered], hosts=2)
    told: list[object] = []
    try:
        check = await check_environment(pool, registered, tasks, 10, told.append)
    finally:
        await pool.close()
    assert not check.errors
    assert (check.resets, len(check.steps), len(told)) == (4, 40, 4)
    assert 0 < (check.invalid_share or 0) < 0.5


async def test_a_probe_is_the_same_for_the_same_task(registered: EnvironmentEntry) -> None:
    assert registry.probe(registered) is probe


def test_a_whole_sweep_plays_it(tmp_path: Path) -> None:
    spec = tmp_path / "spec.toml"
    spec.write_text(SWEEP, "utf-8")
    arguments = ("run", str(spec), "--root", str(tmp_path / "runs"), "--output", "json")
    ended = subprocess.run(
        [sys.executable, "-c", REGISTER_AND_RUN, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert ended.returncode == 0, ended.stderr
    end = json.loads(ended.stdout.splitlines()[-1])
    assert end["complete"]
    assert {(cell["method"], cell["environment"], cell["episodes_done"]) for cell in end["results"]} == {
        ("ocm", "lamps", 6),
        ("react", "lamps", 6),
    }
    # the stand-in does not know this environment and only looks around
    assert {cell["measures"]["steps"]["mean"] for cell in end["results"]} == {20.0}
    assert {cell["measures"]["invalid_actions"]["mean"] for cell in end["results"]} == {0.0}
