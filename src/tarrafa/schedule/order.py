"""Which URLs of a host come first.

A policy gives each URL a priority when it is found, lower first. The repository stores a hint of 16 bits with each URL
and schedules a host's URLs by it. The hint encodes the priority and, below it, the depth: how many links the URL is
away from a seed. Among URLs with equal hints the one that was admitted first comes first.
"""

from enum import Enum
from typing import NamedTuple, Protocol

from tarrafa.urls import level

PRIORITY_MAX = 2**10 - 1
DEPTH_MAX = 2**6 - 1
# Sitemaps that robots.txt announces come before everything.
SITEMAP_HINT = 0
_DEPTH_BITS = 6
_CACHE_LIMIT = 1 << 16  # hosts; a full cache is cleared


class UrlKind(Enum):
    PAGE = "page"
    SITEMAP = "sitemap"  # read whatever its media type


class Hint(NamedTuple):
    """What was known of a URL when it was found."""

    priority: int
    depth: int  # links from a seed, the fewest that were found
    kind: UrlKind = UrlKind.PAGE


class Order(Protocol):
    def priority(self, url: str) -> int:
        """Return a priority from 1, which comes first, to `PRIORITY_MAX`."""
        ...


class Level:
    """By the level of the URL: hosts before depth."""

    def __init__(self) -> None:
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
        if len(self._root_levels) >= _CACHE_LIMIT:
            self._root_levels.clear()
        root_level = self._root_levels[before_path] = level(f"{before_path}/") - 10
        return root_level


class Fifo:
    """In the order of discovery: all priorities are equal, so URLs nearest to a seed come first."""

    def priority(self, url: str) -> int:  # noqa: ARG002 - the contract's
        return 1


def encode_hint(priority: int, depth: int) -> int:
    return priority << _DEPTH_BITS | min(depth, DEPTH_MAX)


def decode_hint(hint: int) -> Hint:
    kind = UrlKind.SITEMAP if hint == SITEMAP_HINT else UrlKind.PAGE
    return Hint(hint >> _DEPTH_BITS, hint & DEPTH_MAX, kind)


def nearer(hint: int, depth: int) -> int:
    """Return the hint of the same URL, found once more at this depth."""
    return hint if hint & DEPTH_MAX <= depth else hint & ~DEPTH_MAX | depth
