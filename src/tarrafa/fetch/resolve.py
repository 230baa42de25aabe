"""From a host's name to its addresses: the system's resolver, and a table in memory for made-up names."""

import asyncio
import socket
import threading
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from typing import NamedTuple, Protocol

from tarrafa.addresses import is_public, parse_address

ADDRESS_LIMIT = 8  # of one name; more are never tried
THREAD_LIMIT = 32  # look-ups of the system's resolver at once


class Resolver(Protocol):
    async def addresses(self, name: str) -> tuple[str, ...]:
        """In the order in which they should be tried; empty if the name has none. Never raises for a bad name."""
        ...


class TableResolver:
    """Knows the names that it was given, and no others."""

    def __init__(self, table: Mapping[str, tuple[str, ...]]) -> None:
        self._table = table

    async def addresses(self, name: str) -> tuple[str, ...]:
        return self._table.get(name, ())


class _Question(NamedTuple):
    name: str
    loop: asyncio.AbstractEventLoop
    answer: asyncio.Future[tuple[str, ...]]


class SystemResolver:
    """Asks the system in a few threads; whoever comes when all are busy waits.

    The threads are daemons: the system's call cannot be interrupted, and must not keep the program alive. A thread that
    finds nothing to do ends.
    """

    def __init__(self, thread_limit: int = THREAD_LIMIT) -> None:
        self._thread_limit = thread_limit
        self._lock = threading.Lock()
        self._thread_count = 0  # under the lock
        # Filled by `addresses`, emptied by the threads, both under the lock.
        self._questions: deque[_Question] = deque()

    async def addresses(self, name: str) -> tuple[str, ...]:
        loop = asyncio.get_running_loop()
        question = _Question(name, loop, loop.create_future())
        with self._lock:
            self._questions.append(question)
            if self._thread_count < self._thread_limit:
                threading.Thread(target=self._work, daemon=True).start()
                self._thread_count += 1
        return await question.answer

    def _work(self) -> None:
        while (question := self._next()) is not None:
            if question.answer.done():  # nobody waits any more
                continue
            addresses = _system_addresses(question.name)
            with suppress(RuntimeError):  # the loop is closed
                question.loop.call_soon_threadsafe(_settle, question.answer, addresses)

    def _next(self) -> _Question | None:
        with self._lock:
            if self._questions:
                return self._questions.popleft()
            self._thread_count -= 1
            return None


def public_only(addresses: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(address for address in addresses if is_public_address(address))


@lru_cache(maxsize=16_384)
def is_public_address(address: str) -> bool:
    known = parse_address(address)
    return known is not None and is_public(known)


def _settle(found: asyncio.Future[tuple[str, ...]], addresses: tuple[str, ...]) -> None:
    if not found.done():
        found.set_result(addresses)


def _system_addresses(name: str) -> tuple[str, ...]:
    try:
        infos = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):  # no such name, or one that no name can look like
        return ()
    return tuple(dict.fromkeys(str(info[4][0]) for info in infos))[:ADDRESS_LIMIT]
