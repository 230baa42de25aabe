"""Rows in Parquet files that are written once: segments.

A segment is named by the numbers of the first and the last segment that it holds, and by the checkpoint to which its
rows belong: `00000012-00000012-00000005.parquet` is the twelfth and belongs to checkpoint 5; `00000000-00000007-…` are
the first eight in one file.

1. Opened at a checkpoint, a folder holds the rows of that checkpoint and of those before it, each once, and no others.
2. Whenever a join is killed, every row counts once: a segment whose numbers are within another's does not count.
3. A reader that has begun is not disturbed by a join.

A checkpoint is whatever the caller commits; it numbers them upwards. Only committed segments are joined.
"""

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from tarrafa.disk import atomic_file, map_disk_errors, remove_unfinished
from tarrafa.errors import DamagedError, WorkError

_NAME = re.compile(r"([0-9]{8,})-([0-9]{8,})-([0-9]{8,})\.parquet")
_VERSION_KEY = b"tarrafa"
JOIN_COUNT = 8  # segments that become one
JOINED_LIMIT_BYTES = 1 << 27  # a segment grows no further: each join writes all of it again
_LISTING_TRIES = 5
# A new segment is soon joined with others, so it is not packed: that took a fiftieth of a crawl for half of its size.
_NEW = {"compression": "none"}
_JOINED = {"compression": "zstd", "compression_level": 3}  # a third smaller than level 1 for a quarter more time
GROUP_ROWS = 100_000
GROUP_BYTES = 1 << 26
_BATCH_ROWS = 10_000


class Segment(NamedTuple):
    first: int
    last: int
    checkpoint: int
    path: Path


class OpenSegment(NamedTuple):
    """Opened by Arrow, not by Python: its threads read ahead, and those that ask for Python while it ends abort."""

    name: str
    data: pa.NativeFile


class Layout(NamedTuple):
    """The columns of a kind of rows, and how they are stored."""

    name: str
    version: int
    columns: pa.Schema
    dictionaries: tuple[str, ...]  # columns with few different values
    statistics: tuple[str, ...]  # columns whose least and greatest value help a reader to skip

    @property
    def schema(self) -> pa.Schema:
        return self.columns.with_metadata({_VERSION_KEY: f"{self.name} {self.version}".encode()})


class Segments:
    """The segments of one folder, written by one process."""

    def __init__(self, folder: Path, layout: Layout, checkpoint: int) -> None:
        self._folder = folder
        self._layout = layout
        self._checkpoint = checkpoint
        with map_disk_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
            self._recover()
            self._next = max((segment.last for segment in _listed(folder)), default=-1) + 1

    def _recover(self) -> None:
        remove_unfinished(self._folder)
        found = _listed(self._folder)
        live = _live(found, self._checkpoint)
        newest = max(live, key=lambda segment: segment.checkpoint, default=None)
        if newest and newest.checkpoint > self._checkpoint:
            told = f"was joined at checkpoint {newest.checkpoint}, and the crawl is at {self._checkpoint}"
            raise DamagedError(f"{newest.path} {told}; restore the whole folder from one copy")
        for segment in set(found).difference(live):
            segment.path.unlink()

    def write(self, tables: Iterable[pa.Table]) -> None:
        """A segment for the checkpoint that comes next, with a row group for each table. Durable when it returns."""
        path = self._folder / _name(self._next, self._next, self._checkpoint + 1)
        with map_disk_errors(self._folder), atomic_file(path) as file:
            write_parquet(file, self._layout, tables, _NEW)
        self._next += 1

    def passed(self, checkpoint: int) -> None:
        """Everything written so far belongs to that checkpoint; what comes belongs to a later one."""
        if checkpoint <= self._checkpoint:
            raise ValueError(f"checkpoint {checkpoint} does not follow {self._checkpoint}")
        self._checkpoint = checkpoint


def write_parquet(
    file: BinaryIO, layout: Layout, tables: Iterable[pa.Table], packing: Mapping[str, Any] = _JOINED
) -> int:
    """A row group for each table; the number of rows."""
    writer = pq.ParquetWriter(
        file,
        layout.schema,
        **packing,
        use_dictionary=list(layout.dictionaries),
        write_statistics=list(layout.statistics),
    )
    count = 0
    with writer:
        for table in tables:
            writer.write_table(table, row_group_size=max(1, table.num_rows))
            count += table.num_rows
    return count


def join_segments(folder: Path, layout: Layout, checkpoint: int) -> int:
    """Join neighbours of like size, `JOIN_COUNT` into one, while there are as many; how many were joined.

    `checkpoint` is the last that was committed. Not to be called twice at a time; writing may go on meanwhile.
    """
    joined_count = 0
    with map_disk_errors(folder):
        while run := _run_to_join(_live(_listed(folder), checkpoint), checkpoint):
            path = folder / _name(run[0].first, run[-1].last, run[-1].checkpoint)
            with atomic_file(path) as file, contextlib.ExitStack() as stack:
                write_parquet(file, layout, grouped(_batches(_opened(run, stack), layout, None), layout))
            for segment in run:
                segment.path.unlink()
            joined_count += len(run)
    return joined_count


def _run_to_join(segments: Sequence[Segment], checkpoint: int) -> Sequence[Segment]:
    """The smallest run of neighbours none of which is as large as the others together: so a row is joined rarely."""
    committed = [segment for segment in segments if segment.checkpoint <= checkpoint]
    fitting: list[tuple[int, int]] = []
    for start in range(len(committed) - JOIN_COUNT + 1):
        sizes = [segment.path.stat().st_size for segment in committed[start : start + JOIN_COUNT]]
        if 2 * max(sizes) <= sum(sizes) <= JOINED_LIMIT_BYTES:
            fitting.append((sum(sizes), start))
    best = min(fitting)[1] if fitting else len(committed)
    return committed[best : best + JOIN_COUNT]


def batches(
    folder: Path, layout: Layout, checkpoint: int, columns: Sequence[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """Every row up to a checkpoint, in the order of writing."""
    with map_disk_errors(folder), live_files(folder, checkpoint) as files:
        yield from _batches(files, layout, columns)


def count_rows(folder: Path, layout: Layout, checkpoint: int) -> int:
    count = 0
    with map_disk_errors(folder), live_files(folder, checkpoint) as files:
        for file in files:
            with readable(file):
                count += checked(file, layout).metadata.num_rows
    return count


def grouped(parts: Iterable[pa.RecordBatch], layout: Layout) -> Iterator[pa.Table]:
    """Batches gathered into tables of a size that reads well."""
    group: list[pa.RecordBatch] = []
    rows = size_bytes = 0
    for part in parts:
        group.append(part)
        rows, size_bytes = rows + part.num_rows, size_bytes + part.nbytes
        if rows >= GROUP_ROWS or size_bytes >= GROUP_BYTES:
            yield pa.Table.from_batches(group, layout.columns)
            group, rows, size_bytes = [], 0, 0
    if group:
        yield pa.Table.from_batches(group, layout.columns)


def _batches(files: Iterable[OpenSegment], layout: Layout, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
    for file in files:
        with readable(file):
            for batch in checked(file, layout).iter_batches(_BATCH_ROWS, columns=columns):
                yield batch.replace_schema_metadata(None)


def checked(file: OpenSegment, layout: Layout, repeating: Sequence[str] = ()) -> pq.ParquetFile:
    """A segment of that layout. Of `repeating` columns the rows will be numbers with a dictionary."""
    found = pq.ParquetFile(file.data, read_dictionary=list(repeating))
    mark = (found.schema_arrow.metadata or {}).get(_VERSION_KEY, b"").decode()
    if mark != f"{layout.name} {layout.version}":
        told = f"holds '{mark}', and this version of Tarrafa reads '{layout.name} {layout.version}'"
        raise WorkError(f"{file.name} {told}; use the version that wrote it")
    return found


@contextlib.contextmanager
def readable(file: OpenSegment) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise DamagedError(f"{file.name} cannot be read: {error}; restore it from a copy") from error


@contextlib.contextmanager
def live_files(folder: Path, checkpoint: int) -> Iterator[list[OpenSegment]]:
    """All opened at once: what a join removes after that can still be read."""
    with contextlib.ExitStack() as stack:
        for _ in range(_LISTING_TRIES):
            # A join may remove a segment between the listing and the opening; then what it made is there instead.
            with contextlib.suppress(FileNotFoundError), contextlib.ExitStack() as opening:
                files = _opened(_live(_listed(folder), checkpoint), opening)
                stack.enter_context(opening.pop_all())
                break
        else:
            raise WorkError(f"{folder} changes faster than it can be read; try again")
        yield files


def _opened(segments: Iterable[Segment], stack: contextlib.ExitStack) -> list[OpenSegment]:
    paths = [str(segment.path) for segment in segments]
    return [OpenSegment(path, stack.enter_context(pa.OSFile(path))) for path in paths]


def _listed(folder: Path) -> list[Segment]:
    paths = folder.iterdir() if folder.is_dir() else ()
    matches = ((_NAME.fullmatch(path.name), path) for path in paths)
    return [Segment(int(match[1]), int(match[2]), int(match[3]), path) for match, path in matches if match]


def _live(segments: Iterable[Segment], checkpoint: int) -> list[Segment]:
    """Those that count at a checkpoint. What was joined was committed, also after the caller last looked."""
    live: list[Segment] = []
    # The widest of those that begin together comes first, and covers the others.
    for segment in sorted(segments, key=lambda each: (each.first, -each.last)):
        is_covered = bool(live) and segment.last <= live[-1].last
        if not is_covered and (segment.checkpoint <= checkpoint or segment.last > segment.first):
            live.append(segment)
    return live


def _name(first: int, last: int, checkpoint: int) -> str:
    return f"{first:08d}-{last:08d}-{checkpoint:08d}.parquet"
