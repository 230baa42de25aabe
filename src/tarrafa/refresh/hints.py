"""What sitemaps and feeds say of collected pages: that one has changed since its last visit.

A hint is a URL and the date that the list gives it. It makes a visit worth more, as if the page had waited longer, the
more so the more often hints of its host were right. A date by day is midnight, so only a later day than that of the
last visit is newer. Hints are in memory only: a kill loses them, which costs nothing but freshness.
"""

from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tarrafa.histories import DAY_SECONDS, Histories
from tarrafa.lru import LruCache

F64 = NDArray[np.float64]

HINTS_LIMIT = 100_000  # URLs, of all hosts
_HOSTS_LIMIT = 100_000  # whose precision is remembered
_PRECISION_MIN = 0.2  # hints of a host that is right less often are not used
_RECORD_MAX = 50  # visits to hinted pages that count of a host: it may begin or cease to tell the truth
_FIRST_DAYS = 7  # how old a date may be in a list that is read for the first time


class Hints(NamedTuple):
    """The hints of all hosts that are believed, as columns."""

    urls: list[str]
    modified: F64  # seconds since 1970
    weights: F64  # -ln(1 - precision)


NO_HINTS = Hints([], np.empty(0), np.empty(0))


class _Record(NamedTuple):
    """How often a visit to a hinted page of a host has found a change."""

    right: float = 0.0
    visits: float = 0.0

    @property
    def precision(self) -> float:
        return (1 + self.right) / (2 + self.visits)

    def after(self, *, is_right: bool) -> "_Record":
        scale = min(1.0, (_RECORD_MAX - 1) / max(self.visits, 1.0))
        return _Record(self.right * scale + is_right, self.visits * scale + 1)


class RefreshHints:
    """Holds the newest date of each hinted URL, by host. A `limit` of 0 holds none."""

    def __init__(self, limit: int = HINTS_LIMIT) -> None:
        self._limit = limit
        # The dates by host and URL, those noted last at the end. Filled by note, emptied by settle and _make_room.
        self._hosts: dict[str, dict[str, float]] = {}
        self._count = 0
        self._records: LruCache[str, _Record] = LruCache(_HOSTS_LIMIT)

    def __len__(self) -> int:
        return self._count

    def note(
        self, host: str, entries: Iterable[tuple[str, float | None]], read_before: float | None, now: float
    ) -> int:
        """Take the new dates of a list of a host for its own URLs; return how many hints were dropped for want of room.

        `read_before` is when the list was read the last time. Dates of the day before that count as new too: they may
        be dates by day, or of a visit in between. Dates in the future do not.
        """
        since = now - _FIRST_DAYS * DAY_SECONDS if read_before is None else read_before - DAY_SECONDS
        own = f"{host}/"
        new = {url: date for url, date in entries if date is not None and since < date <= now and url.startswith(own)}
        if not new or not self._limit:
            return 0
        hints = self._hosts.setdefault(host, {})
        before = len(hints)
        for url, date in new.items():
            hints[url] = max(date, hints.pop(url, date))
        self._count += len(hints) - before
        return self._make_room()

    def _make_room(self) -> int:
        """Drop the oldest hints of the hosts that have most; return how many."""
        dropped = 0
        while self._count > self._limit:
            host, hints = max(self._hosts.items(), key=lambda each: len(each[1]))
            oldest = list(islice(hints, min(self._count - self._limit, len(hints) // 2 + 1)))
            for url in oldest:
                self._remove(host, url)
            dropped += len(oldest)
        return dropped

    def settle(self, host: str, url: str, visited_before: float | None, *, is_right: bool | None) -> None:
        """Forget the hint of a page that was visited, and learn from it if it was newer than the visit before.

        `visited_before` is None for a first visit. `is_right` tells if the page has changed, None if that is not known.
        """
        modified = self._remove(host, url)
        if modified is None or visited_before is None or is_right is None or modified <= visited_before:
            return
        record = self._records.get(host) or _Record()
        self._records.put(host, record.after(is_right=is_right))

    def _remove(self, host: str, url: str) -> float | None:
        hints = self._hosts.get(host)
        modified = None if hints is None else hints.pop(url, None)
        if hints is None or modified is None:
            return None
        self._count -= 1
        if not hints:
            del self._hosts[host]
        return modified

    def precision(self, host: str) -> float:
        """Return the share of the hints of a host that are expected to be right."""
        return (self._records.get(host) or _Record()).precision

    def believed(self) -> Hints:
        """Return the hints that are used."""
        if not self._hosts:
            return NO_HINTS
        told = [(hints, self.precision(host)) for host, hints in self._hosts.items()]
        told = [each for each in told if each[1] >= _PRECISION_MIN]
        dates = np.array([date for hints, _ in told for date in hints.values()], np.float64)
        counts, precisions = [len(hints) for hints, _ in told], np.array([each for _, each in told], np.float64)
        weights = np.repeat(-np.log1p(-precisions), np.array(counts, np.int64))
        return Hints([url for hints, _ in told for url in hints], dates, weights)


def hint_weights(histories: Histories, positions: NDArray[np.integer], hints: Hints) -> F64:
    """Return the weight of the hint of each page; 0 without one that is newer than its last visit.

    `positions` gives the history of each hinted URL, -1 for one that has none here.
    """
    weights = np.zeros(len(histories.row))
    here = np.flatnonzero(positions >= 0)
    here = here[hints.modified[here] > histories.visited[positions[here]]]
    weights[positions[here]] = hints.weights[here]
    return weights
