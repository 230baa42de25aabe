"""Read rows of documents or links: Parquet files that are written once, called segments.

A segment is named by the numbers of the first and last segment that it holds, and by the checkpoint of its rows:
`00000012-00000012-00000005.parquet` is segment 12 and belongs to checkpoint 5; `00000000-00000007-…` holds the first
eight segments in one file.

Rows keep the order of writing when segments are joined. The number of rows that a reader has taken is therefore enough
for it to continue later, and it skips whole files and row groups before that.
"""

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from tarrafa.disk import map_disk_errors
from tarrafa.errors import DamagedError, WorkError

# Rows that are read at a time: by themselves, and as row groups.
_BATCH_ROWS = 500
_RUN_ROWS = 100_000
_RUN_BYTES = 1 << 24
_LISTING_TRIES = 5
_NAME = re.compile(r"([0-9]{8,})-([0-9]{8,})-([0-9]{8,})\.parquet")
_VERSION_KEY = b"tarrafa"


class TableLayout(NamedTuple):
    """The columns of documents or of links, and how they are stored."""

    name: str
    version: int
    columns: pa.Schema
    dictionaries: tuple[str, ...]  # columns with few different values
    statistics: tuple[str, ...]  # columns whose least and greatest value help a reader to skip

    def widened(self, added: Iterable[pa.Field]) -> "TableLayout":
        """Return the layout with further columns."""
        return self._replace(columns=pa.schema([*self.columns, *added]))

    @property
    def schema(self) -> pa.Schema:
        return self.columns.with_metadata({_VERSION_KEY: f"{self.name} {self.version}".encode()})


class Segment(NamedTuple):
    first: int
    last: int
    checkpoint: int
    path: Path


class OpenSegment(NamedTuple):
    """An open file. Arrow opens it, not Python: Arrow's threads may read ahead while Python shuts down."""

    name: str
    data: pa.NativeFile


def read_batches(
    folder: Path, layout: TableLayout, checkpoint: int, columns: Sequence[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield every row up to a checkpoint, in the order of writing."""
    with map_disk_errors(folder), open_live_segments(folder, checkpoint) as files:
        yield from batches_of(files, layout, columns)


def count_rows(folder: Path, layout: TableLayout, checkpoint: int) -> int:
    count = 0
    with map_disk_errors(folder), open_live_segments(folder, checkpoint) as files:
        for file in files:
            with map_parquet_errors(file):
                count += open_parquet(file, layout).metadata.num_rows
    return count


def read_rows_from(
    folder: Path,
    layout: TableLayout,
    checkpoint: int,
    columns: Sequence[str],
    start_row: int,
    repeating: Sequence[str] = (),
) -> Iterator[pa.RecordBatch]:
    """Yield every row from `start_row` up to a checkpoint, some row groups at a time.

    `repeating` columns, which have few different texts, are dictionary-encoded. That is slow for others.
    """
    with (
        map_disk_errors(folder),
        open_live_segments(folder, checkpoint) as files,
        ThreadPoolExecutor(1, "reader") as reader,
    ):
        waiting: Future[list[pa.RecordBatch]] | None = None
        for read in _group_readers(files, layout, columns, start_row, repeating):
            # Read ahead while the caller works on the groups before.
            reading = reader.submit(read)
            yield from waiting.result() if waiting else ()
            waiting = reading
        yield from waiting.result() if waiting else ()


def _group_readers(
    files: Sequence[OpenSegment], layout: TableLayout, columns: Sequence[str], start_row: int, repeating: Sequence[str]
) -> Iterator[Callable[[], list[pa.RecordBatch]]]:
    """Yield a function for each run of row groups with wanted rows; it reads them."""
    skipped = start_row
    for file in files:
        with map_parquet_errors(file):
            parquet = open_parquet(file, layout, repeating)
        for run in _runs(parquet.metadata):
            count = sum(parquet.metadata.row_group(number).num_rows for number in run)
            if skipped < count:
                yield partial(_read_groups, file, parquet, run, columns, skipped)
            skipped = max(0, skipped - count)


def _runs(metadata: pq.FileMetaData) -> Iterator[list[int]]:
    """Yield row groups that are read together: those of new segments are small."""
    run: list[int] = []
    rows = size_bytes = 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        rows, size_bytes = rows + group.num_rows, size_bytes + group.total_byte_size
        if run and (rows > _RUN_ROWS or size_bytes > _RUN_BYTES):
            yield run
            run, rows, size_bytes = [], group.num_rows, group.total_byte_size
        run.append(number)
    if run:
        yield run


def _read_groups(
    file: OpenSegment, parquet: pq.ParquetFile, groups: Sequence[int], columns: Sequence[str], skipped: int
) -> list[pa.RecordBatch]:
    with map_parquet_errors(file):
        table = parquet.read_row_groups(groups, columns=list(columns)).slice(skipped)
    rows: list[pa.RecordBatch] = table.combine_chunks().to_batches()
    return rows


def batches_of(
    files: Iterable[OpenSegment], layout: TableLayout, columns: Sequence[str] | None = None
) -> Iterator[pa.RecordBatch]:
    for file in files:
        with map_parquet_errors(file):
            for batch in open_parquet(file, layout).iter_batches(_BATCH_ROWS, columns=columns):
                plain = batch.replace_schema_metadata(None)
                yield plain if columns is not None else _conform(plain, layout.columns)


def _conform(batch: pa.RecordBatch, columns: pa.Schema) -> pa.RecordBatch:
    """Return the batch with these columns. One that it lacks, or that has values of another type, is empty."""
    if batch.schema.equals(columns):
        return batch
    own = {field.name: field.type for field in batch.schema}
    arrays = [
        batch.column(each.name) if own.get(each.name) == each.type else pa.nulls(batch.num_rows, each.type)
        for each in columns
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=columns)


def widen(layout: TableLayout, files: Iterable[OpenSegment]) -> TableLayout:
    """Return the layout with the columns that some of the segments have beside its own."""
    added: dict[str, pa.Field] = {}
    for file in files:
        with map_parquet_errors(file):
            for each in open_parquet(file, layout).schema_arrow:
                if each.name not in layout.columns.names:
                    added.setdefault(each.name, pa.field(each.name, each.type))
    return layout.widened(added.values())


def whole_layout(folder: Path, layout: TableLayout, checkpoint: int) -> TableLayout:
    """Return the layout with the columns that segments have beside its own, up to a checkpoint."""
    with map_disk_errors(folder), open_live_segments(folder, checkpoint) as files:
        return widen(layout, files)


def open_parquet(file: OpenSegment, layout: TableLayout, repeating: Sequence[str] = ()) -> pq.ParquetFile:
    """Open a segment and check its layout; `repeating` columns are dictionary-encoded."""
    # Buffering ahead would read all row groups of the file into memory.
    parquet = pq.ParquetFile(file.data, read_dictionary=list(repeating), pre_buffer=False)
    mark = (parquet.schema_arrow.metadata or {}).get(_VERSION_KEY, b"").decode()
    if mark != f"{layout.name} {layout.version}":
        reason = f"holds '{mark}', and this version of Tarrafa reads '{layout.name} {layout.version}'"
        raise WorkError(f"{file.name} {reason}; use the version that wrote it")
    return parquet


@contextlib.contextmanager
def map_parquet_errors(file: OpenSegment) -> Iterator[None]:
    """Turn an error of Arrow into a `DamagedError` that names the file."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise DamagedError(f"{file.name} cannot be read: {error}; restore it from a copy") from error


@contextlib.contextmanager
def open_live_segments(folder: Path, checkpoint: int) -> Iterator[list[OpenSegment]]:
    """Open all segments at once, so that those a join removes later can still be read."""
    with contextlib.ExitStack() as stack:
        for _ in range(_LISTING_TRIES):
            # A join may remove a segment between the listing and the opening; then the joined one is there instead.
            with contextlib.suppress(FileNotFoundError), contextlib.ExitStack() as opening:
                files = open_segments(live_segments(list_segments(folder), checkpoint), opening)
                stack.enter_context(opening.pop_all())
                break
        else:
            raise WorkError(f"{folder} changes faster than it can be read; try again")
        yield files


def open_segments(segments: Iterable[Segment], stack: contextlib.ExitStack) -> list[OpenSegment]:
    paths = [str(segment.path) for segment in segments]
    return [OpenSegment(path, stack.enter_context(pa.OSFile(path))) for path in paths]


def list_segments(folder: Path) -> list[Segment]:
    paths = folder.iterdir() if folder.is_dir() else ()
    matches = ((_NAME.fullmatch(path.name), path) for path in paths)
    return [Segment(int(match[1]), int(match[2]), int(match[3]), path) for match, path in matches if match]


def live_segments(segments: Iterable[Segment], checkpoint: int) -> list[Segment]:
    """Return the segments that count at a checkpoint.

    A joined segment always counts: its rows were committed, even if after the caller read its checkpoint.
    """
    live: list[Segment] = []
    # The widest of those with the same first number comes first, and covers the others.
    for segment in sorted(segments, key=lambda each: (each.first, -each.last)):
        is_covered = bool(live) and segment.last <= live[-1].last
        if not is_covered and (segment.checkpoint <= checkpoint or segment.last > segment.first):
            live.append(segment)
    return live


def segment_name(first: int, last: int, checkpoint: int) -> str:
    return f"{first:08d}-{last:08d}-{checkpoint:08d}.parquet"
