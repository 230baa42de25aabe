"""Index the documents of a crawl, while it runs or later: one index for each agent.

An index remembers how many rows it has taken and continues there after any stop. Rows of a running crawl are read once
their checkpoint is committed, and the index commits soon after, so a page is found within half a minute of its fetch.

Anchor texts come from the ranks. With new ranks, the pages whose anchor texts changed are indexed again; later rows
get the new texts at once. Pages that have expired are removed at the beginning of each update.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from tarrafa.agent import checkpoint_of
from tarrafa.clock import Clock, SystemClock
from tarrafa.collection.anchor_updates import last_fetched, ranks_id, read_rows_numbered
from tarrafa.collection.ranker import ranks_stamp
from tarrafa.disk import is_locked
from tarrafa.errors import InputError
from tarrafa.keep import DOCUMENTS, count_rows, field_types
from tarrafa.keep.segment_reader import read_rows_from
from tarrafa.keep.url_groups import current_rows
from tarrafa.layout import CrawlPaths, agents_of
from tarrafa.rank import Ranks
from tarrafa.search import COLUMNS, IndexWriter

COMMIT_ROWS = 150_000
COMMIT_SECONDS = 10.0  # between the first commits of a long run, so that its first pages are found early
_COMMIT_MAX_SECONDS = 120.0  # later, since each commit adds an index segment that must be merged
POLL_SECONDS = 2.0  # between two looks for new rows of a running crawl
_LOOK_SECONDS = 0.1  # between two looks at a flag
BATCH_ROWS = 5_000
_CLOCK = SystemClock()

# Called regularly with the number of indexed rows, and of all rows.
IndexProgress = Callable[[int, int], None]


class StopFlag:
    """Tells a run to end early. Unlike `threading.Event` it takes no lock, so a signal handler may set it."""

    def __init__(self) -> None:
        self._is_set = False

    def set(self) -> None:
        self._is_set = True

    def is_set(self) -> bool:
        return self._is_set

    def wait(self, seconds: float) -> bool:
        """Return whether it was set within that time."""
        until = time.monotonic() + seconds
        while not self._is_set and time.monotonic() < until:
            time.sleep(_LOOK_SECONDS)
        return self._is_set


class IndexRun(NamedTuple):
    """What a run did: rows taken, and time spent."""

    rows: int
    seconds: float


class Indexer:
    """Write the indexes of all agents of a crawl. New agents are included when they appear."""

    def __init__(self, root: Path, is_new: bool = False, clock: Clock = _CLOCK) -> None:
        """With `is_new`, index everything again from the start."""
        self._root = root
        self._is_new = is_new
        self._clock = clock
        # Filled by _reload_ranks.
        self._ranks: Ranks | None = None
        self._ranks_stamp: int | None = None
        self._writers: dict[CrawlPaths, IndexWriter] = {}
        self._stack = ExitStack()

    def __enter__(self) -> "Indexer":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def update(self, report: IndexProgress, stop: StopFlag) -> IndexRun:
        """Index everything that the crawl has committed, or until `stop` is set."""
        began, rows_count = time.monotonic(), 0
        self._reload_ranks()
        for agent in agents_of(self._root):
            rows_count += self._update_agent(agent, self._writer(agent), report, stop)
        return IndexRun(rows_count, time.monotonic() - began)

    def follow(self, report: IndexProgress, stop: StopFlag) -> IndexRun:
        """Index a running crawl until it has ended and everything is indexed, or until `stop` is set."""
        rows_count, seconds = 0, 0.0
        while True:
            # Checked before reading, so that the last rows of a crawl that ends meanwhile are read in another round.
            is_running = any(is_locked(agent.agent) for agent in agents_of(self._root))
            done = self.update(report, stop)
            rows_count, seconds = rows_count + done.rows, seconds + done.seconds
            if not is_running or stop.wait(POLL_SECONDS):
                return IndexRun(rows_count, seconds)

    def _reload_ranks(self) -> None:
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

    def _update_agent(self, agent: CrawlPaths, writer: IndexWriter, report: IndexProgress, stop: StopFlag) -> int:
        start, checkpoint = writer.rows_count, checkpoint_of(agent.hosts).number
        total = count_rows(agent.documents, DOCUMENTS, checkpoint)
        if start > total:
            reason = f"has {start:,} rows, and the crawl {total:,}: it belongs to another crawl or to a newer copy"
            raise InputError(f"{agent.index} {reason}; make it again with tarrafa index --rebuild")
        writer.field_names = tuple(field_types(agent.documents, checkpoint))
        commits = _CommitSchedule(writer, is_due=writer.remove_expired() or not start)
        self._update_anchors(agent, checkpoint, writer, commits, stop)
        # From the start, versions that were replaced meanwhile are passed over.
        is_current = None if start else current_rows(agent.documents, checkpoint)
        for batch in _batches(agent, checkpoint, start, writer.field_names):
            rows = slice(writer.rows_count, writer.rows_count + batch.num_rows)
            writer.apply(batch, None if is_current is None else is_current[rows])
            commits.add(batch.num_rows)
            report(writer.rows_count, total)
            if stop.is_set():
                break
        commits.finish()
        return writer.rows_count - start

    def _update_anchors(
        self, agent: CrawlPaths, checkpoint: int, writer: IndexWriter, commits: "_CommitSchedule", stop: StopFlag
    ) -> None:
        """Give the rows taken so far the anchor texts of new ranks; later rows get them as well."""
        writer.anchors = None if self._ranks is None else self._ranks.anchors
        name = "" if self._ranks is None else ranks_id(self._ranks)
        if name == writer.anchors_name:
            return
        if self._ranks is not None:
            changed = writer.expect_anchors(*last_fetched(agent, checkpoint, writer.rows_count))
            columns = (*COLUMNS, *writer.field_names)
            for batch, rows in read_rows_numbered(agent, checkpoint, columns, changed, BATCH_ROWS):
                writer.renew(batch, rows)
                commits.add(batch.num_rows)
                if stop.is_set():
                    return
        writer.anchors_name = name
        commits.is_due = True


class _CommitSchedule:
    """Commit regularly during a long run, and at its end."""

    def __init__(self, writer: IndexWriter, is_due: bool) -> None:
        self._writer = writer
        self.is_due = is_due  # True if there is anything to commit
        self._rows_count, self._committed_at = 0, time.monotonic()
        self._interval_seconds = COMMIT_SECONDS

    def add(self, rows_count: int) -> None:
        self.is_due = True
        self._rows_count += rows_count
        if self._rows_count >= COMMIT_ROWS or time.monotonic() - self._committed_at >= self._interval_seconds:
            self.finish()
            self._interval_seconds = min(2 * self._interval_seconds, _COMMIT_MAX_SECONDS)

    def finish(self) -> None:
        if self.is_due:
            self._writer.commit()
            self.is_due = False
            self._rows_count, self._committed_at = 0, time.monotonic()


def _batches(agent: CrawlPaths, checkpoint: int, start: int, field_names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    for batch in read_rows_from(agent.documents, DOCUMENTS, checkpoint, (*COLUMNS, *field_names), start):
        for first in range(0, batch.num_rows, BATCH_ROWS):
            yield batch.slice(first, BATCH_ROWS)
