"""A new method is one folder and one entry: ``docs/methods.md`` is followed to the letter, and it plays."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agents.registry import METHODS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "methods.md").read_text("utf-8")
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


class Followed:
    """A copy of the methods in which the page was followed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(ROOT / "agents", folder / "agents", ignore=shutil.ignore_patterns("__pycache__"))
        for path, text in re.findall(r"`(agents/notebook/[\w/.]+)`:\n\n```\w+\n(.+?)```", PAGE, re.DOTALL):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, "utf-8")
        for name in ("__init__.py", "prompts/__init__.py"):
            (folder / "agents" / "notebook" / name).write_text("", "utf-8")
        self._register()

    def _register(self) -> None:
        registry = self.folder / "agents" / "registry.py"
        line, entry = (block(opening) for opening in ("from agents.notebook", "Method("))
        text = registry.read_text("utf-8")
        for place, new in (("from agents.ocm.agent", line), ("        Method(\n", f"{entry.rstrip()},\n")):
            assert place in text
            text = text.replace(place, f"{new}{place}", 1)
        registry.write_text(text, "utf-8")

    def ocm(self, *arguments: str) -> str:
        ended = subprocess.run(
            [sys.executable, "-m", "flows.cli", *arguments],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": f"{self.folder}{os.pathsep}{ROOT}"},
            capture_output=True,
            text=True,
            timeout=280,
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout


def block(opening: str) -> str:
    """The block of Python of the page that begins so."""
    (found,) = re.findall(rf"```python\n({re.escape(opening)}.+?)```", PAGE, re.DOTALL)
    return str(found)


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Followed:
    return Followed(tmp_path_factory.mktemp("followed"))


def test_the_page_names_every_method() -> None:
    rows = [line.split("|")[1].strip(" `") for line in PAGE.splitlines() if "|" in line]
    assert {method.agent for method in METHODS.values()} <= set(rows), "each has a row in the table"


def test_its_settings_are_told(followed: Followed) -> None:
    told = followed.ocm("methods", "notebook")
    assert "notebook: One sentence per episode" in told and "notes = 5" in told
    assert "Sentences that are kept." in told


def test_a_whole_sweep_plays_it(followed: Followed) -> None:
    (followed.folder / "spec.toml").write_text(SWEEP, "utf-8")
    end = json.loads(followed.ocm("run", "spec.toml", "--root", "runs", "--output", "json").splitlines()[-1])
    assert end["complete"]
    played = {(cell["method"], cell["episodes_done"]) for cell in end["results"]}
    assert played == {("react", 8), ("two-notes", 8)}
    chain = "two-notes-plancraft-scripted-s0"
    log = followed.ocm("knowledge", "log", chain, "--root", "runs")
    assert [path in log for path in ("notes/0001.md", "notes/0004.md", "notes/0005.md")] == [
        True,
        True,
        False,
    ]
    shown = followed.ocm("knowledge", "show", chain, "--root", "runs")
    assert re.findall(r"notes/\d+\.md", shown) == ["notes/0003.md", "notes/0004.md"]
    first, second = (followed.ocm("show", chain, str(n), "--calls", "--root", "runs") for n in (0, 1))
    assert "# Your notebook" not in first and "# Your notebook" in second
