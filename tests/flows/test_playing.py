"""A chain's failure is its outcome: it never reaches its siblings."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from flows.budgets import Purse
from flows.planning import Plan, plan
from flows.playing import ChainStatus, play_chain
from flows.progress import Silent
from flows.runtime import Runtime
from flows.spec_file import parse_spec
from knowledge_store.lake.spending import Spending
from knowledge_store.lake.writer import ChainWriter
from tests.lake.fake import fake_chain

SPEC = {
    "name": "demo",
    "methods": ["react"],
    "environments": [{"name": "plancraft", "task_set": "val.small", "limit": 2}],
    "backbones": ["scripted"],
}


class Ended:
    """Stands in for the tracker: only the end of a chain is told when nothing is played."""

    def __init__(self) -> None:
        self.statuses: list[str] = []

    async def finish_chain(self, chain: str, status: str, memory: dict[str, str]) -> None:
        self.statuses.append(status)


def idle(root: Path, planned: Plan, tracker: Ended) -> Runtime:
    """A runtime in which nothing can be played."""
    unused = cast(Any, None)
    return Runtime(
        planned,
        root,
        {},
        unused,
        unused,
        cast(Any, tracker),
        Silent(),
        asyncio.Semaphore(1),
        {},
        Purse(planned.spec.budget, Spending(root, "demo", [])),
        unused,
    )


async def test_a_chain_whose_records_are_damaged(tmp_path: Path) -> None:
    planned = plan(parse_spec(SPEC, "s"), {})
    chain = planned.chains[0]
    writer = ChainWriter(tmp_path, "demo", chain.id, chain.key)
    for episode in fake_chain(chain.key, 2, steps=3):
        writer.commit(episode)
    writer.paths.commit(1).write_text("{")
    tracker = Ended()
    outcome = await play_chain(idle(tmp_path, planned, tracker), chain)
    assert outcome.status is ChainStatus.FAILED
    assert "00001.json: damaged" in outcome.message
    assert tracker.statuses == ["failed"]


async def test_a_chain_that_waited_for_a_slot_is_not_read_once_all_are_to_stop(tmp_path: Path) -> None:
    planned = plan(parse_spec(SPEC, "s"), {})
    tracker = Ended()
    runtime = idle(tmp_path, planned, tracker)
    runtime.stop.set()
    outcome = await play_chain(runtime, planned.chains[0])
    assert outcome.status is ChainStatus.STOPPED
    assert list(tmp_path.iterdir()) == []


async def test_a_folder_of_commits_that_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = plan(parse_spec(SPEC, "s"), {})
    chain = planned.chains[0]
    commits = ChainWriter(tmp_path, "demo", chain.id, chain.key).paths.commits
    listed = Path.iterdir

    def refused(path: Path) -> Iterator[Path]:
        if path == commits:
            raise OSError(errno.EIO, "Input/output error")
        return listed(path)

    monkeypatch.setattr(Path, "iterdir", refused)
    outcome = await play_chain(idle(tmp_path, planned, Ended()), chain)
    assert (outcome.status, outcome.episodes) == (ChainStatus.FAILED, 0)
    assert "commits: Input/output error; check the disk" in outcome.message
