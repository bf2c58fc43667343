"""The workload of each method: what is assumed of it, from its settings, before anything runs.

Shares assume that about four in ten episodes succeed.
"""

from __future__ import annotations

from agents.asi.settings import AsiSettings
from agents.awm.settings import AwmSettings
from agents.expel.settings import ExpelSettings
from agents.ocm.settings import OcmSettings
from agents.poeworld.settings import PoeWorldSettings
from agents.reflexion.agent import ReflexionSettings
from agents.voyager.settings import VoyagerSettings
from agents.walle.settings import WalleSettings
from agents.workload import LearningCalls, Workload
from agents.worldcoder.settings import WorldcoderSettings

SUCCEED = 0.4
"""Share of episodes that succeed."""
TOKENS_PER_WORD = 1.4
CHARS_PER_TOKEN = 4


def ocm(settings: OcmSettings) -> Workload:
    """Three inspects, a plan, a delta, and a repair in three of ten episodes."""
    reflections = 1.0 if settings.reflection else 0.0
    updates = 1.3 if settings.verification else 1.0
    return Workload(
        memory_tokens=3_000,
        turns_per_episode=3.0 if settings.disclosure == "progressive" else 0.0,
        calls_per_episode_at_most=settings.inspects_per_episode,
        learning=(LearningCalls(reflections, 500), LearningCalls(updates, 1_500)),
        learning_calls_at_most=2 * (2 + settings.max_repairs),
    )


def reflexion(settings: ReflexionSettings) -> Workload:
    """One reflection after a failure, without a correction."""
    reflection = round(settings.words * TOKENS_PER_WORD)
    return Workload(
        memory_tokens=settings.window * (reflection + 40),
        learns=1 - SUCCEED,
        learning=(LearningCalls(1, reflection, prompt_tokens=300),),
        learning_calls_at_most=1,
    )


def expel(settings: ExpelSettings) -> Workload:
    """Episodes like the present one and insights; one comparison of two episodes where a pair is found."""
    examples = settings.similar_successes * settings.example_tokens // 2
    return Workload(
        memory_tokens=min(settings.memory_tokens, 40 * settings.max_rules + examples),
        learns=0.6,
        learning=(LearningCalls(1, 200, prompt_tokens=900, sees_memory=False, trajectories=2),),
        learning_calls_at_most=2,
    )


def awm(settings: AwmSettings) -> Workload:
    """Workflows half full on average; one induction after a success, and a merge once in a while."""
    memory = min(settings.memory_tokens, 150 * settings.max_workflows) // 2
    merge = LearningCalls(0.1, memory, prompt_tokens=300, trajectories=0)
    return Workload(
        memory_tokens=memory,
        learns=SUCCEED,
        learning=(LearningCalls(1, 600, prompt_tokens=600, sees_memory=False), merge),
        learning_calls_at_most=4,
    )


def asi(settings: AsiSettings) -> Workload:
    """Skills half full on average, one induction after a success. That a skill acts for several steps is
    left out: how often one fits is not known beforehand."""
    return Workload(
        memory_tokens=min(settings.skill_tokens, 150 * settings.max_skills) // 2,
        learns=SUCCEED,
        learning=(LearningCalls(1, 900, prompt_tokens=900),),
        learning_calls_at_most=2,
    )


def worldcoder(settings: WorldcoderSettings) -> Workload:
    """A proposal of plans each step, and a plain turn where none is foreseen to work; most of the budget of
    programs. The program is not in the acting prompt."""
    calls = settings.calls_per_episode + settings.plan_calls
    program = min(2_500, settings.program_chars // CHARS_PER_TOKEN)
    return Workload(
        turns_per_step=1.3,
        reply_tokens=200,
        calls_per_step_at_most=3,
        learning=(LearningCalls(0.7 * calls, program, prompt_tokens=program + 2_500, trajectories=0),),
        learning_calls_at_most=calls,
    )


def walle(settings: WalleSettings) -> Workload:
    """One veto in ten steps. Each round predicts a batch, mines up to so many verbs, and codes the rules."""
    mined = LearningCalls(min(1.5, settings.mined_verbs), 500, prompt_tokens=2_500, trajectories=0)
    batch = LearningCalls(1, 15 * settings.batch, prompt_tokens=80 * settings.batch, trajectories=0)
    return Workload(
        turns_per_step=1.1,
        calls_per_step_at_most=2 * (1 + settings.max_repropose),
        learns=1 / settings.interval,
        learning=(batch, mined, LearningCalls(1, 900, prompt_tokens=1_200, trajectories=0)),
        learning_calls_at_most=2 * (2 + settings.mined_verbs),
    )


def voyager(settings: VoyagerSettings) -> Workload:
    """A program for about four steps, a critic between programs, a description of each that is kept."""
    critic = 1 if settings.critic else 0
    return Workload(
        memory_tokens=settings.top_k * 250,
        turns_per_step=0.25 * (1 + critic),
        reply_tokens=350 if critic else 500,
        calls_per_step_at_most=2 + 4 * critic,
        learns=SUCCEED,
        learning=(LearningCalls(1, 80, prompt_tokens=500, sees_memory=False),),
        learning_calls_at_most=2,
    )


def poeworld(settings: PoeWorldSettings) -> Workload:
    """A list of proposals each step, and a plain turn where it cannot be read; experts for surprises."""
    surprises = LearningCalls(0.5 * settings.surprises, 800, prompt_tokens=1_500, trajectories=0)
    return Workload(
        memory_tokens=min(150 * settings.shown, settings.memory_chars // CHARS_PER_TOKEN),
        turns_per_step=1.1,
        calls_per_step_at_most=3,
        learning=(LearningCalls(0.2, 500), surprises),
        learning_calls_at_most=2 * (1 + settings.surprises),
    )
