"""A cache with a bound that drops the entry unused for longest."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


def _one(_: object) -> int:
    return 1


class LruCache(Generic[Key, Value]):
    """Hold at most `limit` entries, or entries whose sizes add up to at most `limit`. Safe to use from many threads.

    The entry that was put last always stays, even if it alone is larger than the limit.
    """

    def __init__(self, limit: int, size_of: Callable[[Value], int] = _one) -> None:
        self._limit = limit
        self._size_of = size_of
        self._size = 0
        self._lock = threading.Lock()
        # The entry unused for longest is first. Filled by put, emptied by put and pop.
        self._entries: OrderedDict[Key, Value] = OrderedDict()

    def get(self, key: Key) -> Value | None:
        """Return the value and count the entry as used; None if there is none."""
        with self._lock:
            value = self._entries.get(key)
            if value is not None:
                self._entries.move_to_end(key)
            return value

    def put(self, key: Key, value: Value) -> int:
        """Add or replace an entry; return how many others were dropped to make room for it."""
        with self._lock:
            self._remove(key)
            self._entries[key] = value
            self._size += self._size_of(value)
            dropped = 0
            while self._size > self._limit and len(self._entries) > 1:
                self._remove(next(iter(self._entries)))
                dropped += 1
            return dropped

    def pop(self, key: Key) -> Value | None:
        """Remove an entry and return its value; None if there is none."""
        with self._lock:
            return self._remove(key)

    def _remove(self, key: Key) -> Value | None:
        value = self._entries.pop(key, None)
        if value is not None:
            self._size -= self._size_of(value)
        return value

    def __contains__(self, key: Key) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[Key]:
        """Iterate over the keys, the one unused for longest first."""
        with self._lock:
            return iter(list(self._entries))

    def __len__(self) -> int:
        return len(self._entries)
