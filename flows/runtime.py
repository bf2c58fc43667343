"""Everything that the chains of one process share: backbones, Ray actors, MLflow, the stop signal.

Opened once per process, around the flows; a flow finds it by :func:`current`, since Prefect would
otherwise walk through it as a parameter.
"""

from __future__ import annotations

import asyncio
import os
import platform
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from tasks.track import Tracker

from backbones import registry as backbones
from backbones.protocol import Backbone
from envs.pool import HostPool
from flows.planning import Plan
from flows.progress import Listener, Silent
from flows.ray_session import ray_session
from knowledge_store.sandbox import Policy
from ocm.spec import SweepSpec, VerificationSpec, backbone_label
from tasks.verify import VerifierPool

HOSTS_PER_CORE = 4


@dataclass(frozen=True, slots=True)
class Runtime:
    """What chains share. ``stop`` is set when they are to end at their next episode border."""

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
    stop: asyncio.Event = field(default_factory=asyncio.Event)


_CURRENT: ContextVar[Runtime | None] = ContextVar("runtime", default=None)


def current() -> Runtime | None:
    """The runtime that is open around this code, if one is."""
    return _CURRENT.get()


@asynccontextmanager
async def open_runtime(plan: Plan, listener: Listener | None = None) -> AsyncIterator[Runtime]:
    """Start what the sweep needs, in the order in which failures are cheapest; end it all at the end.

    Raises:
        BackboneError: a server cannot be reached or refuses the key.
        SandboxError: the machine offers less than the spec allows.
        OrchestrationError: Ray or MLflow cannot be started.
    """
    listener = listener or Silent()
    spec = plan.spec
    async with AsyncExitStack() as stack:
        listener.stage("asking the backbones")
        clients = await _backbones(spec, stack)
        listener.stage("starting Ray")
        stack.enter_context(ray_session())
        chains = spec.run.chains or len(plan.chains)
        cores = os.cpu_count() or 1
        hosts = HostPool(spec.run.environment_hosts or min(chains, HOSTS_PER_CORE * cores))
        stack.push_async_callback(hosts.close)
        verifiers = VerifierPool(policy(spec.verification), spec.verification.actors or cores)
        stack.push_async_callback(verifiers.close)
        listener.stage("starting the sandbox")
        tier = await verifiers.tier()
        listener.stage("opening MLflow")
        tracker = await _tracker(plan, stack)
        runtime = Runtime(
            plan=plan,
            root=Path(spec.storage.root),
            backbones=clients,
            hosts=hosts,
            verifiers=verifiers,
            tracker=tracker,
            listener=listener,
            slots=asyncio.Semaphore(chains),
            provenance=provenance(tier),
        )
        token = _CURRENT.set(runtime)
        try:
            yield runtime
        finally:
            _CURRENT.reset(token)


async def _backbones(spec: SweepSpec, stack: AsyncExitStack) -> dict[str, Backbone]:
    clients = {}
    for entry in spec.backbones:
        client = backbones.create(entry, os.environ)
        stack.push_async_callback(client.close)
        await backbones.preflight(client)
        clients[backbone_label(entry)] = client
    return clients


async def _tracker(plan: Plan, stack: AsyncExitStack) -> Tracker:
    spec = plan.spec
    tracker = Tracker(
        tracking_uri(spec),
        spec.tracking.experiment,
        spec.name,
        Path(spec.storage.root) / spec.name / "mlflow.json",
    )
    stack.push_async_callback(tracker.close)
    await tracker.open(
        parameters={"chains": len(plan.chains), "episodes": plan.episodes, "seeds": spec.seeds},
        tags={"ocm.sweep": spec.name},
        artifacts={"spec.json": spec.model_dump_json(indent=2)},
    )
    return tracker


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
