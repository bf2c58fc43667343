"""A process that shares a window's file with others; run by tests. Its arguments: file, what to do.

``wait LIMIT FACTOR``: for each line of standard input one more request waits, which is told with ``waits``,
and its turn with ``turn`` and its number in the window. ``rush LIMIT FACTOR``: twice as many requests as the
limit at once; each one's time is told. ``churn LIMIT FACTOR``: requests without end. The limit is of requests
per minute, by a clock that is faster by the factor.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

from backbones.limits import RateLimiter


def limiter(path: Path, limit: int, factor: int) -> RateLimiter:
    return RateLimiter(
        limit,
        path=path,
        sleep=lambda seconds: asyncio.sleep(seconds / factor),
        clock=lambda: time.time() * factor,
    )


def say(*words: object) -> None:
    print(*words, flush=True)


async def wait(limits: RateLimiter, _: int) -> None:
    async def one() -> None:
        say("turn", (await limits.acquire(1)).number)

    tasks = []
    say("ready")
    while await asyncio.to_thread(sys.stdin.readline):
        tasks.append(asyncio.create_task(one()))
        while len(limits._waiting) < len(tasks):
            await asyncio.sleep(0.01)
        say("waits")


async def rush(limits: RateLimiter, limit: int) -> None:
    async def one() -> float:
        return (await limits.acquire(1)).at

    say("ready")
    sys.stdin.readline()
    for at in await asyncio.gather(*[one() for _ in range(2 * limit)]):
        say(at)


async def churn(limits: RateLimiter, _: int) -> None:
    say("ready")
    while True:
        await limits.answered(await limits.acquire(1), 2)


if __name__ == "__main__":
    _, name, what, limit, factor = sys.argv
    work = {"wait": wait, "rush": rush, "churn": churn}[what]
    asyncio.run(work(limiter(Path(name), int(limit), int(factor)), int(limit)))
