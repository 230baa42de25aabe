"""Export a crawl into one file that other tools read. The file appears complete or not at all.

Without a file, `out` is None, and the data goes to standard output.
"""

import contextlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa

from tarrafa.disk import is_replaceable, output_file
from tarrafa.hashes import U64, hashes_of
from tarrafa.keep.archive_files import Place, archive_files, check_end
from tarrafa.keep.archive_reader import StoredPage, read_pages, read_whole_pages
from tarrafa.keep.cdxj import cdxj_line, sorted_lines
from tarrafa.keep.row_writers import DOCUMENTS
from tarrafa.keep.segment_reader import TableLayout, count_rows, read_batches, whole_layout
from tarrafa.keep.segment_writer import group_batches, write_parquet
from tarrafa.keep.url_groups import current_rows
from tarrafa.layout import CrawlPaths
from tarrafa.records import Page
from tarrafa.urls import fingerprint

_COPY_BYTES = 1 << 20
_OFFSET_BITS = np.uint64(40)
_PLACE_COLUMNS = ("url", "archive_file", "archive_offset")
_PLACE_LAYOUT = DOCUMENTS._replace(columns=pa.schema([DOCUMENTS.columns.field(name) for name in _PLACE_COLUMNS]))
_HEXADECIMAL = ("signature", "similarity")

# Called regularly with how much is done, and the total: bytes of the archive, or rows.
ExportProgress = Callable[[int, int], None]
# Returns the HTML of a page as text, or None if it is not HTML. The caller can decode bodies; this room cannot.
HtmlReader = Callable[[Page], str | None]
# Yields the pages of an archive up to a place.
_PageReader = Callable[[Path, Place], Iterator[StoredPage]]


class Snapshot(NamedTuple):
    """What an agent had stored at its last checkpoint."""

    paths: CrawlPaths
    checkpoint: int
    end: Place  # of the archive
    has_all_versions: bool = False  # False to export only the current row of each URL


def export_warc(snapshots: Sequence[Snapshot], out: Path | None, progress: ExportProgress) -> int:
    """Write all archives one after the other, which is a valid archive; return the number of bytes."""
    # Reading every page checks that what is copied afterwards is not damaged.
    for _ in _stored_pages(snapshots, progress):
        pass
    count = 0
    with _open_output(out) as file:
        for path, size_bytes in _archive_parts(snapshots):
            with path.open("rb") as part:
                for start in range(0, size_bytes, _COPY_BYTES):
                    count += file.write(part.read(min(_COPY_BYTES, size_bytes - start)))
    return count


def export_parquet(snapshots: Sequence[Snapshot], out: Path | None, progress: ExportProgress) -> int:
    """Write all documents as one Parquet file; return their number."""
    with _open_output(out) as file:
        layout = _whole_layout(snapshots)
        return write_parquet(file, layout, group_batches(_document_batches(snapshots, layout, progress), layout))


def export_jsonl(snapshots: Sequence[Snapshot], out: Path | None, progress: ExportProgress) -> int:
    """Write each document as a JSON object on a line of its own; return their number."""
    count = 0
    with _open_output(out) as file:
        for batch in _document_batches(snapshots, _whole_layout(snapshots), progress):
            for row in batch.to_pylist():
                file.write(json.dumps(_jsonable(row), ensure_ascii=False).encode() + b"\n")
                count += 1
    return count


def export_cdxj(snapshots: Sequence[Snapshot], out: Path | None, progress: ExportProgress) -> int:
    """Write a sorted index of the archives' pages for web archive players; return the number of lines."""
    count = 0
    unsorted = (cdxj_line(stored, path.name) for path, stored in _stored_pages(snapshots, progress))
    with sorted_lines(unsorted, _sorting_folder(out)) as lines, _open_output(out) as file:
        for line in lines:
            file.write(line.encode() + b"\n")
            count += 1
    return count


def export_records(snapshots: Sequence[Snapshot], out: Path | None, progress: ExportProgress, html: HtmlReader) -> int:
    """Write each HTML page as `||| URL | HTML |||` on lines of its own, in UTF-8; return their number.

    The format has no escape, so three bars within a page are written `||&#124;`, which means the same in HTML.
    """
    count = 0
    current = {each.paths.archive: _CurrentPages(each) for each in snapshots}
    with _open_output(out) as file:
        for path, stored in _stored_pages(snapshots, progress, read_whole_pages):
            text = html(stored.page) if current[path.parent].has(stored) else None
            if text is not None:
                record = f"||| {stored.page.url} | {text.replace('|||', '||&#124;')} |||\n"
                file.write(record.encode("utf-8", "replace"))
                count += 1
    return count


def _sorting_folder(out: Path | None) -> Path | None:
    """Return the folder of a regular file, which has room for it; None for the system's folder of temporary files."""
    return out.parent if out is not None and is_replaceable(out) else None


@contextlib.contextmanager
def _open_output(out: Path | None) -> Iterator[BinaryIO]:
    """Open the file to write, or standard output if there is none."""
    if out is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with output_file(out) as file:
        yield file


def _archive_parts(snapshots: Sequence[Snapshot]) -> Iterator[tuple[Path, int]]:
    """Yield each file of the archives, and how many bytes of it count."""
    for snapshot in snapshots:
        folder, end = snapshot.paths.archive, snapshot.end
        files = archive_files(folder)
        check_end(folder, files, end)
        for number, path in files.items():
            if number <= end.file and (number, 0) != end:
                yield path, path.stat().st_size if number < end.file else end.offset


def _stored_pages(
    snapshots: Sequence[Snapshot], progress: ExportProgress, read: _PageReader = read_pages
) -> Iterator[tuple[Path, StoredPage]]:
    """Yield every page with its file."""
    sizes = dict(_archive_parts(snapshots))
    starts = dict(zip(sizes, accumulate(sizes.values(), initial=0), strict=False))
    total = sum(sizes.values())
    for snapshot in snapshots:
        files = archive_files(snapshot.paths.archive)
        for stored in read(snapshot.paths.archive, snapshot.end):
            path = files[stored.place.file]
            yield path, stored
            progress(starts[path] + stored.place.offset, total)
    progress(total, total)


def _whole_layout(snapshots: Sequence[Snapshot]) -> TableLayout:
    """Return the columns of documents with the fields that hooks have added, of all agents."""
    added: dict[str, Any] = {}
    for each in snapshots:
        whole = whole_layout(each.paths.documents, DOCUMENTS, each.checkpoint)
        added = {field.name: field for field in [*whole.columns][len(DOCUMENTS.columns) :]} | added
    return DOCUMENTS.widened(added.values())


def _document_batches(
    snapshots: Sequence[Snapshot], layout: TableLayout, progress: ExportProgress
) -> Iterator[pa.RecordBatch]:
    for batch, _ in exported_rows(snapshots, layout, progress):
        yield batch


def exported_rows(
    snapshots: Sequence[Snapshot], layout: TableLayout | None, progress: ExportProgress
) -> Iterator[tuple[pa.RecordBatch, Snapshot]]:
    """Yield the rows to export, in the order of writing; without a layout, with all columns of the snapshot."""
    masks = [
        None if each.has_all_versions else current_rows(each.paths.documents, each.checkpoint) for each in snapshots
    ]
    total, done = sum(count_rows(each.paths.documents, DOCUMENTS, each.checkpoint) for each in snapshots), 0
    for snapshot, mask in zip(snapshots, masks, strict=True):
        folder, first = snapshot.paths.documents, 0
        for batch in read_batches(
            folder, layout or whole_layout(folder, DOCUMENTS, snapshot.checkpoint), snapshot.checkpoint
        ):
            if mask is not None:
                # Rows that a join has added meanwhile are beyond the mask, and left out.
                wanted = np.flatnonzero(mask[first : first + batch.num_rows])
                yield batch.take(pa.array(wanted)), snapshot
            else:
                yield batch, snapshot
            first += batch.num_rows
            done += batch.num_rows
            progress(min(done, total), total)


class _CurrentPages:
    """Which pages of an archive are current: those of current rows, and those of URLs without any row."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._has_all = snapshot.has_all_versions
        places, urls = [np.zeros(0, np.uint64)], [np.zeros(0, np.uint64)]
        for batch, _ in () if self._has_all else exported_rows([snapshot], _PLACE_LAYOUT, lambda *_: None):
            urls.append(hashes_of(batch.column("url")))
            stored = batch.drop_null()
            files, offsets = (stored.column(name).to_numpy().astype(np.uint64) for name in _PLACE_COLUMNS[1:])
            places.append(files << _OFFSET_BITS | offsets)
        self._places, self._urls = np.sort(np.concatenate(places)), np.sort(np.concatenate(urls))

    def has(self, stored: StoredPage) -> bool:
        packed = np.uint64(stored.place.file) << _OFFSET_BITS | np.uint64(stored.place.offset)
        url = np.uint64(fingerprint(stored.page.url))
        return self._has_all or _is_among(packed, self._places) or not _is_among(url, self._urls)


def _is_among(value: np.uint64, values: U64) -> bool:
    place = int(np.searchsorted(values, value))
    return place < len(values) and bool(values[place] == value)


def _jsonable(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row for JSON: moments in ISO 8601, 64-bit numbers in hexadecimal since JSON's numbers have 53 bits."""
    for name, value in row.items():
        if isinstance(value, datetime):
            row[name] = value.astimezone(UTC).isoformat()
        elif name in _HEXADECIMAL:
            row[name] = f"{value:016x}"
    return row
