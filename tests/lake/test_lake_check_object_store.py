"""A lake in an object store checks as it does on a disk: a real S3 server, on loopback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from moto.server import ThreadedMotoServer
from pyarrow import fs

from flows.cli.check import check as command
from knowledge_store.lake.checking.check import check
from knowledge_store.lake.checking.findings import Kind
from knowledge_store.lake.checking.source import _limited, open_source
from knowledge_store.lake.manifest import PlannedChain, write_manifest
from knowledge_store.lake.writer import ChainWriter
from ocm.errors import SpecError, StorageError
from ocm.identity import chain_id
from tests.lake.fake import fake_chain, fake_key

KEY = fake_key()
EPISODES = 3


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The server's address; credentials as the cloud's tools expect them."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    for name, value in {
        "AWS_ACCESS_KEY_ID": "id",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_REGION": "us-east-1",
        "NO_PROXY": "127.0.0.1",
    }.items():
        monkeypatch.setenv(name, value)
    yield f"{host}:{port}"
    server.stop()


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    writer = ChainWriter(tmp_path / "runs", "demo", chain_id(KEY), KEY)
    for episode in fake_chain(KEY, EPISODES, steps=1):
        writer.commit(episode)
    writer.compact()
    planned = [PlannedChain(chain_id(KEY), KEY, EPISODES)]
    write_manifest(tmp_path / "runs", "demo", {"name": "demo"}, planned, {})
    return tmp_path / "runs"


def test_a_lake_in_an_object_store(endpoint: str, lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    query = f"?endpoint_override={endpoint}&scheme=http&region=us-east-1"
    store, _ = fs.FileSystem.from_uri(f"s3://bucket/some/runs{query}&allow_bucket_creation=true")
    store.create_dir("bucket")
    fs.copy_files(str(lake), "bucket/some/runs", fs.LocalFileSystem(), store, use_threads=False)

    report = check(open_source(f"s3://id:secret@bucket/some/runs{query}"))
    assert (report.findings, report.episodes) == ((), EPISODES)
    assert report.root == "s3://bucket/some/runs", "no credentials"

    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{endpoint}")
    (record,) = (lake / "demo/chains").glob("*/commits/00001.json")
    store.delete_file(f"bucket/some/runs/{record.relative_to(lake)}")
    run = CliRunner().invoke(
        command, ["--root", "s3://bucket/some/runs", "--format", "json"], standalone_mode=False
    )
    assert run.return_value == 1
    found = {finding["kind"] for finding in json.loads(run.stdout)["findings"]}
    assert Kind.COMMIT_GAP in found

    with pytest.raises(StorageError, match="AWS_ENDPOINT_URL"):
        check(open_source("s3://no-such-bucket/runs"))
    with pytest.raises(SpecError, match="no lake there"):
        check(open_source("s3://bucket/elsewhere"))


def test_googles_client_is_given_a_limit_unless_it_has_one() -> None:
    """It tried in silence for a quarter of an hour."""
    assert _limited("gs://bucket/runs") == "gs://bucket/runs?retry_limit_seconds=30"
    assert _limited("gs://bucket/runs?scheme=http") == "gs://bucket/runs?scheme=http&retry_limit_seconds=30"
    for url in ("gs://bucket/runs?retry_limit_seconds=5", "s3://bucket/runs"):
        assert _limited(url) == url
