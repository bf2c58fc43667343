"""Whole runs whose servers quote the key: every byte that is left, told or inherited is searched for it."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any

import psutil
import pytest

from backbones.scripted import ScriptedBackboneClient
from ocm.spec import ScriptedBackbone
from tests.backbones.loopback import Answer, Raw, Script, Status, Text, answering, serve_in_thread
from tests.e2e.command import Ended, ocm, start, write_spec
from tests.secrets.canary import canary, leaking_files, leaks

pytestmark = pytest.mark.timeout(300)  # a whole run, on whatever machine

SPEC = """
name = "canary"
methods = ["ocm"]
seeds = [0]
backbones = [{backbones}]

[[environments]]
name = "plancraft"
task_set = "val.small"
limit = 2
"""
BACKBONE = '{{ name = "{name}", model = "m", base_url = "{url}", api_key_env = "THE_LAB", max_attempts = 2, \
patience_minutes = 0, structured_output = "auto" }}'
QUIET_SECRETS = (
    "OPENAI_API_KEY",
    "OPENAI_ADMIN_KEY",
    "MLFLOW_TRACKING_PASSWORD",
    "MLFLOW_TRACKING_TOKEN",
    "PREFECT_API_KEY",
    "AWS_SECRET_ACCESS_KEY",
    "HF_TOKEN",
)


def faults(key: str) -> Mapping[str, Answer]:
    """How a server fails in the middle of a chain, by the backbone's name."""
    return {
        "401": Status(401, f"Incorrect API key provided: Bearer {key}", key),
        "403": Status(403, f"{key} may not"),
        "400": Status(400, f"bad {key}", key),
        "404": Status(404, f"no such model for {key}"),
        "429": Status(429, f"slow down, {key}", key, {"Retry-After": "0", "x-request-id": key}),
        "500": Status(500, f"crashed with {key}", headers={"x-request-id": key}),
        "html": Raw(f"<html>{key}</html>", content_type="text/html"),
        "moved": Status(307, f"see {key}", headers={"Location": f"http://ann:{key}@127.0.0.1:9/{key}"}),
    }


def playing(key: str, fault: Answer | None) -> Script:
    """The scripted model, which says the key and, if it is to fail, does so at its sixth request."""
    model = answering(ScriptedBackboneClient(ScriptedBackbone(error_rate=0.0)))
    number = count(1)

    async def script(request: dict[str, Any]) -> Answer:
        if fault is not None and next(number) > 5:
            return fault
        reply = await model(request)  # type: ignore[misc]
        assert isinstance(reply, Text)
        said = f"My key is {key}.\n{reply.text}" if "schema" not in str(request) else reply.text
        return Text(said, model=f"m {key}", fingerprint=f"fp {key}", finish_reason=f"stop {key}")

    return script


@pytest.fixture(scope="module")
def short_folder() -> Iterator[Path]:
    """For Ray: names of sockets must be short."""
    folder = Path(tempfile.mkdtemp(prefix="ocm-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def inherited(driver: subprocess.Popen[str]) -> dict[str, bytes]:
    """Environment and command line of each process that the driver has started."""
    found = {}
    for child in psutil.Process(driver.pid).children(recursive=True):
        folder = Path("/proc", str(child.pid))
        try:
            command = (folder / "cmdline").read_bytes()
            found[f"{child.pid} {command[:80]!r}"] = command + (folder / "environ").read_bytes()
        except (FileNotFoundError, ProcessLookupError, PermissionError):  # gone meanwhile
            continue
    return found


def test_a_whole_run_keeps_its_secrets(tmp_path: Path, short_folder: Path) -> None:
    key, secret = canary(), canary()
    root = tmp_path / "runs"
    environ: dict[str, Any] = {
        **dict.fromkeys(QUIET_SECRETS, secret),
        "PREFECT_API_AUTH_STRING": f"ann:{secret}",
        "https_proxy": f"http://ann:{secret.replace('/', '%2F')}@127.0.0.1:9",
        "THE_LAB": key,
        "OPENAI_LOG": "debug",
        "PREFECT_LOGGING_LEVEL": "DEBUG",
        "RAY_TMPDIR": str(short_folder),
        "HOME": str(tmp_path),
    }
    with ExitStack() as stack:
        servers = {
            name: stack.enter_context(serve_in_thread(playing(key, fault), key=key))
            for name, fault in {"talks": None, **faults(key)}.items()
        }
        entries = [BACKBONE.format(name=name, url=server.base_url) for name, server in servers.items()]
        spec = write_spec(tmp_path, SPEC.format(backbones=", ".join(entries)))
        ended, processes, driver = run_and_look(spec, root, environ)
        wrong = ocm("run", spec, "--root", root, "--output", "quiet", **{**environ, "THE_LAB": canary()[:-9]})
    assert ended.code == 3, ended.err
    end = next(event for event in ended.events if event["event"] == "sweep_ended")
    statuses = {chain["chain"].rsplit("-", 1)[0]: chain["status"] for chain in end["chains"]}
    assert list(statuses.values()).count("complete") == 1 and len(statuses) == 1 + len(faults(key)), statuses
    shown = ocm("show", "talks", 0, "--calls", "--root", root)
    assert "My key is [key]." in shown.out, shown.err
    told = [ended.out, ended.err, wrong.out, wrong.err, shown.out, shown.err]
    assert [leaks([key, secret], text) for text in told] == [[]] * len(told)
    assert leaks([key, secret], driver), "the search itself must be able to find something"
    assert [name for name, data in processes.items() if leaks([key, secret], data)] == []
    assert sum("EnvHost" in name or "raylet" in name for name in processes) > 1, list(processes)
    assert wrong.code == 1 and "THE_LAB" in wrong.err
    assert leaking_files([key, secret], tmp_path, short_folder) == []
    assert any(short_folder.rglob("raylet*")), "Ray has left its logs elsewhere"


def run_and_look(spec: Path, root: Path, environ: Mapping[str, Any]) -> tuple[Ended, dict[str, bytes], bytes]:
    """Play, and look at the processes at each episode's end; also the driver's own environment."""
    process = start("run", spec, "--root", root, "--output", "json", **environ)
    assert process.stdout is not None
    lines: list[str] = []
    processes: dict[str, bytes] = {}
    own = b""
    for line in process.stdout:
        lines.append(line)
        if '"episode"' in line or '"chain_ended"' in line:
            processes |= inherited(process)
            own = own or Path("/proc", str(process.pid), "environ").read_bytes()
    _, err = process.communicate(timeout=240)
    return Ended(process.returncode, "".join(lines), err), processes, own
