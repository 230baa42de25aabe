"""The door of real sockets: the web over HTTP/1.1 on every loopback address at one port.

One socket listens for all of 127.0.0.0/8 and answers loopback alone. Hosts are told apart by the Host header, and by
the address that was connected to where there is none.
"""

import asyncio
import contextlib
import signal
import socket
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace

from tarrafa.clock import Clock, SystemClock
from tarrafa.descriptors import allow_open
from tarrafa.errors import WorkError
from tarrafa.lab.web.answers import Web
from tarrafa.lab.web.connection import Connection
from tarrafa.lab.web.control import Control
from tarrafa.lab.web.journal import Journal
from tarrafa.lab.web.plan import Plan
from tarrafa.memory import collect_seldom

BACKLOG = 4_096
CONNECTIONS_COUNT = 20_000  # that visitors may keep open
SO_BINDTODEVICE = getattr(socket, "SO_BINDTODEVICE", 25)


def listen(port: int) -> socket.socket:
    """A socket for all loopback addresses. Others are kept out by the kernel where it can, else by the server."""
    allow_open(CONNECTIONS_COUNT)
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
    latency_seconds: float = 0.0  # before each answer


USUAL = Habits()


class Server:
    """A web that is being served."""

    def __init__(self, plan: Plan, habits: Habits = USUAL, clock: Clock | None = None) -> None:
        self.web = Web(plan)
        self.journal = Journal(self.web.robots, habits.delay_seconds, habits.log_size)
        self.clock = clock or SystemClock()
        self._opened = self.clock.monotonic()
        self._speed = habits.speed
        self.latency_seconds = habits.latency_seconds
        self.skipped_seconds = 0.0  # added to the web's time by /__clock
        self.control = Control(self)
        self.connections: set[Connection] = set()  # each enters and leaves by itself

    def seconds(self) -> float:
        """Since the web was opened, in our time."""
        return self.clock.monotonic() - self._opened

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
        collect_seldom()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), seconds)
    return server
