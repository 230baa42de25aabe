"""Which URLs of a host come first?

A policy gives each URL a priority when it is found, lower first; the repository keeps it as a hint of 16 bits. Among
equals the one that was admitted first comes first. A host's URLs that were not fetched yet are scheduled or remaining:
`first_scheduled` and `more_scheduled` choose which of them are fetched next.
"""

from collections.abc import Iterable
from heapq import nsmallest
from itertools import count
from typing import Protocol

from tarrafa.urls import level, path_of

PRIORITY_MAX = 2**16 - 1
SCHEDULED_LIMIT = 1_000  # of a host at once
SCHEDULED_LOW = 10  # with fewer left, more are chosen
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


def first_scheduled(urls: Iterable[str], limit: int = SCHEDULED_LIMIT) -> list[str]:
    """Of a host that is new: the shortest paths, because pages near the root lead to most others."""
    return nsmallest(limit, urls, key=lambda url: len(path_of(url)))


def more_scheduled(remaining: Iterable[tuple[int, str]], limit: int = SCHEDULED_LIMIT) -> list[str]:
    """Of a host that runs low: those of lowest priority, given with it in the order of their admission."""
    ordered = ((priority, order, url) for order, (priority, url) in zip(count(), remaining, strict=False))
    return [url for _, _, url in nsmallest(limit, ordered)]
