"""The documents of a crawl, kept indexed: each agent's rows go into an index of its own, beside the crawl or later.

An index remembers how many rows it took, so whatever stopped it, it goes on there. Rows that came while the crawl ran
are seen once their checkpoint is committed; a commit of the index follows soon after, so that a page is found within
half a minute of its fetch.

What others call a page comes from the ranks. When these are made anew, `anchoring` writes the pages again that others
call differently now; rows that come later get the new anchors at once. A page that says until when it may be shown is
removed by the first look after that.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from threading import Event
from typing import NamedTuple

import pyarrow as pa

from tarrafa.agent import checkpoint_of
from tarrafa.clock import Clock, SystemClock
from tarrafa.collection.anchoring import last_rows, name_of, rows_numbered
from tarrafa.collection.ranking import ranks_stamp
from tarrafa.disk import is_locked
from tarrafa.errors import InputError
from tarrafa.keep import DOCUMENTS, count_rows
from tarrafa.keep.segment_reader import read_rows_from
from tarrafa.layout import CrawlPaths, agents_of
from tarrafa.rank import Ranks
from tarrafa.search import COLUMNS, IndexWriter

COMMIT_ROWS = 150_000
COMMIT_SECONDS = 10.0  # of a long run, so that the first pages are found before the last are read
_COMMIT_MAX_SECONDS = 120.0  # later in it: each commit leaves a part of the index, and parts must be joined
LOOK_SECONDS = 2.0  # between two looks for new rows beside a crawl
_BATCH_ROWS = 5_000  # the more, the fewer words are looked up twice
_CLOCK = SystemClock()

# Called now and then with the rows that are indexed, and the rows that there are.
Told = Callable[[int, int], None]


class Indexed(NamedTuple):
    """What a run has done: rows taken, and how long it worked."""

    rows: int
    seconds: float


class Indexing:
    """The indexes of all agents of a crawl, held for writing. Agents that come later are taken in when they do."""

    def __init__(self, root: Path, is_new: bool = False, clock: Clock = _CLOCK) -> None:
        """With `is_new`, everything is indexed from the start again."""
        self._root = root
        self._is_new = is_new
        self._clock = clock
        # Replaced when there are newer ones.
        self._ranks: Ranks | None = None
        self._ranks_stamp: int | None = None
        self._writers: dict[CrawlPaths, IndexWriter] = {}
        self._stack = ExitStack()

    def __enter__(self) -> "Indexing":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def catch_up(self, told: Told, stop: Event) -> Indexed:
        """Index everything that the crawl has committed, or as much of it as there is time for."""
        began, rows_count = time.monotonic(), 0
        self._look_at_ranks()
        for agent in agents_of(self._root):
            rows_count += self._catch_up(agent, self._writer(agent), told, stop)
        return Indexed(rows_count, time.monotonic() - began)

    def _look_at_ranks(self) -> None:
        stamp = ranks_stamp(self._root)
        if stamp != self._ranks_stamp:
            self._ranks = Ranks.open(CrawlPaths(self._root).ranks)
            self._ranks_stamp = stamp

    def _writer(self, agent: CrawlPaths) -> IndexWriter:
        if agent not in self._writers:
            writer = IndexWriter(agent.index, is_new=self._is_new, clock=self._clock)
            self._stack.callback(writer.close)
            self._writers[agent] = writer
        return self._writers[agent]

    def _catch_up(self, agent: CrawlPaths, writer: IndexWriter, told: Told, stop: Event) -> int:
        start, checkpoint = writer.rows_count, checkpoint_of(agent.hosts).number
        total = count_rows(agent.documents, DOCUMENTS, checkpoint)
        if start > total:
            known = f"knows {start:,} rows, and the crawl has {total:,}: it is of another crawl, or of a newer copy"
            raise InputError(f"{agent.index} {known}; make it anew with tarrafa index --rebuild")
        commits = _Commits(writer, is_due=writer.remove_expired() or not start)
        self._follow_ranks(agent, checkpoint, writer, commits, stop)
        for batch in _batches(agent, checkpoint, start):
            writer.apply(batch)
            commits.work_done(batch.num_rows)
            told(writer.rows_count, total)
            if stop.is_set():
                break
        commits.finish()
        return writer.rows_count - start

    def _follow_ranks(
        self, agent: CrawlPaths, checkpoint: int, writer: IndexWriter, commits: "_Commits", stop: Event
    ) -> None:
        """The rows taken so far get the anchors of these ranks, and those that come too."""
        writer.anchors = None if self._ranks is None else self._ranks.anchors
        name = "" if self._ranks is None else name_of(self._ranks)
        if name == writer.anchors_name:
            return
        if self._ranks is not None:
            changed = writer.expect_anchors(*last_rows(agent, checkpoint, writer.rows_count))
            for batch, rows in rows_numbered(agent, checkpoint, changed, _BATCH_ROWS):
                writer.renew(batch, rows)
                commits.work_done(batch.num_rows)
                if stop.is_set():
                    return
        writer.anchors_name = name
        commits.is_due = True


class _Commits:
    """Of a long run, one now and then, so that the first pages are found before the last are read; one at the end."""

    def __init__(self, writer: IndexWriter, is_due: bool) -> None:
        self._writer = writer
        self.is_due = is_due  # whether there is anything to commit
        self._rows_count, self._committed_at = 0, time.monotonic()
        self._patience_seconds = COMMIT_SECONDS

    def work_done(self, rows_count: int) -> None:
        self.is_due = True
        self._rows_count += rows_count
        if self._rows_count >= COMMIT_ROWS or time.monotonic() - self._committed_at >= self._patience_seconds:
            self.finish()
            self._patience_seconds = min(2 * self._patience_seconds, _COMMIT_MAX_SECONDS)

    def finish(self) -> None:
        if self.is_due:
            self._writer.commit()
            self.is_due = False
            self._rows_count, self._committed_at = 0, time.monotonic()


def follow(root: Path, indexing: Indexing, told: Told, stop: Event) -> Indexed:
    """Keep indexing beside a crawl, until it has ended and all of it is indexed, or until told to stop."""
    rows_count, seconds = 0, 0.0
    while True:
        # Asked before the rows are read: what the crawl saves last is there when it lets go.
        is_running = any(is_locked(agent.agent) for agent in agents_of(root))
        done = indexing.catch_up(told, stop)
        rows_count, seconds = rows_count + done.rows, seconds + done.seconds
        if not is_running or stop.wait(LOOK_SECONDS):
            return Indexed(rows_count, seconds)


def _batches(agent: CrawlPaths, checkpoint: int, start: int) -> Iterator[pa.RecordBatch]:
    for batch in read_rows_from(agent.documents, DOCUMENTS, checkpoint, COLUMNS, start):
        for first in range(0, batch.num_rows, _BATCH_ROWS):
            yield batch.slice(first, _BATCH_ROWS)
