"""URLs on their way from the repository to the workbench, by host."""

from collections import deque
from collections.abc import Iterable, Sequence

from tarrafa.schedule import UrlKind

BUFFER_LIMIT = 100_000  # URLs, of all hosts


class UrlBuffer:
    """URLs taken from the repository to be visited soon.

    A URL is taken once. It stays here, buffered or handed out, until the repository knows its outcome, so that reading
    its block again does not schedule it twice. URLs that cannot be visited soon are dropped: the repository has them.
    """

    def __init__(self, limit: int = BUFFER_LIMIT) -> None:
        self._limit = limit
        # Cash of URLs that are buffered or handed out, where it is not 0. Filled by set_cash, emptied with the facts.
        self._cash: dict[str, int] = {}
        # Distance and kind of each URL that is buffered or handed out. Filled by add, emptied by finish and drop.
        self._facts: dict[str, tuple[int, int]] = {}
        # Each host's URLs that are not handed out. Filled by add and put_back, emptied by pop and drop.
        self._queues: dict[str, deque[str]] = {}
        self._count = 0

    def add(self, host: str, urls: Sequence[str], distances: Sequence[int], kinds: Sequence[int]) -> int:
        """Buffer URLs of a host; return how many were not here already. All buffered ones take the order given."""
        facts = zip(distances, kinds, strict=True)
        new = [each for each in zip(urls, facts, strict=True) if each[0] not in self._facts]
        if self._count + len(new) > self._limit:
            self._make_room()
        del new[max(0, self._limit - self._count) :]
        if new:
            self._facts.update(new)
            queue = self._queues.get(host)
            if queue is None:
                self._queues[host] = deque([url for url, _ in new])
            else:
                self._queues[host] = _merged(urls, queue, [url for url, _ in new])
            self._count += len(new)
        return len(new)

    def set_cash(self, urls: Sequence[str], cash: Sequence[int]) -> None:
        """Note what URLs have to pass on to those that they link to."""
        self._cash.update([each for each in zip(urls, cash, strict=True) if each[1] and each[0] in self._facts])

    def _make_room(self) -> None:
        """Leave the last URLs of the longest queues to the repository, so that no host keeps others out.

        Afterwards half of the room is free, unless there are very many hosts; so a URL costs O(1) of this.
        """
        share = self._limit // (2 * (len(self._queues) + 1))
        if share:
            for host in [host for host, queue in self._queues.items() if len(queue) > share]:
                self.drop(host, keep=share)

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
        """Buffer URLs again that were handed out and not visited, before all others of the host."""
        if urls:
            self._queues.setdefault(host, deque()).extendleft(reversed(urls))
            self._count += len(urls)

    def drop(self, host: str, keep: int = 0) -> int:
        """Drop a host's buffered URLs except the first `keep`; return how many were dropped."""
        queue = self._queues.get(host, deque())
        count = max(0, len(queue) - keep)
        for _ in range(count):
            url = queue.pop()
            del self._facts[url]
            self._cash.pop(url, None)
        self._count -= count
        if not queue:
            self._queues.pop(host, None)
        return count

    def finish(self, urls: Iterable[str]) -> None:
        """Forget URLs whose outcome the repository knows."""
        for url in urls:
            self._facts.pop(url, None)
            self._cash.pop(url, None)

    def distance(self, url: str) -> int:
        return self._facts[url][0]

    def cash(self, url: str) -> int:
        return self._cash.get(url, 0)

    def is_sitemap(self, url: str) -> bool:
        return self._facts[url][1] == UrlKind.SITEMAP

    def __contains__(self, url: str) -> bool:
        """Return True if the URL is buffered or handed out."""
        return url in self._facts

    @property
    def is_crowded(self) -> bool:
        """True if more than half of the room is taken."""
        return self._count > self._limit // 2

    def __len__(self) -> int:
        """Return how many URLs are buffered."""
        return self._count


def _merged(order: Sequence[str], queue: deque[str], new: Sequence[str]) -> deque[str]:
    """Return the URLs of a queue and new ones in the order given; those that it does not name come last."""
    here = {*queue, *new}
    merged = deque([url for url in order if url in here])
    if len(merged) < len(here):
        here.difference_update(merged)
        merged.extend([url for url in queue if url in here])
    return merged
