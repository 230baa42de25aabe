"""Values by name that change often and are saved by checkpoints, over those of the last checkpoint in storage."""

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from tarrafa.lru import LruCache

Value = TypeVar("Value")

_CACHE_LIMIT = 200_000  # names


class SavedValues(Generic[Value]):
    def __init__(self, load: Callable[[str], Value | None], default: Value) -> None:
        self._load = load
        self._default = default
        # Values that storage has, or does not have. Filled by get and saved; drops the least recently used.
        self._cache: LruCache[str, Value] = LruCache(_CACHE_LIMIT)
        # Filled by put, emptied by take; filled by take, emptied by saved.
        self._changed: dict[str, Value] = {}
        self._being_saved: dict[str, Value] = {}

    def __bool__(self) -> bool:
        """Return True if a value has changed since the last checkpoint."""
        return bool(self._changed)

    def get(self, name: str) -> Value:
        for values in (self._changed, self._being_saved):
            if name in values:
                return values[name]
        value = self._cache.get(name)
        if value is None:
            loaded = self._load(name)
            value = self._default if loaded is None else loaded
            self._cache.put(name, value)
        return value

    def put(self, name: str, value: Value) -> None:
        self._changed[name] = value

    def take(self) -> Mapping[str, Value]:
        """Return what the next checkpoint saves."""
        self._being_saved, self._changed = self._changed, {}
        return self._being_saved

    def saved(self) -> None:
        """Note that the values taken last are in storage."""
        for name, value in self._being_saved.items():
            self._cache.put(name, value)
        self._being_saved = {}
