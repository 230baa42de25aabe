"""The door of real sockets: the web over HTTP/1.1 on every loopback address at one port.

One socket listens for all of 127.0.0.0/8 and answers loopback alone. Hosts are told apart by the Host header, and by
the address that was connected to where there is none. Plain answers are written at once; slow and hostile ones by a
task of their own, while the connection waits its turn.
"""

import asyncio
import contextlib
import gc
import signal
import socket
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from typing import cast

from tarrafa.clock import Clock, SystemClock
from tarrafa.errors import WorkError
from tarrafa.simulate.web.answers import Answer, Ask, Manner, Web
from tarrafa.simulate.web.control import Control
from tarrafa.simulate.web.dates import EPOCH_SECONDS, http_date
from tarrafa.simulate.web.http import HEAD_MAX_BYTES, Asked, Malformed, in_chunks, read_request, write_head
from tarrafa.simulate.web.journal import Journal, Visit
from tarrafa.simulate.web.plan import Host, Plan

BACKLOG = 4_096
HANG_SECONDS = 300.0
DRIP_BYTES, DRIP_SECONDS = 512, 0.1
ENDLESS_BYTES = 256_000_000  # even what has no end stops by itself
GC_THRESHOLDS = (50_000, 20, 100)
SO_BINDTODEVICE = getattr(socket, "SO_BINDTODEVICE", 25)


def listen(port: int) -> socket.socket:
    """A socket for all loopback addresses. Others are kept out by the kernel where it can, else by the server."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # Not permitted on old kernels: connections from elsewhere are then closed as soon as they come.
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, SO_BINDTODEVICE, b"lo\0")
    try:
        sock.bind(("0.0.0.0", port))  # noqa: S104
        sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        raise WorkError(
            f"cannot listen on port {port}: {error.strerror}; choose another with --port, or 0 for any"
        ) from error
    sock.setblocking(False)
    return sock


@dataclass(frozen=True, slots=True)
class Habits:
    """How a web is served; none of it changes what stands in it."""

    speed: float = 0.0  # how many of the web's seconds pass in one of ours
    delay_seconds: float = 0.0  # the gap between visits of a host that the journal expects
    log_size: int = 200_000


USUAL = Habits()


class Server:
    """A web that is being served."""

    def __init__(self, plan: Plan, habits: Habits = USUAL, clock: Clock | None = None) -> None:
        self.web = Web(plan)
        self.journal = Journal(self.web.robots, habits.delay_seconds, habits.log_size)
        self._clock = clock or SystemClock()
        self._opened = self._clock.monotonic()
        self._speed = habits.speed
        self.skipped_seconds = 0.0  # added to the web's time by /__clock
        self.control = Control(self)
        self.connections: set[Connection] = set()  # each enters and leaves by itself

    def seconds(self) -> float:
        """Since the web was opened, in our time."""
        return self._clock.monotonic() - self._opened

    def now_ms(self) -> int:
        """The web's time."""
        running = self.seconds() * self._speed if self._speed else 0.0
        return int((running + self.skipped_seconds) * 1000)

    async def serve(self, sock: socket.socket) -> asyncio.Server:
        return await asyncio.get_running_loop().create_server(lambda: Connection(self), sock=sock, backlog=BACKLOG)

    def drop_connections(self) -> None:
        for connection in list(self.connections):
            connection.drop()


@contextlib.asynccontextmanager
async def open_server(plan: Plan, habits: Habits = USUAL, clock: Clock | None = None) -> AsyncIterator[Server]:
    """The web of a plan, served while the block runs; port 0 takes any free port."""
    sock = listen(plan.port)
    server = Server(replace(plan, port=sock.getsockname()[1]), habits, clock)
    listener = await server.serve(sock)
    try:
        yield server
    finally:
        listener.close()
        server.drop_connections()
        await asyncio.sleep(0)


async def run_server(plan: Plan, habits: Habits, ready: Callable[[Server], None], seconds: float | None) -> Server:
    """Serve until the time is over, or SIGINT or SIGTERM comes; `ready` is called when the web answers."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with open_server(plan, habits) as server:
        ready(server)
        # What is alive by now stays so: the collector need not look at it again, and seldom at the rest.
        gc.freeze()
        gc.set_threshold(*GC_THRESHOLDS)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), seconds)
    return server


class Connection(asyncio.Protocol):
    def __init__(self, server: Server) -> None:
        self._server = server
        self._buffer = b""
        self._body_left = 0  # of a request that carries one
        self._sending: asyncio.Task[None] | None = None
        self._can_write = asyncio.Event()
        self._can_write.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports have the methods of asyncio's, not the class.
        self._transport = cast("asyncio.Transport", transport)
        self._client: str = (transport.get_extra_info("peername") or ("",))[0]
        if not self._client.startswith("127."):
            self._transport.abort()
        self._server.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._server.connections.discard(self)
        self._can_write.set()
        if self._sending:
            self._sending.cancel()

    def drop(self) -> None:
        self._transport.abort()

    def pause_writing(self) -> None:
        self._can_write.clear()
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._can_write.set()
        if not self._transport.is_closing():
            self._transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        self._buffer = self._buffer + data if self._buffer else data
        self._go_on()

    def _go_on(self) -> None:
        """Answer every request that has wholly come, one after the other."""
        while self._sending is None and not self._transport.is_closing():
            if self._body_left:
                skipped = min(self._body_left, len(self._buffer))
                self._buffer, self._body_left = self._buffer[skipped:], self._body_left - skipped
            end = self._buffer.find(b"\r\n\r\n")
            if self._body_left or end < 0:
                break
            head, self._buffer = self._buffer[:end], self._buffer[end + 4 :]
            self._request(head)
        if len(self._buffer) > HEAD_MAX_BYTES and self._sending is None:
            self._refuse(Malformed("head too large", self._buffer[:200].decode("latin-1"), ""))

    def _request(self, head: bytes) -> None:
        asked = read_request(head)
        if isinstance(asked, Malformed):
            return self._refuse(asked)
        length = asked.headers.get("content-length", "0")
        self._body_left = int(length) if length.isdigit() else 0
        authority = asked.headers.get("host") or self._transport.get_extra_info("sockname")[0]
        host = self._server.web.geography.find(authority)
        if asked.target.startswith("/__"):
            return self._tell(asked)
        if host is None:
            # Nobody is there: as if no host had this address.
            return self._transport.abort()
        return self._answer(host, asked)

    def _refuse(self, malformed: Malformed) -> None:
        host = self._server.web.geography.find(malformed.host) if malformed.host else None
        visit = Visit(self._server.seconds(), malformed.host, malformed.line[:500], 400, self._client, "", "malformed")
        self._server.journal.malformed(host.origin if host else malformed.host, visit)
        self._write(Answer(400, f"{malformed.reason}\n".encode(), "text/plain"), chunked=False, keep_alive=False)
        self._transport.close()

    def _tell(self, asked: Asked) -> None:
        async def tell() -> None:
            answer = await self._server.control.answer(asked.method, asked.target)
            self._finish(answer, asked, chunked=False)

        self._sending = asyncio.get_running_loop().create_task(tell())

    def _answer(self, host: Host, asked: Asked) -> None:
        server = self._server
        agent = asked.headers.get("user-agent", "")
        begun = server.seconds()
        blame = server.journal.begin(host, asked.target, agent, begun)
        if asked.method in ("GET", "HEAD"):
            answer = server.web.answer(Ask(host, asked.target, asked.headers), server.now_ms())
        else:
            answer = Answer(405, b"only GET and HEAD\n", "text/plain", (("Allow", "GET, HEAD"),))
        visit = Visit(begun, host.origin, asked.target, answer.status, self._client, agent, blame)
        if answer.manner is Manner.PLAIN and not answer.wait_seconds:
            self._finish(answer, asked, host.chunked)
            return self._ended(host, visit, answer)
        self._sending = asyncio.get_running_loop().create_task(self._send_specially(host, visit, answer, asked))
        return None

    def _ended(self, host: Host, visit: Visit, answer: Answer) -> None:
        self._server.journal.end(host, visit, self._server.seconds(), answer.retry_after_seconds)

    def _finish(self, answer: Answer, asked: Asked, chunked: bool) -> None:
        self._write(answer, chunked, asked.keep_alive, bodiless=asked.method == "HEAD")
        if not asked.keep_alive:
            self._transport.close()
        if self._sending:
            self._sending = None
            self._go_on()

    def _write(self, answer: Answer, chunked: bool, keep_alive: bool, bodiless: bool = False) -> None:
        chunked = chunked and answer.status != 304 and not bodiless
        date = http_date(EPOCH_SECONDS + self._server.now_ms() // 1000)
        head = write_head(answer, date, chunked, keep_alive)
        if bodiless or not answer.body:
            self._transport.write(head)
        else:
            self._transport.writelines((head, in_chunks(answer.body) if chunked else answer.body))

    async def _send_specially(self, host: Host, visit: Visit, answer: Answer, asked: Asked) -> None:
        """Answers that take their time, or never end well."""
        try:
            await asyncio.sleep(answer.wait_seconds)
            if answer.manner is Manner.PLAIN:
                self._finish(answer, asked, host.chunked)
            else:
                await self._misbehave(answer, asked)
        finally:
            self._ended(host, visit, answer)

    async def _misbehave(self, answer: Answer, asked: Asked) -> None:
        if answer.manner is Manner.HANG:
            await asyncio.sleep(HANG_SECONDS)
        elif answer.manner is Manner.ENDLESS:
            await self._send_endlessly(answer)
        elif answer.manner is Manner.DRIP:
            await self._send_drops(answer)
            self._sending = None
            return self._go_on()
        elif answer.manner in (Manner.SHORT, Manner.LONG):
            self._write(answer, chunked=False, keep_alive=asked.keep_alive)
            return self._transport.close()
        return self._reset()

    def _reset(self) -> None:
        """Close so that the other side gets a reset, not an end."""
        sock = self._transport.get_extra_info("socket")
        if sock is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        self._transport.abort()

    async def _send_endlessly(self, answer: Answer) -> None:
        date = http_date(EPOCH_SECONDS + self._server.now_ms() // 1000)
        self._transport.write(write_head(answer, date, chunked=True, keep_alive=True))
        piece = b"%x\r\n%b\r\n" % (len(answer.body), answer.body)
        for _ in range(ENDLESS_BYTES // len(piece)):
            await self._can_write.wait()
            if self._transport.is_closing():
                return
            self._transport.write(piece)
            await asyncio.sleep(0)

    async def _send_drops(self, answer: Answer) -> None:
        date = http_date(EPOCH_SECONDS + self._server.now_ms() // 1000)
        self._transport.write(write_head(answer, date, chunked=False, keep_alive=True))
        for start in range(0, len(answer.body), DRIP_BYTES):
            await self._can_write.wait()
            self._transport.write(answer.body[start : start + DRIP_BYTES])
            await asyncio.sleep(DRIP_SECONDS)
