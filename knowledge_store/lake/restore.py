"""An :class:`~ocm.types.Episode` from its row in the lake; inverse of :mod:`.record`, without loss."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from knowledge_store.lake.text import unescape
from ocm.types import (
    Call,
    ChainKey,
    Change,
    EndReason,
    Episode,
    Inspection,
    MemoryUpdate,
    Message,
    Replay,
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

Row = dict[str, Any]


def from_table(table: pa.Table) -> Episode:
    """The episode of a one-row table of :func:`~knowledge_store.lake.schema.episode_schema`."""
    return from_row(table.to_pylist()[0])


def from_row(row: Row) -> Episode:
    """The episode of a row; inverse of :func:`~knowledge_store.lake.record.to_row`."""
    row = unescape(row) if row["escaped"] else row
    texts: dict[str, str] = {text["sha256"]: text["content"] for text in row["texts"]}
    key = ChainKey(**json.loads(texts[row["key_sha256"]]))
    return Episode(
        sweep=row["sweep"],
        chain=row["chain"],
        index=row["episode"],
        key=key,
        trajectory=_trajectory(row, texts),
        update=_update(row, texts),
        calls=tuple(_call(call, row, texts) for call in row["calls"]),
        memory_before=row["memory_before"],
        memory_after=row["memory_after"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        stages={stage["stage"]: stage["seconds"] for stage in row["stages"]},
        attempt=row["attempt"],
        acting_calls=row["acting_calls"],
        rehearsal_steps=row["rehearsal_steps"],
        memory_bytes=row["memory_bytes"],
        replay=_replay(row),
        provenance=dict(row["provenance"]),
    )


def _replay(row: Row) -> Replay:
    return Replay(
        resumes=row["resumes"],
        calls=row["replayed_calls"],
        ended=row["replay_ended"],
        dropped=row["dropped_replies"],
        dropped_tokens=row["dropped_tokens"],
        dropped_cost=row["dropped_cost"],
    )


def _trajectory(row: Row, texts: Mapping[str, str]) -> Trajectory:
    return Trajectory(
        task=TaskRef(row["environment"], row["task_set"], row["task"], row["stratum"]),
        goal=texts[row["goal_sha256"]],
        first_observation=texts[row["first_observation_sha256"]],
        steps=tuple(_step(step, texts) for step in row["steps"]),
        turns=tuple(_turn(turn, texts) for turn in row["turns"]),
        inspections=tuple(_inspection(one, texts) for one in row["inspections"]),
        end=EndReason(row["end_reason"]),
    )


def _step(row: Row, texts: Mapping[str, str]) -> Step:
    return Step(
        action=row["action"],
        observation=texts[row["observation_sha256"]],
        reward=row["reward"],
        done=row["done"],
        success=row["success"],
        validity=Validity(row["validity"]),
    )


def _turn(row: Row, texts: Mapping[str, str]) -> Turn:
    return Turn(
        step=row["step"],
        kind=TurnKind(row["kind"]),
        thought=texts[row["thought_sha256"]],
        content=row["content"],
        reply=texts[row["reply_sha256"]],
        call=row["call"],
    )


def _inspection(row: Row, texts: Mapping[str, str]) -> Inspection:
    return Inspection(
        step=row["step"],
        names=tuple(row["names"]),
        found=tuple(row["found"]),
        missing=tuple(row["missing"]),
        text=texts[row["shown_sha256"]],
    )


def _call(row: Row, episode: Row, texts: Mapping[str, str]) -> Call:
    schema = row["schema_sha256"]
    request = Request(
        purpose=row["purpose"],
        messages=tuple(Message(one["role"], texts[one["sha256"]]) for one in row["messages"]),
        schema=None if schema is None else json.loads(texts[schema]),
        chain=episode["chain"],
        episode=episode["episode"],
        call=row["call"],
        temperature=row["temperature"],
    )
    return Call(request, _reply(row, texts))


def _reply(row: Row, texts: Mapping[str, str]) -> Reply:
    return Reply(
        text=texts[row["reply_sha256"]],
        finish_reason=row["finish_reason"],
        usage=Usage(
            row["prompt_tokens"], row["completion_tokens"], row["cached_tokens"], row["reasoning_tokens"]
        ),
        cost=row["cost"],
        latency=row["latency"],
        model=row["model"],
        fingerprint=row["fingerprint"],
        attempts=row["attempts"],
    )


def _update(row: Row, texts: Mapping[str, str]) -> MemoryUpdate:
    return MemoryUpdate(
        outcome=UpdateOutcome(row["update_outcome"]),
        delta=tuple(Change(change["path"], change["content"]) for change in row["memory"]),
        plan=texts[row["plan_sha256"]],
        reason=texts[row["reason_sha256"]],
        rounds=tuple(_round(number, row["verdicts"], texts) for number in row["rounds"]),
    )


def _round(number: int, verdicts: list[Row], texts: Mapping[str, str]) -> VerificationRound:
    chosen = [verdict for verdict in verdicts if verdict["round"] == number]
    return VerificationRound(number, tuple(_verdict(verdict, texts) for verdict in chosen))


def _verdict(row: Row, texts: Mapping[str, str]) -> Verdict:
    return Verdict(
        path=row["path"],
        ok=row["ok"],
        kind=row["kind"],
        report=texts[row["report_sha256"]],
        output=texts[row["output_sha256"]],
        seconds=row["seconds"],
        cached=row["cached"],
    )
