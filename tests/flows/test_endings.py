"""What Prefect shows of an ending, what a person does next, and that Prefect itself never ends a chain."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import click
import httpx
import pytest
from prefect.client.schemas.objects import State, StateType
from prefect.exceptions import Abort

from flows.cli.options import command_given
from flows.cli.run import run
from flows.endings import SweepOutcome, advice, asks_to_stop, chain_state, status_of, sweep_state
from flows.playing import ChainOutcome, ChainStatus
from flows.shown import shown
from tasks.bench import Stopped
from tasks.track import STATUSES

Body = Callable[[], Awaitable[State | None]]


def ended(*statuses: ChainStatus) -> SweepOutcome:
    return SweepOutcome(tuple(ChainOutcome(f"c{i}", one, 1, 2, "why") for i, one in enumerate(statuses)))


@pytest.mark.parametrize("status", list(ChainStatus))
def test_a_status_survives_prefect_and_mlflow_knows_it(status: ChainStatus) -> None:
    state = chain_state(ChainOutcome("c", status, 1, 2, "why"))
    assert status_of(state) is status
    assert "1 of 2 episodes" in (state.message or "")
    assert str(status) in STATUSES


def test_a_sweep_is_as_its_worst_chain_and_each_group_is_told_what_it_needs() -> None:
    outcome = ended(*ChainStatus)
    assert outcome.status is ChainStatus.FAILED
    assert ended(ChainStatus.COMPLETE, ChainStatus.OUT_OF_BUDGET).status is ChainStatus.OUT_OF_BUDGET
    lines = advice(outcome, "ocm run x")
    assert len(lines) == len(ChainStatus) - 1 and all(line.endswith("ocm run x") for line in lines)
    paused = sweep_state(ended(ChainStatus.OUT_OF_BUDGET), "ocm run x")
    assert (paused.type, paused.name) == (StateType.CANCELLED, "Paused: budget")
    assert "[budget.sweep]" in (paused.message or "")
    assert advice(ended(ChainStatus.COMPLETE), "") == []


@pytest.mark.parametrize("kind", list(StateType))
def test_what_asks_to_stop(kind: StateType) -> None:
    wanted = kind in (StateType.CANCELLED, StateType.CANCELLING, StateType.PAUSED)
    assert asks_to_stop(State(type=kind)) is wanted
    assert not asks_to_stop(None)


async def refuses(body: Body) -> None:
    raise httpx.ConnectError("no server")


async def refuses_late(body: Body) -> None:
    await body()
    raise Abort("gone")


async def plays(body: Body) -> None:
    await body()


@pytest.mark.parametrize("view", [refuses, refuses_late, plays])
async def test_work_is_done_once_whatever_prefect_does(view: Callable[[Body], Awaitable[None]]) -> None:
    calls: list[int] = []

    async def work() -> int:
        calls.append(1)
        return 7

    assert await shown(view, work, lambda _: None) == 7
    assert calls == [1]


@pytest.mark.parametrize("error", [Stopped(), ZeroDivisionError()])
async def test_what_the_work_raises_is_raised(error: Exception) -> None:
    async def work() -> int:
        raise error

    async def swallows(body: Body) -> None:
        try:
            await body()
        except ZeroDivisionError:
            return

    with pytest.raises(type(error)):
        await shown(swallows, work, lambda _: None)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["a b.toml"], "ocm run 'a b.toml'"),
        (["s.toml", "--wait", "--root", "$x", "--output", "json"], None),
    ],
)
def test_the_command_to_go_on(given: list[str], told: str | None) -> None:
    parent = click.Context(click.Group("ocm"), info_name="ocm")
    with run.make_context("run", list(given), parent=parent) as context:
        found = command_given(context)
    assert found == (told or "ocm run s.toml --root '$x' --output json --wait")
