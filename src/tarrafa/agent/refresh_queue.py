"""Collected pages that are to be visited again soon: by host, the best first.

A look at a block of the repository fills the queue. What was not visited by the next look at the block is dropped, and
chosen anew if it is still worth it; nothing is marked on disk. At a host that has both, URLs that were never visited
and pages of this queue take turns.
"""

from collections import deque
from collections.abc import Iterable, Sequence

from tarrafa.verify import KnownPage

REFRESH_LIMIT = 100_000  # pages, of all hosts


class RefreshQueue:
    def __init__(self, share: float = 1.0, limit: int = REFRESH_LIMIT) -> None:
        """`share` is that of the turns of a host which has URLs that were never visited too."""
        self._share = share
        self._limit = limit
        # What is known of each page that is queued or handed out. Filled by add, emptied by finish and drop.
        self._pages: dict[str, KnownPage] = {}
        # Each host's URLs that are not handed out. Filled by add and put_back, emptied by pop and drop.
        self._queues: dict[str, deque[str]] = {}
        self._blocks: dict[str, int] = {}  # of each host with a queue
        self._credits: dict[str, float] = {}  # turns that each host with a queue has earned
        self._count = 0
        self.landed_count = 0  # pages whose visit the repository has learnt

    def add(self, host: str, pages: Sequence[KnownPage], block: int) -> int:
        """Queue pages of a host behind those that are here, as far as there is room; return how many are new."""
        new = [each for each in pages if each.url not in self._pages][: max(0, self._limit - self._count)]
        if new:
            self._pages.update((each.url, each) for each in new)
            self._queues.setdefault(host, deque()).extend(each.url for each in new)
            self._blocks[host] = block
            self._count += len(new)
        return len(new)

    def turns(self, host: str, count: int) -> int:
        """Return how many of the next turns of a host are for this queue, if it has URLs of both kinds."""
        if host not in self._queues:
            return 0
        credit = self._credits.get(host, 0.0) + count * self._share
        turns = min(int(credit), len(self._queues[host]))
        self._credits[host] = min(credit - turns, 1.0)
        return turns

    def pop(self, host: str, limit: int) -> list[str]:
        """Hand out the next URLs of a host."""
        queue = self._queues.get(host)
        if not queue:
            return []
        urls = [queue.popleft() for _ in range(min(limit, len(queue)))]
        self._count -= len(urls)
        if not queue:
            self._forget_queue(host)
        return urls

    def put_back(self, host: str, urls: Sequence[str], block: int = -1) -> None:
        """Queue URLs again that were handed out and not visited, before all others of the host."""
        if urls:
            self._queues.setdefault(host, deque()).extendleft(reversed(urls))
            self._blocks.setdefault(host, block)
            self._count += len(urls)

    def drop(self, host: str) -> None:
        """Drop the queue of a host."""
        for url in self._queues.get(host, ()):
            del self._pages[url]
            self._count -= 1
        self._forget_queue(host)

    def drop_block(self, block: int) -> int:
        """Drop the queues of the hosts of a block; return how many pages were dropped."""
        before = self._count
        for host in [host for host, its_block in self._blocks.items() if its_block == block]:
            self.drop(host)
        return before - self._count

    def _forget_queue(self, host: str) -> None:
        for by_host in (self._queues, self._blocks, self._credits):
            by_host.pop(host, None)

    def finish(self, urls: Iterable[str]) -> None:
        """Forget pages whose visit the repository knows."""
        if self._pages:
            for url in urls:
                self.landed_count += self._pages.pop(url, None) is not None

    def page(self, url: str) -> KnownPage | None:
        """Return what is known of a page that is queued or handed out; None for any other URL."""
        return self._pages.get(url)

    def __contains__(self, url: str) -> bool:
        """Return True if the page is queued or handed out."""
        return url in self._pages

    def __len__(self) -> int:
        """Return how many pages are queued."""
        return self._count
