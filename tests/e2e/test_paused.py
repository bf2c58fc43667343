"""A spent budget and a server that is down pause their chains; all else goes on, and so does the command."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from backbones.scripted import ScriptedBackboneClient
from ocm.spec import ScriptedBackbone
from tests.backbones.loopback import Answer, LoopbackServer, Status, answering, serve_in_thread
from tests.e2e.command import Ended, ocm, write_spec

pytestmark = pytest.mark.timeout(900)

SPEC = """
name = "paused"
methods = ["react"]
seeds = [0]

[[environments]]
name = "plancraft"
task_set = "val.small"
limit = 3

[budget.chain]
calls = {calls}

[[backbones]]
name = "works"
model = "loopback"
base_url = "{works}"
api_key_env = ""

[[backbones]]
name = "fails"
model = "loopback"
base_url = "{fails}"
api_key_env = ""
patience_minutes = 0
max_attempts = 2
"""

ABSENT = """
[[backbones]]
name = "absent"
model = "loopback"
base_url = "http://127.0.0.1:9/v1"
api_key_env = ""
patience_minutes = 0
max_attempts = 1
"""


def statuses(ended: Ended) -> dict[str, str]:
    """Backbone -> how its chain ended."""
    return {one["chain"].split("-")[2]: one["status"] for one in ended.events[-1]["chains"]}


def asked(server: LoopbackServer) -> Counter[str]:
    """How often each request came, by its content; the seed tells calls apart."""
    return Counter(json.dumps(one.body, sort_keys=True) for one in server.received)


def test_paused_and_gone_on_with(tmp_path: Path) -> None:
    stand_in = answering(ScriptedBackboneClient(ScriptedBackbone(error_rate=0.0)))
    up = [False]
    refused: list[str] = []

    def failing(request: dict[str, Any]) -> Answer | Any:
        if up[0]:
            return stand_in(request)
        refused.append(json.dumps(request, sort_keys=True))
        return Status(503, "down for maintenance")

    root = tmp_path / "runs"
    with serve_in_thread(stand_in) as works, serve_in_thread(failing) as fails:
        urls = {"works": works.base_url, "fails": fails.base_url}
        spec = write_spec(tmp_path, SPEC.format(calls=1, **urls) + ABSENT)
        first = ocm("run", spec, "--root", root, "--output", "json")
        assert first.code == 3, first.err
        assert statuses(first) == {
            "works": "paused: budget",
            "fails": "paused: backbone",
            "absent": "paused: backbone",
        }
        messages = {one["chain"].split("-")[2]: one["message"] for one in first.events[-1]["chains"]}
        assert "budget.chain.calls = 1 is spent" in messages["works"]
        assert "503" in messages["fails"] and "the same command goes on" in messages["fails"]
        assert len(refused) <= 2, "a server that is down is not asked again and again"

        standing = json.loads(ocm("status", "--root", root, "--format", "json").out)
        assert {one["chain"].split("-")[2]: one["state"] for one in standing} == {
            "works": "paused: budget",
            "fails": "not begun",
            "absent": "not begun",
        }

        up[0] = True
        spec = write_spec(tmp_path, SPEC.format(calls=1000, **urls))
        second = ocm("run", spec, "--root", root, "--output", "json")
        assert second.code == 0, second.err
        assert statuses(second) == {"works": "complete", "fails": "complete"}
        assert max(asked(works).values()) == 1
        assert max((asked(fails) - Counter(refused)).values()) == 1
    counted = ocm("sql", "SELECT count(*) FROM episodes", "--root", root, "--format", "csv")
    assert counted.out.splitlines()[1] == "6"
