"""The unit of ownership: 4,096 slots, by the hash of the site.

The upper 12 bits of a host's hash are those of its site's, so a slot is a range of host hashes. All hosts of a site
share a slot: `http://x`, `https://x` and `https://www.x` are one server to its webmaster.
"""

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tarrafa.hashes import bytes_of, edges_of, first_places, span_hashes
from tarrafa.urls import HOST_START, fingerprint, host_name, host_of, site

SLOT_BITS = 12
SLOT_COUNT = 1 << SLOT_BITS
_HASH_BITS = 64


def slot_of(host: str, seed: int) -> int:
    """Return the slot of a host such as `http://www.example.org`, by the crawl's seed."""
    return slot_of_hash(fingerprint(site(host_name(host)), seed))


def slot_of_hash(host_hash: int) -> int:
    """Return the slot of a host by its hash."""
    return host_hash >> (_HASH_BITS - SLOT_BITS)


class HostSlots:
    """Looks up the slots of whole columns of URLs; the slot of each host is computed once. Used by one thread."""

    def __init__(self, seed: int, hosts_max: int = 1 << 20) -> None:
        self._seed, self._hosts_max = seed, hosts_max
        # By hash of the host. Filled by slots_of, which empties it when it is full.
        self._slots: dict[int, int] = {}

    def slots_of(self, urls: pa.LargeStringArray) -> NDArray[np.uint16]:
        """Return the slot of each canonical URL."""
        edges, ends = edges_of(urls), first_places(urls, ord("/"), HOST_START)
        hashes = span_hashes(bytes_of(urls), edges[:-1], ends, self._seed)
        distinct, first, places = np.unique(hashes, return_index=True, return_inverse=True)
        if len(self._slots) > self._hosts_max:
            self._slots.clear()
        slots = [self._slot(host, urls, row) for host, row in zip(distinct.tolist(), first.tolist(), strict=True)]
        return np.array(slots, np.uint16)[places]

    def _slot(self, host_hash: int, urls: pa.LargeStringArray, row: int) -> int:
        slot = self._slots.get(host_hash)
        if slot is None:
            slot = self._slots[host_hash] = slot_of(host_of(urls[row].as_py()), self._seed)
        return slot


class SlotSet:
    """An immutable set of slots, as the bits of one number: a set of 4,096 numbers would cost too much in each step."""

    __slots__ = ("bits",)

    def __init__(self, bits: int = 0) -> None:
        self.bits = bits

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SlotSet) and self.bits == other.bits

    def __hash__(self) -> int:
        return hash(self.bits)

    def __repr__(self) -> str:
        return f"SlotSet({', '.join(f'{first}-{last}' for first, last in self.ranges())})"

    @staticmethod
    def of(slots: Iterable[int]) -> "SlotSet":
        bits = 0
        for slot in slots:
            bits |= 1 << slot
        return SlotSet(bits)

    @staticmethod
    def between(first: int, last: int) -> "SlotSet":
        """Return the slots from `first` to `last`, both included."""
        return SlotSet(((1 << (last - first + 1)) - 1) << first)

    def __or__(self, other: "SlotSet") -> "SlotSet":
        return SlotSet(self.bits | other.bits)

    def __and__(self, other: "SlotSet") -> "SlotSet":
        return SlotSet(self.bits & other.bits)

    def __sub__(self, other: "SlotSet") -> "SlotSet":
        return SlotSet(self.bits & ~other.bits)

    def __bool__(self) -> bool:
        return self.bits != 0

    @property
    def count(self) -> int:
        """The number of slots."""
        return self.bits.bit_count()

    def has(self, slot: int) -> bool:
        return bool(self.bits >> slot & 1)

    def ranges(self) -> Iterator[tuple[int, int]]:
        """Yield the first and last slot of each run, in order."""
        bits, base = self.bits, 0
        while bits:
            gap = (bits & -bits).bit_length() - 1
            bits >>= gap
            run = (~bits & (bits + 1)).bit_length() - 1
            yield base + gap, base + gap + run - 1
            bits, base = bits >> run, base + gap + run

    def slots(self) -> Iterator[int]:
        for first, last in self.ranges():
            yield from range(first, last + 1)

    def last_ones(self, count: int) -> "SlotSet":
        """Return the `count` highest slots, or all if there are fewer."""
        found = SlotSet()
        for first, last in reversed(list(self.ranges())):
            room = count - found.count
            if room <= 0:
                break
            found |= SlotSet.between(max(first, last - room + 1), last)
        return found


ALL_SLOTS = SlotSet.between(0, SLOT_COUNT - 1)
