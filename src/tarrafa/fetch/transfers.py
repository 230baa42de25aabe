"""Many transfers at once on the running event loop, by libcurl's multi interface.

libcurl says which sockets it waits for and when it wants to be woken. Its sockets stand in an epoll of their own, and
the loop watches that one alone: events come in batches, and a socket costs the loop nothing.
"""

import asyncio
import math
import select
from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import Generic, TypeVar

import pycurl

from tarrafa.descriptors import allow_open
from tarrafa.fetch.handle import CurlHandle

T = TypeVar("T", bound=Hashable)
TransferEnd = tuple[int, str]  # libcurl's code, 0 for success, and its message

_SUCCESS = (0, "")
_CLOSED = (int(pycurl.E_ABORTED_BY_CALLBACK), "the transport was closed")
_TICK_SECONDS = 0.001  # of the loop's clock, which may stand a little before a timer that has ended
_EVENT_LIMIT = 256  # handled before other tasks of the loop run
_OTHER_FILES = 1_000  # that may be open beside idle connections: transfers, files that are written
_EPOLL_EVENTS = {
    pycurl.POLL_NONE: 0,
    pycurl.POLL_IN: select.EPOLLIN,
    pycurl.POLL_OUT: select.EPOLLOUT,
    pycurl.POLL_INOUT: select.EPOLLIN | select.EPOLLOUT,
}


def idle_limit(wanted_count: int) -> int:
    """Return how many idle connections to keep: as many as wanted, or half of what the system allows if less."""
    needed = wanted_count + _OTHER_FILES
    allowed = allow_open(needed)
    return wanted_count if allowed >= needed else min(wanted_count, allowed // 2)


class FirstByteTimeout(Generic[T]):
    """One timer for many transfers: all have the same timeout, so they expire in the order in which they began.

    `is_answered` tells whether the first byte has come; `expire` is called for a transfer when it has not.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        seconds: float,
        is_answered: Callable[[T], bool],
        expire: Callable[[T], None],
    ) -> None:
        self._loop = loop
        self._seconds = seconds
        self._is_answered = is_answered
        self._expire = expire
        # Filled by `watch`, emptied by `forget` and by the timer; the one that expires first stands first.
        self._until: dict[T, float] = {}
        self._timer: asyncio.TimerHandle | None = None

    def watch(self, transfer: T) -> None:
        self._until[transfer] = self._loop.time() + self._seconds
        if self._timer is None:
            self._timer = self._loop.call_later(self._seconds, self._check)

    def forget(self, transfer: T) -> None:
        self._until.pop(transfer, None)

    def close(self) -> None:
        self._until.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check(self) -> None:
        now, self._timer = self._loop.time(), None
        while self._until:
            transfer, until = next(iter(self._until.items()))
            is_answered = self._is_answered(transfer)
            if until > now and not is_answered:
                self._timer = self._loop.call_later(until - now, self._check)
                return
            del self._until[transfer]
            if not is_answered:
                self._expire(transfer)


class WakeTimer:
    """Wakes libcurl in time. It is postponed with every page, so a timer that ends earlier is kept, and set again."""

    def __init__(self, loop: asyncio.AbstractEventLoop, wake: Callable[[], None]) -> None:
        self._loop = loop
        self._wake = wake
        self.due_at = math.inf  # when libcurl wants to be woken
        self.timer_at = math.inf  # when the timer ends: then, or before; uvloop's timers do not always tell
        self._timer: asyncio.Handle | None = None

    def set(self, milliseconds: int) -> None:
        """Wake libcurl after so many milliseconds; never if the number is negative."""
        self.due_at = self._loop.time() + milliseconds / 1000 if milliseconds >= 0 else math.inf
        if milliseconds == 0:
            self._loop.call_soon(self._on_time)
        elif self._timer is None or self.timer_at > self.due_at:
            self._start()

    def end(self) -> None:
        """Act as the timer does when it ends."""
        self._timer = None
        self._on_time()
        if self._timer is None:
            self._start()

    def close(self) -> None:
        self.due_at = math.inf
        self._start()

    def _start(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self.timer_at = self.due_at
        self._timer = self._loop.call_at(self.due_at, self.end) if self.due_at < math.inf else None

    def _on_time(self) -> None:
        if self.due_at <= self._loop.time() + _TICK_SECONDS:
            self.due_at = math.inf
            self._wake()


class Transfers:
    """Belongs to the loop on which it was made. All of it runs there: no threads, no locks."""

    def __init__(self, idle_connections: int, first_byte_seconds: float) -> None:
        self._loop = asyncio.get_running_loop()
        # Filled by `perform`, emptied when the transfer ends or is given up.
        self._running: dict[pycurl.Curl, tuple[CurlHandle, asyncio.Future[TransferEnd]]] = {}
        self._is_closed = False
        self._watched: set[int] = set()  # the sockets in the epoll
        self._timer = WakeTimer(self._loop, self._on_due)
        self._first_byte: FirstByteTimeout[CurlHandle] = FirstByteTimeout(
            self._loop, first_byte_seconds, lambda handle: handle.response.has_begun, self._expire
        )
        self._epoll = select.epoll()
        self._loop.add_reader(self._epoll.fileno(), self._on_events)
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._on_socket)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._timer.set)
        self._multi.setopt(pycurl.M_MAXCONNECTS, idle_limit(idle_connections))

    async def perform(self, handle: CurlHandle) -> TransferEnd:
        """Run a transfer to its end. Cancelling the caller closes the connection immediately."""
        if self._is_closed:
            return _CLOSED
        ended: asyncio.Future[TransferEnd] = self._loop.create_future()
        self._multi.add_handle(handle.curl)
        self._running[handle.curl] = (handle, ended)
        self._first_byte.watch(handle)
        try:
            return await ended
        finally:
            self._first_byte.forget(handle)
            self._end(handle.curl)

    def close(self) -> None:
        """End running transfers and close all connections."""
        self._is_closed = True
        for curl in list(self._running):
            self._end(curl, _CLOSED)
        self._first_byte.close()
        self._multi.close()
        self._timer.close()
        self._loop.remove_reader(self._epoll.fileno())
        self._epoll.close()

    def _end(self, curl: pycurl.Curl, end: TransferEnd | None = None) -> None:
        """End a transfer, unless it has ended before."""
        if curl not in self._running:
            return
        handle, ended = self._running.pop(curl)
        if end == _SUCCESS:
            handle.on_success()
        self._multi.remove_handle(curl)
        if end is not None and not ended.done():
            ended.set_result(end)

    def _expire(self, handle: CurlHandle) -> None:
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

    def _on_due(self) -> None:
        self._multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)
        self._collect()

    def _on_events(self) -> None:
        for socket, events in self._epoll.poll(0, _EVENT_LIMIT):
            # An error or a hang-up is something to read: libcurl finds out what.
            can_write = pycurl.CSELECT_OUT if events & select.EPOLLOUT else 0
            can_read = pycurl.CSELECT_IN if events & ~select.EPOLLOUT else 0
            self._multi.socket_action(socket, can_write | can_read)
        self._collect()

    def _collect(self) -> None:
        """End the transfers that libcurl has finished."""
        left = 1
        while left:
            left, succeeded, failed = self._multi.info_read()
            for curl in succeeded:
                self._end(curl, _SUCCESS)
            for curl, code, message in failed:
                self._end(curl, (code, message))
