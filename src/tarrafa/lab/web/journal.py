"""Log the requests to a web and judge them: too early, overlapping, against robots.txt, malformed.

Counts are exact and kept for each host. Single requests are kept up to a bound; the oldest are dropped.
"""

import heapq
import itertools
from collections import Counter, deque
from dataclasses import dataclass
from typing import Any, NamedTuple

from tarrafa.lab.web.plan import SyntheticHost
from tarrafa.lab.web.robots import RobotsFiles

# Event loops have timers of whole milliseconds, so a client's timer may end that much early.
GRACE_SECONDS = 0.002


class LoggedVisit(NamedTuple):
    """One request. Moments are seconds since the web was opened."""

    at_seconds: float
    host: str
    path: str
    status: int  # 0 if no answer was sent
    client: str
    user_agent: str
    blame: str  # too early, overlapping, robots, malformed; empty for a good request


@dataclass(slots=True)
class HostTally:
    """Requests to one host."""

    requests: int = 0
    pages: int = 0  # answered with 200
    too_early: int = 0
    overlapping: int = 0
    robots_violations: int = 0
    malformed: int = 0
    in_flight: int = 0
    last_end_seconds: float = float("-inf")
    retry_seconds: float = float("-inf")  # Retry-After ends here

    def public(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in _PUBLIC}


_PUBLIC = ("requests", "pages", "too_early", "overlapping", "robots_violations", "malformed")


class Journal:
    """A log of requests: call `begin` when a request arrives, `end` when its answer has been sent."""

    def __init__(self, robots: RobotsFiles, delay_seconds: float = 0.0, size: int = 200_000) -> None:
        self._robots = robots
        self._delay_seconds = delay_seconds
        # Filled by end, emptied at its bound and by clear.
        self._visits: deque[LoggedVisit] = deque(maxlen=size)
        self._tallies: dict[str, HostTally] = {}
        self._statuses: Counter[int] = Counter()
        self._order = itertools.count()
        # Filled by end_later, emptied by begin when the moment has come, and by report.
        self._ends: list[tuple[float, int, SyntheticHost, LoggedVisit, float]] = []

    def clear(self) -> None:
        self._ends.clear()
        self._visits.clear()
        self._tallies.clear()
        self._statuses.clear()

    def begin(self, host: SyntheticHost, path: str, user_agent: str, now_seconds: float) -> str:
        """Count the request; return what it is to blame for, or nothing."""
        self._end_until(now_seconds)
        tally = self._tallies.get(host.origin) or self._tally(host.origin)
        tally.requests += 1
        blame = ""
        if now_seconds < self._welcome_seconds(tally, host, path):
            tally.too_early += 1
            blame = "too early"
        if tally.in_flight and self.delay_of(host):
            tally.overlapping += 1
            blame = "overlapping"
        if not self._robots.allows(host, path, user_agent):
            tally.robots_violations += 1
            blame = "robots"
        tally.in_flight += 1
        return blame

    def end(
        self, host: SyntheticHost, visit: LoggedVisit, now_seconds: float, retry_after_seconds: float = 0.0
    ) -> None:
        tally = self._tallies.get(host.origin) or self._tally(host.origin)
        tally.in_flight -= tally.in_flight > 0
        tally.pages += visit.status == 200
        tally.last_end_seconds = now_seconds
        if retry_after_seconds:
            tally.retry_seconds = max(tally.retry_seconds, now_seconds + retry_after_seconds)
        self._statuses[visit.status] += 1
        self._visits.append(visit)

    def end_later(
        self, host: SyntheticHost, visit: LoggedVisit, end_seconds: float, retry_after_seconds: float = 0.0
    ) -> None:
        """Record an end that lies in the future. It counts from that moment on; moments of callers must not go back."""
        heapq.heappush(self._ends, (end_seconds, next(self._order), host, visit, retry_after_seconds))

    def _end_until(self, now_seconds: float) -> None:
        while self._ends and self._ends[0][0] <= now_seconds:
            end_seconds, _, host, visit, retry_after_seconds = heapq.heappop(self._ends)
            self.end(host, visit, end_seconds, retry_after_seconds)

    def malformed(self, host: str, visit: LoggedVisit) -> None:
        tally = self._tally(host)
        tally.requests += 1
        tally.malformed += 1
        self._statuses[visit.status] += 1
        self._visits.append(visit)

    def _welcome_seconds(self, tally: HostTally, host: SyntheticHost, path: str) -> float:
        """Return when the next request may come. A client need not know a crawl-delay before it has read robots.txt."""
        delay = self._delay_seconds if path == "/robots.txt" else self.delay_of(host)
        return max(tally.last_end_seconds + delay, tally.retry_seconds) - GRACE_SECONDS

    def delay_of(self, host: SyntheticHost) -> float:
        """Return the delay that the host wants between an answer and the next request, if a client can know it."""
        if not host.crawl_delay_seconds or not self._robots.readable(host):
            return self._delay_seconds
        return max(self._delay_seconds, host.crawl_delay_seconds)

    def _tally(self, origin: str) -> HostTally:
        tally = self._tallies.get(origin)
        if tally is None:
            tally = self._tallies[origin] = HostTally()
        return tally

    def report(self, entries: int | None = None) -> dict[str, Any]:
        """Return totals, counts by host, and the last `entries` requests; all that are kept if None."""
        self._end_until(float("inf"))
        by_host = {origin: tally.public() for origin, tally in self._tallies.items()}
        totals = {name: sum(counts[name] for counts in by_host.values()) for name in _PUBLIC}
        kept = list(self._visits)
        return {
            **totals,
            "hosts": len(by_host),
            "statuses": {str(status): count for status, count in sorted(self._statuses.items())},
            "by_host": by_host,
            "entries": [
                visit._asdict() for visit in (kept if entries is None else kept[max(0, len(kept) - entries) :])
            ],
        }
