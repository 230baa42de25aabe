"""Serve a synthetic web over HTTP/1.1, on every loopback address at one port.

One socket listens on all of 127.0.0.0/8 and refuses clients from elsewhere. The Host header selects the host; without
one, the address of the connection does. The server answers questions about itself at /__truth, /__copies, /__log,
/__clock and /__hosts of every host.
"""

import asyncio
import contextlib
import json
import math
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl

from tarrafa.clock import Clock, SystemClock
from tarrafa.descriptors import allow_open
from tarrafa.errors import WorkError
from tarrafa.lab.web.connections import ServerConnection
from tarrafa.lab.web.copies import COPIES_PATH, copy_fates, read_copies
from tarrafa.lab.web.journal import Journal
from tarrafa.lab.web.plan import Plan
from tarrafa.lab.web.synthetic_web import SyntheticWeb, WebAnswer
from tarrafa.lab.web.truth import Truth
from tarrafa.lab.web.web_time import WebTime
from tarrafa.memory import collect_seldom

BACKLOG = 4_096
CONNECTIONS_COUNT = 20_000  # open connections that clients may keep
SO_BINDTODEVICE = getattr(socket, "SO_BINDTODEVICE", 25)


def listen(port: int) -> socket.socket:
    """Return a socket for all loopback addresses; other clients are kept out by the kernel, or by the server."""
    allow_open(CONNECTIONS_COUNT)
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # Not permitted on old kernels: the server then closes connections from elsewhere.
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
class ServingOptions:
    """How a web is served; its content does not depend on it."""

    speed: float = 0.0  # seconds of the web's time per real second
    delay_seconds: float = 0.0  # delay between requests to a host that the journal expects
    log_size: int = 200_000
    latency_seconds: float = 0.0  # before each answer


DEFAULT_SERVING = ServingOptions()


class SyntheticServer:
    """A web being served."""

    def __init__(self, plan: Plan, habits: ServingOptions = DEFAULT_SERVING, clock: Clock | None = None) -> None:
        self.web = SyntheticWeb(plan)
        self.journal = Journal(self.web.robots, habits.delay_seconds, habits.log_size)
        self.clock = clock or SystemClock()
        self._opened = self.clock.monotonic()
        self.time = WebTime(habits.speed)  # moved forward by /__clock
        self.latency_seconds = habits.latency_seconds
        self.control = ControlPaths(self)
        self.connections: set[ServerConnection] = set()  # each connection adds and removes itself

    def seconds(self) -> float:
        """Return the real seconds since the web was opened."""
        return self.clock.monotonic() - self._opened

    def now_ms(self) -> int:
        """Return the web's time."""
        return int((self.time.at(self.seconds()) or 0.0) * 1000)

    async def serve(self, sock: socket.socket) -> asyncio.Server:
        return await asyncio.get_running_loop().create_server(
            lambda: ServerConnection(self), sock=sock, backlog=BACKLOG
        )

    def drop_connections(self) -> None:
        for connection in list(self.connections):
            connection.drop()


@contextlib.asynccontextmanager
async def open_server(
    plan: Plan, habits: ServingOptions = DEFAULT_SERVING, clock: Clock | None = None
) -> AsyncIterator[SyntheticServer]:
    """Serve the web of a plan while the block runs; port 0 takes any free port."""
    sock = listen(plan.port)
    server = SyntheticServer(replace(plan, port=sock.getsockname()[1]), habits, clock)
    listener = await server.serve(sock)
    try:
        yield server
    finally:
        listener.close()
        server.drop_connections()
        await asyncio.sleep(0)


async def run_server(
    plan: Plan, habits: ServingOptions, ready: Callable[[SyntheticServer], None], seconds: float | None
) -> SyntheticServer:
    """Serve for some seconds, or until SIGINT or SIGTERM. Call `ready` when the web answers."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with open_server(plan, habits) as server:
        ready(server)
        collect_seldom()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), seconds)
    return server


JSON = "application/json"
SKIP_MAX_SECONDS = 100 * 366 * 86_400.0
# Query parameters of each path.
_OPTIONS: dict[str, tuple[str, ...]] = {
    "/__truth": ("summary", "kind", "host"),
    COPIES_PATH: (),
    "/__log": ("entries",),
    "/__clock": ("advance_seconds",),
    "/__hosts": (),
}


class ControlPaths:
    def __init__(self, server: "SyntheticServer") -> None:
        self._server = server
        # The last truth, and the moment of the web that it belongs to.
        self._known: tuple[int, Truth] | None = None
        self._working = asyncio.Lock()

    async def answer(self, method: str, target: str, body: bytes = b"") -> WebAnswer:
        path, _, query = target.partition("?")
        options = dict(parse_qsl(query, keep_blank_values=True))
        try:
            return await self._dispatch(method, path, options, body)
        except ValueError as error:
            return WebAnswer(400, f"{error}\n".encode(), "text/plain")

    async def _dispatch(self, method: str, path: str, options: dict[str, str], body: bytes) -> WebAnswer:
        if path not in _OPTIONS:
            return WebAnswer(404, f"try {', '.join(_OPTIONS)}\n".encode(), "text/plain")
        unknown = options.keys() - _OPTIONS[path]
        if unknown:
            raise ValueError(f"{path} does not take {min(unknown)}; it takes {', '.join(_OPTIONS[path]) or 'nothing'}")
        if path == "/__truth":
            return await self._truth(options)
        if path == COPIES_PATH:
            return await self._copies(body)
        return {"/__log": self._log, "/__clock": self._clock, "/__hosts": self._hosts}[path](method, options)

    async def truth(self) -> Truth:
        """Return the truth, computed in a thread once for each moment of the web."""
        async with self._working:
            now_ms = self._server.now_ms()
            if self._known is None or self._known[0] != now_ms:
                self._known = (now_ms, await asyncio.to_thread(Truth, self._server.web, now_ms))
            return self._known[1]

    async def _truth(self, options: dict[str, str]) -> WebAnswer:
        truth = await self.truth()
        if "summary" in options:
            return _json(await asyncio.to_thread(truth.summary))
        return WebAnswer(200, await asyncio.to_thread(truth.document, options.get("kind"), options.get("host")), JSON)

    async def _copies(self, body: bytes) -> WebAnswer:
        """Tell when each of some copies became stale."""
        server, copies = self._server, read_copies(body)
        wall_of_opening = server.clock.now() - server.seconds()
        async with self._working:
            fates = await asyncio.to_thread(
                copy_fates, server.web, server.time, copies, wall_of_opening, server.seconds()
            )
        return _json({"copies": [fate.as_json() for fate in fates]})

    def _log(self, method: str, options: dict[str, str]) -> WebAnswer:
        if method == "DELETE":
            self._server.journal.clear()
            return WebAnswer(204, type="")
        entries = options.get("entries")
        if entries is not None and not entries.isdecimal():
            raise ValueError("entries must be a number: GET /__log?entries=100")
        return _json(self._server.journal.report(None if entries is None else int(entries)))

    def _clock(self, method: str, options: dict[str, str]) -> WebAnswer:
        if method == "POST":
            seconds = _seconds(options.get("advance_seconds", ""))
            if not 0 <= seconds <= SKIP_MAX_SECONDS - self._server.time.skipped_seconds:
                raise ValueError(
                    "advance_seconds must be from 0 to a century in all: POST /__clock?advance_seconds=86400"
                )
            self._server.time.skip(self._server.seconds(), seconds)
        return _json({"web_seconds": self._server.now_ms() / 1000, "open_seconds": self._server.seconds()})

    def _hosts(self, _method: str, _options: dict[str, str]) -> WebAnswer:
        """Answer with names and addresses, in the format of /etc/hosts."""
        web = self._server.web
        hosts = (web.hosts.host(number) for number in range(web.plan.hosts))
        return WebAnswer(200, "".join(f"{host.address} {host.name}\n" for host in hosts).encode(), "text/plain")


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _json(value: Any) -> WebAnswer:
    return WebAnswer(200, json.dumps(value, ensure_ascii=False).encode() + b"\n", JSON)


@contextmanager
def served_in_process(*options: str) -> Iterator[str]:
    """Run `tarrafa web` with these options on a free port while the block runs; yield the URL of its front page.

    The process ends by itself after three hours, if this one was killed.
    """
    command = [sys.executable, "-m", "tarrafa", "web", "--port", "0", "--json", "--time", "3h", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own command
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            if not line:
                raise WorkError("the synthetic web did not start; run tarrafa web to see why")
            yield json.loads(line)["url"]
        finally:
            process.terminate()
