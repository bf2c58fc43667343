"""What a sweep tells while it runs: bars for people, lines of JSON for machines, or nothing."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Protocol, TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Column

from flows.planning import ChainPlan, Plan
from flows.wording import counted
from ocm.types import Episode


@dataclass(frozen=True, slots=True)
class EpisodeEvent:
    """One committed episode, in numbers."""

    chain: str
    episode: int
    success: bool
    reward: float
    invalid_actions: int
    cost: float | None
    update: str

    @staticmethod
    def of(episode: Episode) -> EpisodeEvent:
        costs = [call.reply.cost for call in episode.calls]
        return EpisodeEvent(
            chain=episode.chain,
            episode=episode.index,
            success=episode.trajectory.success,
            reward=episode.trajectory.reward,
            invalid_actions=episode.trajectory.invalid_actions,
            cost=None if None in costs else sum(cost for cost in costs if cost is not None),
            update=str(episode.update.outcome),
        )


class Listener(Protocol):
    """Told of a sweep's events, in the driver's event loop; must return at once."""

    def stage(self, message: str) -> None:
        """Something slow begins, such as starting a service."""
        ...

    def sweep_started(self, plan: Plan, done: Mapping[str, int]) -> None:
        """``done``: episodes already committed, by chain id."""
        ...

    def episode(self, event: EpisodeEvent) -> None: ...

    def chain_ended(self, chain: ChainPlan, status: str, message: str) -> None: ...

    def note(self, message: str) -> None:
        """Something that the person at the terminal must read."""
        ...

    def close(self) -> None: ...


class Silent:
    """Tells nothing but notes."""

    def stage(self, message: str) -> None: ...

    def sweep_started(self, plan: Plan, done: Mapping[str, int]) -> None: ...

    def episode(self, event: EpisodeEvent) -> None: ...

    def chain_ended(self, chain: ChainPlan, status: str, message: str) -> None: ...

    def note(self, message: str) -> None:
        print(message, file=sys.stderr)

    def close(self) -> None: ...


class Lasting:
    """A text stream that falls silent when nobody can read it any more: a closed pipe or a terminal that
    has gone ends no sweep."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    @property
    def encoding(self) -> str:
        return self._stream.encoding

    def isatty(self) -> bool:
        return self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()

    def write(self, text: str) -> int:
        self._unless_gone(lambda: self._stream.write(text))
        return len(text)

    def flush(self) -> None:
        self._unless_gone(self._stream.flush)

    def _unless_gone(self, act: Callable[[], object]) -> None:
        try:
            act()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)


class JsonLines:
    """One JSON object per line and event."""

    def __init__(self, stream: TextIO | Lasting = sys.stdout) -> None:
        self._stream = stream

    def _tell(self, event: str, **fields: object) -> None:
        print(json.dumps({"event": event, **fields}), file=self._stream, flush=True)

    def stage(self, message: str) -> None:
        self._tell("stage", message=message)

    def sweep_started(self, plan: Plan, done: Mapping[str, int]) -> None:
        self._tell(
            "sweep_started",
            sweep=plan.spec.name,
            chains=len(plan.chains),
            episodes=plan.episodes,
            done=sum(done.values()),
        )

    def episode(self, event: EpisodeEvent) -> None:
        self._tell("episode", **asdict(event))

    def chain_ended(self, chain: ChainPlan, status: str, message: str) -> None:
        self._tell("chain_ended", chain=chain.id, status=status, message=message)

    def note(self, message: str) -> None:
        print(message, file=sys.stderr)

    def close(self) -> None: ...


class Plain:
    """Lines of text, for logs and pipes: each tenth of the episodes, and what goes wrong."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._totals = _Totals()
        self._tallies: dict[str, _Tally] = {}
        self._methods: dict[str, str] = {}

    def stage(self, message: str) -> None:
        self._console.print(f"{message} …", highlight=False)

    def sweep_started(self, plan: Plan, done: Mapping[str, int]) -> None:
        self._methods = {chain.id: chain.key.method for chain in plan.chains}
        self._totals = _Totals(owed=plan.episodes - sum(done.values()))
        self._console.print(
            f"{counted(len(plan.chains), 'chain')}, {counted(plan.episodes, 'episode')}, "
            f"{sum(done.values()):,} done already",
            highlight=False,
        )

    def episode(self, event: EpisodeEvent) -> None:
        self._totals.add(event)
        self._tallies.setdefault(self._methods[event.chain], _Tally()).add(event)
        if self._totals.played % max(1, self._totals.owed // 10) == 0:
            running = "  ".join(f"{method}: {tally}" for method, tally in sorted(self._tallies.items()))
            self._console.print(
                f"{self._totals.played}/{self._totals.owed} episodes  {self._totals}  {running}",
                highlight=False,
                soft_wrap=True,
            )

    def chain_ended(self, chain: ChainPlan, status: str, message: str) -> None:
        if status != "complete":
            self._console.print(f"{chain.label}: {status} {message}", highlight=False, soft_wrap=True)

    def note(self, message: str) -> None:
        self._console.print(message, highlight=False, soft_wrap=True)

    def close(self) -> None: ...


@dataclass(slots=True)
class _Tally:
    """Running sums of one method, over the episodes that this run has played."""

    episodes: int = 0
    successes: int = 0
    invalid: int = 0

    def add(self, event: EpisodeEvent) -> None:
        self.episodes += 1
        self.successes += event.success
        self.invalid += event.invalid_actions

    def __str__(self) -> str:
        if not self.episodes:
            return ""
        rate, invalid = self.successes / self.episodes, self.invalid / self.episodes
        return f"SR {rate:.1%} of {self.episodes}  invalid {invalid:.1f}"


@dataclass(slots=True)
class _Totals:
    """Of this run: what time left and cost are told from."""

    started: float = field(default_factory=time.monotonic)
    played: int = 0
    owed: int = 0
    cost: float | None = 0.0

    def add(self, event: EpisodeEvent) -> None:
        self.played += 1
        self.cost = None if self.cost is None or event.cost is None else self.cost + event.cost

    def left(self) -> str:
        if not self.played:
            return "…"
        seconds = (time.monotonic() - self.started) / self.played * (self.owed - self.played)
        return f"{int(seconds) // 3600}:{int(seconds) // 60 % 60:02}:{int(seconds) % 60:02}"

    def __str__(self) -> str:
        cost = "unknown" if self.cost is None else f"${self.cost:.2f}"
        return f"cost {cost}  left {self.left()}"


WIDE = 110
"""Columns of a terminal from which on the bars are long and show the time that has passed."""


class Bars:
    """A bar over all episodes and one per method: chains, episodes, running SR, cost, time left."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._status = console.status("")
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24 if console.width >= WIDE else 8),
            MofNCompleteColumn(table_column=Column(no_wrap=True)),
            TextColumn("{task.fields[running]}", table_column=Column(no_wrap=True)),
            *((TimeElapsedColumn(),) if console.width >= WIDE else ()),
            console=console,
            transient=False,
        )
        self._totals = _Totals()
        self._tallies: dict[str, _Tally] = {}
        self._bars: dict[str, TaskID] = {}
        self._methods: dict[str, str] = {}
        self._open = 0
        self._all = TaskID(0)

    def stage(self, message: str) -> None:
        self._status.update(f"{message} …")
        self._status.start()

    def sweep_started(self, plan: Plan, done: Mapping[str, int]) -> None:
        self._status.stop()
        self._methods = {chain.id: chain.key.method for chain in plan.chains}
        self._open = sum(done.get(chain.id, 0) < len(chain.tasks) for chain in plan.chains)
        self._totals = _Totals(owed=plan.episodes - sum(done.values()))
        self._all = self._progress.add_task(
            "all episodes", total=plan.episodes, completed=sum(done.values()), running=""
        )
        for method in dict.fromkeys(self._methods.values()):
            of_method = [chain for chain in plan.chains if chain.key.method == method]
            self._tallies[method] = _Tally()
            self._bars[method] = self._progress.add_task(
                method,
                total=sum(len(chain.tasks) for chain in of_method),
                completed=sum(done.get(chain.id, 0) for chain in of_method),
                running="",
            )
        self._progress.start()

    def episode(self, event: EpisodeEvent) -> None:
        method = self._methods[event.chain]
        self._tallies[method].add(event)
        self._totals.add(event)
        self._progress.update(self._bars[method], advance=1, running=str(self._tallies[method]))
        self._progress.update(self._all, advance=1, running=self._overall())

    def chain_ended(self, chain: ChainPlan, status: str, message: str) -> None:
        self._open -= 1
        self._progress.update(self._all, running=self._overall())
        if status != "complete":
            self._console.print(f"[yellow]{chain.label}: {status}[/] {message}", highlight=False)

    def _overall(self) -> str:
        chains = f"{counted(self._open, 'chain')} open  " if self._open else ""
        return f"{chains}{self._totals}"

    def note(self, message: str) -> None:
        self._console.print(message, highlight=False)

    def close(self) -> None:
        self._status.stop()
        self._progress.stop()
