"""The order of a crawl: one policy answers which URLs of a host come next, and which hosts come next.

A policy gives each URL a priority when it is found. The repository keeps it, beside what it learns of the URL later:
depth, links, weight. From these columns the policy orders a million URLs at a time (`url_keys`). Hosts that wait to
enter the workbench are ordered one by one (`host_key`). In both, lower numbers come first, and of equal numbers what
was found first.

Each host that enters displaces none, and every tenth host that enters is the one that has waited longest, whatever the
policy: see `HostQueue`. So no policy starves a host.
"""

from enum import Enum, IntEnum
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import xxhash
from numpy.typing import NDArray

from tarrafa.urls import level

PRIORITY_MAX = 2**16 - 1
LEVEL_MAX = 2**10 - 1
# Sitemaps come before everything.
SITEMAP_PRIORITY = 0
CACHE_LIMIT = 1 << 16  # hosts; a full cache is cleared
_LINKS_MAX, _DEPTH_MAX, _WEIGHT_MAX = 2**16 - 1, 2**16 - 1, 2**31 - 1
_ROOT = 10  # of the level of a host's root: its slash

Keys: TypeAlias = NDArray[Any]


class UrlKind(IntEnum):
    """What a URL was named as. The numbers are on disk; of several kinds of one URL, the greatest counts."""

    PAGE = 0
    SITEMAP = 1  # read whatever its media type


class WeightKind(Enum):
    """What the weights of URLs are."""

    NONE = "none"
    RANK = "rank"  # of the page, computed beside the crawl
    HOST_RANK = "host rank"
    CASH = "cash"  # what the pages that link to a URL passed on


class UrlFacts(Protocol):
    """What is known of URLs: one entry of each column for each URL."""

    @property
    def priority(self) -> NDArray[np.uint16]: ...
    @property
    def depth(self) -> NDArray[np.uint32]: ...  # links from a seed
    @property
    def links(self) -> NDArray[np.uint16]: ...  # that point to it
    @property
    def outside(self) -> NDArray[np.uint16]: ...  # of these, from other hosts
    @property
    def weight(self) -> NDArray[np.uint32]: ...
    @property
    def number(self) -> NDArray[np.uint32]: ...  # greater for a URL that was admitted later


class QueuedHost(NamedTuple):
    """What is known of a host that waits to enter the workbench."""

    name: str  # scheme, name and port
    urls_left: int  # known URLs that are not collected
    pages: int  # that it gave
    response_seconds: float  # mean of its answers; 0 if it gave none
    first_key: float  # of its next URL, by `url_keys`


class Order(Protocol):
    """Lower numbers come first. A number of a URL may depend on its own columns only."""

    @property
    def weight(self) -> WeightKind: ...

    def priority(self, url: str, language: str = "") -> int:
        """Return a priority from 1 to `PRIORITY_MAX`; of several, the repository keeps the lowest.

        `language` is that of the page that links to the URL.
        """
        ...

    def url_keys(self, urls: UrlFacts) -> Keys:
        """Return a number for each URL."""
        ...

    def host_key(self, host: QueuedHost) -> float:
        """Return a number for a host."""
        ...


class LevelCache:
    """Levels of URLs. Those of hosts are remembered, since a host has many URLs."""

    def __init__(self, cache_limit: int = CACHE_LIMIT) -> None:
        self._cache_limit = cache_limit
        # The level of each host's root. Filled by of, cleared when full.
        self._root_levels: dict[str, int] = {}

    def of(self, url: str) -> int:
        start = url.find("/", 8)
        root_level = self._root_levels.get(url[:start])
        if root_level is None:
            root_level = self.of_host(url[:start])
        slashes = url.count("/", start, url.find("?", start)) if "?" in url else url.count("/", start)
        return min(root_level + 10 * slashes, LEVEL_MAX)

    def of_host(self, name: str) -> int:
        """Return the dots of a host's name beyond its registrable domain."""
        root_level = self._root_levels.get(name)
        if root_level is None:
            if len(self._root_levels) >= self._cache_limit:
                self._root_levels.clear()
            root_level = self._root_levels[name] = level(f"{name}/") - _ROOT
        return root_level


def by_level(urls: UrlFacts) -> Keys:
    """Order URLs by priority, then by depth."""
    return urls.priority.astype(np.int64) << 32 | urls.depth


def by_weight(urls: UrlFacts, then: NDArray[np.int64]) -> Keys:
    """Order URLs by weight, the greatest first, then by numbers below 2**32."""
    return _WEIGHT_MAX - np.minimum(urls.weight, _WEIGHT_MAX).astype(np.int64) << 32 | then


def by_links(urls: UrlFacts) -> NDArray[np.int64]:
    """Return numbers below 2**32: by links, the most first, then by depth."""
    return _LINKS_MAX - urls.links.astype(np.int64) << 16 | np.minimum(urls.depth, _DEPTH_MAX)


class Level:
    """By the level of the URL: hosts before depth. Hosts by the dots of their name."""

    weight = WeightKind.NONE

    def __init__(self, cache_limit: int = CACHE_LIMIT) -> None:
        self._levels = LevelCache(cache_limit)

    def priority(self, url: str, language: str = "") -> int:  # noqa: ARG002 - the contract's
        return self._levels.of(url)

    def url_keys(self, urls: UrlFacts) -> Keys:
        return by_level(urls)

    def host_key(self, host: QueuedHost) -> float:
        return self._levels.of_host(host.name)


class Fifo:
    """In the order of discovery: URLs nearest to a seed come first. Hosts as they were found."""

    weight = WeightKind.NONE

    def priority(self, url: str, language: str = "") -> int:  # noqa: ARG002 - the contract's
        return 1

    def url_keys(self, urls: UrlFacts) -> Keys:
        return urls.depth

    def host_key(self, host: QueuedHost) -> float:  # noqa: ARG002 - the contract's
        return 0.0


class Lifo:
    """The last found first, URLs and hosts: a deep crawl of few hosts."""

    weight = WeightKind.NONE

    def __init__(self) -> None:
        self._hosts_count = 0

    def priority(self, url: str, language: str = "") -> int:  # noqa: ARG002 - the contract's
        return 1

    def url_keys(self, urls: UrlFacts) -> Keys:
        return -urls.number.astype(np.int64)

    def host_key(self, host: QueuedHost) -> float:  # noqa: ARG002 - the contract's
        self._hosts_count += 1
        return -self._hosts_count


class Backlinks:
    """By the number of links that point to a URL. Hosts by their best URL."""

    weight = WeightKind.NONE

    def priority(self, url: str, language: str = "") -> int:  # noqa: ARG002 - the contract's
        return 1

    def url_keys(self, urls: UrlFacts) -> Keys:
        return by_links(urls)

    def host_key(self, host: QueuedHost) -> float:
        return host.first_key


class HeaviestFirst:
    """By the weight of URLs, then by the number of links. Hosts by their best URL.

    The weights are ranks that are computed beside the crawl (policy `pagerank`), or cash (policy `opic`): a page passes
    what it has in equal parts to the URLs that it links to, so that no rank has to be computed.
    """

    def __init__(self, weight: WeightKind) -> None:
        self.weight = weight

    def priority(self, url: str, language: str = "") -> int:  # noqa: ARG002 - the contract's
        return 1

    def url_keys(self, urls: UrlFacts) -> Keys:
        return by_weight(urls, by_links(urls))

    def host_key(self, host: QueuedHost) -> float:
        return host.first_key


class BestHosts:
    """The hosts of the greatest rank; their URLs by level. How many enter at a time is a limit of the workbench."""

    weight = WeightKind.HOST_RANK

    def __init__(self) -> None:
        self._levels = LevelCache()

    def priority(self, url: str, language: str = "") -> int:  # noqa: ARG002 - the contract's
        return self._levels.of(url)

    def url_keys(self, urls: UrlFacts) -> Keys:
        return by_weight(urls, urls.priority.astype(np.int64) << 16 | np.minimum(urls.depth, _DEPTH_MAX))

    def host_key(self, host: QueuedHost) -> float:
        return host.first_key


class LargestHost:
    """The hosts with most known pages, collected or not; their URLs by level."""

    weight = WeightKind.NONE

    def __init__(self) -> None:
        self._levels = LevelCache()

    def priority(self, url: str, language: str = "") -> int:  # noqa: ARG002 - the contract's
        return self._levels.of(url)

    def url_keys(self, urls: UrlFacts) -> Keys:
        return by_level(urls)

    def host_key(self, host: QueuedHost) -> float:
        return -(host.urls_left + host.pages)


class FastestHost:
    """The hosts with the shortest mean response time, unknown ones first; their URLs by level."""

    weight = WeightKind.NONE

    def __init__(self) -> None:
        self._levels = LevelCache()

    def priority(self, url: str, language: str = "") -> int:  # noqa: ARG002 - the contract's
        return self._levels.of(url)

    def url_keys(self, urls: UrlFacts) -> Keys:
        return by_level(urls)

    def host_key(self, host: QueuedHost) -> float:
        return host.response_seconds


class RandomOrder:
    """In an order that follows from a seed, URLs and hosts: what any other policy is to be compared with."""

    weight = WeightKind.NONE

    def __init__(self, rng_seed: int = 0) -> None:
        self._rng_seed = rng_seed

    def priority(self, url: str, language: str = "") -> int:  # noqa: ARG002 - the contract's
        return 1

    def url_keys(self, urls: UrlFacts) -> Keys:
        mixed = (urls.number.astype(np.uint64) + np.uint64(self._rng_seed % 2**32)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
        return (mixed * np.uint64(0xBF58476D1CE4E5B9) >> np.uint64(2)).astype(np.int64)

    def host_key(self, host: QueuedHost) -> float:
        return xxhash.xxh3_64_intdigest(host.name.encode(), self._rng_seed)
