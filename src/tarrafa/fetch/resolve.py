"""From a host's name to its addresses: the system's resolver, and a table in memory for made-up names."""

import asyncio
import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Protocol

from tarrafa.addresses import is_public, parse_address

ADDRESS_LIMIT = 8  # of one name; more are never tried


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


class SystemResolver:
    async def addresses(self, name: str) -> tuple[str, ...]:
        loop = asyncio.get_running_loop()
        found: asyncio.Future[tuple[str, ...]] = loop.create_future()
        # A daemon thread of its own: the system's call cannot be interrupted, and must not keep the program alive.
        threading.Thread(target=_look_up, args=(name, loop, found), daemon=True).start()
        return await found


def public_only(addresses: tuple[str, ...]) -> tuple[str, ...]:
    parsed = ((address, parse_address(address)) for address in addresses)
    return tuple(address for address, known in parsed if known is not None and is_public(known))


def _look_up(name: str, loop: asyncio.AbstractEventLoop, found: asyncio.Future[tuple[str, ...]]) -> None:
    addresses = _system_addresses(name)
    with suppress(RuntimeError):  # nobody waits any more and the loop is closed
        loop.call_soon_threadsafe(_settle, found, addresses)


def _settle(found: asyncio.Future[tuple[str, ...]], addresses: tuple[str, ...]) -> None:
    if not found.done():
        found.set_result(addresses)


def _system_addresses(name: str) -> tuple[str, ...]:
    try:
        infos = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):  # no such name, or one that no name can look like
        return ()
    return tuple(dict.fromkeys(str(info[4][0]) for info in infos))[:ADDRESS_LIMIT]
