"""Telling MLflow: a parent run per sweep, a child run per chain, one batch of metrics per episode.

MLflow is derived from the lake and can be made again from it, so three rules hold:

- Logging is idempotent. Steps, timestamps and running means come from the records, so an episode
  that is told twice stands once.
- All calls to MLflow happen on one thread, in order. An episode is handed over and never waited for.
- Once :meth:`Tracker.open` has succeeded, a failure of MLflow stops no chain: it is logged with the
  mend, kept in ``problems``, and what is missing is told by the next run or by ``ocm mlflow sync``.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from knowledge_store.lake.outcomes import EpisodeOutcome
from ocm.errors import OrchestrationError
from ocm.redaction import without_password
from ocm.types import ChainKey, Episode, Files, Trajectory
from tasks import mlflow_registry as registries
from tasks.mlflow_metrics import Running, episode_metrics, parameters
from tasks.mlflow_registry import Registry
from tasks.mlflow_store import RunStore, next_unknown

__all__ = ["ChainRun", "Tracker"]

T = TypeVar("T")
log = logging.getLogger(__name__)

MAX_FAILURES = 3
"""In a row; then MLflow is left alone until the next run."""

STATUSES = {
    "complete": "FINISHED",
    "failed": "FAILED",
    "stopped": "KILLED",
    "paused: budget": "KILLED",
    "paused: backbone": "KILLED",
}
"""How a chain or a sweep ended -> how MLflow calls it, which has fewer words."""
STATE = "ocm.state"
"""Tag of every run with our own word: a key of :data:`STATUSES`, or ``running``."""


@dataclass(frozen=True, slots=True)
class ChainRun:
    """A chain, as MLflow is to show it."""

    chain: str
    key: ChainKey
    episodes: int
    """Planned."""
    started_at: float | None = None
    """Seconds since the epoch, for a chain that was played before; now by default."""


@dataclass(slots=True)
class _Told:
    """One chain's run and what it has been told; touched by the worker thread only."""

    run_id: str
    next: int
    """First episode that the run does not know."""
    status: str
    """As MLflow calls it."""
    state: str
    running: Running = field(default_factory=Running)
    finished_ms: int = 0
    news: bool = False
    """Whether anything was told since it was opened."""

    def add(self, index: int, episode: Trajectory | EpisodeOutcome, finished_at: float) -> None:
        if index != self.running.episodes:
            raise OrchestrationError(f"expected episode {self.running.episodes}; tell them in order from 0")
        self.running = self.running.after(episode)
        self.finished_ms = _ms(finished_at)


class Tracker:
    """The only writer of one sweep's runs."""

    def __init__(
        self, uri: str, experiment: str, sweep: str, registry_file: Path, *, drives_sweep: bool = True
    ) -> None:
        """``drives_sweep``: False in a process that plays one chain for a driver elsewhere; such a one
        leaves the state of the parent run to the driver."""
        self.sweep = sweep
        self.problems: list[str] = []
        """Failures of MLflow since :meth:`open`, each as one line."""
        self._store = RunStore(uri, experiment, registry_file.parent.parent / ".mlflow" / "artifacts")
        self._registry_file = registry_file
        self._drives_sweep = drives_sweep
        self._parent = ""
        self._parent_open = False
        self._chains: dict[str, _Told] = {}
        self._failures = 0
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="mlflow")

    # --- what a sweep calls --------------------------------------------------------------------

    async def open(
        self, parameters: Mapping[str, object], tags: Mapping[str, str], artifacts: Mapping[str, str]
    ) -> None:
        """Make the store, the experiment and the parent run where they are missing.

        Parameters stay as the first run of the sweep told them, since MLflow never changes one; tags
        and ``artifacts`` (path -> text) follow the latest.

        Raises:
            OrchestrationError: MLflow cannot be reached or refuses, or the registry file is damaged.
        """
        texts = {name: str(value) for name, value in parameters.items()}
        await self._on_worker(lambda: self._open(texts, tags, artifacts))

    async def chain(self, chain: ChainRun) -> int:
        """Open the chain's run; the next episode index that MLflow does not know yet.

        Then tell :meth:`earlier` or :meth:`episode` all episodes from 0 on, since running means need
        them: those that MLflow knows are not sent again.
        """
        return await self._guarded(f"chain {chain.chain}", lambda: self._open_chain(chain), chain.episodes)

    async def episode(self, episode: Episode, memory_after: Files) -> None:
        """Hand over one committed episode; returns at once."""
        what = f"episode {episode.index} of {episode.chain}"
        self._worker.submit(self._guard, what, lambda: self._tell(episode, memory_after), None)

    async def earlier(self, chain: str, episodes: Sequence[EpisodeOutcome]) -> None:
        """Hand over the first episodes of a chain, all of which MLflow knows; returns at once."""
        what = f"the earlier episodes of {chain}"
        self._worker.submit(self._guard, what, lambda: self._count(chain, episodes), None)

    async def settle(self) -> None:
        """Wait until everything that was handed over has been told, or has failed."""
        await self._on_worker(lambda: None)

    async def finish_chain(self, chain: str, status: str, memory: Files) -> None:
        """End a chain's run in one of :data:`STATUSES`; ``memory`` becomes artifacts."""
        await self._guarded(f"end of {chain}", lambda: self._finish_chain(chain, status, memory), None)

    async def finish_sweep(
        self, aggregates: Mapping[str, float], table: str, status: str = "complete"
    ) -> None:
        """End the parent run with what the report shows; ``table`` is Markdown.

        Aggregates stand at the number of episodes that they cover.
        """
        await self._guarded("the results", lambda: self._finish_sweep(aggregates, table, status), None)

    async def close(self) -> None:
        """End what is still open as interrupted, and wait for the worker."""
        await self._guarded("the interruption", self._interrupt, None)
        await asyncio.to_thread(self._worker.shutdown)

    # --- on the worker thread ------------------------------------------------------------------

    def _open(
        self, parameters: Mapping[str, str], tags: Mapping[str, str], artifacts: Mapping[str, str]
    ) -> None:
        try:
            self._store.open()
        except OrchestrationError:
            raise
        except Exception as error:  # noqa: BLE001  a database driver raises its own kinds, as on a damaged file
            first = self._store.first_line(error)
            raise OrchestrationError(
                f"tracking.uri: {without_password(self._store.uri)} cannot be opened: {first}; move the "
                f"database away, then `ocm mlflow sync {self.sweep}` makes it again from the lake"
            ) from None  # the cause may name the address with its password
        registry = self._update(lambda registry: registry)
        run = self._store.run(
            registry.parent,
            {"ocm.kind": "sweep", "ocm.lake": registry.lake},
            {"mlflow.runName": self.sweep, **tags},
            None,
        )
        self._parent = run.info.run_id
        self._update(lambda registry: registry.with_parent(self._parent))
        self._store.log_parameters(run, parameters)
        for path, text in artifacts.items():
            self._store.log_text(self._parent, path, text)
        if self._drives_sweep:
            self._store.set_running(run)
            self._store.set_tag(self._parent, STATE, "running")
            self._parent_open = True

    def _open_chain(self, chain: ChainRun) -> int:
        registry = self._update(lambda registry: registry)
        started = None if chain.started_at is None else _ms(chain.started_at)
        identity = {"ocm.lake": registry.lake, "chain": chain.chain}
        tags = {"mlflow.parentRunId": self._parent, **_tags(chain)}
        run = self._store.run(registry.chains.get(chain.chain), identity, tags, started)
        run_id = run.info.run_id
        self._update(lambda registry: registry.with_chain(chain.chain, run_id))
        self._store.log_parameters(run, {**parameters(chain.key), "episodes": str(chain.episodes)})
        known = self._store.known_episodes(run_id)
        told = _Told(run_id, next_unknown(known), run.info.status, run.data.tags.get(STATE, ""))
        self._chains[chain.chain] = told
        if told.next < chain.episodes:
            self._store.set_running(run)
            self._store.set_tag(run_id, STATE, "running")
            told.status = "RUNNING"
        return told.next

    def _count(self, chain: str, episodes: Sequence[EpisodeOutcome]) -> None:
        for episode in episodes:
            if told := self._chains.get(chain):
                told.add(episode.index, episode, episode.finished_at)

    def _tell(self, episode: Episode, memory_after: Files) -> None:
        told = self._chains.get(episode.chain)
        if told is None:
            return  # its run could not be opened, which is among the problems
        told.add(episode.index, episode.trajectory, episode.finished_at)
        if episode.index < told.next:
            return
        told.news = True
        metrics = episode_metrics(episode, memory_after, told.running)
        self._store.log_metrics(told.run_id, episode.index, told.finished_ms, metrics)

    def _finish_chain(self, chain: str, state: str, memory: Files) -> None:
        told, status = self._chains.get(chain), STATUSES[state]
        if told is None or (told.status == status and told.state == state and not told.news):
            return
        if memory:
            self._store.log_files(told.run_id, f"memory/after-{told.running.episodes:04}-episodes", memory)
        self._store.set_tag(told.run_id, STATE, state)
        self._store.terminate(told.run_id, status, told.finished_ms or None)
        told.status, told.state, told.news = status, state, False

    def _finish_sweep(self, aggregates: Mapping[str, float], table: str, state: str) -> None:
        episodes, ended_ms = self._progress()
        if aggregates:
            self._store.log_metrics(self._parent, episodes, ended_ms, aggregates)
        self._store.log_text(self._parent, "results.md", table)
        if self._drives_sweep:
            self._store.set_tag(self._parent, STATE, state)
            self._store.terminate(self._parent, STATUSES[state], ended_ms or None)
            self._parent_open = False

    def _progress(self) -> tuple[int, int]:
        """Episodes of all chains, those of other processes included, and when the last one ended."""
        told = [(one.running.episodes, one.finished_ms) for one in self._chains.values()]
        for chain, run_id in self._update(lambda registry: registry).chains.items():
            if chain not in self._chains:
                known = self._store.known_episodes(run_id)
                told.append((len(known), max(known.values(), default=0)))
        return sum(episodes for episodes, _ in told), max((ended for _, ended in told), default=0)

    def _interrupt(self) -> None:
        for told in self._chains.values():
            if told.status == "RUNNING":
                self._store.set_tag(told.run_id, STATE, "stopped")
                self._store.terminate(told.run_id, "KILLED")
        if self._parent_open:
            self._store.set_tag(self._parent, STATE, "stopped")
            self._store.terminate(self._parent, "KILLED")

    def _update(self, change: Callable[[Registry], Registry]) -> Registry:
        uri = without_password(self._store.uri)
        return registries.update(self._registry_file, uri, self._store.experiment, change)

    # --- around the worker thread --------------------------------------------------------------

    async def _on_worker(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._worker, work)

    async def _guarded(self, what: str, work: Callable[[], T], otherwise: T) -> T:
        return await self._on_worker(lambda: self._guard(what, work, otherwise))

    def _guard(self, what: str, work: Callable[[], T], otherwise: T) -> T:
        """Do the work unless MLflow is given up; note a failure instead of raising it."""
        if self._failures >= MAX_FAILURES:
            return otherwise
        try:
            done = work()
        except Exception as error:  # noqa: BLE001  MLflow and its storage plug-ins raise their own kinds
            self._note(what, error)
            return otherwise
        self._failures = 0
        return done

    def _note(self, what: str, error: Exception) -> None:
        self._failures += 1
        first = not self.problems
        self.problems.append(f"{what}: {type(error).__name__}: {self._store.first_line(error)}")
        if first:
            log.warning(
                "MLflow did not take %s; the sweep goes on. When MLflow works again: ocm mlflow sync %s",
                self.problems[0],
                self.sweep,
            )
        if self._failures == MAX_FAILURES:
            log.warning("MLflow failed %d times in a row and is left alone from here on", MAX_FAILURES)


def _tags(chain: ChainRun) -> dict[str, str]:
    key = chain.key
    return {
        "mlflow.runName": chain.chain,
        "ocm.kind": "chain",
        "method": key.method,
        "environment": key.environment,
        "backbone": key.backbone,
        "seed": str(key.seed),
    }


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
