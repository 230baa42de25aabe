"""Things in the order of their time: a heap that stays small.

A heap of a hundred thousand entries costs four microseconds a turn, nearly all of it waiting for memory. So entries lie
unsorted in slots of 1/64 s until their slot begins; only the entries of the slot that is open are in a heap. The order
is exact all the same: by time, then by the order that was given with it.
"""

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from itertools import chain
from typing import Generic, TypeVar

T = TypeVar("T")
# When, which of those at the same time, and what. No two items have the same time and order.
Entry = tuple[float, int, T]

SLOT_SECONDS = 1 / 64  # a power of two, so that the division below is exact


class Calendar(Generic[T]):
    __slots__ = ("_later", "_opened", "_slots", "_soon")

    def __init__(self) -> None:
        # A heap of the entries up to the end of the slot that is open. Filled by push and pop, emptied by pop.
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
        """The first entry whose time has come."""
        while not self._soon:
            if not self._slots or self._slots[0] * SLOT_SECONDS > now:
                return None
            self._opened = heappop(self._slots)
            self._soon = self._later.pop(self._opened)
            heapify(self._soon)
        return heappop(self._soon) if self._soon[0][0] <= now else None

    def keep(self, is_wanted: Callable[[Entry[T]], bool]) -> None:
        """Drop the entries that are not wanted any more; looks at all of them."""
        entries = [*self._soon, *chain.from_iterable(self._later.values())]
        self._soon, self._later, self._slots = [], {}, []
        for entry in filter(is_wanted, entries):
            self.push(entry)

    def earliest(self) -> float | None:
        """Not later than the first entry, and less than a slot earlier."""
        if self._soon:
            return self._soon[0][0]
        return self._slots[0] * SLOT_SECONDS if self._slots else None

    def due_count(self, now: float) -> int:
        """How many entries' time has come; those of the slot that now begins may count too."""
        soon = sum(when <= now for when, _, _ in self._soon)
        return soon + sum(len(entries) for slot, entries in self._later.items() if slot * SLOT_SECONDS <= now)

    def __len__(self) -> int:
        return len(self._soon) + sum(map(len, self._later.values()))
