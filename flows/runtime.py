"""Everything that the chains of one process share: backbones, Ray actors, MLflow, the stop signal.

Opened once per process, around the flows; a flow finds it by :func:`current`, since Prefect would
otherwise walk through it as a parameter.
"""

from __future__ import annotations

import asyncio
import os
import platform
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from backbones import registry as backbones
from backbones.protocol import Backbone
from envs import registry as environments
from envs.pool import HostPool
from flows.budgets import Purse, sweep_spending
from flows.compacting import Compactor
from flows.hosting import host_pool
from flows.planning import Plan
from flows.progress import Listener, Silent
from flows.ray_session import ray_session
from flows.sweep_record import holding_sweep, planned_chains, record_sweep
from knowledge_store.sandbox import Policy
from ocm.errors import BackboneTransient
from ocm.spec import OpenAIBackbone, SweepSpec, VerificationSpec, backbone_label, method_label
from tasks.track import Tracker
from tasks.verify import VerifierPool


@dataclass(frozen=True, slots=True)
class Runtime:
    """What chains share. ``stop`` is set when they are to end before their next model call."""

    plan: Plan
    root: Path
    backbones: Mapping[str, Backbone]
    hosts: HostPool
    verifiers: VerifierPool
    tracker: Tracker
    listener: Listener
    slots: asyncio.Semaphore
    """As many as chains may play at once."""
    provenance: Mapping[str, str]
    purse: Purse
    compactor: Compactor
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    """Set by the sweep flow: from here on Prefect has taken SIGTERM, to raise an exception of its own."""
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    again: str = "the same command"
    """How to go on with the sweep, as a person would do it."""


_CURRENT: ContextVar[Runtime | None] = ContextVar("runtime", default=None)


def current() -> Runtime | None:
    """The runtime that is open around this code, if one is."""
    return _CURRENT.get()


@contextmanager
def using(runtime: Runtime) -> Iterator[None]:
    """Make this the current runtime of the code within."""
    token = _CURRENT.set(runtime)
    try:
        yield
    finally:
        _CURRENT.reset(token)


@asynccontextmanager
async def open_runtime(
    plan: Plan,
    listener: Listener | None = None,
    *,
    drives_sweep: bool = True,
    again: str = "the same command",
) -> AsyncIterator[Runtime]:
    """Start what the sweep needs, in the order in which failures are cheapest; end it all at the end.

    ``drives_sweep``: False in a process that plays one chain for a driver elsewhere. ``again``: how to go on
    with the sweep, as a person is told.

    Raises:
        BackboneError: a server cannot be reached or refuses the key.
        SandboxError: the machine offers less than the spec allows.
        OrchestrationError: Ray or MLflow cannot be started, or an environment needs more memory than
            there is.
    """
    listener = listener or Silent()
    spec = plan.spec
    async with AsyncExitStack() as stack:
        listener.stage("asking the backbones")
        clients = await _backbones(spec, stack, listener)
        tracker = new_tracker(spec, drives_sweep=drives_sweep)
        stack.push_async_callback(tracker.close)
        listener.stage("starting Ray and MLflow")
        opening = asyncio.create_task(open_tracker(tracker, spec))
        stack.push_async_callback(_settled, opening)
        if tracking_uri(spec).startswith("sqlite:"):
            await asyncio.sleep(0)  # MLflow's own thread begins, and goes on while Ray keeps this one
        else:
            await opening  # it may need a secret, which nobody finds while Ray starts
        stack.enter_context(ray_session(key_variables(spec)))
        played = dict.fromkeys(chain.key.environment for chain in plan.chains)
        hosts = host_pool(
            [environments.entry(name) for name in played],
            spec.run.environment_hosts,
            spec.run.environment_memory_mb,
        )
        stack.push_async_callback(hosts.close)
        verifiers = VerifierPool(policy(spec.verification), spec.verification.actors or os.cpu_count() or 1)
        stack.push_async_callback(verifiers.close)
        compactor = Compactor()
        stack.push_async_callback(compactor.close)
        await opening
        listener.stage("starting the sandbox")
        tier = await verifiers.tier()
        runtime = Runtime(
            plan=plan,
            root=Path(spec.storage.root),
            backbones=clients,
            hosts=hosts,
            verifiers=verifiers,
            tracker=tracker,
            listener=listener,
            slots=asyncio.Semaphore(spec.run.chains or len(plan.chains)),
            provenance=provenance(tier),
            again=again,
            purse=Purse(
                spec.budget, sweep_spending(Path(spec.storage.root), spec.name, planned_chains(plan))
            ),
            compactor=compactor,
        )
        with using(runtime):
            yield runtime


@asynccontextmanager
async def open_sweep(plan: Plan, listener: Listener | None = None, *, again: str) -> AsyncIterator[Runtime]:
    """The runtime of a whole sweep: one run at a time, recorded in the lake before anything starts.

    Raises:
        LeaseError: another run of the sweep is under way.
        StorageError: the storage root is not writable.
    """
    root = Path(plan.spec.storage.root)
    with holding_sweep(root, plan.spec.name):
        record_sweep(root, plan)
        async with open_runtime(plan, listener, again=again) as runtime:
            yield runtime


async def _backbones(spec: SweepSpec, stack: AsyncExitStack, listener: Listener) -> dict[str, Backbone]:
    """The backbones' clients. One that does not answer yet hinders no other: its chains wait for it.

    Raises:
        BackboneTransient: none of them answers.
        BackboneTerminal: a key is refused.
    """
    clients, silent = {}, []
    for entry in spec.backbones:
        client = backbones.create(entry, os.environ, Path(spec.storage.root), listener.note)
        stack.push_async_callback(client.close)
        clients[backbone_label(entry)] = client
        try:
            await backbones.preflight(client)
        except BackboneTransient as error:
            silent.append(error)
    if len(silent) == len(clients):
        raise silent[0]
    for silence in silent:
        listener.note(f"{silence}; its chains wait, the others play")
    return clients


async def _settled(task: asyncio.Task[None]) -> None:
    """Wait for a task whose failure, if any, no longer matters."""
    await asyncio.gather(task, return_exceptions=True)


def key_variables(spec: SweepSpec) -> frozenset[str]:
    """Names of the environment variables that hold the backbones' keys."""
    return frozenset(
        entry.api_key_env
        for entry in spec.backbones
        if isinstance(entry, OpenAIBackbone) and entry.api_key_env
    )


def new_tracker(spec: SweepSpec, *, drives_sweep: bool = True) -> Tracker:
    """The sweep's tracker, not opened yet."""
    registry = Path(spec.storage.root) / spec.name / "mlflow.json"
    return Tracker(
        tracking_uri(spec), spec.tracking.experiment, spec.name, registry, drives_sweep=drives_sweep
    )


async def open_tracker(tracker: Tracker, spec: SweepSpec) -> None:
    """Make the sweep's parent run with its parameters and the spec.

    Raises:
        OrchestrationError: MLflow cannot be reached.
    """
    await tracker.open(
        parameters={
            "methods": ", ".join(map(method_label, spec.methods)),
            "environments": ", ".join(world.name for world in spec.environments),
            "backbones": ", ".join(map(backbone_label, spec.backbones)),
            "seeds": ", ".join(map(str, spec.seeds)),
        },
        tags={"ocm.sweep": spec.name},
        artifacts={"spec.json": spec.model_dump_json(indent=2)},
    )


def tracking_uri(spec: SweepSpec) -> str:
    """Where MLflow keeps the sweep: the spec's URI, or an SQLite file in the storage root."""
    if spec.tracking.uri:
        return spec.tracking.uri
    return f"sqlite:///{(Path(spec.storage.root) / '.mlflow' / 'mlflow.db').resolve()}"


def policy(spec: VerificationSpec) -> Policy:
    """The sandbox's limits as the spec sets them."""
    return Policy(
        wall_seconds=spec.wall_seconds,
        memory_mb=spec.memory_mb,
        allow_degraded=spec.i_accept_that_model_written_code_runs_without_a_full_sandbox,
    )


def provenance(tier: str) -> dict[str, str]:
    """Versions that stand on every episode."""
    return {
        "ocm_version": version("ocm-at-scale"),
        "python_version": platform.python_version(),
        "sandbox_tier": tier,
    }
