"""A new method is one folder and one entry: the example of ``docs/methods.md``, played for real."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agents import registry
from agents.registry import Method
from knowledge_store.memory import apply
from tests.agents.example_method import agent
from tests.agents.fakes import FakeBench, trajectory

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "methods.md"
FOLDER = Path(agent.__file__).parent
SWEEP = """
name = "notes"
methods = ["react", { name = "notebook", label = "two-notes", settings = { notes = 2 } }]
backbones = ["scripted"]
seeds = [0, 1]

[[environments]]
name = "plancraft"
order = "shuffled"
limit = 4
"""
REGISTER_AND_RUN = """
import sys
from agents import registry
from flows.cli import main
from tests.agents.test_example_method import documented_entry
registry.METHODS = {**registry.METHODS, "notebook": documented_entry()}
main(sys.argv[1:])
"""


def documented(opening: str, language: str = "python") -> str:
    """The block of the page that begins so."""
    blocks = re.findall(rf"```{language}\n(.+?)```", PAGE.read_text("utf-8"), re.DOTALL)
    (found,) = (block for block in blocks if block.startswith(opening))
    return str(found)


def documented_entry() -> Method:
    """The registry entry as the page has it."""
    entry = eval(documented("Method("), {**vars(registry), **vars(agent)})  # noqa: S307
    assert isinstance(entry, Method)
    return entry


def test_the_page_holds_the_example_as_it_is() -> None:
    assert documented('"""Notebook:') == (FOLDER / "agent.py").read_text("utf-8")
    for path in sorted((FOLDER / "prompts").glob("*.md")):
        assert path.read_text("utf-8") in PAGE.read_text("utf-8"), path.name


def test_the_page_names_every_method() -> None:
    rows = [line.split("|")[1].strip(" `") for line in PAGE.read_text("utf-8").splitlines() if "|" in line]
    agents = {method.agent for method in registry.METHODS.values()}
    assert agents <= set(rows), "each has a row in the table"


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> Method:
    entry = documented_entry()
    monkeypatch.setattr(registry, "METHODS", {**registry.METHODS, entry.name: entry})
    return entry


async def test_notes_are_kept_shown_and_bounded(registered: Method) -> None:
    notebook, memory = registry.create("notebook", {"notes": 2}), dict[str, str]()
    for number in range(3):
        bench = FakeBench(f"Note {number}.")
        update = await notebook.learn(trajectory(), memory, bench)
        memory = apply(memory, update.delta)
    assert memory == {"notes/0002.md": "Note 1.\n", "notes/0003.md": "Note 2.\n"}
    assert "Note 1." in bench.prompt(0)


@pytest.mark.parametrize("reply", ["", "<think>hm"])
async def test_an_unreadable_note_changes_nothing(registered: Method, reply: str) -> None:
    update = await registry.create("notebook", {}).learn(trajectory(), {}, FakeBench(reply))
    assert (update.delta, update.reason) == ((), "no note: the reply is empty")


def test_a_whole_sweep_plays_it(tmp_path: Path) -> None:
    spec = tmp_path / "spec.toml"
    spec.write_text(SWEEP, "utf-8")
    root = tmp_path / "runs"
    ended = _ocm("run", str(spec), "--root", str(root), "--output", "json")
    assert ended["complete"]
    played = {(cell["method"], cell["episodes_done"]) for cell in ended["results"]}
    assert played == {("react", 8), ("two-notes", 8)}


def _ocm(*arguments: str) -> dict[str, Any]:
    ended = subprocess.run(
        [sys.executable, "-c", REGISTER_AND_RUN, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert ended.returncode == 0, ended.stderr
    last: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return last
