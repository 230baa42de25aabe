"""Collected pages that are to be visited again soon: by host, the best first.

A look at a block of the repository fills the queue. What was not visited by the next look at the block is dropped, and
chosen anew if it is still worth it; nothing is marked on disk. At a host that has both, URLs that were never visited
and pages of this queue take turns.
"""

from collections import Counter, deque
from collections.abc import Sequence
from typing import NamedTuple

from tarrafa.lru import LruCache
from tarrafa.verify import KnownPage

REFRESH_LIMIT = 100_000  # pages, of all hosts
_LANDED_LIMIT = 200_000  # visits that are remembered until the repository tells of them
_CREDITS_LIMIT = 100_000  # hosts
_ONE = 1.0 - 1e-9


class QueuedPage(NamedTuple):
    page: KnownPage
    block: int  # of the look that chose it


class RefreshQueue:
    def __init__(self, share: float = 1.0, limit: int = REFRESH_LIMIT) -> None:
        """`share` is that of the turns of a host which has URLs that were never visited too."""
        self._share = share
        self._limit = limit
        # Each page that is queued or handed out. Filled by add, emptied by finish and drop.
        self._pages: dict[str, QueuedPage] = {}
        # Each host's URLs that are not handed out. Filled by add and put_back, emptied by pop and drop.
        self._queues: dict[str, deque[str]] = {}
        # Turns that each host owes to this queue, below 1. Filled by count_turns; the oldest are dropped.
        self._credits: LruCache[str, float] = LruCache(_CREDITS_LIMIT)
        # When the last visit to a page ended. Filled by finish, emptied when a look has read of it; the oldest are
        # dropped. A batch may wait long for its block, so a look may not know of a visit that was made.
        self._landed: LruCache[str, float] = LruCache(_LANDED_LIMIT)
        self._count = 0
        self.landed_count = 0  # pages whose visit has ended

    def add(self, host: str, pages: Sequence[KnownPage], block: int) -> int:
        """Queue pages of a host behind those that are here, as far as there is room; return how many are new."""
        new = [each for each in pages if each.url not in self._pages and not self._was_visited(each)]
        del new[max(0, self._limit - self._count) :]
        if new:
            self._pages.update((each.url, QueuedPage(each, block)) for each in new)
            self._queues.setdefault(host, deque()).extend(each.url for each in new)
            self._count += len(new)
        return len(new)

    def _was_visited(self, page: KnownPage) -> bool:
        """Return True if the page was visited after what the repository tells of it."""
        landed_at = self._landed.get(page.url)
        if landed_at is None:
            return False
        if page.visited_seconds < int(landed_at):
            return True
        self._landed.pop(page.url)
        return False

    def in_turns(self, host: str, fresh: Sequence[str], again: Sequence[str]) -> list[str]:
        """Return the next URLs of a host, of both kinds: never visited, and of this queue."""
        merged, credit = [], self._credits.get(host) or 0.0
        first, second = deque(fresh), deque(again)
        while first and second:
            credit += self._share
            is_turn = credit >= _ONE
            credit -= is_turn
            merged.append(second.popleft() if is_turn else first.popleft())
        return [*merged, *first, *second]

    def count_turns(self, host: str, urls: Sequence[str]) -> None:
        """Note that a host, which has URLs of both kinds, has taken these."""
        again = sum(url in self._pages for url in urls)
        credit = (self._credits.get(host) or 0.0) + self._share * len(urls) - again
        self._credits.put(host, min(max(credit, 0.0), 1.0))

    def pop(self, host: str, limit: int) -> list[str]:
        """Hand out the next URLs of a host."""
        queue = self._queues.get(host)
        if not queue:
            return []
        urls = [queue.popleft() for _ in range(min(limit, len(queue)))]
        self._count -= len(urls)
        if not queue:
            del self._queues[host]
        return urls

    def put_back(self, host: str, urls: Sequence[str]) -> None:
        """Queue URLs again that were handed out and not visited, before all others of the host."""
        if urls:
            self._queues.setdefault(host, deque()).extendleft(reversed(urls))
            self._count += len(urls)

    def drop(self, host: str) -> int:
        """Drop the queue of a host; return how many pages were dropped."""
        queue = self._queues.pop(host, deque())
        for url in queue:
            del self._pages[url]
        self._count -= len(queue)
        return len(queue)

    def drop_block(self, block: int) -> int:
        """Drop the queues of the hosts of a block; return how many pages were dropped."""
        hosts = [host for host, queue in self._queues.items() if self._pages[queue[0]].block == block]
        return sum(map(self.drop, hosts))

    def held_counts(self) -> Counter[int]:
        """Return how many pages are queued, by block."""
        held: Counter[int] = Counter()
        for queue in self._queues.values():
            held[self._pages[queue[0]].block] += len(queue)
        return held

    @property
    def unfinished_count(self) -> int:
        """The number of pages that are queued, or handed out and not finished."""
        return len(self._pages)

    def finish(self, url: str, at_wall: float) -> None:
        """Forget a page whose visit has ended: it was fetched, or failed, or was refused."""
        if self._pages.pop(url, None) is not None:
            self._landed.put(url, at_wall)
            self.landed_count += 1

    def page(self, url: str) -> KnownPage | None:
        """Return what is known of a page that is queued or handed out; None for any other URL."""
        queued = self._pages.get(url)
        return None if queued is None else queued.page

    def has_host(self, host: str) -> bool:
        """Return True if pages of the host are queued."""
        return host in self._queues

    def __contains__(self, url: str) -> bool:
        """Return True if the page is queued or handed out."""
        return url in self._pages

    def __len__(self) -> int:
        """Return how many pages are queued."""
        return self._count
