"""Resolve the names of hosts: through the system or a table, with a cache so that a name is looked up once.

The life of a name: the first caller starts a lookup, and other callers wait for the same one. The answer is cached for
some minutes, a missing name for a shorter time. Of several addresses the one that worked last comes first, and one that
could not be reached goes to the end.
"""

import asyncio
import socket
import threading
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple, Protocol

from tarrafa.addresses import is_public, parse_address
from tarrafa.clock import Clock
from tarrafa.lru import LruCache

ADDRESS_LIMIT = 8  # of one name; more are never tried
THREAD_LIMIT = 32  # concurrent lookups of the system's resolver


class Resolver(Protocol):
    async def addresses(self, name: str) -> tuple[str, ...]:
        """Return the addresses in the order in which to try them; none if the name has none. Never raise."""
        ...


class TableResolver:
    """Resolves the names that it was given, and no others."""

    def __init__(self, table: Mapping[str, tuple[str, ...]]) -> None:
        self._table = table

    async def addresses(self, name: str) -> tuple[str, ...]:
        return self._table.get(name, ())


class _Lookup(NamedTuple):
    name: str
    loop: asyncio.AbstractEventLoop
    addresses: asyncio.Future[tuple[str, ...]]


class SystemResolver:
    """Asks the system in a few threads; lookups beyond that wait in a queue.

    The threads are daemons: the system's call cannot be interrupted, and must not keep the program alive. A thread
    that finds the queue empty ends.
    """

    def __init__(self, thread_limit: int = THREAD_LIMIT) -> None:
        self._thread_limit = thread_limit
        self._lock = threading.Lock()
        self._thread_count = 0  # under the lock
        # Filled by `addresses`, emptied by the threads, both under the lock.
        self._queue: deque[_Lookup] = deque()

    async def addresses(self, name: str) -> tuple[str, ...]:
        loop = asyncio.get_running_loop()
        lookup = _Lookup(name, loop, loop.create_future())
        with self._lock:
            self._queue.append(lookup)
            if self._thread_count < self._thread_limit:
                threading.Thread(target=self._work, daemon=True).start()
                self._thread_count += 1
        return await lookup.addresses

    def _work(self) -> None:
        while (lookup := self._next()) is not None:
            if lookup.addresses.done():  # its caller was cancelled
                continue
            found = _system_addresses(lookup.name)
            with suppress(RuntimeError):  # the loop is closed
                lookup.loop.call_soon_threadsafe(_set_result, lookup.addresses, found)

    def _next(self) -> _Lookup | None:
        with self._lock:
            if self._queue:
                return self._queue.popleft()
            self._thread_count -= 1
            return None


def _set_result(future: asyncio.Future[tuple[str, ...]], addresses: tuple[str, ...]) -> None:
    if not future.done():
        future.set_result(addresses)


def _system_addresses(name: str) -> tuple[str, ...]:
    try:
        infos = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):  # no such name, or not the form of one
        return ()
    return tuple(dict.fromkeys(str(info[4][0]) for info in infos))[:ADDRESS_LIMIT]


class NameLimits(NamedTuple):
    # The system's resolver does not tell how long its answer is valid.
    found_seconds: float = 300.0
    missing_seconds: float = 60.0  # also for a lookup that took too long
    name_count: int = 100_000  # cached names


DEFAULT_LIMITS = NameLimits()


class _CachedName(NamedTuple):
    addresses: tuple[str, ...] | None  # None: the lookup timed out
    until: float


class NameCache:
    def __init__(
        self, resolver: Resolver, clock: Clock, timeout_seconds: float, limits: NameLimits = DEFAULT_LIMITS
    ) -> None:
        self._resolver = resolver
        self._clock = clock
        self._timeout_seconds = timeout_seconds
        self._limits = limits
        self._names: LruCache[str, _CachedName] = LruCache(limits.name_count)
        # Filled by the first caller for a name, emptied when the lookup ends.
        self._lookups: dict[str, asyncio.Task[tuple[str, ...] | None]] = {}

    async def addresses(self, name: str) -> tuple[str, ...] | None:
        """Return the addresses in the order in which to try them; none if the name has none, None after a timeout."""
        known = self._names.get(name)
        if known is None or known.until <= self._clock.monotonic():
            return await self._look_up(name)
        return known.addresses

    def worked(self, name: str, address: str) -> None:
        """Try this address first from now on."""
        self._reorder(name, address, to_front=True)

    def failed(self, name: str, address: str) -> None:
        """Try this address last from now on."""
        self._reorder(name, address, to_front=False)

    def close(self) -> None:
        for task in self._lookups.values():
            task.cancel()

    async def _look_up(self, name: str) -> tuple[str, ...] | None:
        task = self._lookups.get(name)
        if task is None:
            task = self._lookups[name] = asyncio.create_task(self._ask(name))
            task.add_done_callback(lambda _: self._lookups.pop(name))
        # A caller that is cancelled must not cancel the lookup: others may wait for the same name.
        return await asyncio.shield(task)

    async def _ask(self, name: str) -> tuple[str, ...] | None:
        try:
            async with asyncio.timeout(self._timeout_seconds):
                found: tuple[str, ...] | None = await self._resolver.addresses(name)
        except TimeoutError:
            found = None
        except asyncio.CancelledError:  # by `close`: the callers were not cancelled themselves
            return None
        return self._put(name, found)

    def _put(self, name: str, found: tuple[str, ...] | None) -> tuple[str, ...] | None:
        before = self._names.pop(name)
        if found and before and before.addresses and before.addresses[0] in found:
            found = _moved(found, before.addresses[0], to_front=True)
        seconds = self._limits.found_seconds if found else self._limits.missing_seconds
        self._names.put(name, _CachedName(found, self._clock.monotonic() + seconds))
        return found

    def _reorder(self, name: str, address: str, to_front: bool) -> None:
        known = self._names.get(name)
        if known is None or not known.addresses or address not in known.addresses:
            return
        if known.addresses[0 if to_front else -1] != address:
            self._names.put(name, known._replace(addresses=_moved(known.addresses, address, to_front)))


def _moved(addresses: tuple[str, ...], address: str, to_front: bool) -> tuple[str, ...]:
    others = tuple(other for other in addresses if other != address)
    return (address, *others) if to_front else (*others, address)


def public_only(addresses: tuple[str, ...]) -> tuple[str, ...]:
    """Return the addresses that are on the public internet."""
    return tuple(address for address in addresses if (known := parse_address(address)) and is_public(known))
