"""Verdicts remembered: equal inputs give equal verdicts."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace

from knowledge_store.memory import OBJECTS
from ocm.identity import sha256
from ocm.types import Files, Verdict

UNSURE = frozenset({"timeout", "killed", "protocol"})
"""Kinds that a loaded machine may have caused: asked anew every time."""

Key = tuple[str, str, str]


class VerdictCache:
    """Verdicts by K_o, path and source, in memory, the least recently used out first.

    One per process and policy; not shared between threads. What a loaded machine may have caused
    (:data:`UNSURE`) is not remembered.
    """

    def __init__(self, capacity: int = 8_192) -> None:
        """``capacity``: dozens of chains with a hundred procedures each; more would only grow for days."""
        self._capacity = capacity
        self._verdicts: OrderedDict[Key, Verdict] = OrderedDict()

    def __len__(self) -> int:
        return len(self._verdicts)

    def split(self, objects: str, procedures: Files) -> tuple[tuple[Verdict, ...], dict[str, str]]:
        """Known verdicts, and the procedures without one. A K_o that fails is known for all of them."""
        whole = self._get((sha256(objects), OBJECTS, ""))
        if whole and (not whole.ok or not procedures):
            return (whole,), {}
        hits = {path: self._get(key) for path, key in _keys(objects, procedures).items()}
        known = tuple(verdict for verdict in hits.values() if verdict)
        return known, {path: procedures[path] for path, verdict in hits.items() if not verdict}

    def add(self, objects: str, procedures: Files, verdicts: Sequence[Verdict]) -> None:
        """Remember fresh verdicts."""
        keys = _keys(objects, procedures)
        for verdict in verdicts:
            if verdict.kind not in UNSURE:
                self._verdicts[keys.get(verdict.path, (sha256(objects), OBJECTS, ""))] = verdict
        while len(self._verdicts) > self._capacity:
            self._verdicts.popitem(last=False)

    def _get(self, key: Key) -> Verdict | None:
        verdict = self._verdicts.get(key)
        if verdict is None:
            return None
        self._verdicts.move_to_end(key)
        return replace(verdict, cached=True)


def _keys(objects: str, procedures: Files) -> dict[str, Key]:
    against = sha256(objects)
    return {path: (against, path, sha256(text)) for path, text in procedures.items()}
