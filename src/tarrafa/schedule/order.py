"""Which URLs of a host come first?

A policy gives each URL a priority when it is found, lower first; the repository keeps it as a hint of 16 bits. Among
equals the one that was admitted first comes first. The repository schedules a host's URLs by that hint.
"""

from typing import Protocol

from tarrafa.urls import level

PRIORITY_MAX = 2**16 - 1
_CACHE_LIMIT = 1 << 16  # hosts; the cache begins anew when it is full


class Order(Protocol):
    def priority(self, url: str) -> int:
        """From 0, which comes first, to `PRIORITY_MAX`."""
        ...


class Level:
    """By the level of the URL: hosts before depth."""

    def __init__(self) -> None:
        self._root_levels: dict[str, int] = {}

    def priority(self, url: str) -> int:
        start = url.find("/", 8)
        root_level = self._root_levels.get(url[:start])
        if root_level is None:
            root_level = self._remember(url[:start])
        query = url.find("?", start)
        slashes = url.count("/", start) if query < 0 else url.count("/", start, query)
        return min(root_level + 10 * slashes, PRIORITY_MAX)

    def _remember(self, before_path: str) -> int:
        if len(self._root_levels) >= _CACHE_LIMIT:
            self._root_levels.clear()
        root_level = self._root_levels[before_path] = level(f"{before_path}/") - 10
        return root_level


class Fifo:
    """As they were found: all are equal."""

    def priority(self, url: str) -> int:  # noqa: ARG002 - the contract's
        return 0
