"""What a client does with a server. Prefect is imported late, as in a real run."""

from __future__ import annotations

import asyncio


def play() -> None:
    """Run a flow with three tasks and print its result and the server's view of it."""
    from prefect import flow, task
    from prefect.cache_policies import NO_CACHE

    @task(cache_policy=NO_CACHE)
    async def chain(seed: int) -> int:
        return seed

    @flow(name="sweep")
    async def sweep() -> int:
        return sum(await asyncio.gather(*(chain(seed) for seed in range(3))))

    async def main() -> None:
        print(await sweep(), *await _states())

    asyncio.run(main())


async def _states() -> tuple[list[str | None], list[str | None]]:
    """States of all flow runs and of all task runs, as soon as the latter are done."""
    from prefect import get_client

    tasks: list[str | None] = []
    async with get_client() as client:
        for _ in range(100):
            tasks = [run.state_name for run in await client.read_task_runs()]
            if tasks == ["Completed"] * 3:
                break
            await asyncio.sleep(0.1)
        return [run.state_name for run in await client.read_flow_runs()], tasks


def emit_events() -> None:
    """Leave events to be sent."""
    from prefect.events import emit_event

    for number in range(5):
        emit_event("late", resource={"prefect.resource.id": f"event.{number}"})
