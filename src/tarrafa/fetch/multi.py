"""Many transfers at once on the running event loop, by libcurl's multi interface.

libcurl says which sockets it waits for and when it wants to be woken; both are done here. Its sockets stand in an epoll
of their own, and the loop watches that one alone: events come in heaps, and a socket costs the loop nothing.
"""

import asyncio
import math
import select
from contextlib import suppress

import pycurl

from tarrafa.fetch.handle import Handle
from tarrafa.fetch.kept import keepable
from tarrafa.fetch.patience import Patience

Ending = tuple[int, str]  # libcurl's code, 0 when all went well, and its message

_WELL = (0, "")
_CLOSED = (int(pycurl.E_ABORTED_BY_CALLBACK), "the transport was closed")
_TICK_SECONDS = 0.001  # of the loop's clock, which may stand a little before a timer that has ended
_EVENT_LIMIT = 256  # handled before others on the loop have their turn
_EPOLL_EVENTS = {
    pycurl.POLL_NONE: 0,
    pycurl.POLL_IN: select.EPOLLIN,
    pycurl.POLL_OUT: select.EPOLLOUT,
    pycurl.POLL_INOUT: select.EPOLLIN | select.EPOLLOUT,
}


class Multi:
    """Belongs to the loop on which it was made. All of it runs there: no threads, no locks."""

    def __init__(self, idle_connections: int, first_byte_seconds: float) -> None:
        self._loop = asyncio.get_running_loop()
        # Filled by `perform`, emptied when the transfer ends or is given up.
        self._ended: dict[pycurl.Curl, tuple[Handle, asyncio.Future[Ending]]] = {}
        self._is_closed = False
        self._watched: set[int] = set()  # the sockets in the epoll
        self._due_at = math.inf  # when libcurl wants to be woken
        self._timer: asyncio.Handle | None = None  # ends then, or before
        self._timer_at = math.inf  # uvloop's timers do not always tell
        self._patience: Patience[Handle] = Patience(
            self._loop, first_byte_seconds, lambda handle: handle.answer.has_begun, self._give_up
        )
        self._epoll = select.epoll()
        self._loop.add_reader(self._epoll.fileno(), self._on_events)
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._on_socket)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._on_timer)
        self._multi.setopt(pycurl.M_MAXCONNECTS, keepable(idle_connections))

    async def perform(self, handle: Handle) -> Ending:
        """Whoever is cancelled meanwhile hangs up at once."""
        if self._is_closed:
            return _CLOSED
        ended: asyncio.Future[Ending] = self._loop.create_future()
        self._multi.add_handle(handle.curl)
        self._ended[handle.curl] = (handle, ended)
        self._patience.watch(handle)
        try:
            return await ended
        finally:
            self._patience.forget(handle)
            self._end(handle.curl)

    def close(self) -> None:
        """Transfers under way end here; so do all connections."""
        self._is_closed = True
        for curl in list(self._ended):
            self._end(curl, _CLOSED)
        self._patience.close()
        self._multi.close()
        self._due_at = math.inf
        self._set_timer()
        self._loop.remove_reader(self._epoll.fileno())
        self._epoll.close()

    def _end(self, curl: pycurl.Curl, ending: Ending | None = None) -> None:
        """Does nothing when it has ended before."""
        if curl not in self._ended:
            return
        handle, ended = self._ended.pop(curl)
        if ending == _WELL:
            handle.has_ended()
        self._multi.remove_handle(curl)
        if ending is not None and not ended.done():
            ended.set_result(ending)

    def _give_up(self, handle: Handle) -> None:
        self._end(handle.curl, (pycurl.E_OPERATION_TIMEDOUT, "the first byte did not come in time"))

    def _on_socket(self, what: int, socket: int, _multi: object, _data: object) -> None:
        if what == pycurl.POLL_REMOVE:
            self._watched.discard(socket)
            with suppress(OSError):  # it is closed already, and so no longer in the epoll
                self._epoll.unregister(socket)
        elif socket in self._watched:
            self._epoll.modify(socket, _EPOLL_EVENTS[what])
        else:
            self._epoll.register(socket, _EPOLL_EVENTS[what])
            self._watched.add(socket)

    def _on_timer(self, milliseconds: int) -> None:
        """libcurl puts its time off with every page, so a timer that ends before is left alone: it is set anew then."""
        self._due_at = self._loop.time() + milliseconds / 1000 if milliseconds >= 0 else math.inf
        if milliseconds == 0:
            self._loop.call_soon(self._on_time)
        elif self._timer is None or self._timer_at > self._due_at:
            self._set_timer()

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = self._due_at
        self._timer = self._loop.call_at(self._due_at, self._on_timer_end) if self._due_at < math.inf else None

    def _on_timer_end(self) -> None:
        self._timer = None
        self._on_time()
        if self._timer is None:
            self._set_timer()

    def _on_time(self) -> None:
        if self._due_at <= self._loop.time() + _TICK_SECONDS:
            self._due_at = math.inf
            self._multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)
            self._gather()

    def _on_events(self) -> None:
        for socket, events in self._epoll.poll(0, _EVENT_LIMIT):
            # An error or an end is something to read: libcurl finds out what.
            can_write = pycurl.CSELECT_OUT if events & select.EPOLLOUT else 0
            can_read = pycurl.CSELECT_IN if events & ~select.EPOLLOUT else 0
            self._multi.socket_action(socket, can_write | can_read)
        self._gather()

    def _gather(self) -> None:
        """The transfers that have ended."""
        left = 1
        while left:
            left, well, badly = self._multi.info_read()
            for curl in well:
                self._end(curl, _WELL)
            for curl, code, message in badly:
                self._end(curl, (code, message))
