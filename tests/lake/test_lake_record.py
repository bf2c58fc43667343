"""Any episode survives the way into a Parquet file and back, and through the chain's own commit."""

from __future__ import annotations

import dataclasses
import io
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from knowledge_store.lake import reader
from knowledge_store.lake.digest import trajectory_sha256
from knowledge_store.lake.outcomes import outcomes
from knowledge_store.lake.record import to_table
from knowledge_store.lake.restore import from_table
from knowledge_store.lake.schema import TABLES, episode_schema, markdown
from knowledge_store.lake.text import escape, unescape
from knowledge_store.lake.writer import ChainWriter
from ocm.identity import memory_hash
from ocm.types import (
    Call,
    ChainKey,
    Change,
    EndReason,
    Episode,
    Inspection,
    MemoryUpdate,
    Message,
    Reply,
    Request,
    Step,
    TaskRef,
    Trajectory,
    Turn,
    TurnKind,
    UpdateOutcome,
    Usage,
    Validity,
    Verdict,
    VerificationRound,
)
from tests.lake.fake import fake_episode, fake_key

TEXT = st.text(st.characters(codec=None), max_size=12)
"""Every code point, lone surrogates included."""
COUNT = st.integers(0, 2**31 - 1)
FLOAT = st.floats(0, 1e9, allow_nan=False)
NAMES = st.lists(TEXT, max_size=3).map(tuple)
JSON = st.dictionaries(
    TEXT, st.one_of(TEXT, st.booleans(), st.integers(-(2**53), 2**53), st.none()), max_size=2
)

STEPS = st.builds(
    Step, TEXT, TEXT, st.floats(0, 1), st.booleans(), st.booleans(), st.sampled_from(list(Validity))
)
TURNS = st.builds(Turn, COUNT, st.sampled_from(list(TurnKind)), TEXT, TEXT, TEXT, COUNT)
INSPECTIONS = st.builds(Inspection, COUNT, NAMES, NAMES, NAMES, TEXT)
TRAJECTORIES = st.builds(
    Trajectory,
    st.builds(TaskRef, TEXT, TEXT, TEXT, TEXT),
    TEXT,
    TEXT,
    st.lists(STEPS, max_size=3).map(tuple),
    st.lists(TURNS, max_size=3).map(tuple),
    st.lists(INSPECTIONS, max_size=2).map(tuple),
    st.sampled_from(list(EndReason)),
)
REQUESTS = st.builds(
    Request,
    TEXT,
    st.lists(st.builds(Message, st.sampled_from(["system", "user", "assistant"]), TEXT), max_size=3).map(
        tuple
    ),
    st.none() | JSON,
    st.just("chain"),
    st.just(0),
    COUNT,
    st.none() | FLOAT,
)
REPLIES = st.builds(
    Reply,
    TEXT,
    TEXT,
    st.builds(Usage, COUNT, COUNT, COUNT, COUNT),
    st.none() | FLOAT,
    FLOAT,
    TEXT,
    TEXT,
    st.integers(1, 9),
)
VERDICTS = st.builds(Verdict, TEXT, st.booleans(), TEXT, TEXT, TEXT, FLOAT, st.booleans())
DELTAS = st.lists(st.builds(Change, TEXT, st.none() | TEXT), max_size=3, unique_by=lambda one: one.path)
ROUNDS = st.lists(st.lists(VERDICTS, max_size=2), max_size=3).map(
    lambda rounds: tuple(VerificationRound(number, tuple(one)) for number, one in enumerate(rounds))
)
KEYS = st.builds(
    ChainKey, TEXT, TEXT, JSON, TEXT, JSON, TEXT, TEXT, TEXT, JSON, st.integers(0, 2**63 - 1), TEXT
)


@st.composite
def episodes(draw: st.DrawFn) -> Episode:
    """The first episode of a chain, with anything in it."""
    delta = tuple(draw(DELTAS))
    after = {change.path: change.content for change in delta if change.content is not None}
    return Episode(
        sweep="sweep",
        chain="chain",
        index=0,
        key=draw(KEYS),
        trajectory=draw(TRAJECTORIES),
        update=MemoryUpdate(
            draw(st.sampled_from(list(UpdateOutcome))), delta, draw(TEXT), draw(TEXT), draw(ROUNDS)
        ),
        calls=tuple(draw(st.lists(st.builds(Call, REQUESTS, REPLIES), max_size=3))),
        memory_before=memory_hash({}),
        memory_after=memory_hash(after),
        started_at=draw(FLOAT),
        finished_at=draw(FLOAT),
        stages=draw(st.dictionaries(TEXT, FLOAT, max_size=3)),
        attempt=draw(st.integers(1, 9)),
        acting_calls=draw(st.integers(0, 3)),
        rehearsal_steps=draw(COUNT),
        memory_bytes=draw(COUNT),
        provenance=draw(st.dictionaries(TEXT, TEXT, max_size=3)),
    )


@given(episodes())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_an_episode_survives_parquet(episode: Episode) -> None:
    file = io.BytesIO()
    pq.write_table(to_table(episode), file)
    back = from_table(pq.read_table(pa.BufferReader(file.getvalue())))
    assert back == episode
    assert trajectory_sha256(back.trajectory) == trajectory_sha256(episode.trajectory)


@given(episodes())
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_an_episode_survives_the_lake(episode: Episode) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        ChainWriter(root, "sweep", "chain", episode.key).commit(episode)
        state = ChainWriter(root, "sweep", "chain", episode.key).resume()
        assert memory_hash(state.memory) == episode.memory_after
        assert reader.load_episode(root, "sweep", "chain", 0) == episode
        (outcome,) = outcomes(root, "sweep", "chain")
        for name in ("index", "started_at", "finished_at"):
            assert getattr(outcome, name) == getattr(episode, name)
        for name in ("success", "reward", "invalid_actions"):
            assert getattr(outcome, name) == getattr(episode.trajectory, name)
        assert set(outcome.used) == set(episode.used)


@given(
    st.recursive(TEXT, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3))
)
def test_escapes_lose_nothing(value: object) -> None:
    assert unescape(escape(value)) == value


def test_what_utf8_cannot_hold_is_stored_as_escapes_and_marked() -> None:
    plain = fake_episode(fake_key(), 0, steps=2)
    step = dataclasses.replace(plain.trajectory.steps[0], action="use \ud800 \\ud800", observation="\udfff\0")
    trajectory = dataclasses.replace(plain.trajectory, steps=(step, plain.trajectory.steps[1]))
    hostile = dataclasses.replace(plain, trajectory=trajectory)
    row = to_table(hostile).to_pylist()[0]
    assert row["escaped"] and row["steps"][0]["action"] == "use \\ud800 \\\\ud800"
    assert from_table(to_table(hostile)) == hostile
    assert not to_table(plain).to_pylist()[0]["escaped"]


def test_a_text_is_stored_once_per_episode() -> None:
    texts = to_table(fake_episode(fake_key(), 0, steps=20)).column("texts")[0].as_py()
    assert len({one["sha256"] for one in texts}) == len(texts)
    assert sum(one["content"].startswith("You play") for one in texts) == 1


def test_token_sums_and_unknown_costs() -> None:
    episode = fake_episode(fake_key(), 0, steps=2)
    row = to_table(episode).to_pylist()[0]
    assert (row["prompt_tokens"], row["completion_tokens"], row["n_calls"]) == (100 + 101 + 102 + 103, 40, 4)
    assert row["cost"] == 0.004
    unknown = dataclasses.replace(
        episode.calls[0], reply=dataclasses.replace(episode.calls[0].reply, cost=None)
    )
    mixed = dataclasses.replace(episode, calls=(unknown, *episode.calls[1:]))
    assert to_table(mixed).to_pylist()[0]["cost"] is None


def test_acting_calls_are_those_before_learning_whatever_they_are_called() -> None:
    episode = dataclasses.replace(fake_episode(fake_key(), 0, steps=3), acting_calls=2)
    row = to_table(episode).to_pylist()[0]
    assert row["acting_calls"] == 2 and row["acting_prompt_tokens"] == (100 + 101) / 2
    assert [(call["purpose"], call["acting"]) for call in row["calls"]] == [
        ("act", True),
        ("act", True),
        ("act", False),
        ("reflect", False),
        ("update", False),
    ]
    silent = dataclasses.replace(episode, acting_calls=0)
    assert to_table(silent).to_pylist()[0]["acting_prompt_tokens"] is None


def test_every_column_has_a_meaning_and_stands_in_the_docs() -> None:
    docs = (Path(__file__).parents[2] / "docs" / "lake.md").read_text()
    assert markdown() in docs, "write schema.markdown() into docs/lake.md again"
    for columns in TABLES.values():
        for column in columns:
            assert column.meaning
            assert f"`{column.name}`" in docs
    assert len(set(episode_schema().names)) == len(episode_schema().names)
