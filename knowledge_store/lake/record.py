"""An :class:`~ocm.types.Episode` as one Arrow row with nested lists; :mod:`.restore` is the way back.

A call's request is stored without its chain and episode: they are the episode's own.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pyarrow as pa

from knowledge_store.lake.schema import episode_schema
from knowledge_store.lake.text import escape
from ocm.identity import canonical_json, sha256
from ocm.types import (
    Call,
    Change,
    Episode,
    Inspection,
    Replay,
    Step,
    Turn,
    Usage,
    Validity,
    VerificationRound,
)

Row = dict[str, Any]


class _Texts:
    """The texts of one episode by hash; the same text is hashed once."""

    def __init__(self) -> None:
        self._hashes: dict[str, str] = {}

    def add(self, text: str) -> str:
        known = self._hashes.get(text)
        if known is None:
            known = self._hashes[text] = sha256(text)
        return known

    def rows(self) -> list[Row]:
        return [{"sha256": known, "content": text} for text, known in self._hashes.items()]


def to_table(episode: Episode) -> pa.Table:
    """One row of :func:`~knowledge_store.lake.schema.episode_schema`."""
    row = to_row(episode)
    try:
        return pa.Table.from_pylist([row], schema=episode_schema())
    except UnicodeEncodeError:
        return pa.Table.from_pylist([escape(row) | {"escaped": True}], schema=episode_schema())


def to_row(episode: Episode) -> Row:
    """The row as plain Python values."""
    texts = _Texts()
    trajectory = episode.trajectory
    row = _identity(episode) | _outcome(episode) | _usage(episode) | _replay(episode.replay)
    row |= _text_hashes(episode, texts)
    return row | {
        "steps": [_step(number, step, texts) for number, step in enumerate(trajectory.steps, 1)],
        "turns": [_turn(number, turn, texts) for number, turn in enumerate(trajectory.turns)],
        "inspections": [_inspection(number, one, texts) for number, one in enumerate(trajectory.inspections)],
        "calls": [
            _call(number, call, number < episode.acting_calls, texts)
            for number, call in enumerate(episode.calls)
        ],
        "verdicts": _verdicts(episode.update.rounds, texts),
        "memory": [_change(number, change) for number, change in enumerate(episode.update.delta)],
        "stages": [{"stage": stage, "seconds": seconds} for stage, seconds in episode.stages.items()],
        "texts": texts.rows(),
        "escaped": False,
    }


def _identity(episode: Episode) -> Row:
    key, task = episode.key, episode.trajectory.task
    return {
        "sweep": episode.sweep,
        "chain": episode.chain,
        "episode": episode.index,
        "method": key.method,
        "environment": task.environment,
        "task_set": task.task_set,
        "backbone": key.backbone,
        "seed": key.seed,
        "task": task.id,
        "stratum": task.stratum,
    }


def _outcome(episode: Episode) -> Row:
    trajectory = episode.trajectory
    return {
        "agent": episode.key.agent,
        "success": trajectory.success,
        "reward": trajectory.reward,
        "end_reason": trajectory.end.value,
        "n_steps": len(trajectory.steps),
        "n_turns": len(trajectory.turns),
        "n_inspections": len(trajectory.inspections),
        "rehearsal_steps": episode.rehearsal_steps,
        "invalid_actions": trajectory.invalid_actions,
        "malformed": trajectory.count(Validity.MALFORMED),
        "refused": trajectory.count(Validity.REFUSED),
        "no_effect": trajectory.count(Validity.NO_EFFECT),
        "update_outcome": episode.update.outcome.value,
        "rounds": [one.round for one in episode.update.rounds],
        "memory_before": episode.memory_before,
        "memory_after": episode.memory_after,
        "memory_bytes": episode.memory_bytes,
        "started_at": episode.started_at,
        "finished_at": episode.finished_at,
        "attempt": episode.attempt,
        "provenance": list(episode.provenance.items()),
    }


def _usage(episode: Episode) -> Row:
    calls = episode.calls
    total = sum((call.reply.usage for call in calls), Usage())
    return {
        "n_calls": len(calls),
        "acting_calls": episode.acting_calls,
        "acting_prompt_tokens": episode.acting_prompt_tokens,
        "prompt_tokens": total.prompt,
        "completion_tokens": total.completion,
        "cached_tokens": total.cached,
        "reasoning_tokens": total.reasoning,
        "cost": episode.cost,
        "latency": sum(call.reply.latency for call in calls),
        "requests": sum(call.reply.attempts for call in calls),
    }


def _replay(replay: Replay) -> Row:
    return {
        "resumes": replay.resumes,
        "replayed_calls": replay.calls,
        "replay_ended": replay.ended,
        "dropped_replies": replay.dropped,
        "dropped_tokens": replay.dropped_tokens,
        "dropped_cost": replay.dropped_cost,
    }


def _text_hashes(episode: Episode, texts: _Texts) -> Row:
    return {
        "key_sha256": texts.add(canonical_json(asdict(episode.key))),
        "goal_sha256": texts.add(episode.trajectory.goal),
        "first_observation_sha256": texts.add(episode.trajectory.first_observation),
        "plan_sha256": texts.add(episode.update.plan),
        "reason_sha256": texts.add(episode.update.reason),
    }


def _step(number: int, step: Step, texts: _Texts) -> Row:
    return {
        "step": number,
        "action": step.action,
        "reward": step.reward,
        "done": step.done,
        "success": step.success,
        "validity": step.validity.value,
        "observation_sha256": texts.add(step.observation),
    }


def _turn(number: int, turn: Turn, texts: _Texts) -> Row:
    return {
        "turn": number,
        "step": turn.step,
        "kind": turn.kind.value,
        "content": turn.content,
        "call": turn.call,
        "thought_sha256": texts.add(turn.thought),
        "reply_sha256": texts.add(turn.reply),
    }


def _inspection(number: int, inspection: Inspection, texts: _Texts) -> Row:
    return {
        "inspection": number,
        "step": inspection.step,
        "names": list(inspection.names),
        "found": list(inspection.found),
        "missing": list(inspection.missing),
        "shown_sha256": texts.add(inspection.text),
    }


def _call(number: int, call: Call, acting: bool, texts: _Texts) -> Row:
    request, reply = call.request, call.reply
    schema = None if request.schema is None else texts.add(canonical_json(request.schema))
    return {
        "position": number,
        "call": request.call,
        "purpose": request.purpose,
        "acting": acting,
        "temperature": request.temperature,
        "messages": [{"role": one.role, "sha256": texts.add(one.content)} for one in request.messages],
        "finish_reason": reply.finish_reason,
        "prompt_tokens": reply.usage.prompt,
        "completion_tokens": reply.usage.completion,
        "cached_tokens": reply.usage.cached,
        "reasoning_tokens": reply.usage.reasoning,
        "cost": reply.cost,
        "latency": reply.latency,
        "model": reply.model,
        "fingerprint": reply.fingerprint,
        "attempts": reply.attempts,
        "reply_sha256": texts.add(reply.text),
        "schema_sha256": schema,
    }


def _verdicts(rounds: tuple[VerificationRound, ...], texts: _Texts) -> list[Row]:
    pairs = [(one.round, verdict) for one in rounds for verdict in one.verdicts]
    return [
        {
            "position": number,
            "round": round_,
            "path": verdict.path,
            "ok": verdict.ok,
            "kind": verdict.kind,
            "seconds": verdict.seconds,
            "cached": verdict.cached,
            "report_sha256": texts.add(verdict.report),
            "output_sha256": texts.add(verdict.output),
        }
        for number, (round_, verdict) in enumerate(pairs)
    ]


def _change(number: int, change: Change) -> Row:
    known = None if change.content is None else sha256(change.content)
    return {"position": number, "path": change.path, "sha256": known, "content": change.content}
