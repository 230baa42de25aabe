"""The visits of the last moments, for a person who watches: the last URLs, and the hosts that take longest."""

from collections import deque
from heapq import nlargest
from typing import NamedTuple

from tarrafa.records import Failure, Page

_SHOWN_URLS, _SHOWN_HOSTS = 6, 4
_ENDED_LIMIT = 300  # visits that the slowest hosts are found among


class EndedVisit(NamedTuple):
    host: str
    seconds: float


class RecentVisits:
    def __init__(self) -> None:
        # Host and beginning of each visit in flight, by URL. Filled by begin, emptied by end.
        self._begun: dict[str, tuple[str, float]] = {}
        # Filled by end; both drop the oldest.
        self._ended: deque[EndedVisit] = deque(maxlen=_ENDED_LIMIT)
        self._urls: deque[tuple[str, str]] = deque(maxlen=_SHOWN_URLS)

    def begin(self, host: str, url: str, now: float) -> None:
        self._begun[url] = (host, now)

    def end(self, url: str, got: Page | Failure, now: float) -> float:
        """Note the end of a visit; return how long it took."""
        host, began = self._begun.pop(url, ("", now))
        self._ended.append(EndedVisit(host, now - began))
        self._urls.append((str(got.status) if isinstance(got, Page) else got.kind.value, url))
        return now - began

    @property
    def last(self) -> list[tuple[str, str]]:
        """The status, or the kind of failure, and the URL of the last visits; the newest first."""
        return list(reversed(self._urls))

    def slowest(self, now: float) -> dict[str, float]:
        """Return the longest visit of each of the slowest hosts, also of visits in flight; the slowest first."""
        longest: dict[str, float] = {}
        flying = [EndedVisit(host, now - began) for host, began in self._begun.values()]
        for host, seconds in [*self._ended, *flying]:
            longest[host] = max(seconds, longest.get(host, 0.0))
        return dict(nlargest(_SHOWN_HOSTS, longest.items(), key=lambda each: each[1]))
