"""A priority queue of timed entries, for many entries and short waits.

Popping from a heap of a hundred thousand entries is dominated by cache misses. So entries lie unsorted in time slots of
1/64 s until their slot opens, and only the open slot is a heap. The order is exact all the same: by time, then by the
sequence number given with the entry.
"""

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from itertools import chain
from typing import Generic, TypeVar

T = TypeVar("T")
# Time, sequence number, item. No two entries have the same time and sequence number.
Entry = tuple[float, int, T]

SLOT_SECONDS = 1 / 64  # a power of two, so that the division below is exact


class CalendarQueue(Generic[T]):
    __slots__ = ("_later", "_opened", "_slots", "_soon")

    def __init__(self) -> None:
        # A heap of the entries up to the end of the open slot. Filled by push and pop, emptied by pop.
        self._soon: list[Entry[T]] = []
        # Slots that are not open yet, and a heap of their numbers. Filled by push, emptied by pop.
        self._later: dict[float, list[Entry[T]]] = {}
        self._slots: list[float] = []
        self._opened = float("-inf")

    def push(self, entry: Entry[T]) -> None:
        slot = entry[0] // SLOT_SECONDS
        if slot <= self._opened:
            heappush(self._soon, entry)
        elif (entries := self._later.get(slot)) is not None:
            entries.append(entry)
        else:
            self._later[slot] = [entry]
            heappush(self._slots, slot)

    def pop(self, now: float) -> Entry[T] | None:
        """Remove and return the first entry that is due."""
        while not self._soon:
            if not self._slots or self._slots[0] * SLOT_SECONDS > now:
                return None
            self._opened = heappop(self._slots)
            self._soon = self._later.pop(self._opened)
            heapify(self._soon)
        return heappop(self._soon) if self._soon[0][0] <= now else None

    def keep(self, is_wanted: Callable[[Entry[T]], bool]) -> None:
        """Drop the entries that are no longer wanted. Looks at every entry."""
        entries = [*self._soon, *chain.from_iterable(self._later.values())]
        self._soon, self._later, self._slots = [], {}, []
        for entry in filter(is_wanted, entries):
            self.push(entry)

    def earliest(self) -> float | None:
        """Return a time not later than the first entry, and less than a slot earlier."""
        if self._soon:
            return self._soon[0][0]
        return self._slots[0] * SLOT_SECONDS if self._slots else None

    def due_count(self, now: float) -> int:
        """Return how many entries are due. Entries of the slot that begins now may be counted too."""
        soon = sum(when <= now for when, _, _ in self._soon)
        return soon + sum(len(entries) for slot, entries in self._later.items() if slot * SLOT_SECONDS <= now)

    def __len__(self) -> int:
        return len(self._soon) + sum(map(len, self._later.values()))
