"""The collection as it is now: opened when there is something, renewed while indexing and ranking go on beside.

Every question looks at the clock, and at most every few seconds one of them sees to it that what was indexed meanwhile
is found. The others do not wait for that: they ask what is there.
"""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from tarrafa.clock import Clock
from tarrafa.collection.ranking import ranks_stamp
from tarrafa.errors import InputError, TarrafaError
from tarrafa.layout import CrawlPaths
from tarrafa.logs import event
from tarrafa.rank import Ranks
from tarrafa.search import Results, Search, SearchRequest

RENEW_SECONDS = 3.0

_log = logging.getLogger(__name__)


class Searching(Protocol):
    """What is asked; `tarrafa.search.Search` is the real one."""

    def search(self, request: SearchRequest) -> Results: ...
    def suggest(self, prefix: str, limit: int) -> list[str]: ...
    def refresh(self) -> None: ...

    @property
    def documents_count(self) -> int: ...


class Answering(Protocol):
    """What the pages ask: a `Collection`, in this process or in others."""

    def begin(self) -> None: ...
    def close(self) -> None: ...
    def search(self, request: SearchRequest) -> Results | None: ...
    def suggest(self, prefix: str, limit: int) -> list[str]: ...

    @property
    def ranks(self) -> Ranks | None: ...
    @property
    def documents_count(self) -> int: ...


Opener = Callable[[Path, Ranks | None], Searching]


class Collection:
    """Asked by any number of threads."""

    def __init__(self, root: Path, clock: Clock, opener: Opener = Search.open) -> None:
        self._root = root
        self._clock = clock
        self._opener = opener
        self._renewing = threading.Lock()
        self._renewed_at: float | None = None
        # Replaced by _renew and what it calls; whoever has read one goes on with it.
        self._search: Searching | None = None
        self._ranks: Ranks | None = None
        self._ranks_stamp: int | None = None  # of the ranks that are read
        self._opened_stamp: int | None = None  # of those that the search was opened with

    def begin(self) -> None:
        """Nothing is needed; the first question opens it."""

    def close(self) -> None:
        """Nothing is held that must be let go."""

    @property
    def ranks(self) -> Ranks | None:
        """None while no links were counted."""
        self._now()
        return self._ranks

    @property
    def documents_count(self) -> int:
        search = self._now()
        return search.documents_count if search else 0

    def search(self, request: SearchRequest) -> Results | None:
        """None while nothing is indexed."""
        search = self._now()
        return search.search(request) if search else None

    def suggest(self, prefix: str, limit: int) -> list[str]:
        search = self._now()
        return search.suggest(prefix, limit) if search else []

    def _now(self) -> Searching | None:
        if self._is_due():
            # The first waits, since there is nothing to ask yet; later ones do not.
            with _taken(self._renewing, blocking=self._renewed_at is None) as is_taken:
                if is_taken and self._is_due():
                    self._renew()
                    self._renewed_at = self._clock.monotonic()
        return self._search

    def _is_due(self) -> bool:
        return self._renewed_at is None or self._clock.monotonic() - self._renewed_at >= RENEW_SECONDS

    def _renew(self) -> None:
        try:
            self._renew_ranks()
            if self._search is None or self._opened_stamp != self._ranks_stamp:
                self._search = self._opener(self._root, self._ranks)
                self._opened_stamp = self._ranks_stamp
            else:
                self._search.refresh()
        except InputError:
            # Nothing is indexed yet, or no longer.
            self._search = None
        except TarrafaError as error:
            # What was there before can still be asked; the operator is told.
            event(_log, "collection not renewed", logging.WARNING, reason=str(error))

    def _renew_ranks(self) -> None:
        stamp = ranks_stamp(self._root)
        if stamp != self._ranks_stamp:
            self._ranks = Ranks.open(CrawlPaths(self._root).ranks)
            self._ranks_stamp = stamp


@contextmanager
def _taken(lock: threading.Lock, blocking: bool) -> Iterator[bool]:
    is_taken = lock.acquire(blocking=blocking)
    try:
        yield is_taken
    finally:
        if is_taken:
            lock.release()
