"""Rows that were added to documents or links since one last looked.

Segments of a folder are joined now and then, but their rows keep the order of writing. So the number of rows that were
taken says where to go on, and whole files and row groups before it are not even read.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tarrafa.disk import map_disk_errors
from tarrafa.keep.segments import GROUP_BYTES, GROUP_ROWS, Layout, OpenSegment, checked, live_files, readable


def rows_added(
    folder: Path, layout: Layout, checkpoint: int, columns: Sequence[str], start_row: int, repeating: Sequence[str] = ()
) -> Iterator[pa.RecordBatch]:
    """Every row from `start_row` up to a checkpoint, some row groups at a time.

    Of `repeating` columns, whose texts are few, the rows are numbers with a dictionary. For others that is slow.
    """
    with map_disk_errors(folder), live_files(folder, checkpoint) as files, ThreadPoolExecutor(1, "reader") as reader:
        waiting: Future[list[pa.RecordBatch]] | None = None
        for group in _groups(files, layout, columns, start_row, repeating):
            # One is read while the caller works on another.
            reading = reader.submit(group)
            yield from waiting.result() if waiting else ()
            waiting = reading
        yield from waiting.result() if waiting else ()


def _groups(
    files: Sequence[OpenSegment], layout: Layout, columns: Sequence[str], start_row: int, repeating: Sequence[str]
) -> Iterator[Callable[[], list[pa.RecordBatch]]]:
    """A function for each run of row groups with rows that are wanted, which reads them."""
    skipped = start_row
    for file in files:
        with readable(file):
            found = checked(file, layout, repeating)
        for run in _runs(found.metadata):
            count = sum(found.metadata.row_group(number).num_rows for number in run)
            if skipped < count:
                yield partial(_read, file, found, run, columns, skipped)
            skipped = max(0, skipped - count)


def _runs(metadata: pq.FileMetaData) -> Iterator[list[int]]:
    """Row groups that are read together: those of new segments are small."""
    run: list[int] = []
    rows = size_bytes = 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        rows, size_bytes = rows + group.num_rows, size_bytes + group.total_byte_size
        if run and (rows > GROUP_ROWS or size_bytes > GROUP_BYTES):
            yield run
            run, rows, size_bytes = [], group.num_rows, group.total_byte_size
        run.append(number)
    if run:
        yield run


def _read(
    file: OpenSegment, found: pq.ParquetFile, groups: Sequence[int], columns: Sequence[str], skipped: int
) -> list[pa.RecordBatch]:
    with readable(file):
        table = found.read_row_groups(groups, columns=list(columns)).slice(skipped)
    rows: list[pa.RecordBatch] = (table.combine_chunks() if len(groups) > 1 else table).to_batches()
    return rows
