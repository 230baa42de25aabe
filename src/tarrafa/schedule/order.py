"""Which URLs of a host come first.

A policy gives each URL a priority when it is found, lower first. The repository stores it with the URL, beside the
depth: how many links the URL is away from a seed, at the least. It schedules a host's URLs by priority, then by depth.
Among URLs with equal numbers the one that was admitted first comes first.
"""

from enum import IntEnum
from typing import Protocol

from tarrafa.urls import level

PRIORITY_MAX = 2**10 - 1
# Sitemaps come before everything.
SITEMAP_PRIORITY = 0
CACHE_LIMIT = 1 << 16  # hosts; a full cache is cleared


class UrlKind(IntEnum):
    """What a URL was named as. The numbers are on disk; of several kinds of one URL, the greatest counts."""

    PAGE = 0
    SITEMAP = 1  # read whatever its media type


class Order(Protocol):
    def priority(self, url: str) -> int:
        """Return a priority from 1, which comes first, to `PRIORITY_MAX`."""
        ...


class Level:
    """By the level of the URL: hosts before depth."""

    def __init__(self, cache_limit: int = CACHE_LIMIT) -> None:
        self._cache_limit = cache_limit
        # The level of each host's root. Filled by _root_level, cleared when full.
        self._root_levels: dict[str, int] = {}

    def priority(self, url: str) -> int:
        start = url.find("/", 8)
        root_level = self._root_levels.get(url[:start])
        if root_level is None:
            root_level = self._root_level(url[:start])
        slashes = url.count("/", start, url.find("?", start)) if "?" in url else url.count("/", start)
        return min(root_level + 10 * slashes, PRIORITY_MAX)

    def _root_level(self, before_path: str) -> int:
        if len(self._root_levels) >= self._cache_limit:
            self._root_levels.clear()
        root_level = self._root_levels[before_path] = level(f"{before_path}/") - 10
        return root_level


class Fifo:
    """In the order of discovery: all priorities are equal, so URLs nearest to a seed come first."""

    def priority(self, url: str) -> int:  # noqa: ARG002 - the contract's
        return 1
