"""Which URLs of a host come first?

A policy gives each URL a priority when it is found, lower first. The repository keeps a hint of 16 bits and schedules
a host's URLs by it: the priority, and below it how many links the URL is away from a seed, so that among equals the
nearer one comes first. Among those the one that was admitted first does.
"""

from typing import Protocol

from tarrafa.urls import level

PRIORITY_MAX = 2**10 - 1
DEPTH_MAX = 2**6 - 1
# Sitemaps that a host announces in its robots.txt come before everything, and are read whatever their type.
SITEMAP_HINT = 0
_CACHE_LIMIT = 1 << 16  # hosts; the cache begins anew when it is full


class Order(Protocol):
    def priority(self, url: str) -> int:
        """From 1, which comes first, to `PRIORITY_MAX`."""
        ...


class Level:
    """By the level of the URL: hosts before depth."""

    def __init__(self) -> None:
        self._root_levels: dict[str, int] = {}

    def priority(self, url: str) -> int:
        start = url.find("/", 8)
        try:
            root_level = self._root_levels[url[:start]]
        except KeyError:
            root_level = self._remember(url[:start])
        slashes = url.count("/", start, url.find("?", start)) if "?" in url else url.count("/", start)
        priority = root_level + 10 * slashes
        if priority > PRIORITY_MAX:  # a call of `min` costs more, and this is asked for every URL
            return PRIORITY_MAX
        return priority

    def _remember(self, before_path: str) -> int:
        if len(self._root_levels) >= _CACHE_LIMIT:
            self._root_levels.clear()
        root_level = self._root_levels[before_path] = level(f"{before_path}/") - 10
        return root_level


class Fifo:
    """As they were found: all are equal, so those nearest to a seed come first."""

    def priority(self, url: str) -> int:  # noqa: ARG002 - the contract's
        return 1


def hint_of(priority: int, depth: int) -> int:
    if depth > DEPTH_MAX:
        depth = DEPTH_MAX
    return priority << 6 | depth


def nearer(hint: int, depth: int) -> int:
    """The hint of the same URL, found once more so many links from a seed."""
    return hint if hint & DEPTH_MAX <= depth else hint & ~DEPTH_MAX | depth


def depth_of(hint: int) -> int:
    """Links from a seed, the fewest that were found."""
    return hint & DEPTH_MAX
