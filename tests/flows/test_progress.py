"""What a running sweep tells: bars, lines of text, lines of JSON."""

from __future__ import annotations

import io
import json
import os

import pytest
from rich.console import Console

from flows.planning import Plan, plan
from flows.progress import Bars, EpisodeEvent, JsonLines, Lasting, Listener, Plain, Silent
from flows.spec_file import parse_spec
from flows.sweep import artifact_key


@pytest.fixture(scope="module")
def small() -> Plan:
    table = {
        "name": "s",
        "methods": ["ocm", "react"],
        "environments": [{"name": "plancraft", "limit": 2}],
        "backbones": ["scripted"],
        "seeds": [0],
    }
    return plan(parse_spec(table, "s"), {})


def tell_all(listener: Listener, small: Plan, cost: float | None = 0.25) -> None:
    first, second = small.chains
    listener.stage("starting")
    listener.sweep_started(small, {first.id: 1})
    listener.episode(EpisodeEvent(first.id, 1, True, 1.0, 2, cost, "committed"))
    listener.episode(EpisodeEvent(second.id, 0, False, 0.0, 3, cost, "unchanged"))
    listener.chain_ended(first, "complete", "")
    listener.chain_ended(second, "failed", "backbone: no server")
    listener.close()


def test_json_lines(small: Plan) -> None:
    stream = io.StringIO()
    tell_all(JsonLines(stream), small)
    events = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [event["event"] for event in events] == [
        "stage",
        "sweep_started",
        "episode",
        "episode",
        "chain_ended",
        "chain_ended",
    ]
    assert events[1]["episodes"] == 4
    assert events[1]["done"] == 1
    assert events[2]["success"] is True


@pytest.mark.parametrize(("cost", "expected"), [(0.25, "cost $0.50"), (None, "cost unknown")])
def test_plain_and_bars_show_rates_cost_and_failures(small: Plan, cost: float | None, expected: str) -> None:
    for kind in (Plain, Bars):
        stream = io.StringIO()
        tell_all(kind(Console(file=stream, width=160, force_terminal=kind is Bars)), small, cost)
        text = stream.getvalue()
        assert expected in text
        assert "SR 100.0%" in text
        assert "no server" in text


def test_silent_tells_nothing(small: Plan, capsys: pytest.CaptureFixture[str]) -> None:
    tell_all(Silent(), small)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("name", "key"),
    [("Demo", "demo-results"), ("gpt-4.1_mini", "gpt-4-1-mini-results"), ("a--", "a-results")],
)
def test_artifact_keys_are_what_prefect_takes(name: str, key: str) -> None:
    assert artifact_key(name, "results") == key


def test_a_closed_pipe_ends_nothing() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as stream:
        listener = JsonLines(Lasting(stream))
        for _ in range(3):
            listener.stage("nobody hears this")
