"""A name server on loopback that a test owns: UDP, on the test's own event loop, with an answer or a fault per name."""

import asyncio
import os
import struct
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from ipaddress import ip_address
from typing import NamedTuple, cast

NO_ERROR, SERVER_FAILURE, NO_SUCH_NAME, REFUSED = 0, 2, 3, 5
_TRUNCATED = 0x0200
_ANSWER = 0x8180  # a recursive server's answer to a recursive question
_TYPES = {4: 1, 6: 28}  # A and AAAA


class Reply(NamedTuple):
    """What the server says about a name."""

    addresses: tuple[str, ...] = ()
    code: int = NO_ERROR
    ttl_seconds: int = 600
    is_silent: bool = False
    is_truncated: bool = False
    is_garbage: bool = False
    fails_ipv4: bool = False  # a question for IPv4 addresses is a server failure


SILENCE, MISSING = Reply(is_silent=True), Reply(code=NO_SUCH_NAME)
FAILING = Reply(code=SERVER_FAILURE)


class NameServer(asyncio.DatagramProtocol):
    """`reply` says what is answered for a name. Questions for IPv4 and IPv6 addresses of a name count as one."""

    def __init__(self, reply: Callable[[str], Reply]) -> None:
        self.reply = reply
        self.asked: Counter[str] = Counter()  # questions for IPv4 addresses, repeated ones included
        self._transport: asyncio.DatagramTransport | None = None
        self._lost = asyncio.Event()

    @property
    def setting(self) -> str:
        """The server as `fetch.name_servers` names it."""
        assert self._transport is not None
        address, port = self._transport.get_extra_info("sockname")
        return f"{address}:{port}"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)  # asyncio's own is not a subclass in Python 3.11

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        name, kind, end = _question(data)
        if kind == _TYPES[4]:
            self.asked[name] += 1
        reply = self.reply(name)
        if reply.is_silent:
            return
        sent = _message(data, kind, end, reply)
        assert self._transport is not None
        self._transport.sendto(data[:2] + os.urandom(30) if reply.is_garbage else sent, addr)

    def connection_lost(self, _: Exception | None) -> None:
        self._lost.set()

    async def close(self) -> None:
        assert self._transport is not None
        self._transport.close()
        await self._lost.wait()


def _question(data: bytes) -> tuple[str, int, int]:
    """Return the name, the type, and the end of the question."""
    labels, at = [], 12
    while length := data[at]:
        labels.append(data[at + 1 : at + 1 + length].decode().lower())
        at += 1 + length
    return ".".join(labels), struct.unpack_from(">H", data, at + 1)[0], at + 5


def _message(data: bytes, kind: int, end: int, reply: Reply) -> bytes:
    known = [ip_address(address) for address in reply.addresses]
    records = [
        struct.pack(">HHHIH", 0xC00C, kind, 1, reply.ttl_seconds, len(address.packed)) + address.packed
        for address in known
        if _TYPES[address.version] == kind
    ]
    code = SERVER_FAILURE if reply.fails_ipv4 and kind == _TYPES[4] else reply.code
    flags = _ANSWER | code | (_TRUNCATED if reply.is_truncated else 0)
    return data[:2] + struct.pack(">HHHHH", flags, 1, len(records), 0, 0) + data[12:end] + b"".join(records)


@asynccontextmanager
async def name_server(reply: Callable[[str], Reply]) -> AsyncIterator[NameServer]:
    loop = asyncio.get_running_loop()
    _, server = await loop.create_datagram_endpoint(lambda: NameServer(reply), local_addr=("127.0.0.1", 0))
    try:
        yield server
    finally:
        await server.close()
