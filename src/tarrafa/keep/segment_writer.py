"""Write rows of documents or links as segments, and join small segments into larger ones.

1. Opened at a checkpoint, a folder holds the rows of that checkpoint and of those before it, each once, and no others.
2. Whenever a join is killed, every row counts once: a segment whose numbers are within another's does not count.
3. A join does not disturb a reader that has begun.

The caller commits checkpoints and numbers them upwards. Only committed segments are joined.
"""

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from tarrafa.disk import atomic_file, make_folder, map_disk_errors, remove_unfinished
from tarrafa.errors import DamagedError
from tarrafa.keep.segment_reader import (
    Segment,
    TableLayout,
    batches_of,
    list_segments,
    live_segments,
    open_segments,
    segment_name,
    widen,
)

JOIN_COUNT = 8  # segments that become one
JOINED_LIMIT_BYTES = 1 << 27  # of a joined segment: each join writes all of it again
# Limits of a row group in a joined segment. A join holds a few of them in memory, in a crawl that goes on meanwhile.
_GROUP_ROWS = 50_000
_GROUP_BYTES = 1 << 22
# A new segment is joined soon, so compressing it is not worth the time.
_NEW = {"compression": "none"}
_JOINED = {"compression": "zstd", "compression_level": 3}


class SegmentWriter:
    """Write the segments of one folder. One process at a time."""

    def __init__(self, folder: Path, layout: TableLayout, checkpoint: int) -> None:
        self._folder = folder
        self._layout = layout
        self._checkpoint = checkpoint
        with map_disk_errors(folder):
            make_folder(folder)
            self._recover()
            self._next = max((segment.last for segment in list_segments(folder)), default=-1) + 1

    def _recover(self) -> None:
        remove_unfinished(self._folder)
        found = list_segments(self._folder)
        live = live_segments(found, self._checkpoint)
        newest = max(live, key=lambda segment: segment.checkpoint, default=None)
        if newest and newest.checkpoint > self._checkpoint:
            reason = f"was joined at checkpoint {newest.checkpoint}, and the crawl is at {self._checkpoint}"
            raise DamagedError(f"{newest.path} {reason}; restore the whole folder from one copy")
        for segment in set(found).difference(live):
            segment.path.unlink()

    def write(self, tables: Iterable[pa.Table], added: Iterable[pa.Field] = ()) -> None:
        """Write a segment for the next checkpoint, with a row group for each table. Durable when it returns.

        `added` are columns that the tables have after those of the layout.
        """
        path = self._folder / segment_name(self._next, self._next, self._checkpoint + 1)
        with map_disk_errors(self._folder), atomic_file(path) as file:
            write_parquet(file, self._layout.widened(added), tables, _NEW)
        self._next += 1

    def advance(self, checkpoint: int) -> None:
        """Assign everything written so far to a checkpoint; what follows belongs to a later one."""
        if checkpoint <= self._checkpoint:
            raise ValueError(f"checkpoint {checkpoint} does not follow {self._checkpoint}")
        self._checkpoint = checkpoint


def write_parquet(
    file: BinaryIO, layout: TableLayout, tables: Iterable[pa.Table], compression: Mapping[str, Any] = _JOINED
) -> int:
    """Write a row group for each table; return the number of rows."""
    writer = pq.ParquetWriter(
        file,
        layout.schema,
        **compression,
        use_dictionary=list(layout.dictionaries),
        write_statistics=list(layout.statistics),
    )
    count = 0
    with writer:
        for table in tables:
            writer.write_table(table, row_group_size=max(1, table.num_rows))
            count += table.num_rows
    return count


def join_segments(folder: Path, layout: TableLayout, checkpoint: int) -> int:
    """Join runs of `JOIN_COUNT` neighbours of similar size until there are none; return how many were joined.

    `checkpoint` is the last that was committed. Writing may go on meanwhile; a second join may not.
    """
    joined_count = 0
    with map_disk_errors(folder):
        while run := _run_to_join(live_segments(list_segments(folder), checkpoint), checkpoint):
            path = folder / segment_name(run[0].first, run[-1].last, run[-1].checkpoint)
            with atomic_file(path) as file, contextlib.ExitStack() as stack:
                files = open_segments(run, stack)
                wide = widen(layout, files)
                write_parquet(file, wide, group_batches(batches_of(files, wide), wide))
            for segment in run:
                segment.path.unlink()
            joined_count += len(run)
    return joined_count


def _run_to_join(segments: Sequence[Segment], checkpoint: int) -> Sequence[Segment]:
    """Return the smallest run of neighbours none of which outweighs the others, so that a row is rarely rewritten."""
    committed = [segment for segment in segments if segment.checkpoint <= checkpoint]
    fitting: list[tuple[int, int]] = []
    for start in range(len(committed) - JOIN_COUNT + 1):
        sizes = [segment.path.stat().st_size for segment in committed[start : start + JOIN_COUNT]]
        if 2 * max(sizes) <= sum(sizes) <= JOINED_LIMIT_BYTES:
            fitting.append((sum(sizes), start))
    best = min(fitting)[1] if fitting else len(committed)
    return committed[best : best + JOIN_COUNT]


def group_batches(batches: Iterable[pa.RecordBatch], layout: TableLayout) -> Iterator[pa.Table]:
    """Collect batches into tables of the size of a row group."""
    group: list[pa.RecordBatch] = []
    rows = size_bytes = 0
    for batch in batches:
        group.append(batch)
        rows, size_bytes = rows + batch.num_rows, size_bytes + batch.nbytes
        if rows >= _GROUP_ROWS or size_bytes >= _GROUP_BYTES:
            yield pa.Table.from_batches(group, layout.columns)
            group, rows, size_bytes = [], 0, 0
    if group:
        yield pa.Table.from_batches(group, layout.columns)
