"""What the tests of fetching share: limits, a transport for one page, and servers of two kinds.

`Server` of `servers` answers one connection after the other by a script, in a thread. `Door` stands on the test's own
event loop, keeps connections open, and counts them.
"""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from servers import Script, Server
from tarrafa.configuration import CrawlSection, FetchSection
from tarrafa.fetch import CurlTransport, Resolver, TableResolver
from tarrafa.records import Failure, FailureKind, Page, Request
from webs import until

SMALL = FetchSection(timeout_seconds=20.0, body_limit_bytes=10_000, header_limit_bytes=4_096)
OWN = CrawlSection(user_agent="Test/1.0", allow_private=True)
NAMES = TableResolver({"a.test": ("127.0.0.1",), "a.test.": ("127.0.0.1",), "far.test": ("10.0.0.1", "fd00::1")})

Serve = Callable[..., Server]


@contextmanager
def serving() -> Iterator[Serve]:
    servers: list[Server] = []

    def start(script: Script, tls: ssl.SSLContext | None = None, address: str = "127.0.0.1") -> Server:
        servers.append(Server(script, tls, address))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def answer(data: bytes) -> Script:
    return lambda visit: visit.send(data)


def ok(body: bytes, *fields: str) -> bytes:
    lines = ["HTTP/1.1 200 OK", f"Content-Length: {len(body)}", *fields]
    return "\r\n".join([*lines, "", ""]).encode() + body


@contextmanager
def transporting(
    limits: FetchSection = SMALL,
    crawl: CrawlSection = OWN,
    resolver: Resolver = NAMES,
    certificates: Path | None = None,
) -> Iterator[CurlTransport]:
    made = CurlTransport(limits, crawl, resolver, certificates=certificates)
    try:
        yield made
    finally:
        made.close()


def outcome_of(
    request: Request | str, limits: FetchSection = SMALL, crawl: CrawlSection = OWN, certificates: Path | None = None
) -> Page | Failure:
    async def story() -> Page | Failure:
        with transporting(limits, crawl, certificates=certificates) as transport:
            return await transport.fetch(Request(request) if isinstance(request, str) else request)

    return asyncio.run(story())


def page_of(request: Request | str, limits: FetchSection = SMALL, certificates: Path | None = None) -> Page:
    outcome = outcome_of(request, limits, certificates=certificates)
    assert isinstance(outcome, Page), outcome
    return outcome


def failure_of(
    url: str, limits: FetchSection = SMALL, crawl: CrawlSection = OWN, certificates: Path | None = None
) -> FailureKind:
    outcome = outcome_of(url, limits, crawl, certificates)
    assert isinstance(outcome, Failure), outcome
    assert outcome.url == url
    assert outcome.detail.isprintable()
    return outcome.kind


@dataclass
class Door:
    """`reply` gives what is sent for a request, or None to hang up."""

    reply: Callable[[bytes], bytes | None]
    port: int = 0
    connection_count: int = 0
    requests: list[bytes] = field(default_factory=list)
    writers: set[asyncio.StreamWriter] = field(default_factory=set)  # of the connections that are open

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connection_count += 1
        self.writers.add(writer)
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                self.requests.append(await reader.readuntil(b"\r\n\r\n"))
                sent = self.reply(self.requests[-1])
                if sent is None:
                    break
                writer.write(sent)
        writer.transport.abort()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
        self.writers.discard(writer)

    def hang_up(self) -> None:
        for writer in self.writers:
            writer.transport.abort()


@asynccontextmanager
async def opened(
    reply: Callable[[bytes], bytes | None], address: str = "127.0.0.1", port: int = 0, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Door]:
    door = Door(reply)
    server = await asyncio.start_server(door.serve, address, port, ssl=tls)
    door.port = server.sockets[0].getsockname()[1]
    try:
        yield door
    finally:
        door.hang_up()
        await until(lambda: not door.writers)
        server.close()
        await server.wait_closed()
