"""The methods by name. A new method is one folder beside this file and one entry here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError

from agents import workloads
from agents.asi.agent import AsiAgent
from agents.asi.settings import AsiSettings
from agents.awm.agent import AwmAgent
from agents.awm.settings import AwmSettings
from agents.expel.agent import ExpelAgent
from agents.expel.settings import ExpelSettings
from agents.ocm.agent import OcmAgent
from agents.ocm.settings import OcmSettings
from agents.poeworld.agent import PoeWorldAgent
from agents.poeworld.settings import PoeWorldSettings
from agents.prompts import SHARED, prompts_hash
from agents.protocol import Agent
from agents.react.agent import ReactAgent, ReactSettings
from agents.reflexion.agent import ReflexionAgent, ReflexionSettings
from agents.voyager.agent import VoyagerAgent
from agents.voyager.settings import VoyagerSettings
from agents.walle.agent import WalleAgent
from agents.walle.settings import WalleSettings
from agents.workload import Workload, no_memory, one_update
from agents.worldcoder.agent import WorldcoderAgent
from agents.worldcoder.settings import WorldcoderSettings
from ocm.errors import Problem, SpecError
from ocm.spec import Model


@dataclass(frozen=True, slots=True)
class Method:
    """A named method: an agent with preset settings."""

    name: str
    agent: str
    summary: str
    source: str
    settings_model: type[Model]
    build: Callable[[Any], Agent]
    preset: Mapping[str, Any] = field(default_factory=dict)
    prompts: tuple[str, ...] = (SHARED,)
    workload: Callable[[Any], Workload] = one_update
    """What it asks of a backbone with given settings, for estimates."""


def _ocm(name: str, summary: str, **preset: Any) -> Method:
    source = "arXiv 2607.02846"
    prompts = (SHARED, "agents.ocm.prompts")
    return Method(name, "ocm", summary, source, OcmSettings, OcmAgent, preset, prompts, workloads.ocm)


METHODS: Mapping[str, Method] = {
    method.name: method
    for method in (
        _ocm("ocm", "Executable object and procedure knowledge, verified before it is committed"),
        _ocm("ocm-no-verification", "OCM that commits updates without executing them", verification=False),
        _ocm("ocm-no-objects", "OCM with procedures only", objects=False),
        _ocm("ocm-no-procedures", "OCM with object knowledge only", procedures=False),
        _ocm("ocm-no-disclosure", "OCM with all source in the acting prompt", disclosure="full"),
        _ocm("ocm-no-reflection", "OCM that updates without a learning plan", reflection=False),
        Method(
            "react",
            "react",
            "Thought and action in turn, no memory",
            "arXiv 2210.03629",
            ReactSettings,
            ReactAgent,
            workload=no_memory,
        ),
        Method(
            "reflexion",
            "reflexion",
            "Reflections in words on the last failures",
            "arXiv 2303.11366",
            ReflexionSettings,
            ReflexionAgent,
            prompts=(SHARED, "agents.reflexion.prompts"),
            workload=workloads.reflexion,
        ),
        Method(
            "awm",
            "awm",
            "Workflows in words, induced from successes",
            "arXiv 2409.07429",
            AwmSettings,
            AwmAgent,
            prompts=(SHARED, "agents.awm.prompts"),
            workload=workloads.awm,
        ),
        Method(
            "asi",
            "asi",
            "Skills induced from successes, verified by replay, called as actions",
            "arXiv 2504.06821",
            AsiSettings,
            AsiAgent,
            prompts=(SHARED, "agents.asi.prompts"),
            workload=workloads.asi,
        ),
        Method(
            "expel",
            "expel",
            "Voted insights from compared episodes, and past successes of similar tasks",
            "arXiv 2308.10144",
            ExpelSettings,
            ExpelAgent,
            prompts=(SHARED, "agents.expel.prompts"),
            workload=workloads.expel,
        ),
        Method(
            "poeworld",
            "poeworld",
            "Weighted small experts foresee what actions do, and choose among proposals",
            "arXiv 2505.10819",
            PoeWorldSettings,
            PoeWorldAgent,
            prompts=(SHARED, "agents.poeworld.prompts"),
            workload=workloads.poeworld,
        ),
        Method(
            "voyager",
            "voyager",
            "Programs that reached a goal, found by description, called by later programs",
            "arXiv 2305.16291",
            VoyagerSettings,
            VoyagerAgent,
            prompts=(SHARED, "agents.voyager.prompts"),
            workload=workloads.voyager,
        ),
        Method(
            "walle",
            "walle",
            "Code rules, mined from unforeseen failures, that hold actions back",
            "arXiv 2410.07484",
            WalleSettings,
            WalleAgent,
            prompts=(SHARED, "agents.walle.prompts"),
            workload=workloads.walle,
        ),
        Method(
            "worldcoder",
            "worldcoder",
            "A transition and reward program, fitted to what was seen, chooses among proposed plans",
            "arXiv 2402.12275",
            WorldcoderSettings,
            WorldcoderAgent,
            prompts=(SHARED, "agents.worldcoder.prompts"),
            workload=workloads.worldcoder,
        ),
    )
}


def method(name: str) -> Method:
    """The method of this name.

    Raises:
        SpecError: there is none; the message names the closest.
    """
    if name in METHODS:
        return METHODS[name]
    close = get_close_matches(name, METHODS, n=3, cutoff=0.4) or sorted(METHODS)
    raise SpecError(f"unknown method {name!r}: did you mean {' or '.join(close)}? `ocm methods` lists all")


def full_settings(name: str, settings: Mapping[str, Any]) -> Model:
    """Preset and given settings over the defaults.

    Raises:
        SpecError: one problem per wrong setting.
    """
    entry = method(name)
    try:
        return entry.settings_model.model_validate({**entry.preset, **settings})
    except ValidationError as error:
        known = list(entry.settings_model.model_fields)
        problems = [
            _problem(one["type"], one["loc"], one["input"], one["msg"], known) for one in error.errors()
        ]
        raise SpecError(f"wrong settings of method {name}", problems) from error


def _problem(
    kind: str, place: tuple[int | str, ...], value: object, message: str, known: list[str]
) -> Problem:
    """One wrong setting: an unknown name, a wrong value, or settings that do not go together."""
    field = ".".join(map(str, place))
    if kind == "extra_forbidden":
        close = get_close_matches(field, known, n=1)
        guess = f"did you mean {close[0]}? " if close else ""
        mend = f"no such setting; {guess}Known settings: {', '.join(known) or 'none'}"
        return Problem(f"settings.{field}", repr(value), mend)
    mend = message.removeprefix("Value error, ")
    return Problem(f"settings.{field}", repr(value), mend) if field else Problem("settings", "", mend)


def create(name: str, settings: Mapping[str, Any]) -> Agent:
    """A fresh agent; all its state is in the memory that it is shown.

    Raises:
        SpecError: unknown method or wrong settings.
    """
    return method(name).build(full_settings(name, settings))


def method_prompts(name: str) -> str:
    """SHA-256 over the prompt files that the method reads."""
    return prompts_hash(*method(name).prompts)
