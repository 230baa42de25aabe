"""Resolvers: from a name to its addresses, by asking name servers or from a table.

`CaresResolver` uses c-ares on the event loop, without threads. It reads the files that the system's resolver reads:
/etc/hosts, the name servers and search domains of /etc/resolv.conf, and of /etc/nsswitch.conf the order of the two.
It does not load the system's plug-ins, so it does not find names that only mDNS, NIS or LDAP know.

Not done here: caching, timeouts, bounds on the number of concurrent lookups.
"""

import asyncio
import socket
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import pycares

from tarrafa.addresses import parse_address
from tarrafa.errors import InputError
from tarrafa.texts import quoted

ADDRESS_LIMIT = 8  # of one name; more are never tried
SYSTEM = "system"  # as name servers: those of /etc/resolv.conf

TRIES = 5  # of one question; each waits twice as long as the one before
_TRIES_SHARE = 2**TRIES - 1  # of the timeout; the first try waits one part of so many
_LEAST_TRY_SECONDS = 0.25
_TICK_SECONDS = 0.1  # while a question is open, c-ares looks for late answers so often
# A channel caches answers without a bound on their number, and never reads the system's files again. So it is replaced.
QUESTIONS_LIMIT = 5_000
SUSPECT_SECONDS = 30.0  # age at which a channel whose question failed is replaced
_NO_SUCH_NAME = frozenset({pycares.errno.ARES_ENOTFOUND, pycares.errno.ARES_ENODATA, pycares.errno.ARES_EBADNAME})
_NO_SOCKET = pycares.ARES_SOCKET_BAD


class NameAnswer(NamedTuple):
    addresses: tuple[str, ...] | None  # best first; none if the name has none; None if no name server could tell
    ttl_seconds: float = 0.0  # for which the addresses are valid; 0 if that is unknown
    detail: str = ""  # why no name server could tell


class Resolver(Protocol):
    async def look_up(self, name: str) -> NameAnswer:
        """Find the addresses of a name. Never raise."""
        ...

    def close(self) -> None:
        """End every lookup that is still running."""
        ...


class TableResolver:
    """Resolves the names that it was given, and no others."""

    def __init__(self, table: Mapping[str, tuple[str, ...]]) -> None:
        self._table = table

    async def look_up(self, name: str) -> NameAnswer:
        return NameAnswer(self._table.get(name, ()))

    def close(self) -> None:
        """Do nothing: no lookup takes time."""


def parse_name_servers(text: str) -> tuple[str, ...]:
    """Parse comma-separated addresses, each with an optional port; return none for those of the system."""
    if text.strip() == SYSTEM:
        return ()
    servers = tuple(part.strip() for part in text.split(","))
    for server in servers:
        if not _is_server(server):
            example = f'"192.0.2.1, [2001:db8::1]:5353", or "{SYSTEM}"'
            raise InputError(f"{quoted(server)} is not a name server; write for example {example}")
    return servers


def _is_server(text: str) -> bool:
    if parse_address(text) is not None:
        return True
    address, _, port = text.rpartition(":")
    is_whole = ":" not in address or (address.startswith("[") and address.endswith("]"))
    is_port = port.isascii() and port.isdigit() and 0 < int(port) < 1 << 16
    return is_whole and is_port and parse_address(address) is not None


class CaresResolver:
    """Asks name servers by c-ares. After `close` it can be used again, on any loop."""

    def __init__(self, servers: tuple[str, ...] = (), timeout_seconds: float = 10.0) -> None:
        self._servers = servers
        self._try_seconds = max(_LEAST_TRY_SECONDS, timeout_seconds / _TRIES_SHARE)
        # The last takes questions, the others wait for answers. Filled by _asked_channel, emptied there and by close.
        self._channels: list[CaresChannel] = []

    async def look_up(self, name: str) -> NameAnswer:
        return await self._asked_channel().ask(name)

    def close(self) -> None:
        for channel in self._channels:
            channel.close()
        self._channels.clear()

    def _asked_channel(self) -> "CaresChannel":
        if not self._channels or self._channels[-1].is_worn:
            for channel in self._channels:
                if not channel.open_count:
                    channel.close()
            self._channels = [channel for channel in self._channels if channel.open_count]
            self._channels.append(CaresChannel(self._servers, self._try_seconds))
        return self._channels[-1]


class CaresChannel:
    """One c-ares channel. Belongs to the loop on which it was made, and runs only there."""

    def __init__(self, servers: tuple[str, ...], try_seconds: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._made_at = self._loop.time()
        self._asked_count = 0
        self._has_failed = False  # no name server could tell
        self.open_count = 0  # questions without an answer
        self._sockets: set[int] = set()  # filled and emptied by _on_socket
        self._timer: asyncio.TimerHandle | None = None  # runs while a question is open
        self._is_closed = False
        self._channel = pycares.Channel(
            sock_state_cb=self._on_socket, timeout=try_seconds, tries=TRIES, servers=servers or None
        )

    @property
    def is_worn(self) -> bool:
        """True if another channel must take the next question."""
        is_suspect = self._has_failed and self._loop.time() >= self._made_at + SUSPECT_SECONDS
        return is_suspect or self._asked_count >= QUESTIONS_LIMIT

    async def ask(self, name: str) -> NameAnswer:
        """Ask for the addresses of a name. Cancelling the caller does not end the question."""
        found, error = await self._question(name, socket.AF_UNSPEC)
        if error == pycares.errno.ARES_ENODATA:
            # Of its two questions c-ares tells only how the later one ended, so the other may have failed.
            found, error = await self._question(name, socket.AF_INET)
            if error == pycares.errno.ARES_ENODATA:
                found, error = await self._question(name, socket.AF_INET6)
        answer = _answer(found, error)
        self._has_failed |= answer.addresses is None
        return answer

    async def _question(self, name: str, family: socket.AddressFamily) -> tuple[Any, int | None]:
        """Return the result of c-ares, or the number of its error."""
        ended: asyncio.Future[tuple[Any, int | None]] = self._loop.create_future()

        def end(found: Any, error: int | None) -> None:
            self.open_count -= 1
            if not ended.done():
                ended.set_result((found, error))

        if self._is_closed:
            return None, pycares.errno.ARES_ECANCELLED
        self._asked_count += 1
        self.open_count += 1
        try:
            self._channel.getaddrinfo(name, None, family=family, type=socket.SOCK_STREAM, callback=end)
        except (pycares.AresError, UnicodeError):  # not the form of a name
            end(None, pycares.errno.ARES_EBADNAME)
        self._set_timer()
        return await ended

    def close(self) -> None:
        """Answer every open question with a failure, and close all sockets."""
        self._channel.cancel()
        self._is_closed = True
        # c-ares closes its sockets in another thread, which must find none of them on the loop.
        for number in self._sockets:
            self._loop.remove_reader(number)
            self._loop.remove_writer(number)
        self._sockets.clear()
        if self._timer is not None:
            self._timer.cancel()
        self._channel.close()

    def _on_socket(self, number: int, can_read: bool, can_write: bool) -> None:
        """Watch a socket as c-ares wishes. It is told before a socket is closed."""
        if self._is_closed:
            return
        self._sockets.add(number)
        if can_read:
            self._loop.add_reader(number, self._channel.process_fd, number, _NO_SOCKET)
        else:
            self._loop.remove_reader(number)
        if can_write:
            self._loop.add_writer(number, self._channel.process_fd, _NO_SOCKET, number)
        else:
            self._loop.remove_writer(number)
        if not can_read and not can_write:
            self._sockets.discard(number)

    def _set_timer(self) -> None:
        if self._timer is None and self.open_count:
            self._timer = self._loop.call_later(_TICK_SECONDS, self._on_time)

    def _on_time(self) -> None:
        self._timer = None
        self._channel.process_fd(_NO_SOCKET, _NO_SOCKET)
        self._set_timer()


def _answer(found: Any, error: int | None) -> NameAnswer:
    if error in _NO_SUCH_NAME:
        return NameAnswer(())
    if error is not None:
        return NameAnswer(None, detail=str(pycares.errno.strerror(error)))
    addresses = dict.fromkeys(node.addr[0].decode() for node in found.nodes)
    ttl_seconds = min((node.ttl for node in found.nodes), default=0)
    return NameAnswer(tuple(addresses)[:ADDRESS_LIMIT], ttl_seconds)
