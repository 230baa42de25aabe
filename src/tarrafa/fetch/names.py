"""Addresses of names, with a cache so that a name is looked up once.

The life of a name: the first caller starts a lookup, and other callers wait for the same one. Addresses are cached for
their TTL within bounds, a missing name for a minute. When no name server could tell, nothing is cached: the next caller
asks again. Of several addresses the one that worked last comes first, and one that could not be reached comes last.
"""

import asyncio
from typing import NamedTuple

from tarrafa.addresses import is_public, parse_address
from tarrafa.clock import Clock
from tarrafa.fetch.resolvers import NameAnswer, Resolver
from tarrafa.lru import LruCache
from tarrafa.units import format_duration


class NameLimits(NamedTuple):
    found_least_seconds: float = 300.0  # whatever the TTL
    found_most_seconds: float = 3_600.0
    missing_seconds: float = 60.0
    name_count: int = 100_000  # cached names


DEFAULT_LIMITS = NameLimits()


class _CachedName(NamedTuple):
    addresses: tuple[str, ...]
    until: float


class NameCache:
    def __init__(
        self, resolver: Resolver, clock: Clock, timeout_seconds: float, limits: NameLimits = DEFAULT_LIMITS
    ) -> None:
        self._resolver = resolver
        self._clock = clock
        self._timeout_seconds = timeout_seconds  # of a lookup, from the question on
        self._limits = limits
        self._names: LruCache[str, _CachedName] = LruCache(limits.name_count)
        # Filled by the first caller for a name, emptied when the lookup ends.
        self._lookups: dict[str, asyncio.Task[NameAnswer]] = {}

    def is_known(self, name: str) -> bool:
        """Return True if `look_up` would answer from the cache."""
        known = self._names.get(name)
        return known is not None and known.until > self._clock.monotonic()

    async def look_up(self, name: str) -> NameAnswer:
        """Return what is known of a name, after asking for it if need be."""
        known = self._names.get(name)
        if known is None or known.until <= self._clock.monotonic():
            return await self._look_up(name)
        return NameAnswer(known.addresses)

    def worked(self, name: str, address: str) -> None:
        """Try this address first from now on."""
        self._reorder(name, address, to_front=True)

    def failed(self, name: str, address: str) -> None:
        """Try this address last from now on."""
        self._reorder(name, address, to_front=False)

    def close(self) -> None:
        for task in self._lookups.values():
            task.cancel()
        self._resolver.close()

    async def _look_up(self, name: str) -> NameAnswer:
        task = self._lookups.get(name)
        if task is None:
            task = self._lookups[name] = asyncio.create_task(self._ask(name))
            task.add_done_callback(lambda _: self._lookups.pop(name))
        # A caller that is cancelled must not cancel the lookup: others may wait for the same name.
        return await asyncio.shield(task)

    async def _ask(self, name: str) -> NameAnswer:
        try:
            async with asyncio.timeout(self._timeout_seconds):
                answer = await self._resolver.look_up(name)
        except TimeoutError:
            return NameAnswer(None, detail=f"no answer within {format_duration(self._timeout_seconds)}")
        except asyncio.CancelledError:  # by `close`: the callers were not cancelled themselves
            return NameAnswer(None, detail="the lookup was ended")
        return answer if answer.addresses is None else answer._replace(addresses=self._put(name, answer))

    def _put(self, name: str, answer: NameAnswer) -> tuple[str, ...]:
        limits, found, before = self._limits, answer.addresses or (), self._names.get(name)
        if before and before.addresses and before.addresses[0] in found:
            found = _moved(found, before.addresses[0], to_front=True)
        seconds = min(max(answer.ttl_seconds, limits.found_least_seconds), limits.found_most_seconds)
        self._names.put(
            name, _CachedName(found, self._clock.monotonic() + (seconds if found else limits.missing_seconds))
        )
        return found

    def _reorder(self, name: str, address: str, to_front: bool) -> None:
        known = self._names.get(name)
        if known is None or address not in known.addresses:
            return
        if known.addresses[0 if to_front else -1] != address:
            self._names.put(name, known._replace(addresses=_moved(known.addresses, address, to_front)))


def _moved(addresses: tuple[str, ...], address: str, to_front: bool) -> tuple[str, ...]:
    others = tuple(other for other in addresses if other != address)
    return (address, *others) if to_front else (*others, address)


def public_only(addresses: tuple[str, ...]) -> tuple[str, ...]:
    """Return the addresses that are on the public internet."""
    return tuple(address for address in addresses if (known := parse_address(address)) and is_public(known))
