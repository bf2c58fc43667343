"""From a sweep spec to its chains: everything that is decided before anything runs."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from agents import registry as methods
from backbones import registry as backbones
from backbones.prices import prices_of
from envs import registry as environments
from envs.protocol import Environment
from knowledge_store.lake.manifest import PlannedStratum
from ocm.errors import Problem, SpecError
from ocm.identity import chain_id, derive_seed
from ocm.spec import (
    Backbone,
    EnvironmentSpec,
    MethodSpec,
    OpenAIBackbone,
    SweepSpec,
    backbone_label,
    method_label,
)
from ocm.types import ChainKey, TaskRef


@dataclass(frozen=True, slots=True)
class ChainPlan:
    """One chain, ready to be played."""

    id: str
    key: ChainKey
    tasks: tuple[TaskRef, ...]
    """The episodes' tasks in order."""
    backbone: Backbone
    strata: tuple[PlannedStratum, ...]
    rules: str
    step_limit: int
    environment_version: str

    @property
    def label(self) -> str:
        """Readable and short: for progress bars and task runs."""
        key = self.key
        return f"{key.method} · {key.environment} · {key.backbone} · seed {key.seed}"


@dataclass(frozen=True, slots=True)
class Plan:
    """A sweep's chains in a stable order: methods, environments, backbones, seeds."""

    spec: SweepSpec
    chains: tuple[ChainPlan, ...]

    @property
    def episodes(self) -> int:
        return sum(len(chain.tasks) for chain in self.chains)


def plan(spec: SweepSpec, environ: Mapping[str, str] | None) -> Plan:
    """Check the spec against the registries and expand it.

    Args:
        spec: the sweep.
        environ: where the backbones' keys are; None leaves keys out, for a plan that is not to be run.

    Raises:
        SpecError: one problem per unknown name, wrong setting or missing key.
    """
    problems = [*_method_problems(spec), *_environment_problems(spec)]
    problems += _budget_problems(spec)
    problems += [] if environ is None else key_problems(spec, environ)
    if problems:
        raise SpecError(f"{spec.name}: {len(problems)} problem(s)", problems)
    worlds = [_describe(environment) for environment in spec.environments]
    _check_apart(spec.name, worlds)
    return Plan(
        spec,
        tuple(
            _chain(method, world, backbone, seed)
            for method, world, backbone, seed in product(spec.methods, worlds, spec.backbones, spec.seeds)
        ),
    )


@dataclass(frozen=True, slots=True)
class _World:
    spec: EnvironmentSpec
    settings: Mapping[str, Any]
    task_set: str
    tasks: tuple[TaskRef, ...]
    strata: tuple[str, ...]
    rules: str
    step_limit: int
    version: str


def _describe(spec: EnvironmentSpec) -> _World:
    """What the environment says of itself; it is closed again at once."""
    environment: Environment = environments.create(spec.name, spec.settings)
    try:
        task_set = spec.task_set or environments.entry(spec.name).default_task_set
        tasks = tuple(environment.tasks(task_set))
        settings = environments.full_settings(spec.name, spec.settings)
        return _World(
            spec,
            settings,
            task_set,
            tasks,
            environments.strata(spec.name, tasks),
            environment.rules,
            environment.step_limit,
            environment.version,
        )
    finally:
        environment.close()


def _check_apart(sweep: str, worlds: Sequence[_World]) -> None:
    """A result row is a task set: two settings of one would be averaged as if they were seeds."""
    seen = [(world.spec.name, world.task_set) for world in worlds]
    problems = [
        Problem(
            f"environments[{index}]", f"{name} {task_set}", "stands there twice; give it a sweep of its own"
        )
        for index, (name, task_set) in enumerate(seen)
        if (name, task_set) in seen[:index]
    ]
    if problems:
        raise SpecError(f"{sweep}: {len(problems)} problem(s)", problems)


def _chain(method: MethodSpec, world: _World, backbone: Backbone, seed: int) -> ChainPlan:
    key = ChainKey(
        method=method_label(method),
        agent=method.name,
        method_settings=methods.full_settings(method.name, method.settings).model_dump(mode="json"),
        environment=world.spec.name,
        environment_settings=world.settings,
        task_set=world.task_set,
        order=world.spec.order,
        backbone=backbone_label(backbone),
        backbone_settings=backbones.identity_settings(backbone),
        seed=seed,
        prompts=methods.method_prompts(method.name),
    )
    tasks = ordered(world.tasks, world.spec.order, seed)[: world.spec.limit]
    counts = Counter(task.stratum for task in tasks)
    strata = tuple(PlannedStratum(stratum, counts[stratum]) for stratum in world.strata)
    return ChainPlan(
        chain_id(key), key, tasks, backbone, strata, world.rules, world.step_limit, world.version
    )


def ordered(tasks: Sequence[TaskRef], order: str, seed: int) -> tuple[TaskRef, ...]:
    """The benchmark's order, or one shuffled by the seed alone: all methods of a seed share it."""
    if order == "benchmark":
        return tuple(tasks)
    shuffled = list(tasks)
    random.Random(derive_seed("task order", seed)).shuffle(shuffled)
    return tuple(shuffled)


# --- checks ------------------------------------------------------------------------------------


def _method_problems(spec: SweepSpec) -> list[Problem]:
    problems = []
    for index, method in enumerate(spec.methods):
        where = f"methods[{index}]"
        try:
            methods.full_settings(method.name, method.settings)
        except SpecError as error:
            problems += _under(where, "name", method.name, error)
    return problems


def _environment_problems(spec: SweepSpec) -> list[Problem]:
    problems = []
    for index, world in enumerate(spec.environments):
        where = f"environments[{index}]"
        try:
            wrong = environments.check_settings(world.name, world.settings)
        except SpecError as error:
            problems += _under(where, "name", world.name, error)
            continue
        problems += [Problem(f"{where}.{one.where}", one.found, one.mend) for one in wrong]
        if not wrong and world.task_set is not None:
            problems += _task_set_problems(where, world)
    return problems


def _task_set_problems(where: str, world: EnvironmentSpec) -> list[Problem]:
    environment = environments.create(world.name, world.settings)
    try:
        environment.tasks(world.task_set or "")
    except SpecError as error:
        return [Problem(f"{where}.task_set", repr(world.task_set), error.message)]
    finally:
        environment.close()
    return []


def key_problems(spec: SweepSpec, environ: Mapping[str, str]) -> list[Problem]:
    """One for each backbone whose key is missing or cannot be one."""
    return [
        Problem(f"backbones[{index}].{one.where}", one.found, one.mend)
        for index, backbone in enumerate(spec.backbones)
        for one in backbones.check(backbone, environ)
    ]


def _budget_problems(spec: SweepSpec) -> list[Problem]:
    """Budgets in money need the price of every backbone: one is never guessed."""
    wanted = [name for name in ("sweep", "chain") if getattr(spec.budget, name).usd is not None]
    unknown = [
        (index, one)
        for index, one in enumerate(spec.backbones)
        if isinstance(one, OpenAIBackbone) and prices_of(one) is None
    ]
    return [
        Problem(
            f"budget.{name}.usd",
            f"the price of backbones[{index}] ({backbone.model}) is unknown",
            f"give backbones[{index}].prices = {{ input = …, output = … }} in US dollars per million tokens, "
            f"or set budget.{name}.tokens instead",
        )
        for name in wanted
        for index, backbone in unknown
    ]


def _under(where: str, field: str, value: str, error: SpecError) -> list[Problem]:
    if error.problems:
        return [Problem(f"{where}.{one.where}", one.found, one.mend) for one in error.problems]
    return [Problem(f"{where}.{field}", repr(value), error.message)]
