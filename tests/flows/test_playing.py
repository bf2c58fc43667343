"""A chain's failure is its outcome: it never reaches its siblings."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

from flows.budgets import Purse
from flows.planning import plan
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


async def test_a_chain_whose_records_are_damaged(tmp_path: Path) -> None:
    planned = plan(parse_spec(SPEC, "s"), {})
    chain = planned.chains[0]
    writer = ChainWriter(tmp_path, "demo", chain.id, chain.key)
    for episode in fake_chain(chain.key, 2, steps=3):
        writer.commit(episode)
    writer.paths.commit(1).write_text("{")
    tracker, unused = Ended(), cast(Any, None)
    runtime = Runtime(
        planned,
        tmp_path,
        {},
        unused,
        unused,
        cast(Any, tracker),
        Silent(),
        asyncio.Semaphore(1),
        {},
        Purse(planned.spec.budget, Spending(tmp_path, "demo", [])),
    )
    outcome = await play_chain(runtime, chain)
    assert outcome.status is ChainStatus.FAILED
    assert "00001.json: damaged" in outcome.message
    assert tracker.statuses == ["failed"]
