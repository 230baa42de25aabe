"""URLs that were taken from the repository to be visited soon.

A URL is taken once. It stays here, waiting or handed out, until the repository has been told what became of it; so when
its block is read again, what is on its way is not taken a second time. URLs that cannot be visited soon are given up
again: the repository has them.
"""

from collections import deque
from collections.abc import Iterable, Sequence

WAITING_LIMIT = 300_000  # URLs, of all hosts


class Supply:
    def __init__(self, waiting_limit: int = WAITING_LIMIT) -> None:
        self._waiting_limit = waiting_limit
        # The hint of each URL that is on its way. Filled by take, emptied by forget and give_up.
        self._hints: dict[str, int] = {}
        # URLs of each host that were not handed out yet. Filled by take and put_back, emptied by give and give_up.
        self._waiting: dict[str, deque[str]] = {}
        self._waiting_count = 0

    def take(self, host: str, urls: Sequence[str], hints: Sequence[int]) -> int:
        """How many of them were not on their way already."""
        room = max(0, self._waiting_limit - self._waiting_count)
        new = [(url, hint) for url, hint in zip(urls, hints, strict=True) if url not in self._hints][:room]
        if new:
            self._hints.update(new)
            self._waiting.setdefault(host, deque()).extend([url for url, _ in new])
            self._waiting_count += len(new)
        return len(new)

    def give(self, host: str, limit: int) -> list[str]:
        """The next URLs of a host, to be handed to the workbench."""
        waiting = self._waiting.get(host)
        if not waiting:
            return []
        urls = [waiting.popleft() for _ in range(min(limit, len(waiting)))]
        self._waiting_count -= len(urls)
        if not waiting:
            del self._waiting[host]
        return urls

    def put_back(self, host: str, urls: Sequence[str]) -> None:
        """They were not visited, and come first the next time."""
        if urls:
            self._waiting.setdefault(host, deque()).extendleft(reversed(urls))
            self._waiting_count += len(urls)

    def give_up(self, host: str, but: int = 0) -> int:
        """What waits of a host is left to the repository, but for the first ones; how many that are."""
        waiting = self._waiting.get(host, deque())
        count = max(0, len(waiting) - but)
        for _ in range(count):
            del self._hints[waiting.pop()]
        self._waiting_count -= count
        if not waiting:
            self._waiting.pop(host, None)
        return count

    def has(self, url: str) -> bool:
        """Whether it is on its way."""
        return url in self._hints

    def hint(self, url: str) -> int:
        return self._hints[url]

    def forget(self, urls: Iterable[str]) -> None:
        """The repository knows what became of these."""
        for url in urls:
            self._hints.pop(url, None)

    @property
    def is_crowded(self) -> bool:
        """Whether more than half of the room is taken."""
        return self._waiting_count > self._waiting_limit // 2

    def __len__(self) -> int:
        return self._waiting_count
