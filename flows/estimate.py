"""What a sweep is expected to cost, before anything runs. Pure arithmetic, assumptions in sight.

Rules and step limit are the environment's own, and the length of its observations was measured (its
registry entry). The rest is assumed, in round numbers: what a method asks is its workload
(:mod:`agents.workload`). The upper bound takes every step and every further call that the settings allow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agents import registry as methods
from agents.workload import Workload
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
    corrections: float = 0.3
    instruction_tokens: int = 150
    """The acting prompt without rules and memory."""
    reply_tokens: int = 90
    frame_tokens: int = 20
    """What stands around an observation in the dialogue."""
    trajectory_tokens_at_most: int = 12_000
    """Of a longer episode, the middle is left out."""


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
    work = workload(chain)
    steps = assumed.steps_share * chain.step_limit
    turns = work.turns_per_step * steps + work.turns_per_episode + assumed.corrections
    reply = assumed.reply_tokens if work.reply_tokens is None else work.reply_tokens
    observation = turn_tokens(chain.key.environment, assumed) - assumed.reply_tokens
    turn = reply + observation * max(1.0, 1 / work.turns_per_step)  # one reply may act for several steps
    head = assumed.instruction_tokens + estimate_tokens(chain.rules) + work.memory_tokens
    prompt = turns * head + turn * turns * (turns - 1) / 2
    completion = turns * reply
    calls = turns
    for asked in work.learning:
        times = work.learns * asked.expected
        memory = work.memory_tokens if asked.sees_memory else 0
        trajectories = asked.trajectories * min(turns * turn, assumed.trajectory_tokens_at_most)
        calls += times
        prompt += times * (asked.prompt_tokens + memory + trajectories)
        completion += times * asked.reply_tokens
    return Estimate(
        calls * episodes,
        _calls_at_most(work, chain.step_limit) * episodes,
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


def workload(chain: ChainPlan) -> Workload:
    """What the chain's method asks of a backbone with the chain's settings."""
    key = chain.key
    return methods.method(key.agent).workload(methods.full_settings(key.agent, key.method_settings))


def _calls_at_most(work: Workload, step_limit: int) -> int:
    """Every step with all that may be asked for it, and all calls to learn."""
    acting = work.calls_per_step_at_most * step_limit + work.calls_per_episode_at_most
    return acting + work.learning_calls_at_most


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
