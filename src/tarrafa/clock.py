"""Clocks: code that sleeps or needs the time takes a `Clock`.

`SystemClock` is the machine's. `VirtualClock` stands still until `advance`, which also ends the sleeps that are due.
"""

import asyncio
import heapq
import itertools
import time
from typing import NamedTuple, Protocol


class Instant(NamedTuple):
    """One moment by both clocks."""

    monotonic: float  # for durations and delays
    wall: float  # seconds since the Unix epoch


class Clock(Protocol):
    def now(self) -> float:
        """Return seconds since the Unix epoch. May jump when the machine's clock is set."""
        ...

    def monotonic(self) -> float:
        """Return seconds since some moment. Never goes back; for durations and delays."""
        ...

    async def sleep(self, seconds: float) -> None: ...


def instant_of(clock: Clock) -> Instant:
    """Return what time it is by both clocks."""
    return Instant(clock.monotonic(), clock.now())


class SystemClock:
    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class VirtualClock:
    """A clock that moves only in `advance`, so that an hour of politeness is tested in a millisecond."""

    def __init__(self, now: float = 0.0) -> None:
        self._now = now
        self._order = itertools.count()
        # Heap of (when, order of arrival, future). Filled by sleep, emptied by advance.
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def now(self) -> float:
        return self._now

    def monotonic(self) -> float:
        return self._now

    async def sleep(self, seconds: float) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._now + max(seconds, 0.0), next(self._order), future))
        await future

    async def advance(self, seconds: float) -> None:
        """Let time pass. Sleepers wake in order, and run at their own moment before the next one wakes."""
        end = self._now + seconds
        await self._settle()
        while self._sleepers and self._sleepers[0][0] <= end:
            when, _, future = heapq.heappop(self._sleepers)
            self._now = max(self._now, when)
            if not future.done():
                future.set_result(None)
            await self._settle()
        self._now = end

    async def _settle(self) -> None:
        """Let every task that is ready run before time moves on."""
        for _ in range(20):
            await asyncio.sleep(0)
