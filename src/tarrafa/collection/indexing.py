"""The documents of a crawl, kept indexed: each agent's rows go into an index of its own, beside the crawl or later.

An index remembers how many rows it took, so whatever stopped it, it goes on there. Rows that came while the crawl ran
are seen once their checkpoint is committed; a commit of the index follows soon after, so that a page is found within
half a minute of its fetch.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from threading import Event
from typing import NamedTuple

import pyarrow as pa

from tarrafa.collection.ranking import ranks_folder
from tarrafa.crawl import checkpoint_of
from tarrafa.disk import is_held
from tarrafa.errors import InputError
from tarrafa.keep import DOCUMENTS, DOCUMENTS_FOLDER, count_rows
from tarrafa.keep.added import rows_added
from tarrafa.rank import Ranks
from tarrafa.search import COLUMNS, Writer

INDEX_FOLDER = "index"
COMMIT_ROWS = 50_000
COMMIT_SECONDS = 10.0  # of a long run, so that the first pages are found before the last are read
LOOK_SECONDS = 2.0  # between two looks for new rows beside a crawl
_BATCH_ROWS = 1_000

# Called now and then with the rows that are indexed, and the rows that there are.
Told = Callable[[int, int], None]


class Indexed(NamedTuple):
    """What a run has done: rows taken, and how long it worked."""

    rows: int
    seconds: float


class Indexing:
    """The indexes of all agents of a crawl, held for writing. Agents that come later are taken in when they do."""

    def __init__(self, root: Path, is_new: bool = False) -> None:
        """With `is_new`, everything is indexed from the start again."""
        self._root = root
        self._is_new = is_new
        ranks = Ranks.open(ranks_folder(root))
        self._anchors = None if ranks is None else ranks.anchors
        self._writers: dict[Path, Writer] = {}
        self._stack = ExitStack()

    def __enter__(self) -> "Indexing":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def catch_up(self, told: Told, stop: Event) -> Indexed:
        """Index everything that the crawl has committed, or as much of it as there is time for."""
        began, rows_count = time.monotonic(), 0
        for agent in agents(self._root):
            rows_count += self._catch_up(agent, self._writer(agent), told, stop)
        return Indexed(rows_count, time.monotonic() - began)

    def _writer(self, agent: Path) -> Writer:
        if agent not in self._writers:
            writer = Writer(agent / INDEX_FOLDER, self._anchors, self._is_new)
            self._stack.callback(writer.close)
            self._writers[agent] = writer
        return self._writers[agent]

    def _catch_up(self, agent: Path, writer: Writer, told: Told, stop: Event) -> int:
        start, checkpoint = writer.rows_count, checkpoint_of(agent / "hosts" / "hosts.sqlite").number
        total = count_rows(agent / DOCUMENTS_FOLDER, DOCUMENTS, checkpoint)
        if start > total:
            known = f"knows {start:,} rows, and the crawl has {total:,}: it is of another crawl, or of a newer copy"
            raise InputError(f"{agent / INDEX_FOLDER} {known}; make it anew with tarrafa index --rebuild")
        committed_rows, committed_at = start, time.monotonic()
        for batch in _batches(agent, checkpoint, start):
            writer.apply(batch)
            is_long = time.monotonic() - committed_at >= COMMIT_SECONDS
            if is_long or writer.rows_count - committed_rows >= COMMIT_ROWS:
                writer.commit()
                committed_rows, committed_at = writer.rows_count, time.monotonic()
            told(writer.rows_count, total)
            if stop.is_set():
                break
        if writer.rows_count > committed_rows or not start:
            writer.commit()
        return writer.rows_count - start


def follow(root: Path, indexing: Indexing, told: Told, stop: Event) -> Indexed:
    """Keep indexing beside a crawl, until it has ended and all of it is indexed, or until told to stop."""
    rows_count, seconds = 0, 0.0
    while True:
        # Asked before the rows are read: what the crawl saves last is there when it lets go.
        is_running = any(is_held(agent) for agent in agents(root))
        done = indexing.catch_up(told, stop)
        rows_count, seconds = rows_count + done.rows, seconds + done.seconds
        if not is_running or stop.wait(LOOK_SECONDS):
            return Indexed(rows_count, seconds)


def agents(root: Path) -> list[Path]:
    """Folders of the agents that have begun."""
    return [path.parents[1] for path in sorted(root.glob("agents/*/hosts/hosts.sqlite"))]


def _batches(agent: Path, checkpoint: int, start: int) -> Iterator[pa.RecordBatch]:
    for batch in rows_added(agent / DOCUMENTS_FOLDER, DOCUMENTS, checkpoint, COLUMNS, start):
        for first in range(0, batch.num_rows, _BATCH_ROWS):
            yield batch.slice(first, _BATCH_ROWS)
