"""A client program: one flow with three tasks; prints what the server then knows of them."""

from __future__ import annotations

import asyncio

from prefect import flow, get_client, task
from prefect.cache_policies import NO_CACHE


@task(cache_policy=NO_CACHE)
async def chain(seed: int) -> int:
    return seed


@flow(name="sweep")
async def sweep() -> int:
    return sum(await asyncio.gather(*(chain(seed) for seed in range(3))))


async def main() -> None:
    total = await sweep()
    async with get_client() as client:
        for _ in range(100):
            states = [run.state_name for run in await client.read_task_runs()]
            if states == ["Completed"] * 3:
                break
            await asyncio.sleep(0.1)
        flows = [run.state_name for run in await client.read_flow_runs()]
    print(total, flows, states)


if __name__ == "__main__":
    asyncio.run(main())
