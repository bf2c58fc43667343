"""The environments by name. A new environment is one folder beside this file and one entry here.

Nothing of an environment is imported before it is created or its settings are looked at.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import Any

from pydantic import ValidationError

from envs.protocol import Environment
from ocm.errors import Problem, SpecError
from ocm.spec import Model
from ocm.types import TaskRef

Probe = Callable[[Sequence[str], random.Random], str]
"""The next action, made from all observations so far (o0 first) and drawn from a generator. It knows no
answers; at least half of its actions are valid ones."""


@dataclass(frozen=True, slots=True)
class EnvironmentEntry:
    """A named environment and where its parts are found (``module:name``).

    Plain data: hosts get it from the driver, so a new one needs no change there.
    """

    name: str
    summary: str
    task_sets: tuple[str, ...]
    default_task_set: str
    """The one of the paper."""
    settings: str
    """A settings model (:class:`ocm.spec.Model`)."""
    factory: str
    """Called with an instance of the settings model. It starts no simulator: tasks and rules are asked of
    it in the driver, and the simulator starts at the first ``reset``."""
    memory_mb: int
    """What a host that plays it needs, simulator included: Ray reserves so much."""
    probe: str | None = None
    """A :data:`Probe`: what checks and measurements do in it. Without one, a check only resets."""
    strata: tuple[str, ...] = ()
    """The order of the strata in tables; those not named follow as they first appear in the task set."""
    observation_characters: int = 400
    """Mean length of an observation, for estimates of cost: what ``ocm tasks --check NAME --steps LIMIT``
    says of its probe's play."""


ENVIRONMENTS: Mapping[str, EnvironmentEntry] = {
    entry.name: entry
    for entry in (
        EnvironmentEntry(
            name="plancraft",
            summary="Craft a Minecraft item from an inventory, or say that it is impossible",
            task_sets=("train", "val", "val.small", "test", "test.small"),
            default_task_set="test.small",
            settings="envs.plancraft.settings:PlancraftSettings",
            factory="envs.plancraft.environment:PlancraftEnvironment",
            memory_mb=150,
            probe="envs.plancraft.probe:probe",
            observation_characters=680,
            strata=("easy", "medium", "hard", "impossible"),
        ),
        EnvironmentEntry(
            name="scienceworld",
            summary="Do an elementary-school science experiment in a simulated house",
            task_sets=("train.first5", "dev.first5", "test.first5", "train", "dev", "test"),
            default_task_set="test.first5",
            settings="envs.scienceworld.settings:ScienceworldSettings",
            factory="envs.scienceworld.environment:ScienceworldEnvironment",
            memory_mb=450,
            probe="envs.scienceworld.probe:probe",
            observation_characters=105,
        ),
        EnvironmentEntry(
            name="alfworld",
            summary="Find, change and place household objects",
            task_sets=("train", "valid_seen", "valid_unseen", "own"),
            default_task_set="valid_unseen",
            settings="envs.alfworld.settings:AlfworldSettings",
            factory="envs.alfworld.environment:AlfworldEnvironment",
            memory_mb=200,
            probe="envs.alfworld.probe:probe",
            observation_characters=55,
            strata=(
                "pick_and_place_simple",
                "pick_clean_then_place_in_recep",
                "pick_heat_then_place_in_recep",
                "pick_cool_then_place_in_recep",
                "look_at_obj_in_light",
                "pick_two_obj_and_place",
            ),
        ),
    )
}


def names() -> tuple[str, ...]:
    """The registered names, in the registry's order."""
    return tuple(ENVIRONMENTS)


def entry(name: str) -> EnvironmentEntry:
    """The environment of this name.

    Raises:
        SpecError: there is none; the message names the closest.
    """
    if name in ENVIRONMENTS:
        return ENVIRONMENTS[name]
    close = get_close_matches(name, ENVIRONMENTS, n=3, cutoff=0.4) or sorted(ENVIRONMENTS)
    raise SpecError(f"unknown environment {name!r}: did you mean {' or '.join(close)}? `ocm tasks` lists all")


def probe(entry: EnvironmentEntry) -> Probe | None:
    """The function that the entry names, or None."""
    found: Probe | None = _load(entry.probe) if entry.probe else None
    return found


def strata(name: str, tasks: Iterable[TaskRef]) -> tuple[str, ...]:
    """The strata of the tasks, in the order of tables.

    Raises:
        SpecError: unknown environment.
    """
    found = dict.fromkeys(task.stratum for task in tasks)
    return tuple(dict.fromkeys([*(one for one in entry(name).strata if one in found), *found]))


def settings_model(name: str) -> type[Model]:
    """The settings model; its field descriptions are the documentation.

    Raises:
        SpecError: unknown environment.
    """
    return _model(entry(name))


def full_settings(name: str, settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """The given settings over the defaults, as plain values: what a chain's identity holds.

    Raises:
        SpecError: unknown environment or wrong settings.
    """
    return _validated(entry(name), settings).model_dump()


def check_settings(name: str, settings: Mapping[str, Any]) -> list[Problem]:
    """What is wrong with the settings; empty when nothing is.

    Raises:
        SpecError: unknown environment.
    """
    return _problems(settings_model(name), settings)


def create(name: str, settings: Mapping[str, Any]) -> Environment:
    """A fresh environment; close it at the end.

    Raises:
        SpecError: unknown environment or wrong settings.
    """
    return build(entry(name), settings)


def build(entry: EnvironmentEntry, settings: Mapping[str, Any]) -> Environment:
    """A fresh environment of an entry, whether this process's registry holds it or not: hosts get theirs
    from the driver.

    Raises:
        SpecError: wrong settings.
    """
    environment: Environment = _load(entry.factory)(_validated(entry, settings))
    return environment


def _validated(entry: EnvironmentEntry, settings: Mapping[str, Any]) -> Model:
    model = _model(entry)
    problems = _problems(model, settings)
    if problems:
        raise SpecError(f"wrong settings of environment {entry.name}", problems)
    return model.model_validate(dict(settings))


def _problems(model: type[Model], settings: Mapping[str, Any]) -> list[Problem]:
    try:
        model.model_validate(dict(settings))
    except ValidationError as error:
        known = ", ".join(model.model_fields) or "none"
        return [
            Problem(
                ".".join(("settings", *map(str, one["loc"]))),
                repr(one["input"]),
                f"{_mend(one['type'], one['msg'])}; known settings: {known}",
            )
            for one in error.errors()
        ]
    return []


def _mend(kind: str, message: str) -> str:
    text = "no such setting" if kind == "extra_forbidden" else message.removeprefix("Value error, ")
    return text[0].lower() + text[1:]


def _model(entry: EnvironmentEntry) -> type[Model]:
    model = _load(entry.settings)
    assert isinstance(model, type) and issubclass(model, Model)
    return model


def _load(path: str) -> Any:
    module, _, attribute = path.partition(":")
    return getattr(import_module(module), attribute)
