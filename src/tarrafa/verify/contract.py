"""What every uniqueness engine guarantees, and the records that go in and out.

1. A URL is admitted at most once, ever, also across restarts.
2. Once no URL is waiting, every URL that was offered has been admitted.
3. Only URLs that were offered are admitted.
4. What is known of a collected URL is what the last committed batch said of it.
5. Nothing that was committed is lost by a kill at any moment.
6. A batch that is offered again changes nothing.
7. Each URL of a cycle is exactly one of: collected before, known but not collected, collected now, fresh.
8. Each visit of a committed batch counts once in the history of its URL, in the order of the times of the visits.

A repository tells hosts apart by a hash of 64 bits. If two hosts have the same one, the first that is admitted keeps
it: the URLs of the other are left out of the four sets, are never admitted, and are told in `Cycle.collisions`. By
chance this happens once in many crawls of millions of hosts, so engines that only compare take no care of it.

Batches are numbered by the caller, in ascending order; guarantee 6 rests on these numbers. All columns of a batch have
the same length, and the order of its rows has no meaning. URLs are canonical.
"""

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tarrafa.errors import WorkError
from tarrafa.histories import Histories, PageHistory, Phase
from tarrafa.records import DEPTH_MAX

# A list of Python strings, or an Arrow column, which is how a crawl's batches come.
Urls: TypeAlias = Sequence[str] | pa.LargeStringArray

FIRST_PRIORITY = 0  # comes before all other URLs, in every order
PRIORITY_MAX = 2**16 - 1
LINKS_MAX = 2**16 - 1
WEIGHT_MAX = 2**32 - 1
HASHES = 2**64  # the blocks divide the hashes of hosts among them


class Collected(NamedTuple):
    """Visits to URLs (the papers' L), and what is known of the pages (M). A URL may occur several times.

    The columns from `change` on may be missing: nothing more is known then, and no content has changed. `file`,
    `offset`, `signature` and `similarity` are of the content; a visit without content, such as a 304, repeats what the
    caller read from the repository.
    """

    urls: Urls = ()
    at_seconds: NDArray[np.float64] = np.empty(0, np.float64)  # since 1970
    status: NDArray[np.uint16] = np.empty(0, np.uint16)  # see `histories` for what it does to a history
    file: NDArray[np.uint32] = np.empty(0, np.uint32)  # of the archive
    offset: NDArray[np.uint64] = np.empty(0, np.uint64)  # in that file
    change: NDArray[np.uint8] = np.empty(0, np.uint8)  # `histories.Change`, against the visit before
    signature: NDArray[np.uint64] = np.empty(0, np.uint64)
    similarity: NDArray[np.uint64] = np.empty(0, np.uint64)
    content_seconds: NDArray[np.float32] = np.empty(0, np.float32)  # age of the content by its host; NaN if not told
    cache_seconds: NDArray[np.float32] = np.empty(0, np.float32)  # for which its host calls it valid

    def completed(self) -> "Collected":
        """Return the visits with all columns."""
        count = len(self.urls)
        if len(self.change) == count:
            return self
        unknown = np.full(count, np.nan, np.float32)
        return self._replace(
            change=np.zeros(count, np.uint8),
            signature=np.zeros(count, np.uint64),
            similarity=np.zeros(count, np.uint64),
            content_seconds=unknown,
            cache_seconds=unknown,
        )


class Extracted(NamedTuple):
    """URLs found in pages (the papers' E). A URL may occur many times. The weights may be missing: all are 0 then."""

    urls: Urls = ()
    priority: NDArray[np.uint16] = np.empty(0, np.uint16)  # lower is fetched first
    links: NDArray[np.uint16] = np.empty(0, np.uint16)  # that pointed to it
    outside: NDArray[np.uint16] = np.empty(0, np.uint16)  # of these, from other hosts
    depth: NDArray[np.uint32] = np.empty(0, np.uint32)  # links from a seed
    kind: NDArray[np.uint8] = np.empty(0, np.uint8)  # a number of the caller's; of several, the greatest is kept
    weight: NDArray[np.uint32] = np.empty(0, np.uint32)  # a number of the caller's; it is added to that of the URL


class Batch(NamedTuple):
    number: int
    collected: Collected = Collected()
    extracted: Extracted = Extracted()


class HostCollision(NamedTuple):
    """A host that cannot be known, because another has the same hash."""

    host: str  # that cannot be known
    other: str
    urls_count: int  # of the host, in this cycle


class Cycle(NamedTuple):
    """The result of a cycle: the size of each of the four sets, and the fresh URLs themselves."""

    block: int
    collected_before: int = 0
    known: int = 0  # but not collected
    collected_now: int = 0
    fresh: Sequence[str] = ()
    set_aside: int = 0  # URLs of other blocks, which wait for a cycle of their block
    collisions: Sequence[HostCollision] = ()


class Known(NamedTuple):
    """What is known of a URL."""

    url: str
    collected: bool
    priority: int
    links: int
    outside: int  # of the links, those from other hosts
    depth: int = DEPTH_MAX  # the fewest links from a seed; DEPTH_MAX of a URL that was only collected
    kind: int = 0
    at_seconds: float | None = None
    status: int | None = None
    file: int | None = None
    offset: int | None = None
    weight: int = 0  # only of a `Repository`
    history: PageHistory | None = None  # of a collected URL; only of a `Repository`


class KnownPage(NamedTuple):
    """A collected URL that is to be visited again, and what is known of its last content."""

    url: str
    depth: int
    visited_seconds: float  # since 1970
    status: int  # of the last visit
    phase: Phase
    file: int  # of the content
    offset: int
    signature: int
    similarity: int
    kind: int = 0
    failures: int = 0  # consecutive visits without a page


class BlockHistories(NamedTuple):
    """The histories of the collected URLs of a block, and their hosts. The importance of each is filled in."""

    histories: Histories
    hosts: NDArray[np.int64]  # of each history: a position in `host_names`
    host_names: Sequence[str]


class UrlState(StrEnum):
    """Where a known URL is on its way."""

    REMAINING = "remaining"
    SCHEDULED = "scheduled"
    COLLECTED = "collected"


class UrlPlace(NamedTuple):
    """Where a URL stands among those of its host."""

    known: Known
    state: UrlState
    ahead_count: int  # URLs of the host that come before it; 0 once it is collected
    left_count: int  # URLs of the host that are not collected


class HostUrls(NamedTuple):
    """The URLs of one host, counted by state, and those that come next."""

    remaining: int = 0
    scheduled: int = 0
    collected: int = 0
    next_urls: tuple[str, ...] = ()

    @property
    def left_count(self) -> int:
        """The URLs that are not collected."""
        return self.remaining + self.scheduled


class Quota(NamedTuple):
    """How many of a host's URLs are scheduled at a time, and below how many more are added; never the larger number."""

    scheduled: int = 1_000
    refill_below: int = 10


class Scheduled(NamedTuple):
    """The URLs of a host to fetch next, in order."""

    host: str
    urls: list[str]
    depths: list[int]  # one for each URL, as are the kinds
    kinds: list[int]
    left_count: int  # all URLs of the host that are not collected: scheduled or remaining
    key: float = 0.0  # of the first URL, by the order of the repository
    weights: Sequence[int] = ()  # one for each URL, or none if all are 0


class UrlColumns(NamedTuple):
    """What an order of URLs may depend on: one entry for each URL."""

    priority: NDArray[np.uint16]
    depth: NDArray[np.uint32]
    links: NDArray[np.uint16]
    outside: NDArray[np.uint16]
    weight: NDArray[np.uint32]
    number: NDArray[np.uint32]  # greater for a URL that was admitted later


Keys: TypeAlias = NDArray[Any]
# Returns a number for each URL, lower first; of equal numbers, the URL that was admitted first. The number of a URL
# depends on its own columns only. URLs of `FIRST_PRIORITY` come before all others, whatever it returns.
UrlOrder: TypeAlias = Callable[[UrlColumns], Keys]
# Returns the new weights of URLs; as an importance, 1_000 stands for 1, the mean, and 0 for an importance not known.
Weigh: TypeAlias = Callable[[pa.LargeStringArray], NDArray[np.uint32]]


def by_priority(urls: UrlColumns) -> Keys:
    """Order URLs by priority, then by depth."""
    return urls.priority.astype(np.int64) << 32 | urls.depth


def checked_keys(keys: Keys, count: int) -> Keys:
    """Return the keys of `count` URLs as 64-bit numbers; raise `WorkError` if they cannot order URLs."""
    keys = np.asarray(keys)
    if keys.shape != (count,) or keys.dtype.kind not in "iuf" or (keys.dtype.kind == "f" and np.isnan(keys).any()):
        raise WorkError("the order of crawling must return one number for each URL; correct the class of crawl.order")
    return keys.astype(np.float64 if keys.dtype.kind == "f" else np.int64, copy=False)


def first_placed(keys: Keys, urls: UrlColumns) -> Keys:
    """Return the keys with URLs of `FIRST_PRIORITY` before all others, by depth."""
    firsts = np.flatnonzero(urls.priority == FIRST_PRIORITY)
    if not len(firsts):
        return keys
    keys = keys.copy()
    is_whole = keys.dtype.kind == "i"
    keys[firsts] = np.iinfo(np.int64).min + urls.depth[firsts].astype(np.int64) if is_whole else -np.inf
    return keys


class Division(Protocol):
    """Chooses which URLs of a host are scheduled, and which remain; the lowest keys are scheduled.

    It sees only URLs that were never collected: `Expansion` fulfils it. Collected pages are never scheduled again:
    looks at their histories choose which of them are visited again (`agent.refresher`). See decision 17.
    """

    def first(self, urls: UrlColumns, url_bytes: NDArray[np.integer[Any]]) -> Keys:
        """Order the URLs of hosts that are new. `url_bytes` are the lengths of their URLs."""
        ...

    def next(self, urls: UrlColumns) -> Keys:
        """Order the remaining URLs of hosts that have fewer than `Quota.refill_below` scheduled ones."""
        ...


class Expansion:
    """Fulfils `Division`: a new host starts with its shortest URLs, and goes on in an order of URLs."""

    def __init__(self, order: UrlOrder = by_priority) -> None:
        self._order = order

    def first(self, urls: UrlColumns, url_bytes: NDArray[np.integer[Any]]) -> Keys:  # noqa: ARG002 - the contract's
        return url_bytes

    def next(self, urls: UrlColumns) -> Keys:
        return self._order(urls)


class RepositoryCounts(NamedTuple):
    known: int
    collected: int
    hosts: int
    blocks: int
    waiting: int  # offered, not verified yet
    disk_bytes: int
    scheduled: int = 0  # engines that only compare schedule none
    phases: tuple[int, ...] = ()  # collected URLs by `Phase`; engines that only compare know none


class UniquenessEngine(Protocol):
    """All known URLs. Used by one thread at a time."""

    def cycle(self, batch: Batch) -> Cycle:
        """Take a batch, verify one block against everything that waits for it, and commit. Durable on return."""
        ...

    def lookup(self, url: str) -> Known | None: ...

    def urls_of(self, host: str) -> Iterator[Known]:
        """Yield all known URLs of a host such as `http://example.org`, in order of admission."""
        ...

    def counts(self) -> RepositoryCounts: ...

    def close(self) -> None: ...


class Repository(UniquenessEngine, Protocol):
    """A uniqueness engine that also schedules: what a crawl uses."""

    @property
    def last_batch(self) -> int:
        """The number of the last committed batch; -1 for none."""
        ...

    def blocks(self) -> list[int]:
        """Return the numbers of all blocks."""
        ...

    def blocks_verified(self) -> list[int]:
        """Return the block of the last cycle, or both halves if that cycle split it."""
        ...

    def scheduled(self, block: int, per_host: int | None = None) -> Iterator[Scheduled]:
        """Yield, for each host of the block that has any, its scheduled URLs, at most `per_host` of them.

        They are in the order of the repository: by default by priority, then by depth, then by admission. When a cycle
        leaves a host with fewer than `Quota.refill_below` scheduled URLs, it schedules up to `Quota.scheduled` of the
        remaining ones, which its `Division` chooses. A URL stays scheduled until it is collected.
        """
        ...

    def weigh(self, block: int, weigh: Weigh) -> None:
        """Replace the weights of all URLs of a block that are not collected. Durable on return."""
        ...

    def histories(self, block: int) -> BlockHistories:
        """Return the histories of all collected URLs of a block, as of the last commit.

        The importance of a URL is what `rate` has set, or else follows from the links to it and its depth.
        """
        ...

    def rows_of(self, block: int, urls: Sequence[str]) -> NDArray[np.int64]:
        """Return the row of each URL in a block; -1 for one that the block does not have."""
        ...

    def known_pages(self, block: int, rows: NDArray[np.uint32]) -> list[KnownPage]:
        """Return collected URLs of a block by the rows of their histories, in the order given."""
        ...

    def mean_rate(self) -> float:
        """Return how often a page changes, in changes a day: the mean over the collected URLs of all blocks."""
        ...

    def rate(self, block: int, weigh: Weigh) -> None:
        """Replace the importance of all collected URLs of a block. Durable on return."""
        ...


def drain(engine: UniquenessEngine, number: int) -> Iterator[Cycle]:
    """Run cycles with empty batches, numbered from `number` on, until no URL is waiting."""
    while engine.counts().waiting:
        yield engine.cycle(Batch(number))
        number += 1
