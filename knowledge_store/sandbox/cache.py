"""Verdicts remembered: equal inputs give equal verdicts."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace

from knowledge_store.sandbox.sandbox import OBJECTS, Sandbox
from ocm.identity import sha256
from ocm.types import Verdict

UNSURE = frozenset({"timeout", "killed", "protocol"})
"""Kinds that a loaded machine may have caused: asked anew every time."""

Key = tuple[str, ...]


class VerdictCache:
    """In memory, bounded, least recently used out first. One per process; not shared between threads."""

    def __init__(self, capacity: int = 100_000) -> None:
        self._capacity = capacity
        self._verdicts: OrderedDict[Key, Verdict] = OrderedDict()

    def __len__(self) -> int:
        return len(self._verdicts)

    def verify(self, sandbox: Sandbox, objects: str, procedures: Mapping[str, str]) -> tuple[Verdict, ...]:
        """As :meth:`Sandbox.verify`, executing only what is not known; known ones are ``cached``."""
        scope = (sha256(objects), sandbox.policy.digest(), sandbox.python, sandbox.protections.key())
        whole = self._get((*scope, OBJECTS, ""))
        if whole and (not whole.ok or not procedures):
            return (whole,)
        keys = {path: (*scope, path, sha256(source)) for path, source in procedures.items()}
        known = {path: hit for path, key in keys.items() if (hit := self._get(key))}
        missing = {path: source for path, source in procedures.items() if path not in known}
        if not missing and procedures:
            return tuple(known[path] for path in sorted(known))
        fresh = sandbox.verify(objects, missing)
        for verdict in fresh:
            self._put(keys.get(verdict.path, (*scope, OBJECTS, "")), verdict)
        if any(verdict.path == OBJECTS for verdict in fresh):
            return fresh
        return tuple(sorted((*known.values(), *fresh), key=lambda verdict: verdict.path))

    def _get(self, key: Key) -> Verdict | None:
        verdict = self._verdicts.get(key)
        if verdict is None:
            return None
        self._verdicts.move_to_end(key)
        return replace(verdict, cached=True)

    def _put(self, key: Key, verdict: Verdict) -> None:
        if verdict.kind in UNSURE:
            return
        self._verdicts[key] = verdict
        while len(self._verdicts) > self._capacity:
            self._verdicts.popitem(last=False)
