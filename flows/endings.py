"""How chains and sweeps end: what Prefect shows of it, and what a person does next. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from prefect.client.schemas.objects import State, StateType
from prefect.states import Cancelled, Completed, Failed

from flows.playing import ChainOutcome, ChainStatus

WORST_FIRST = (
    ChainStatus.FAILED,
    ChainStatus.STOPPED,
    ChainStatus.BACKBONE_DOWN,
    ChainStatus.OUT_OF_BUDGET,
    ChainStatus.COMPLETE,
)

NEXT = {
    ChainStatus.FAILED: "mend what their messages say",
    ChainStatus.STOPPED: "nothing to mend",
    ChainStatus.BACKBONE_DOWN: "wait until the backbone answers again, or top up its account",
    ChainStatus.OUT_OF_BUDGET: "raise [budget.sweep] or [budget.chain] in the spec",
}
"""What each kind of ending needs before it is worth going on."""


@dataclass(frozen=True, slots=True)
class SweepOutcome:
    """How all chains ended."""

    chains: tuple[ChainOutcome, ...]

    @property
    def complete(self) -> bool:
        return self.status is ChainStatus.COMPLETE

    @property
    def status(self) -> ChainStatus:
        """Of the sweep as a whole: as its worst chain."""
        found = {chain.status for chain in self.chains}
        return next((status for status in WORST_FIRST if status in found), ChainStatus.COMPLETE)


def advice(outcome: SweepOutcome, again: str) -> list[str]:
    """One line per kind of ending that owes episodes; ``again``: how to go on."""
    lines = []
    for status, need in NEXT.items():
        count = sum(chain.status is status for chain in outcome.chains)
        if count:
            share = f"{count} of {len(outcome.chains)} chains"
            lines.append(f"{status}: {share}; {need}, then go on with: {again}")
    return lines


# --- in Prefect --------------------------------------------------------------------------------


def chain_state(outcome: ChainOutcome) -> State[Any]:
    """A chain's last state in Prefect; what is owed on purpose is cancelled there, under our own name."""
    progress = f"{outcome.episodes} of {outcome.planned} episodes"
    return _state(outcome.status, f"{progress}. {outcome.message}" if outcome.message else progress)


def sweep_state(outcome: SweepOutcome, again: str) -> State[Any]:
    """The sweep's last state in Prefect; its message says how to go on."""
    done = sum(chain.episodes for chain in outcome.chains)
    progress = f"{done} of {sum(chain.planned for chain in outcome.chains)} episodes"
    return _state(outcome.status, " ".join([f"{progress}.", *advice(outcome, again)]))


def ended_at_once(again: str) -> State[Any]:
    """Of a run that was cut short: nothing that is committed or journaled is lost."""
    return Cancelled(message=f"Ended at once on request. Go on with: {again}")


def _state(status: ChainStatus, message: str) -> State[Any]:
    if status is ChainStatus.COMPLETE:
        return Completed(message=message)
    if status is ChainStatus.FAILED:
        return Failed(message=message)
    return Cancelled(name=_name(status), message=message)


def _name(status: ChainStatus) -> str:
    return "Cancelled" if status is ChainStatus.STOPPED else str(status).capitalize()


def status_of(state: State[Any]) -> ChainStatus:
    """The reverse of :func:`chain_state`, for a chain that ran elsewhere."""
    if state.type is StateType.CANCELLED:
        paused = (ChainStatus.OUT_OF_BUDGET, ChainStatus.BACKBONE_DOWN)
        return next((status for status in paused if state.name == _name(status)), ChainStatus.STOPPED)
    return ChainStatus.COMPLETE if state.type is StateType.COMPLETED else ChainStatus.FAILED


def asks_to_stop(state: State[Any] | None) -> bool:
    """Whether somebody has cancelled, paused or suspended the run in Prefect."""
    return state is not None and state.type in (StateType.CANCELLING, StateType.CANCELLED, StateType.PAUSED)


def owed(outcome: SweepOutcome) -> Sequence[ChainOutcome]:
    """The chains that are not whole."""
    return [chain for chain in outcome.chains if chain.status is not ChainStatus.COMPLETE]
