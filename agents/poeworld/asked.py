"""The two learning requests: an extractor, and experts on one surprising transition."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agents.asking import ask
from agents.parsing import fenced_blocks
from agents.poeworld.cases import Case
from agents.poeworld.judging import Told
from agents.poeworld.model import CODE_CHARS, EXTRACTOR_CHARS, WorldModel, checked
from agents.poeworld.settings import PoeWorldSettings
from agents.poeworld.weighing import Variable, probability
from agents.prompts import fill
from agents.protocol import Bench
from ocm.types import Message, Reply

PROMPTS = "agents.poeworld.prompts"
OBSERVATIONS = 6
"""Different observations that an extractor is asked for with."""
SPOKEN = 6
"""Experts that are shown because they spoke of the transition."""


async def extractor(bench: Bench, goal: str, texts: Sequence[str], problem: str, temperature: float) -> str:
    """The code of an extractor, not tried yet.

    Args:
        bench: where it is asked for.
        goal: the task.
        texts: observations of an episode.
        problem: what is wrong with the extractor so far.
        temperature: of the request.

    Raises:
        UnreadableReply: two replies in a row held no code.
        Unfit: the code is no extractor.
    """
    shown = list(dict.fromkeys(texts))[:OBSERVATIONS]
    messages = (
        Message("system", fill(PROMPTS, "extract_system", most=EXTRACTOR_CHARS)),
        Message(
            "user",
            fill(
                PROMPTS,
                "extract_user",
                goal=goal,
                observations="\n\n".join(f"[{place}]\n{text}" for place, text in enumerate(shown, start=1)),
                problem=problem,
            ),
        ),
    )
    blocks, _ = await ask(bench, "extract", messages, _read, None, temperature)
    return checked("\n\n".join(blocks), "extract", 1, EXTRACTOR_CHARS)


async def experts(
    bench: Bench,
    case: Case,
    told: Told,
    variables: Sequence[Variable],
    model: WorldModel,
    settings: PoeWorldSettings,
) -> tuple[str, ...]:
    """Code blocks, not checked yet, that explain a transition.

    Args:
        bench: where they are asked for.
        case: the transition.
        told: its objects, and what changed.
        variables: what the model foresaw of it.
        model: whose experts spoke of it.
        settings: how many, and the temperature.

    Raises:
        UnreadableReply: two replies in a row held no code.
    """
    most = settings.experts_per_surprise
    messages = (
        Message("system", fill(PROMPTS, "experts_system", most=most, chars=CODE_CHARS)),
        Message(
            "user",
            fill(
                PROMPTS,
                "experts_user",
                goal=case.goal,
                before=case.before[0],
                objects="\n".join(told.objects) or "Nothing was found.",
                action=case.action,
                after="(as before)" if case.after == case.before[0] else case.after,
                outcome=_outcome(case, told.changes.values()),
                foreseen=_foreseen(variables, told, model),
                experts=_spoken(variables, model),
            ),
        ),
    )
    blocks, _ = await ask(bench, "experts", messages, _read, None, settings.temperature)
    return blocks[:most]


def _read(reply: Reply) -> tuple[str, ...]:
    return fenced_blocks(reply.text, reply.finish_reason)


def _outcome(case: Case, changes: Iterable[str]) -> str:
    success = "The environment carried it out" if case.success else "The environment did not carry it out"
    reward = "the reward rose" if case.reward else "the reward did not rise"
    return "\n".join([f"{success}; {reward}.", *(f"- {change}" for change in changes)])


def _foreseen(variables: Sequence[Variable], told: Told, model: WorldModel) -> str:
    """The probability of everything that came, or that experts speak of."""
    lines = [
        f"- {_named(one, told)}: probability {probability(one, model.weights):.2f}, "
        f"and it {'came' if one.came else 'did not come'}"
        for one in variables
    ]
    return "\n".join(lines)


def _named(variable: Variable, told: Told) -> str:
    if not variable.name:
        return variable.attribute
    change = told.changes.get(variable.name, "")
    return change.partition(": ")[0] or f"{variable.attribute} of another object"


def _spoken(variables: Sequence[Variable], model: WorldModel) -> str:
    names = list(dict.fromkeys(vote.expert for one in variables for vote in one.votes))
    wrong = {vote.expert for one in variables for vote in one.votes if vote.holds is not one.came}
    order = sorted(names, key=lambda name: (name not in wrong, -model.weights[name], name))[:SPOKEN]
    blocks = [
        f"{name}, {'wrong here' if name in wrong else 'right here'}:\n```python\n{model.experts[name]}```"
        for name in order
    ]
    return "\n\n".join(blocks) or "None."
