"""What every uniqueness engine promises, and the records that go in and out.

1. A URL is admitted at most once, ever, also across restarts.
2. Every URL that was offered is admitted when nothing waits any more, or was admitted before.
3. Only URLs that were offered are admitted.
4. What is known of a collected URL is what the last committed batch said of it.
5. Nothing that was committed is lost by a kill at any moment.
6. A batch that is offered again changes nothing.
7. Of a cycle's URLs, each is exactly one of: collected before, known but not collected, collected now, fresh.

A batch is numbered by whoever offers it, each number above the last; that is how 6 is kept. Columns of a batch have
equal lengths and their order means nothing. URLs are canonical.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

# URLs as Python has them, or as columns have them, which is how a crawl's batches come.
Urls: TypeAlias = Sequence[str] | pa.LargeStringArray

PRIORITY_MAX = 2**16 - 1
LINKS_MAX = 2**16 - 1


class Collected(NamedTuple):
    """URLs whose page was fetched (the papers' L), and what is known of the page (M)."""

    urls: Urls = ()
    at_seconds: NDArray[np.float64] = np.empty(0, np.float64)  # since 1970
    status: NDArray[np.uint16] = np.empty(0, np.uint16)
    file: NDArray[np.uint32] = np.empty(0, np.uint32)  # of the archive
    offset: NDArray[np.uint64] = np.empty(0, np.uint64)  # in that file


class Extracted(NamedTuple):
    """URLs that were found in pages (the papers' E); a URL may stand here many times."""

    urls: Urls = ()
    priority: NDArray[np.uint16] = np.empty(0, np.uint16)  # a hint; lower first
    links: NDArray[np.uint16] = np.empty(0, np.uint16)  # that pointed to it
    outside: NDArray[np.uint16] = np.empty(0, np.uint16)  # of these, from other hosts


class Batch(NamedTuple):
    number: int
    collected: Collected = Collected()
    extracted: Extracted = Extracted()


class Cycle(NamedTuple):
    """What a cycle found: the four sets of URLs by count, and the fresh ones."""

    block: int
    collected_before: int = 0
    known: int = 0  # but not collected
    collected_now: int = 0
    fresh: Sequence[str] = ()
    set_aside: int = 0  # URLs of other blocks, which wait for their turn


class Known(NamedTuple):
    """What is known of a URL."""

    url: str
    collected: bool
    priority: int
    links: int
    outside: int  # of the links, those from other hosts
    at_seconds: float | None = None
    status: int | None = None
    file: int | None = None
    offset: int | None = None


class Counts(NamedTuple):
    known: int
    collected: int
    hosts: int
    blocks: int
    waiting: int  # offered, not verified yet
    disk_bytes: int
    scheduled: int = 0  # known and chosen to be fetched next; engines that only compare choose none


class Repository(Protocol):
    """All known URLs. Used by one thread at a time."""

    def cycle(self, batch: Batch) -> Cycle:
        """Take a batch in, verify one block against all that waits for it, and commit. Durable when it returns."""
        ...

    def lookup(self, url: str) -> Known | None: ...

    def urls_of(self, host: str) -> Iterator[Known]:
        """All known URLs of a host such as `http://example.org`, in the order of their admission."""
        ...

    def counts(self) -> Counts: ...

    def close(self) -> None: ...


def drain(repository: Repository, number: int) -> Iterator[Cycle]:
    """Cycles with empty batches, numbered from `number` on, until nothing waits."""
    while repository.counts().waiting:
        yield repository.cycle(Batch(number))
        number += 1
