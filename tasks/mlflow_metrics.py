"""One episode in numbers, as MLflow shows it. Pure functions of the records, so a replay gives the same."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from knowledge_store.lake.outcomes import EpisodeOutcome
from knowledge_store.memory import OBJECTS, procedures, size
from ocm.types import ChainKey, Episode, Files, Trajectory, TurnKind, UpdateOutcome, Usage, Validity


@dataclass(frozen=True, slots=True)
class Running:
    """Sums over the first episodes of a chain; the curves are their means."""

    episodes: int = 0
    successes: int = 0
    reward: float = 0.0
    invalid_actions: int = 0

    def after(self, episode: Trajectory | EpisodeOutcome) -> Running:
        """These sums with one more episode."""
        return Running(
            self.episodes + 1,
            self.successes + episode.success,
            self.reward + episode.reward,
            self.invalid_actions + episode.invalid_actions,
        )


def episode_metrics(episode: Episode, memory_after: Files, running: Running) -> dict[str, float]:
    """All metrics of one episode; ``running`` includes it.

    ``cost`` (US dollars) is missing when the price of any call is unknown, ``acting_prompt_tokens`` when
    no call was made while acting. Times are seconds,
    ``memory_bytes`` counts UTF-8. ``verdicts_failed`` counts all rounds, repairs included.
    """
    return {
        **_outcome(episode),
        **_usage(episode),
        **{f"seconds_{stage}": seconds for stage, seconds in episode.stages.items()},
        "seconds_total": episode.finished_at - episode.started_at,
        **_knowledge(episode, memory_after),
        "running_sr": running.successes / running.episodes,
        "running_reward": running.reward / running.episodes,
        "running_invalid_actions": running.invalid_actions / running.episodes,
    }


def _outcome(episode: Episode) -> dict[str, float]:
    trajectory = episode.trajectory
    return {
        "success": float(trajectory.success),
        "reward": trajectory.reward,
        "invalid_malformed": trajectory.count(Validity.MALFORMED),
        "invalid_refused": trajectory.count(Validity.REFUSED),
        "invalid_no_effect": trajectory.count(Validity.NO_EFFECT),
        "invalid_actions": trajectory.invalid_actions,
        "steps": len(trajectory.steps),
        "turns": len(trajectory.turns),
        "inspects": trajectory.turns_of(TurnKind.INSPECT),
        "programs": trajectory.turns_of(TurnKind.PROGRAM),
        "vetoes": trajectory.turns_of(TurnKind.VETOED),
        "rehearsal_steps": episode.rehearsal_steps,
    }


def _usage(episode: Episode) -> dict[str, float]:
    usage = sum((call.reply.usage for call in episode.calls), Usage())
    costs = [call.reply.cost for call in episode.calls]
    known = [cost for cost in costs if cost is not None]
    prompt = episode.acting_prompt_tokens
    return {
        "calls": len(episode.calls),
        "acting_calls": episode.acting_calls,
        **({} if prompt is None else {"acting_prompt_tokens": prompt}),
        **{f"tokens_{kind}": float(count) for kind, count in asdict(usage).items()},
        **({"cost": sum(known)} if len(known) == len(costs) else {}),
    }


def _knowledge(episode: Episode, memory_after: Files) -> dict[str, float]:
    update = episode.update
    objects = {path: text for path, text in memory_after.items() if path == OBJECTS}
    return {
        "memory_bytes": episode.memory_bytes,
        "knowledge_objects_definitions": size(objects).definitions,
        "knowledge_procedures": len(procedures(memory_after)),
        "verification_committed": float(update.outcome is UpdateOutcome.COMMITTED),
        "verification_rounds": len(update.rounds),
        "verdicts_failed": sum(not verdict.ok for round in update.rounds for verdict in round.verdicts),
    }


def parameters(key: ChainKey) -> dict[str, str]:
    """A chain's key as flat parameters: nested settings become ``method_settings.max_repairs``."""
    return flatten(asdict(key))


def flatten(nested: dict[str, Any], prefix: str = "") -> dict[str, str]:
    """Nested tables as one table of texts, with names joined by dots."""
    flat: dict[str, str] = {}
    for name, value in nested.items():
        if isinstance(value, dict) and value:
            flat.update(flatten(value, f"{prefix}{name}."))
        else:
            flat[f"{prefix}{name}"] = str(value)
    return flat
