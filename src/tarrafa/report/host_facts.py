"""Count hosts in one pass over the database of hosts, some thousands at a time."""

import heapq
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from tarrafa.agent import HostDatabaseReader
from tarrafa.report.counters import Histogram
from tarrafa.schedule import HostYields, SlowedPattern

_TOP = 20
_BATCH_ROWS = 20_000
STEPS = ("name", "connect", "first_byte", "total")
_COLUMNS = ("name", "pages", "visits", "bytes", "failures", *(f"{step}_seconds" for step in STEPS))
# In the order of the key, so that each query continues where the last one ended.
_QUERY = f"SELECT {', '.join(_COLUMNS)} FROM hosts WHERE name > ? ORDER BY name LIMIT ?"  # noqa: S608


# Hosts with slowed patterns, those with most visits first.
_SLOWED_QUERY = "SELECT name, slowed_patterns FROM hosts WHERE slowed_patterns != '' ORDER BY visits DESC, name LIMIT ?"
_SLOWED_HOSTS, SLOWED_PATTERNS = 1_000, 1_000


# Hosts behind a bot wall, those with the fewest pages first.
_WALL_QUERY = "SELECT name, wall, pages, visits FROM hosts WHERE wall != '' ORDER BY pages, name LIMIT ?"
_WALLED_HOSTS = 1_000


# Mirrors, those with most pages first.
_MIRROR_QUERY = (
    "SELECT name, mirror_of, pages, visits FROM hosts WHERE mirror_of != '' ORDER BY pages DESC, name LIMIT ?"
)
_MIRRORS = 1_000


class MirrorHost(NamedTuple):
    """A host that has the pages of another."""

    host: str
    original: str
    pages: int
    visits: int


class WalledHost(NamedTuple):
    """A host in front of which a bot wall has sent challenge pages."""

    host: str
    wall: str
    pages: int
    visits: int


class HostPattern(NamedTuple):
    """A pattern of URLs that is visited less, or not at all, because it brought little that was new."""

    host: str
    slowed: SlowedPattern

    def as_json(self) -> dict[str, Any]:
        return {"host": self.host, **self.slowed._asdict()}


class TopHost(NamedTuple):
    name: str
    pages: int
    visits: int
    bytes: int
    failures: int


class HostFacts:
    """Filled by `read`."""

    def __init__(self) -> None:
        self.count = 0
        self.visited = 0  # with at least one page
        self.pages = Histogram()  # per host
        self.steps = {step: Histogram() for step in STEPS}  # mean of each host; 0 if not needed
        self._top: list[TopHost] = []
        self.patterns: list[HostPattern] = []
        self.walled: list[WalledHost] = []
        self.mirrors: list[MirrorHost] = []

    def read(self, database: HostDatabaseReader, batch_rows: int = _BATCH_ROWS) -> None:
        """Read all hosts, `batch_rows` at a time."""
        for rows in _batches(database, batch_rows):
            names, pages, visits, sizes, failures, *steps = zip(*rows, strict=True)
            self.count += len(rows)
            self.visited += sum(count > 0 for count in pages)
            self.pages.add(np.array(pages))
            for histogram, seconds in zip(self.steps.values(), steps, strict=True):
                histogram.add(np.array(seconds, np.float64))
            found = map(TopHost, names, pages, visits, sizes, failures)
            # Ties are ordered by name, so the result is reproducible.
            self._top = heapq.nsmallest(_TOP, [*self._top, *found], key=lambda host: (-host.pages, host.name))

        self._read_patterns(database)
        self.mirrors += [MirrorHost(*row) for row in database.rows(_MIRROR_QUERY, (_MIRRORS,))]
        self.walled += [WalledHost(*row) for row in database.rows(_WALL_QUERY, (_WALLED_HOSTS,))]

    def _read_patterns(self, database: HostDatabaseReader) -> None:
        for host, text in database.rows(_SLOWED_QUERY, (_SLOWED_HOSTS,)):
            self.patterns += [HostPattern(host, slowed) for slowed in HostYields.load(text).slowed()]
        self.patterns.sort(key=lambda each: (-each.slowed.visits, each.host, each.slowed.pattern))
        del self.patterns[SLOWED_PATTERNS:]

    @property
    def top(self) -> list[TopHost]:
        return [host for host in self._top if host.pages]

    def as_json(self) -> dict[str, Any]:
        return {
            "count": self.count,
            "visited": self.visited,
            "pages": self.pages.as_json(),
            "rows": [host._asdict() for host in self.top],
        }


def _batches(database: HostDatabaseReader, batch_rows: int) -> Iterator[list[tuple[Any, ...]]]:
    last = ""
    while rows := database.rows(_QUERY, (last, batch_rows)):
        yield rows
        last = rows[-1][0]
