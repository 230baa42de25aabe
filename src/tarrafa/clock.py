"""Time as a seam: whatever waits or asks for the time takes a `Clock`.

`SystemClock` is the machine's; `VirtualClock` stands still until told to advance, and a sleep on it ends when its
time has come. Time is in seconds since the Unix epoch.
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
        """Seconds since the Unix epoch; may jump when the machine's clock is set."""
        ...

    def monotonic(self) -> float:
        """Seconds since some moment; never goes back. For durations and delays."""
        ...

    async def sleep(self, seconds: float) -> None: ...


def instant_of(clock: Clock) -> Instant:
    """Return what time it is by both clocks."""
    return Instant(clock.monotonic(), clock.now())


class SystemClock:
    # The functions themselves: they are asked a dozen times for each page.
    now = staticmethod(time.time)
    monotonic = staticmethod(time.monotonic)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class VirtualClock:
    """A clock that only moves when `advance` is called, so that an hour of politeness is tested in a millisecond."""

    def __init__(self, now: float = 0.0) -> None:
        self._now = now
        self._order = itertools.count()
        # Filled by sleep, emptied by advance: (when, order of arrival, who waits).
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
        """Let time pass: sleepers wake in order, and what they do next happens at their own moment."""
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
        """Let every task that can run do so before time moves on."""
        for _ in range(20):
            await asyncio.sleep(0)
