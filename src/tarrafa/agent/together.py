"""What comes at the same time is worked on together: the same is done with all of it before something else is.

What has just run runs faster again: its code and its data are at hand. To read eight pages so took 14% less time than
to read one after the other.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from tarrafa.clock import Clock

T = TypeVar("T")

# Works on a heap, in steps: each is short, and whoever else is on the loop may have a turn before the next.
Work = Callable[[list[T]], Iterator[None]]
# After this long others have their turn. With half of it, most of what heaps gain is lost.
TURN_SECONDS = 0.005


class Together(Generic[T]):
    """Belongs to the running loop. Nothing waits for company: what comes alone is worked on in the next turn."""

    def __init__(self, work: Work[T], clock: Clock, count_limit: int, bytes_limit: int) -> None:
        """As much is worked on at a time, and no more than one beyond it: who came first waits for the last."""
        self._work = work
        self._monotonic = clock.monotonic
        self._count_limit = count_limit
        self._bytes_limit = bytes_limit
        # What has come, its size, and who waits for it. Filled by add, emptied by _begin.
        self._waiting: deque[tuple[T, int, asyncio.Future[None]]] = deque()
        # Who waits for what is worked on, and the steps that are left of it. Filled by _begin, emptied by _end.
        self._heap: list[asyncio.Future[None]] = []
        self._steps: Iterator[None] = iter(())

    def add(self, one: T, size_bytes: int) -> asyncio.Future[None]:
        """Done when it was worked on; what that raises is raised by everybody who waits for it."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        self._waiting.append((one, size_bytes, done))
        if len(self._waiting) == 1 and not self._heap:
            loop.call_soon(self._turn)
        return done

    def _turn(self) -> None:
        """Some steps. When nobody waits any more, as at a sudden end, the rest is not worked on."""
        if not self._heap:
            self._begin()
        try:
            if all(done.done() for done in self._heap) or self._is_at_end():
                self._end()
        except Exception as raised:  # noqa: BLE001 - nobody else would ever hear of it
            self._end(raised)
        if self._heap or self._waiting:
            asyncio.get_running_loop().call_soon(self._turn)

    def _is_at_end(self) -> bool:
        """Whether all steps are done. If not, so many were that it is the others' turn."""
        over_at = self._monotonic() + TURN_SECONDS
        return all(self._monotonic() < over_at for _ in self._steps)

    def _begin(self) -> None:
        """Without those for which nobody waits any more."""
        heap: list[T] = []
        room_bytes = self._bytes_limit
        while self._waiting and len(heap) < self._count_limit and room_bytes > 0:
            one, size_bytes, done = self._waiting.popleft()
            if not done.done():
                heap.append(one)
                self._heap.append(done)
                room_bytes -= size_bytes
        self._steps = self._work(heap)

    def _end(self, error: Exception | None = None) -> None:
        for done in self._heap:
            if not done.done():
                done.set_result(None) if error is None else done.set_exception(error)
        self._heap.clear()
        self._steps = iter(())
