"""The search of a crawl that is still growing: opened when an index appears, reloaded while index and ranks change.

Every call looks at the clock. At most every few seconds one call reloads what has changed; the others do not wait for
it and use what is loaded.
"""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from tarrafa.clock import Clock
from tarrafa.collection.ranker import ranks_stamp
from tarrafa.errors import InputError, TarrafaError
from tarrafa.layout import CrawlPaths
from tarrafa.logs import event
from tarrafa.rank import Ranks
from tarrafa.search import Results, Search, SearchRequest

RELOAD_SECONDS = 3.0

_log = logging.getLogger(__name__)


class SearchEngine(Protocol):
    """An opened index; `tarrafa.search.Search` is the real one."""

    def search(self, request: SearchRequest) -> Results: ...
    def suggest(self, prefix: str, limit: int) -> list[str]: ...
    def refresh(self) -> None: ...

    @property
    def documents_count(self) -> int: ...


class SearchBackend(Protocol):
    """What the search page calls: `LiveSearch` in this process, or `SearchWorkers` in others."""

    def start(self) -> None: ...
    def close(self) -> None: ...
    def search(self, request: SearchRequest) -> Results | None: ...
    def suggest(self, prefix: str, limit: int) -> list[str]: ...

    @property
    def ranks(self) -> Ranks | None: ...
    @property
    def documents_count(self) -> int: ...


EngineOpener = Callable[[Path, Ranks | None], SearchEngine]


class LiveSearch:
    """Thread-safe."""

    def __init__(self, root: Path, clock: Clock, opener: EngineOpener = Search.open) -> None:
        self._root = root
        self._clock = clock
        self._opener = opener
        self._reloading = threading.Lock()
        self._reloaded_at: float | None = None
        # Replaced by _reload; a call that has read one keeps using it.
        self._engine: SearchEngine | None = None
        self._ranks: Ranks | None = None
        self._ranks_stamp: int | None = None  # of the loaded ranks
        self._engine_stamp: int | None = None  # of the ranks that the engine was opened with

    def start(self) -> None:
        """Do nothing: the first call opens the index."""

    def close(self) -> None:
        """Do nothing: no resource has to be released."""

    @property
    def ranks(self) -> Ranks | None:
        """Return the ranks, or None if none were computed yet."""
        self._current()
        return self._ranks

    @property
    def documents_count(self) -> int:
        engine = self._current()
        return engine.documents_count if engine else 0

    def search(self, request: SearchRequest) -> Results | None:
        """Return the results, or None if nothing is indexed yet."""
        engine = self._current()
        return engine.search(request) if engine else None

    def suggest(self, prefix: str, limit: int) -> list[str]:
        engine = self._current()
        return engine.suggest(prefix, limit) if engine else []

    def _current(self) -> SearchEngine | None:
        if self._is_due():
            # The first call has to wait, since nothing is loaded; later ones use what is.
            with _acquired(self._reloading, blocking=self._reloaded_at is None) as is_acquired:
                if is_acquired and self._is_due():
                    self._reload()
                    self._reloaded_at = self._clock.monotonic()
        return self._engine

    def _is_due(self) -> bool:
        return self._reloaded_at is None or self._clock.monotonic() - self._reloaded_at >= RELOAD_SECONDS

    def _reload(self) -> None:
        try:
            self._reload_ranks()
            if self._engine is None or self._engine_stamp != self._ranks_stamp:
                self._engine = self._opener(self._root, self._ranks)
                self._engine_stamp = self._ranks_stamp
            else:
                self._engine.refresh()
        except InputError:
            # Nothing is indexed, yet or any more.
            self._engine = None
        except TarrafaError as error:
            # Keep using what is loaded.
            event(_log, "index not reloaded", logging.WARNING, reason=str(error))

    def _reload_ranks(self) -> None:
        stamp = ranks_stamp(self._root)
        if stamp != self._ranks_stamp:
            self._ranks = Ranks.open(CrawlPaths(self._root).ranks)
            self._ranks_stamp = stamp


@contextmanager
def _acquired(lock: threading.Lock, blocking: bool) -> Iterator[bool]:
    is_acquired = lock.acquire(blocking=blocking)
    try:
        yield is_acquired
    finally:
        if is_acquired:
            lock.release()
