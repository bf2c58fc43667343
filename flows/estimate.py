"""What a sweep is expected to cost, before anything runs. Pure arithmetic, assumptions in sight.

Rules and step limit are the environment's own, and the length of its observations was measured (its
registry entry). The rest is assumed, in round numbers; the upper bound takes every step, every inspect and
every repair that the settings allow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from backbones.prices import cost, prices_of
from envs import registry as environments
from flows.planning import ChainPlan
from knowledge_store.index import CHARS_PER_TOKEN, estimate_tokens
from ocm.spec import OpenAIBackbone
from ocm.types import Usage


@dataclass(frozen=True, slots=True)
class Assumptions:
    """Per episode, unless it says otherwise. Tokens."""

    steps_share: float = 0.7
    """Share of the step limit that an episode takes on average."""
    inspects: float = 3.0
    corrections: float = 0.3
    instruction_tokens: int = 150
    """The acting prompt without rules and memory."""
    memory_tokens: int = 3_000
    """Level 0 in the acting prompt, on average over a chain; methods without memory have none."""
    reply_tokens: int = 90
    frame_tokens: int = 20
    """What stands around an observation in the dialogue."""
    learn_tokens: int = 2_000
    """A reflection's or an update's prompt without memory and trajectory: instructions, plan, source."""
    trajectory_tokens_at_most: int = 12_000
    """Of a longer episode, the middle is left out."""
    reflect_reply_tokens: int = 500
    update_reply_tokens: int = 1_500
    repairs: float = 0.3


ASSUMED = Assumptions()


@dataclass(frozen=True, slots=True)
class Estimate:
    """Expected calls and tokens of some chains, and at most how many calls."""

    calls: float
    calls_at_most: int
    prompt_tokens: float
    completion_tokens: float
    cost: float | None
    """US dollars without any cache discount; None where a price is unknown."""


def estimate_chain(chain: ChainPlan, assumed: Assumptions = ASSUMED) -> Estimate:
    """The estimate for all episodes of one chain."""
    episodes = len(chain.tasks)
    learns = chain.key.agent != "react"
    settings = chain.key.method_settings
    inspects = assumed.inspects if learns and settings.get("disclosure") == "progressive" else 0.0
    steps = assumed.steps_share * chain.step_limit
    turns = steps + inspects + assumed.corrections
    turn = turn_tokens(chain.key.environment, assumed)
    head = (
        assumed.instruction_tokens + estimate_tokens(chain.rules) + (assumed.memory_tokens if learns else 0)
    )
    prompt = turns * head + turn * turns * (turns - 1) / 2
    completion = turns * assumed.reply_tokens
    calls = turns
    if learns:
        reflections = 1.0 if settings.get("reflection", True) else 0.0
        updates = 1 + (assumed.repairs if settings.get("verification", True) else 0.0)
        calls += reflections + updates
        trajectory = min(turns * turn, assumed.trajectory_tokens_at_most)
        prompt += (reflections + updates) * (assumed.learn_tokens + assumed.memory_tokens + trajectory)
        completion += reflections * assumed.reflect_reply_tokens + updates * assumed.update_reply_tokens
    return Estimate(
        calls * episodes,
        _calls_at_most(chain) * episodes,
        prompt * episodes,
        completion * episodes,
        _cost(chain, prompt * episodes, completion * episodes),
    )


def turn_tokens(environment: str, assumed: Assumptions = ASSUMED) -> float:
    """What one turn adds to the dialogue: a reply and an observation.

    Raises:
        SpecError: unknown environment.
    """
    observation = environments.entry(environment).observation_characters / CHARS_PER_TOKEN
    return assumed.reply_tokens + assumed.frame_tokens + observation


def _calls_at_most(chain: ChainPlan) -> int:
    """Every step with its one correction, all inspects, all repairs, each asked twice."""
    settings = chain.key.method_settings
    acting = 2 * chain.step_limit + int(settings.get("inspects_per_episode", 0))
    if chain.key.agent == "react":
        return acting
    return acting + 2 * (2 + int(settings.get("max_repairs", 0)))


def _cost(chain: ChainPlan, prompt: float, completion: float) -> float | None:
    if not isinstance(chain.backbone, OpenAIBackbone):
        return 0.0
    return cost(Usage(round(prompt), round(completion)), prices_of(chain.backbone))


def total(estimates: Sequence[Estimate]) -> Estimate:
    """The sum; its cost is unknown as soon as one part's is."""
    costs = [one.cost for one in estimates]
    return Estimate(
        sum(one.calls for one in estimates),
        sum(one.calls_at_most for one in estimates),
        sum(one.prompt_tokens for one in estimates),
        sum(one.completion_tokens for one in estimates),
        None if None in costs else sum(cost for cost in costs if cost is not None),
    )
