"""Remove versions of pages that were replaced long ago, within the bounds that a user sets.

A row of documents keeps its place, so a reader that has read so many rows can go on after them. What is removed of an
old visit are its texts, its fields and its position in the archive; what the history tells of it stays. The rows of its
links are removed whole. An archive file is removed if nothing that is left refers to it.

1. The newest version of a URL is never removed, nor any row since the oldest version that is kept.
2. Killed at any moment, everything that is left can be read, and the next run removes the rest. Each file is replaced
   or removed in one step; rows go before the archive files that they refer to.

The caller locks the folder, so that no crawl writes meanwhile. Readers are not disturbed: files that they have opened
stay until they close them.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tarrafa.disk import atomic_file, map_disk_errors
from tarrafa.hashes import U64, hashes_of
from tarrafa.keep.archive_files import Place, archive_files, remove_archive_files
from tarrafa.keep.archive_reader import read_pages
from tarrafa.keep.row_writers import DOCUMENTS, LINKS
from tarrafa.keep.segment_reader import (
    OpenSegment,
    Segment,
    TableLayout,
    batches_of,
    list_segments,
    live_segments,
    map_parquet_errors,
    open_parquet,
    read_batches,
    read_rows_from,
    widen,
)
from tarrafa.keep.segment_writer import group_batches, write_parquet
from tarrafa.keep.url_groups import I64, Mask, UrlGroups, url_groups
from tarrafa.layout import CrawlPaths

_FILES_AT_A_TIME = 20  # archive files whose digests are in memory together
_TEXTS = ("description", "text")
_EMPTIED = ("headings",)
_ALWAYS = frozenset((*DOCUMENTS.columns.names,)) - {"archive_file", "archive_offset", *_TEXTS, *_EMPTIED}
_NEVER = np.iinfo(np.int64).min

# Called with the name of each step.
StepReport = Callable[[str], None]


class VersionBounds(NamedTuple):
    """Which versions of a URL are kept. Without bounds, all of them."""

    versions: int = 0  # the newest so many; 0 for all
    age_seconds: float | None = None  # those that were replaced less than so long ago; None for all

    @property
    def are_set(self) -> bool:
        return self.versions > 0 or self.age_seconds is not None


class RemovedVersions(NamedTuple):
    """What was removed, or would be."""

    versions: int = 0  # stored contents of pages
    links: int = 0  # rows of links
    archive_files: int = 0
    archive_bytes: int = 0


class _Cuts(NamedTuple):
    """What is to be removed: the rows of documents before the oldest version that is kept of their URL."""

    rows: Mask  # for each row of documents: True if it is one of them
    is_version: Mask
    keys: U64  # fingerprints of the URLs that have such rows, sorted
    moments: I64  # when the oldest version of each that is kept was fetched, in microseconds since the Unix epoch


def remove_versions(
    paths: CrawlPaths,
    checkpoint: int,
    end: Place,
    bounds: VersionBounds,
    now: float,
    report: StepReport = lambda _: None,
    *,
    before_links: Callable[[], None] = lambda: None,
    is_dry: bool = False,
) -> RemovedVersions:
    """Remove what is beyond the bounds, up to a checkpoint; with `is_dry`, only count it.

    `before_links` is called before rows of links are removed, which gives other numbers to those that follow.
    """
    report("reading documents")
    cuts = _find_cuts(paths.documents, checkpoint, bounds, now)
    report("removing links")
    links_count = _cut_links(paths.links, checkpoint, cuts, None if is_dry else before_links)
    report("removing texts")
    versions_count = _cut_documents(paths.documents, checkpoint, cuts, is_dry)
    report("removing archive files")
    files_count, size_bytes = _cut_archive(paths, checkpoint, end, cuts, is_dry)
    return RemovedVersions(versions_count, links_count, files_count, size_bytes)


def _find_cuts(folder: Path, checkpoint: int, bounds: VersionBounds, now: float) -> _Cuts:
    parts = (batch.column(0) for batch in read_rows_from(folder, DOCUMENTS, checkpoint, ("fetched_at",), 0))
    every = np.concatenate([np.zeros(0, np.int64), *(part.cast(pa.int64()).to_numpy() for part in parts)])
    keys = [np.zeros(0, np.uint64)]
    found, is_version = np.zeros(len(every), np.bool_), np.zeros(len(every), np.bool_)
    cut_moments = [np.zeros(0, np.int64)]
    for groups in url_groups(folder, checkpoint):
        firsts = _oldest_kept(groups, every, bounds, now)
        begins = firsts[groups.groups]
        is_old = np.arange(len(groups.rows)) < begins
        found[groups.rows], is_version[groups.rows] = is_old, groups.is_version
        cut_places = firsts[np.unique(groups.groups[is_old])]
        keys.append(groups.keys[cut_places])
        cut_moments.append(every[groups.rows[cut_places]])
    order = np.argsort(cut_keys := np.concatenate(keys))
    return _Cuts(found, is_version, cut_keys[order], np.concatenate(cut_moments)[order])


def _oldest_kept(groups: UrlGroups, moments: I64, bounds: VersionBounds, now: float) -> I64:
    """Return for each URL the place of the oldest version that is kept; 0 for one without versions."""
    places = np.flatnonzero(groups.is_version)
    own = groups.groups[places]
    newest_first = _ranks_from_the_end(own)
    is_kept = np.ones(len(places), np.bool_) if not bounds.versions else newest_first < bounds.versions
    if bounds.age_seconds is not None:
        is_kept &= _replaced_at(groups, moments, places) >= (now - bounds.age_seconds) * 1e6
    is_kept |= newest_first == 0
    found = np.full(int(groups.groups[-1]) + 1 if len(groups.groups) else 0, len(groups.rows), np.int64)
    np.minimum.at(found, own[is_kept], places[is_kept])
    found[found == len(groups.rows)] = 0
    return found


def _ranks_from_the_end(groups: I64) -> I64:
    """Return for each place how many follow it in its group."""
    ends = np.searchsorted(groups, groups, "right")
    found: I64 = ends - 1 - np.arange(len(groups))
    return found


def _replaced_at(groups: UrlGroups, moments: I64, places: I64) -> NDArray[np.float64]:
    """Return when each version was replaced or ended, in microseconds; infinity if it was not."""
    others = np.flatnonzero(~groups.is_mere)
    following = np.searchsorted(others, places, "right")
    found = np.full(len(places), np.inf)
    has_next = following < len(others)
    has_next[has_next] = groups.groups[others[following[has_next]]] == groups.groups[places[has_next]]
    found[has_next] = moments[groups.rows[others[following[has_next]]]]
    return found


def _segments(folder: Path, checkpoint: int) -> list[Segment]:
    return live_segments(list_segments(folder), checkpoint)


def _cut_documents(folder: Path, checkpoint: int, cuts: _Cuts, is_dry: bool) -> int:
    """Empty the old rows of each segment that has any with content; return how many versions were removed."""
    count = first = 0
    for segment in _segments(folder, checkpoint):
        with map_disk_errors(folder), pa.OSFile(str(segment.path)) as data:
            file = OpenSegment(str(segment.path), data)
            rows = _rows_of(file, DOCUMENTS)
            chosen = slice(first, first + rows)
            first += rows
            stored = _has_place(file)
            if not (cuts.rows[chosen] & stored).any():
                continue
            count += int((cuts.rows[chosen] & cuts.is_version[chosen] & stored).sum())
            if not is_dry:
                _rewrite(segment.path, file, DOCUMENTS, _emptied(file, cuts.rows[chosen]))
    return count


def _rows_of(file: OpenSegment, layout: TableLayout) -> int:
    with map_parquet_errors(file):
        count: int = open_parquet(file, layout).metadata.num_rows
    return count


def _has_place(file: OpenSegment) -> Mask:
    with map_parquet_errors(file):
        column = open_parquet(file, DOCUMENTS).read(["archive_file"]).column(0)
    return np.asarray(column.is_valid())


def _rewrite(path: Path, file: OpenSegment, layout: TableLayout, batches: Iterator[pa.RecordBatch]) -> None:
    """Replace a segment, whose rows keep their order."""
    wide = widen(layout, [file])
    with atomic_file(path) as out:
        write_parquet(out, wide, group_batches(batches, wide))


def _emptied(file: OpenSegment, is_old: Mask) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a segment, the old ones without their content."""
    wide, first = widen(DOCUMENTS, [file]), 0
    for batch in batches_of([file], wide):
        old = pa.array(is_old[first : first + batch.num_rows])
        first += batch.num_rows
        columns = [_emptied_column(batch.column(field.name), field, old) for field in wide.columns]
        yield pa.RecordBatch.from_arrays(columns, schema=wide.columns)


def _emptied_column(column: pa.Array, field: pa.Field, old: pa.Array) -> pa.Array:
    if field.name in _ALWAYS:
        return column
    nothing: Any = "" if field.name in _TEXTS else [] if field.name in _EMPTIED else None
    rows = np.arange(len(column))
    # The row after the last holds what an old row has instead.
    joined = pa.concat_arrays([column, pa.array([nothing], field.type)])
    return joined.take(pa.array(np.where(np.asarray(old), len(column), rows)))


def _cut_links(folder: Path, checkpoint: int, cuts: _Cuts, before: Callable[[], None] | None) -> int:
    """Remove the links of old visits; return how many. Without `before`, only count them."""
    count = 0
    for segment in _segments(folder, checkpoint) if len(cuts.keys) else ():
        with map_disk_errors(folder), pa.OSFile(str(segment.path)) as data:
            file = OpenSegment(str(segment.path), data)
            rows = _rows_of(file, LINKS)
            own = sum(int(_is_old_link(batch, cuts).sum()) for batch in batches_of([file], LINKS, _LINK_KEYS))
            count += own
            if own and before is not None:
                before()
                left = (batch.filter(pa.array(~_is_old_link(batch, cuts))) for batch in batches_of([file], LINKS))
                _rewrite(segment.path, file, LINKS, (batch for batch in left if batch.num_rows))
            assert own <= rows
    return count


_LINK_KEYS = ("source", "fetched_at")


def _is_old_link(batch: pa.RecordBatch, cuts: _Cuts) -> Mask:
    keys = hashes_of(batch.column("source"))
    places = np.minimum(np.searchsorted(cuts.keys, keys), len(cuts.keys) - 1)
    moments = np.where(cuts.keys[places] == keys, cuts.moments[places], _NEVER)
    found: Mask = batch.column("fetched_at").cast(pa.int64()).to_numpy(zero_copy_only=False) < moments
    return found


def _cut_archive(paths: CrawlPaths, checkpoint: int, end: Place, cuts: _Cuts, is_dry: bool) -> tuple[int, int]:
    """Remove the archive files to which no row refers that is left; return how many, and their bytes."""
    files = archive_files(paths.archive)
    unused = [number for number in files if number < end.file]
    if not len(cuts.keys):
        unused = []
    if unused:
        needed = _files_with_rows(paths.documents, checkpoint, cuts)
        unused = [number for number in unused if number not in needed]
    removable: list[int] = []
    for start in range(0, len(unused), _FILES_AT_A_TIME):
        some = unused[start : start + _FILES_AT_A_TIME]
        originals = _files_with_originals(paths, checkpoint, cuts, some)
        removable += [number for number in some if number not in originals]
    size_bytes = sum(files[number].stat().st_size for number in removable)
    if not is_dry:
        with map_disk_errors(paths.archive):
            remove_archive_files(paths.archive, removable)
    return len(removable), size_bytes


def _left_rows(folder: Path, checkpoint: int, cuts: _Cuts, column: str) -> Iterator[pa.Array]:
    """Yield a column of the rows that are left."""
    first = 0
    for batch in read_batches(folder, DOCUMENTS, checkpoint, [column]):
        is_old = cuts.rows[first : first + batch.num_rows]
        first += batch.num_rows
        # Rows that came meanwhile are beyond the mask, and left.
        is_left = np.concatenate([~is_old, np.ones(batch.num_rows - len(is_old), np.bool_)])
        yield batch.column(0).filter(pa.array(is_left))


def _files_with_rows(folder: Path, checkpoint: int, cuts: _Cuts) -> set[int]:
    found: set[int] = set()
    for column in _left_rows(folder, checkpoint, cuts, "archive_file"):
        found.update(column.drop_null().unique().to_pylist())
    return found


def _files_with_originals(paths: CrawlPaths, checkpoint: int, cuts: _Cuts, numbers: list[int]) -> set[int]:
    """Return the files whose bodies may be those of rows that are left, which are stored as references to them."""
    by_digest: dict[str, set[int]] = {}
    for number in numbers:
        for stored in read_pages(paths.archive, Place(number + 1, 0), Place(number, 0)):
            by_digest.setdefault(stored.digest, set()).add(number)
    digests, found = pa.array(list(by_digest), pa.string()), set[int]()
    for column in _left_rows(paths.documents, checkpoint, cuts, "digest"):
        for digest in column.filter(pa.compute.is_in(column, digests)).unique().to_pylist():
            found |= by_digest[digest]
    return found
