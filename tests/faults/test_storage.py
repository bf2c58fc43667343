"""Storage that is full or read-only in the middle of a sweep: said plainly, nothing half-written, mended."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.answers import Chances
from tests.faults.conftest import Undisturbed
from tests.faults.disturbing import LATENCY
from tests.faults.driver import METHODS, SWEEP, Driver, write_spec
from tests.faults.ledger import answered_twice
from tests.faults.model_server import ModelServer, model_server
from tests.faults.outcome import check_lake, check_mlflow, half_written
from tests.faults.storage import PrivateMounts, private_mounts, refusal

pytestmark = [pytest.mark.faults, pytest.mark.timeout(3600)]

EPISODES = 6
MEGABYTES = 64
FAULTS = {
    "full": (PrivateMounts.fill, PrivateMounts.free, "free disk space"),
    "read-only": (PrivateMounts.lock, PrivateMounts.unlock, "make the file system writable"),
}
"""How it begins, how it ends, and the mend that the message must name."""
POINTS = {"ocm": "episodes", "react": "commits", "asi": "journal"}
"""The folder of each chain that fails while it is played: Parquet files, commit records, replies."""


@pytest.fixture
def mounts() -> Iterator[PrivateMounts]:
    if why := refusal():
        pytest.skip(f"the kernel gives no mount namespace: {why}")
    with private_mounts() as mounts:
        yield mounts


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ModelServer]:
    with model_server(tmp_path / "requests.jsonl", Chances(), LATENCY) as server:
        yield server


@pytest.mark.parametrize("fault", FAULTS)
def test_storage_fails_in_the_middle_and_is_mended(
    fault: str, mounts: PrivateMounts, server: ModelServer, undisturbed: Undisturbed, tmp_path: Path
) -> None:
    begin, end, mend = FAULTS[fault]
    digest = undisturbed(EPISODES)
    root = tmp_path / "runs"
    chains = {line.split("-")[0]: line.split()[0] for line in digest.splitlines()}
    folders = {name: root / SWEEP / "chains" / chain for name, chain in chains.items()}
    points = {name: folders[name] / point for name, point in POINTS.items()}
    compact = folders["ocm"] / "compact"
    services = (root / ".mlflow", root / SWEEP / "prefect")
    mounts.mount(root, 512)
    for folder in (*points.values(), compact, *services):
        mounts.mount(folder, MEGABYTES)
    spec = write_spec(tmp_path / "spec.toml", server.url, EPISODES)
    driver = Driver(spec, root, tmp_path / "logs", before=mounts.entering)

    # Parquet files, commit records and journals, each in another chain
    begin(mounts, points["asi"])  # later it would be given back the room of each journal that is removed
    driver.start_and_play()
    played(driver, {chains["ocm"], chains["react"]})
    for name in ("ocm", "react"):
        begin(mounts, points[name])
    assert driver.wait() == 3, driver.said()
    messages = {chain["chain"]: chain["message"] for chain in driver.events()[-1]["chains"]}
    for name, point in points.items():
        message = messages[chains[name]]
        assert str(point) in message and mend in message, messages
        end(mounts, point)
    assert half_written(mounts.seen(root)) == []

    # MLflow's database, Prefect's database and compaction
    begin(mounts, compact)
    driver.start_and_play()
    played(driver, set(chains.values()))
    for folder in services:
        begin(mounts, folder)
    assert driver.wait() == 3, driver.said()
    ended = {chain["chain"]: chain for chain in driver.events()[-1]["chains"]}
    message = ended[chains["ocm"]]["message"]
    assert message.startswith(f"storage: {compact}: ") and mend in message, message
    assert {ended[chains[name]]["status"] for name in ("react", "asi")} == {"complete"}, ended
    assert "ocm mlflow sync" in driver.said()
    for folder in (compact, *services):
        end(mounts, folder)

    driver.start_and_play()
    assert driver.wait() == 0, driver.said()
    outside = shutil.copytree(mounts.seen(root), tmp_path / "outside")
    assert answered_twice(server.asked()).total() == 0
    check_lake(outside, digest, len(METHODS), EPISODES)
    assert half_written(outside) == []
    check_mlflow(outside, outside / ".mlflow" / "mlflow.db")


def test_no_room_for_the_manifest(mounts: PrivateMounts, tmp_path: Path) -> None:
    root = tmp_path / "runs"
    mounts.mount(root / SWEEP, 1)
    mounts.fill(root / SWEEP, left=1)  # for the lease, which comes first
    spec = write_spec(tmp_path / "spec.toml", "http://127.0.0.1:9/v1", 1)
    driver = Driver(spec, root, tmp_path / "logs", before=mounts.entering)
    driver.start()
    assert driver.wait() == 1
    assert f"{root / SWEEP / 'sweep.json'}: No space left on device; free disk space" in driver.said()
    assert not (mounts.seen(root) / SWEEP / "sweep.json").exists()
    assert "Traceback" not in driver.said()


def played(driver: Driver, chains: set[str]) -> None:
    """Wait until each of these chains has told of an episode in this life, or cannot any more."""
    deadline = time.monotonic() + 600
    while driver.is_running():
        if chains <= {event["chain"] for event in driver.events() if event["event"] == "episode"}:
            return
        assert time.monotonic() < deadline, driver.said()
        time.sleep(0.05)
