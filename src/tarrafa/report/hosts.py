"""What were the hosts like? In one pass over the book of hosts, some thousands at a time."""

import heapq
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tarrafa.agent.host_database import FORMAT
from tarrafa.database import Database
from tarrafa.report.spread import Spread

_TOP = 20
_ROWS = 20_000
STEPS = ("name", "connect", "first_byte", "total")
_COLUMNS = ("name", "pages", "bytes", "failures", *(f"{step}_seconds" for step in STEPS))
# In the order of the key, so that a later query goes on where the last one ended.
_QUERY = f"SELECT {', '.join(_COLUMNS)} FROM hosts WHERE name > ? ORDER BY name LIMIT ?"  # noqa: S608


class TopHost(NamedTuple):
    name: str
    pages: int
    bytes: int
    failures: int


class HostFacts:
    """Filled by `read`."""

    def __init__(self) -> None:
        self.count = 0
        self.visited = 0  # that gave at least a page
        self.pages = Spread()  # of each host
        self.steps = {step: Spread() for step in STEPS}  # of the last page of each host; 0 where it was not needed
        self._top: list[TopHost] = []

    def read(self, path: Path, rows_limit: int = _ROWS) -> None:
        """`rows_limit` is how many are in memory at a time."""
        for rows in _portions(path, rows_limit):
            names, pages, sizes, failures, *steps = zip(*rows, strict=True)
            self.count += len(rows)
            self.visited += sum(count > 0 for count in pages)
            self.pages.add(np.array(pages))
            for spread, seconds in zip(self.steps.values(), steps, strict=True):
                spread.add(np.array(seconds, np.float64))
            found = map(TopHost, names, pages, sizes, failures)
            # Among equals the order is that of the names, so that it is the same each time.
            self._top = heapq.nsmallest(_TOP, [*self._top, *found], key=lambda host: (-host.pages, host.name))

    @property
    def top(self) -> list[TopHost]:
        return [host for host in self._top if host.pages]

    def told(self) -> dict[str, Any]:
        return {
            "count": self.count,
            "visited": self.visited,
            "pages": self.pages.told(),
            "rows": [host._asdict() for host in self.top],
        }


def _portions(path: Path, rows_limit: int) -> Iterator[list[tuple[Any, ...]]]:
    book = Database(path, "", FORMAT, "restore it from a copy", is_durable=True)
    try:
        last = ""
        while rows := book.rows(_QUERY, (last, rows_limit)):
            yield rows
            last = rows[-1][0]
    finally:
        book.close()
