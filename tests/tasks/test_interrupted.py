"""An episode that is interrupted: what was replied is replayed, and the rest goes on as if undisturbed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from knowledge_store.lake.digest import trajectory_json
from knowledge_store.lake.journal import Journal
from ocm.errors import BackboneTransient
from ocm.types import Replay, Reply, Request, Usage
from tasks import bench as benches
from tasks.bench import Stopped
from tasks.episode import Setting, play_episode
from tests.tasks.test_act import MEMORY, TASK, Script
from tests.tasks.test_episode import CODE, PLAN, Hosts, setting

REPLIES = ("Inspect[Door]", "Action: go", "Action: win", PLAN, CODE)


class Failing(Script):
    """Fails after so many replies."""

    def __init__(self, after: int) -> None:
        super().__init__(*REPLIES[:after])
        self.after = after

    async def complete(self, request: Request) -> Reply:
        if request.call == self.after:
            raise BackboneTransient("gone")
        return await super().complete(request)


class Fixed(Script):
    """Knows each call's reply, and which calls it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[int] = []

    async def complete(self, request: Request) -> Reply:
        self.asked.append(request.call)
        return Reply(REPLIES[request.call], "stop", Usage(5, 2), 0.01, 0.1, "script-1")


@pytest.mark.parametrize("after", range(1, len(REPLIES)))
async def test_killed_after_any_reply_it_goes_on_there(tmp_path: Path, after: int) -> None:
    undisturbed = await play_episode(setting(Fixed(), Hosts()), 0, TASK, MEMORY, {})
    journal = Journal(tmp_path / "j")
    with pytest.raises(BackboneTransient):
        await play_episode(setting(Failing(after), Hosts()), 0, TASK, MEMORY, {}, journal)
    journal.close()
    backbone = Fixed()
    episode = await play_episode(setting(backbone, Hosts()), 0, TASK, MEMORY, {}, Journal(tmp_path / "j"))
    assert backbone.asked == list(range(after, len(REPLIES)))
    assert trajectory_json(episode.trajectory) == trajectory_json(undisturbed.trajectory)
    assert episode.memory_after == undisturbed.memory_after
    assert episode.replay == Replay(resumes=1, calls=after)


async def test_a_host_that_dies_costs_no_reply(tmp_path: Path) -> None:
    backbone = Fixed()
    episode = await play_episode(
        setting(backbone, Hosts(faults=1)), 0, TASK, MEMORY, {}, Journal(tmp_path / "j")
    )
    assert backbone.asked == list(range(len(REPLIES)))
    assert (episode.attempt, episode.replay.resumes, episode.replay.calls) == (2, 1, 3)


async def test_a_stop_waits_for_the_reply_under_way_and_asks_no_other(tmp_path: Path) -> None:
    stop = asyncio.Event()

    class Stopping(Fixed):
        async def complete(self, request: Request) -> Reply:
            if request.call == 1:
                stop.set()
                await asyncio.sleep(0.05)
            return await super().complete(request)

    backbone = Stopping()
    journal = Journal(tmp_path / "j")
    with pytest.raises(Stopped):
        await play_episode(setting(backbone, Hosts(), stop=stop), 0, TASK, MEMORY, {}, journal)
    journal.close()
    assert backbone.asked == [0, 1]
    rest = Fixed()
    episode = await play_episode(setting(rest, Hosts()), 0, TASK, MEMORY, {}, Journal(tmp_path / "j"))
    assert rest.asked == [2, 3, 4]
    assert episode.replay == Replay(resumes=1, calls=2)


async def test_a_stop_does_not_wait_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Deaf(Script):
        async def complete(self, request: Request) -> Reply:
            await asyncio.sleep(3600)
            raise AssertionError

    monkeypatch.setattr(benches, "PATIENCE_SECONDS", 0.05)
    stop = asyncio.Event()
    playing: Setting = setting(Deaf(), Hosts(), stop=stop)
    task = asyncio.ensure_future(play_episode(playing, 0, TASK, MEMORY, {}, Journal(tmp_path / "j")))
    await asyncio.sleep(0.05)
    stop.set()
    with pytest.raises(Stopped):
        await asyncio.wait_for(task, 5)
