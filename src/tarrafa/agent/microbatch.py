"""Micro-batches: process pages that arrived together in one step, which keeps code and data in cache.

Items that arrive in one turn of the event loop form a batch. A batch is small, so that other callbacks wait only
briefly.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class MicroBatch(Generic[T]):
    """Belongs to the running loop. An item never waits for others: one that comes alone is a batch of one."""

    def __init__(self, process: Callable[[list[T]], None], count_limit: int, bytes_limit: int) -> None:
        """A batch ends at either limit; its last item may exceed the limit of bytes."""
        self._process = process
        self._count_limit = count_limit
        self._bytes_limit = bytes_limit
        # Items with their size and the future of the caller that waits. Filled by add, emptied by _take.
        self._waiting: deque[tuple[T, int, asyncio.Future[None]]] = deque()

    def add(self, item: T, size_bytes: int) -> asyncio.Future[None]:
        """Return a future that is done when the item was processed. An error is raised by each future of the batch."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        self._waiting.append((item, size_bytes, done))
        if len(self._waiting) == 1:
            loop.call_soon(self._run)
        return done

    def _run(self) -> None:
        items, futures = self._take()
        error: Exception | None = None
        try:
            if items:
                self._process(items)
        except Exception as raised:  # noqa: BLE001 - the futures carry it to the callers
            error = raised
        for future in futures:
            future.set_result(None) if error is None else future.set_exception(error)
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._run)

    def _take(self) -> tuple[list[T], list[asyncio.Future[None]]]:
        """Take the next batch, without items whose caller was cancelled."""
        items: list[T] = []
        futures: list[asyncio.Future[None]] = []
        room_bytes = self._bytes_limit
        while self._waiting and len(items) < self._count_limit and room_bytes > 0:
            item, size_bytes, done = self._waiting.popleft()
            if not done.done():
                items.append(item)
                futures.append(done)
                room_bytes -= size_bytes
        return items, futures
