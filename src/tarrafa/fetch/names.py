"""What names are known to lead to, so that a name is looked up once for many pages.

The life of a name: the first who asks makes a look-up, whoever asks meanwhile waits for the same one. Its answer is
believed for a while, a shorter one where there was none. Of several addresses the one that worked stays in front, and
one that could not be reached goes to the end.
"""

import asyncio
from typing import NamedTuple

from tarrafa.clock import Clock
from tarrafa.fetch.resolve import Resolver


class NameLimits(NamedTuple):
    # The system's resolver does not tell how long its answer holds.
    found_seconds: float = 300.0
    missing_seconds: float = 60.0  # also for a look-up that took too long
    name_count: int = 100_000  # remembered; of more, those that were asked for longest ago are forgotten


USUAL = NameLimits()


class _Entry(NamedTuple):
    addresses: tuple[str, ...] | None  # None: nobody answered in time
    until: float


class NameCache:
    def __init__(self, resolver: Resolver, clock: Clock, timeout_seconds: float, limits: NameLimits = USUAL) -> None:
        self._resolver = resolver
        self._clock = clock
        self._timeout_seconds = timeout_seconds
        self._limits = limits
        self._entries: dict[str, _Entry] = {}  # the one that was asked for longest ago stands first
        # Filled by whoever asks first, emptied when the look-up ends.
        self._underway: dict[str, asyncio.Task[tuple[str, ...] | None]] = {}

    async def addresses(self, name: str) -> tuple[str, ...] | None:
        """In the order in which they should be tried; empty if the name has none, None if nobody answers in time."""
        entry = self._entries.get(name)
        if entry is None or entry.until <= self._clock.monotonic():
            return await self._look_up(name)
        del self._entries[name]
        self._entries[name] = entry
        return entry.addresses

    def worked(self, name: str, address: str) -> None:
        self._order(name, address, to_front=True)

    def failed(self, name: str, address: str) -> None:
        self._order(name, address, to_front=False)

    def close(self) -> None:
        for task in self._underway.values():
            task.cancel()

    async def _look_up(self, name: str) -> tuple[str, ...] | None:
        task = self._underway.get(name)
        if task is None:
            task = self._underway[name] = asyncio.create_task(self._ask(name))
            task.add_done_callback(lambda _: self._underway.pop(name))
        # Whoever is cancelled leaves alone: others may wait for the same name.
        return await asyncio.shield(task)

    async def _ask(self, name: str) -> tuple[str, ...] | None:
        try:
            async with asyncio.timeout(self._timeout_seconds):
                found: tuple[str, ...] | None = await self._resolver.addresses(name)
        except TimeoutError:
            found = None
        except asyncio.CancelledError:  # by `close`: those who wait were not cancelled themselves
            return None
        return self._remember(name, found)

    def _remember(self, name: str, found: tuple[str, ...] | None) -> tuple[str, ...] | None:
        before = self._entries.pop(name, None)
        if found and before and before.addresses and before.addresses[0] in found:
            found = _moved(found, before.addresses[0], to_front=True)
        seconds = self._limits.found_seconds if found else self._limits.missing_seconds
        self._entries[name] = _Entry(found, self._clock.monotonic() + seconds)
        if len(self._entries) > self._limits.name_count:
            del self._entries[next(iter(self._entries))]
        return found

    def _order(self, name: str, address: str, to_front: bool) -> None:
        entry = self._entries.get(name)
        if entry is None or not entry.addresses or address not in entry.addresses:
            return
        if entry.addresses[0 if to_front else -1] != address:
            self._entries[name] = entry._replace(addresses=_moved(entry.addresses, address, to_front))


def _moved(addresses: tuple[str, ...], address: str, to_front: bool) -> tuple[str, ...]:
    others = tuple(other for other in addresses if other != address)
    return (address, *others) if to_front else (*others, address)
