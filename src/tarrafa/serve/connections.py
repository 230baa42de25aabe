"""Connections of clients: how many there may be, and how long each may keep the server waiting.

uvicorn bounds neither the time in which a request arrives nor the connections of one client, so a few hundred
connections that never send a request would block all others. `ConnectionTable` decides which connections stay, and
`BoundedConnection` is uvicorn's connection with that decision and with timeouts:

1. At most `total` connections are open, and at most `per_client` of one client.
2. A connection whose request is being answered is never closed to make room.
3. To make room, the connection that has waited longest for a request is closed: one of the same client if that client
   has reached its limit, else one of the client with most connections.
4. If no connection can be closed, the new one is refused with status 503.
5. A connection is closed if no complete request arrives within `request_seconds`, or if its client reads nothing of the
   response for `send_seconds`.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar, cast

from uvicorn.protocols.http.h11_impl import H11Protocol

from tarrafa.logs import event
from tarrafa.serve.middleware import client_key

RETRY_SECONDS = 5  # after which a client that was refused may try again
_LOG_SECONDS = 60.0  # between two log lines about closed connections
_REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain; charset=utf-8\r\nretry-after: %d\r\n"
    b"content-length: 19\r\nconnection: close\r\n\r\nThe server is busy." % RETRY_SECONDS
)

_log = logging.getLogger(__name__)

C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    total: int = 500
    per_client: int = 100
    request_seconds: float = 20.0
    send_seconds: float = 30.0


class Admission(NamedTuple, Generic[C]):
    is_admitted: bool
    closed: C | None = None  # must be closed to make room


@dataclass(slots=True)
class _ClientConnections(Generic[C]):
    open_count: int = 0
    waiting: dict[C, None] = field(default_factory=dict)  # those without a request, the longest waiting first


class ConnectionTable(Generic[C]):
    """Pure."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self._limits = limits
        # Filled by admit, emptied by remove.
        self._client_of: dict[C, str] = {}
        self._clients: dict[str, _ClientConnections[C]] = {}

    def __len__(self) -> int:
        return len(self._client_of)

    def admit(self, connection: C, client: str) -> Admission[C]:
        """Add a connection that waits for its first request."""
        crowded = self._crowded_client(client)
        closed = None
        if crowded is not None:
            closed = next(iter(crowded.waiting), None)
            if closed is None:
                return Admission(is_admitted=False)
            self.remove(closed)
        own = self._clients.setdefault(client, _ClientConnections())
        own.open_count += 1
        own.waiting[connection] = None
        self._client_of[connection] = client
        return Admission(is_admitted=True, closed=closed)

    def _crowded_client(self, client: str) -> _ClientConnections[C] | None:
        """Return the client that has to give up a connection, or None if there is room."""
        own = self._clients.get(client)
        if own is not None and own.open_count >= self._limits.per_client:
            return own
        if len(self._client_of) < self._limits.total:
            return None
        return max(self._clients.values(), key=lambda each: (bool(each.waiting), each.open_count))

    def wait(self, connection: C) -> None:
        """Note that the connection waits for a request from now on."""
        if connection in self._client_of:
            waiting = self._clients[self._client_of[connection]].waiting
            waiting.pop(connection, None)
            waiting[connection] = None

    def answer(self, connection: C) -> None:
        """Note that a request of the connection is being answered."""
        if connection in self._client_of:
            self._clients[self._client_of[connection]].waiting.pop(connection, None)

    def remove(self, connection: C) -> None:
        client = self._client_of.pop(connection, None)
        if client is None:
            return
        own = self._clients[client]
        own.waiting.pop(connection, None)
        own.open_count -= 1
        if not own.open_count:
            del self._clients[client]


class BoundedConnection(H11Protocol):
    """A connection with timeouts, in the table of all connections."""

    def __init__(
        self,
        table: "ConnectionTable[BoundedConnection]",
        limits: ConnectionLimits,
        warn: Callable[[], None],
        **uvicorn: Any,
    ) -> None:
        super().__init__(**uvicorn)
        self._table = table
        self._limits = limits
        self._warn = warn
        self._deadline: asyncio.TimerHandle | None = None

    @property
    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        admission = self._table.admit(self, client_key(self.client[0]) if self.client else "")
        self._expire_in(self._limits.request_seconds)
        if admission.closed is not None:
            admission.closed.transport.abort()
            self._warn()
        if not admission.is_admitted:
            transport.write(_REFUSAL)
            transport.close()
            self._warn()

    def connection_lost(self, exc: Exception | None) -> None:
        self._table.remove(self)
        self._expire_in(None)
        super().connection_lost(exc)

    def handle_events(self) -> None:
        super().handle_events()
        if self._is_answering:
            self._table.answer(self)
            self._expire_in(None)

    def on_response_complete(self) -> None:
        self._table.wait(self)
        # Also for a connection that is being closed: the client may never read the rest of the response.
        self._expire_in(self._limits.request_seconds)
        super().on_response_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._is_answering:
            self._expire_in(self._limits.send_seconds)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._is_answering:
            self._expire_in(None)

    def _expire_in(self, seconds: float | None) -> None:
        """Close the connection after this time, unless it is called again before; None for never."""
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = None if seconds is None else self.loop.call_later(seconds, self.transport.abort)


class _ClosingLog:
    """Counts connections closed for lack of room, and logs them seldom, so that a flood does not fill the log."""

    def __init__(self) -> None:
        self._count = 0
        self._logged_at: float | None = None

    def __call__(self) -> None:
        now = asyncio.get_running_loop().time()
        self._count += 1
        if self._logged_at is None or now - self._logged_at >= _LOG_SECONDS:
            event(_log, "too many connections", logging.WARNING, closed=self._count)
            self._logged_at, self._count = now, 0


def connection_type(limits: ConnectionLimits) -> type[asyncio.Protocol]:
    """Return what uvicorn calls for each new connection."""
    table: ConnectionTable[BoundedConnection] = ConnectionTable(limits)
    return cast("type[asyncio.Protocol]", partial(BoundedConnection, table, limits, _ClosingLog()))
