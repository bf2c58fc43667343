"""An OCM chain over HTTP: the real client against a loopback server that speaks OpenAI's protocol."""

from __future__ import annotations

import json
from pathlib import Path

from backbones.scripted import ScriptedBackboneClient
from ocm.spec import ScriptedBackbone
from tests.backbones.loopback import answering, serve_in_thread
from tests.e2e.command import ocm, write_spec

SPEC = """
name = "http"
methods = ["ocm"]
seeds = [0]

[[environments]]
name = "plancraft"
task_set = "val.small"
limit = 4

[[backbones]]
name = "loopback"
model = "scripted-over-http"
base_url = "{url}"
api_key_env = "LOOPBACK_KEY"
prices = {{ input = 1.0, output = 2.0 }}
"""

KEY = "sk-loopback-0123456789"


def test_a_chain_over_http(tmp_path: Path) -> None:
    script = answering(ScriptedBackboneClient(ScriptedBackbone(error_rate=0.0)))
    with serve_in_thread(script, key=KEY) as server:
        spec = write_spec(tmp_path, SPEC.format(url=server.base_url))
        ended = ocm("run", spec, "--root", tmp_path / "runs", "--output", "json", LOOPBACK_KEY=KEY)
    assert ended.code == 0, ended.err
    (cell,) = ended.events[-1]["results"]
    assert cell["episodes_done"] == 4
    assert cell["measures"]["cost"]["mean"] > 0
    found = ocm(
        "sql",
        "SELECT purpose, count(*) AS n FROM calls GROUP BY 1",
        "--root",
        tmp_path / "runs",
        "--format",
        "jsonl",
    )
    purposes = {row["purpose"]: row["n"] for row in map(json.loads, found.out.splitlines())}
    assert {"act", "reflect", "update"} <= set(purposes)
    assert sum(purposes.values()) == len(server.received)
    assert all(KEY not in path.read_text("utf-8", "replace") for path in (tmp_path / "runs").rglob("*.json"))


def test_a_wrong_key_is_told_before_anything_starts(tmp_path: Path) -> None:
    with serve_in_thread(key=KEY) as server:
        spec = write_spec(tmp_path, SPEC.format(url=server.base_url))
        ended = ocm("run", spec, "--root", tmp_path / "runs", "--output", "quiet", LOOPBACK_KEY="sk-wrong")
    assert ended.code == 1
    assert "LOOPBACK_KEY" in ended.err
    assert "sk-wrong" not in ended.err
