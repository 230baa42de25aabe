"""What was kept, in one file and in a form that others read. The file appears whole or not at all."""

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from tarrafa.disk import atomic_file, map_disk_errors
from tarrafa.keep.documents import DOCUMENTS
from tarrafa.keep.places import Place, archive_files, check_end
from tarrafa.keep.read import StoredPage, pages, whole_pages
from tarrafa.keep.segments import batches, count_rows, grouped, write_parquet
from tarrafa.keep.sorting import sorted_lines
from tarrafa.keep.surt import surt
from tarrafa.layout import CrawlPaths
from tarrafa.records import Page

_COPY_BYTES = 1 << 20
_HEXADECIMAL = ("signature", "similarity")

# Called now and then with how much is done, and of how much: bytes of the archive, or rows.
Progress = Callable[[int, int], None]
# The text of a page's HTML, or None if it is not HTML; whoever exports knows how to undo codings.
Html = Callable[[Page], str | None]
# The pages of an archive up to a place.
Read = Callable[[Path, Place], Iterator[StoredPage]]


class Snapshot(NamedTuple):
    """What an agent had kept when its last checkpoint was committed."""

    paths: CrawlPaths
    checkpoint: int
    end: Place  # of the archive


def export_warc(snapshots: Sequence[Snapshot], out: Path, progress: Progress) -> int:
    """All archives one after the other, which is a valid archive; the bytes written."""
    # Reading every page proves that what is copied afterwards is not damaged.
    for _ in _stored_pages(snapshots, progress):
        pass
    with map_disk_errors(out), atomic_file(out) as file:
        for path, size_bytes in _archive_parts(snapshots):
            with path.open("rb") as part:
                for start in range(0, size_bytes, _COPY_BYTES):
                    file.write(part.read(min(_COPY_BYTES, size_bytes - start)))
        return file.tell()


def export_parquet(snapshots: Sequence[Snapshot], out: Path, progress: Progress) -> int:
    """All documents in one Parquet file; their number."""
    with map_disk_errors(out), atomic_file(out) as file:
        return write_parquet(file, DOCUMENTS, grouped(_document_batches(snapshots, progress), DOCUMENTS))


def export_jsonl(snapshots: Sequence[Snapshot], out: Path, progress: Progress) -> int:
    """Each document as a JSON object on a line of its own; their number."""
    count = 0
    with map_disk_errors(out), atomic_file(out) as file:
        for batch in _document_batches(snapshots, progress):
            for row in batch.to_pylist():
                file.write(json.dumps(_jsonable(row), ensure_ascii=False).encode() + b"\n")
                count += 1
    return count


def export_cdxj(snapshots: Sequence[Snapshot], out: Path, progress: Progress) -> int:
    """A sorted index of the archives' pages, by which web archive players find them; the number of lines."""
    count = 0
    unsorted = _index_lines(snapshots, progress)
    with map_disk_errors(out), sorted_lines(unsorted, out.parent) as lines, atomic_file(out) as file:
        for line in lines:
            file.write(line.encode() + b"\n")
            count += 1
    return count


def export_records(snapshots: Sequence[Snapshot], out: Path, progress: Progress, html: Html) -> int:
    """Each HTML page as `||| URL | HTML |||` on lines of its own, in UTF-8; their number.

    The format knows no escape, so three bars within a page are written `||&#124;`, which reads the same in HTML.
    """
    count = 0
    with map_disk_errors(out), atomic_file(out) as file:
        for _, stored in _stored_pages(snapshots, progress, whole_pages):
            text = html(stored.page)
            if text is not None:
                record = f"||| {stored.page.url} | {text.replace('|||', '||&#124;')} |||\n"
                file.write(record.encode("utf-8", "replace"))
                count += 1
    return count


def _archive_parts(snapshots: Sequence[Snapshot]) -> Iterator[tuple[Path, int]]:
    """Each file of the archives, and how much of it counts."""
    for snapshot in snapshots:
        folder, end = snapshot.paths.archive, snapshot.end
        files = archive_files(folder)
        check_end(folder, files, end)
        for number, path in files.items():
            if number <= end.file and (number, 0) != end:
                yield path, path.stat().st_size if number < end.file else end.offset


def _stored_pages(
    snapshots: Sequence[Snapshot], progress: Progress, read: Read = pages
) -> Iterator[tuple[Path, StoredPage]]:
    """Every page, with the file in which it stands."""
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


def _document_batches(snapshots: Sequence[Snapshot], progress: Progress) -> Iterator[Any]:
    counts = [count_rows(each.paths.documents, DOCUMENTS, each.checkpoint) for each in snapshots]
    total, done = sum(counts), 0
    for snapshot in snapshots:
        for batch in batches(snapshot.paths.documents, DOCUMENTS, snapshot.checkpoint):
            yield batch
            done += batch.num_rows
            progress(done, total)


def _jsonable(row: dict[str, Any]) -> dict[str, Any]:
    """Moments by the ISO standard; 64 bits as hexadecimal digits, for JSON's numbers have only 53."""
    for name, value in row.items():
        if isinstance(value, datetime):
            row[name] = value.astimezone(UTC).isoformat()
        elif name in _HEXADECIMAL:
            row[name] = f"{value:016x}"
    return row


def _index_lines(snapshots: Sequence[Snapshot], progress: Progress) -> Iterator[str]:
    for path, stored in _stored_pages(snapshots, progress):
        page = stored.page
        facts = {
            "url": page.url,
            "mime": "warc/revisit" if stored.original else page.media_type or "unk",
            "status": f"{page.status}",
            "digest": stored.digest.removeprefix("sha1:"),
            "length": f"{stored.length}",
            "offset": f"{stored.place.offset}",
            "filename": path.name,
        }
        moment = datetime.fromtimestamp(page.at, UTC)
        yield f"{surt(page.url)} {moment:%Y%m%d%H%M%S} {json.dumps(facts)}"
