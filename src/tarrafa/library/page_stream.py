"""The pages of a running crawl, from its thread to the event loop of a program.

1. Pages come in the order in which the crawl stores them, each once.
2. At most `limit` pages wait here, beside those of visits in flight: a slow consumer slows the crawl down.
3. A consumer that leaves never blocks the crawl.

Both sides take the same lock, for a moment only, and wake each other by callbacks on the other's event loop.
"""

import asyncio
from collections import deque
from contextlib import suppress
from threading import Lock

from tarrafa.library.crawled_page import CrawledPage

PAGES_LIMIT = 16


class PageStream:
    def __init__(self, limit: int = PAGES_LIMIT) -> None:
        self._limit = limit
        self._lock = Lock()
        # All by the lock. Pages: filled by put, emptied by take.
        self._pages: deque[CrawledPage] = deque()
        self._is_ended = False
        self._is_left = False
        # Futures of tasks that wait, each of its own loop. Filled by _waiter, emptied by _wake.
        self._producers: list[asyncio.Future[None]] = []
        self._consumers: list[asyncio.Future[None]] = []

    # In the thread of the crawl.

    def put(self, page: CrawledPage) -> None:
        with self._lock:
            if not self._is_left:
                self._pages.append(page)
                _wake(self._consumers)

    async def has_room(self) -> None:
        """Return when fewer pages wait than the limit, or none is wanted."""
        while True:
            with self._lock:
                if self._is_left or len(self._pages) < self._limit:
                    return
                waiter = _waiter(self._producers)
            await waiter

    def end(self) -> None:
        """Say that no more pages come."""
        with self._lock:
            self._is_ended = True
            _wake(self._consumers)

    # On the event loop of the program.

    async def take(self) -> CrawledPage | None:
        """Return the next page; None if there are no more."""
        while True:
            with self._lock:
                if self._pages:
                    page = self._pages.popleft()
                    if len(self._pages) < self._limit:
                        _wake(self._producers)
                    return page
                if self._is_ended or self._is_left:
                    return None
                waiter = _waiter(self._consumers)
            await waiter

    def leave(self) -> None:
        """Want no more pages. May be called from any thread."""
        with self._lock:
            self._is_left = True
            self._pages.clear()
            _wake(self._producers)
            _wake(self._consumers)


def _waiter(waiters: list[asyncio.Future[None]]) -> asyncio.Future[None]:
    waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    waiters.append(waiter)
    return waiter


def _wake(waiters: list[asyncio.Future[None]]) -> None:
    for waiter in waiters:
        with suppress(RuntimeError):  # its loop is closed
            waiter.get_loop().call_soon_threadsafe(_resolve, waiter)
    waiters.clear()


def _resolve(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
