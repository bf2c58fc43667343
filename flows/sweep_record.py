"""A sweep's own record in the lake, and the lease that lets one run at a time write to it."""

from __future__ import annotations

import platform
from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib.metadata import version
from pathlib import Path

from flows.planning import Plan
from knowledge_store.lake.lease import Lease, holding
from knowledge_store.lake.manifest import PlannedChain, read_manifest, write_manifest
from knowledge_store.lake.paths import manifest_file
from knowledge_store.lake.root import open_for_writing


def holding_sweep(
    root: Path, sweep: str, *, wait: bool = False, tell: Callable[[str], None] = lambda _: None
) -> AbstractContextManager[Lease]:
    """Hold the sweep's lease; see :func:`knowledge_store.lake.lease.holding`.

    Raises:
        LeaseError: another run of the sweep holds it.
        StorageError: the root is not writable, or of another schema.
    """
    open_for_writing(root)
    return holding(root, manifest_file(root, sweep).parent, "this sweep", wait=wait, tell=tell)


def record_sweep(root: Path, plan: Plan) -> None:
    """Write the sweep's manifest: the spec, and the chains with the episodes planned of each.

    Raises:
        StorageError: the root is not writable or holds a lake of another schema.
    """
    chains = [PlannedChain(chain.id, chain.key, len(chain.tasks), chain.strata) for chain in plan.chains]
    versions = {"ocm": version("ocm-at-scale"), "python": platform.python_version()}
    write_manifest(root, plan.spec.name, plan.spec.model_dump(mode="json"), chains, versions)


def planned_chains(plan: Plan) -> list[str]:
    """Ids of all chains of the sweep, also in a process that plays only one of them.

    Raises:
        StorageError: the manifest is damaged.
    """
    root = Path(plan.spec.storage.root)
    mine = [chain.id for chain in plan.chains]
    if not manifest_file(root, plan.spec.name).exists():
        return mine
    return list(dict.fromkeys([*mine, *(one.chain for one in read_manifest(root, plan.spec.name).chains)]))
