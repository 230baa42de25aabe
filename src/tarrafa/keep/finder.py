"""Find rows by URL, with a catalogue for each segment that is made when it is first needed.

    agents/00/catalogue/
    ├── links-00000000-00000049-00000050-000.arrow      first stretch of that segment of links
    └── lock                                            held by the process that makes a catalogue

1. Results equal those of reading all rows, even if catalogues are missing, damaged or from another crawl.
2. A catalogue is complete or absent; one process at a time makes it, and the others wait.
3. Every catalogue may be removed at any time. `update` removes those without a segment.

A segment with few rows has its catalogue in memory only. So does every segment if the folder is of another user or
not writable.
"""

import contextlib
import fcntl
import logging
import math
import os
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import pyarrow.parquet as pq
import xxhash

from tarrafa.disk import atomic_file, map_disk_errors, remove_unfinished
from tarrafa.keep.catalogue import ArrowColumns, DocumentCatalogue, LinkCatalogue, VisitRow
from tarrafa.keep.column_file import map_columns, write_columns
from tarrafa.keep.row_writers import DOCUMENTS, LINKS
from tarrafa.keep.segment_reader import (
    OpenSegment,
    TableLayout,
    map_parquet_errors,
    open_live_segments,
    open_parquet,
)
from tarrafa.layout import CrawlPaths
from tarrafa.logs import event
from tarrafa.versions import VERSION, is_mere_visit

FEW_ROWS = 20_000  # with fewer, a segment has its catalogue in memory only
STRETCH_ROWS = 2_000_000  # bounds the memory and the time that making a catalogue takes
_FORMAT = 2
_LINK_COLUMNS = ("target", "text", "rel", "kind")
_MARK_BYTES = 1 << 16
_NAME = re.compile(r"(documents|links)-([0-9]{8,}-[0-9]{8,}-[0-9]{8,})-[0-9]{3,}\.arrow")

_log = logging.getLogger(__name__)

Catalogue = TypeVar("Catalogue", bound=DocumentCatalogue | LinkCatalogue)


class _Table(NamedTuple, Generic[Catalogue]):
    layout: TableLayout
    catalogue: type[Catalogue]


_DOCUMENTS = _Table(DOCUMENTS, DocumentCatalogue)
_LINKS = _Table(LINKS, LinkCatalogue)


class _SegmentId(NamedTuple):
    """Distinguish segments of the same name: a crawl may begin anew, or be restored from an older copy."""

    name: str
    mark: str


class Stretch(NamedTuple):
    """Neighbouring row groups of a segment."""

    number: int
    groups: range
    rows_count: int


class CataloguedStretch(NamedTuple, Generic[Catalogue]):
    """A stretch of an open segment, with its catalogue."""

    file: OpenSegment
    layout: TableLayout
    stretch: Stretch
    catalogue: Catalogue

    def rows(
        self, numbers: Sequence[int], columns: Sequence[str] | None = None, repeating: Sequence[str] = ()
    ) -> list[dict[str, Any]]:
        """Return rows by their numbers in the stretch, in order. Reads only the row groups that hold them.

        `repeating` columns, which have few different texts, are read faster.
        """
        found: list[dict[str, Any]] = []
        with map_parquet_errors(self.file):
            segment = open_parquet(self.file, self.layout, repeating)
            first = 0
            for group in self.stretch.groups:
                end = first + segment.metadata.row_group(group).num_rows
                if own := [number - first for number in numbers if first <= number < end]:
                    found += segment.read_row_group(group, columns=columns).take(own).to_pylist()
                first = end
        return found


class FoundVisit(NamedTuple):
    """A visit, and where its row is."""

    stretch: CataloguedStretch[DocumentCatalogue]
    visit: VisitRow

    @property
    def is_stored(self) -> bool:
        """Return True if the archive has what the visit fetched."""
        return self.visit.archive_file is not None

    def document(self) -> dict[str, Any]:
        """Read the whole row."""
        return self.stretch.rows([self.visit.row])[0]


def newest_visits(stretches: Sequence[CataloguedStretch[DocumentCatalogue]], url: str) -> Iterator[FoundVisit]:
    """Yield the visits of a URL, newest first."""
    for stretch in reversed(stretches):
        for visit in stretch.catalogue.newest_visits(url):
            yield FoundVisit(stretch, visit)


def find_current(
    stretches: Sequence[CataloguedStretch[DocumentCatalogue]], url: str, at: float = math.inf
) -> FoundVisit | None:
    """Return the current row of a URL (see `versions`), as it was at a moment."""
    newest: FoundVisit | None = None
    for found in newest_visits(stretches, url):
        if found.visit.fetched_at <= at:
            newest = newest or found
            if not is_mere_visit(found.visit.outcome):
                return found
    return newest


def find_version(
    stretches: Sequence[CataloguedStretch[DocumentCatalogue]], url: str, at: float = math.inf
) -> FoundVisit | None:
    """Return the newest version of a URL until a moment, also if the page ended later."""
    found = (each for each in newest_visits(stretches, url) if each.visit.fetched_at <= at)
    return next((each for each in found if each.visit.outcome == VERSION), None)


def find_newest_links(
    stretches: Sequence[CataloguedStretch[LinkCatalogue]], url: str, at: float | None = None
) -> tuple[float, list[dict[str, Any]]]:
    """Return when a page was last seen to have links, and the links; 0 and none if it never was.

    With `at`, only the visit of that moment counts.
    """
    fetched_at, rows = 0.0, list[dict[str, Any]]()
    for stretch in reversed(stretches):
        visit = stretch.catalogue.last_visit(url) if at is None else stretch.catalogue.visit_at(url, at)
        if rows and (visit is None or visit.fetched_at != fetched_at):
            break
        if visit is not None:
            own = stretch.rows(range(visit.first, visit.end), _LINK_COLUMNS, repeating=("rel", "kind"))
            fetched_at, rows = visit.fetched_at, own + rows
            if visit.first > 0:
                # Only links at the beginning of a stretch may continue those of the stretch before.
                break
    return fetched_at, rows


class Finder:
    """Find rows of one agent. Safe to use from many threads."""

    def __init__(self, paths: CrawlPaths, few_rows: int = FEW_ROWS, stretch_rows: int = STRETCH_ROWS) -> None:
        self._agent = paths.agent
        self._few_rows = few_rows
        self._stretch_rows = stretch_rows
        self._folder = paths.catalogue
        self._folders = {DOCUMENTS.name: paths.documents, LINKS.name: paths.links}
        self._making = threading.Lock()
        # Both by segment. Filled on first use, emptied by update.
        self._stretches: dict[_SegmentId, list[Stretch]] = {}
        self._catalogues: dict[tuple[_SegmentId, int], Any] = {}

    @contextlib.contextmanager
    def documents(self, checkpoint: int) -> Iterator[list[CataloguedStretch[DocumentCatalogue]]]:
        """Open all documents up to a checkpoint, in the order of writing."""
        with self._open(_DOCUMENTS, checkpoint) as found:
            yield list(found)

    @contextlib.contextmanager
    def links(self, checkpoint: int) -> Iterator[list[CataloguedStretch[LinkCatalogue]]]:
        """Open all links up to a checkpoint, in the order of writing."""
        with self._open(_LINKS, checkpoint) as found:
            yield list(found)

    def update(self, checkpoint: int, is_stopped: Callable[[], bool]) -> None:
        """Make missing catalogues and remove obsolete ones."""
        with (
            self._open(_DOCUMENTS, checkpoint) as documents,
            self._open(_LINKS, checkpoint) as links,
        ):
            for _ in chain(documents, links):
                if is_stopped():
                    return
        self._drop()

    @contextlib.contextmanager
    def _open(self, table: _Table[Catalogue], checkpoint: int) -> Iterator[Iterator[CataloguedStretch[Catalogue]]]:
        with map_disk_errors(self._agent), open_live_segments(self._folders[table.layout.name], checkpoint) as files:
            yield (each for file in files for each in self._stretches_of(file, table))

    def _stretches_of(self, file: OpenSegment, table: _Table[Catalogue]) -> Iterator[CataloguedStretch[Catalogue]]:
        with map_parquet_errors(file):
            identity = _identity(file)
            stretches = self._stretches.get(identity)
            if stretches is None:
                metadata = open_parquet(file, table.layout).metadata
                stretches = self._stretches[identity] = _stretches(metadata, self._stretch_rows)
        for stretch in stretches:
            yield CataloguedStretch(file, table.layout, stretch, self._catalogue(file, identity, stretch, table))

    def _catalogue(
        self, file: OpenSegment, identity: _SegmentId, stretch: Stretch, table: _Table[Catalogue]
    ) -> Catalogue:
        found: Catalogue | None = self._catalogues.get((identity, stretch.number))
        if found is None:
            # Several threads may want the same one; only one makes it.
            with self._making:
                found = self._catalogues.get((identity, stretch.number)) or self._load(file, identity, stretch, table)
                self._catalogues[identity, stretch.number] = found
        return found

    def _load(self, file: OpenSegment, identity: _SegmentId, stretch: Stretch, table: _Table[Catalogue]) -> Catalogue:
        make = partial(_columns, file, stretch, table)
        if stretch.rows_count < self._few_rows:
            return table.catalogue(make())
        name = f"{table.layout.name}-{Path(file.name).stem}-{stretch.number:03d}.arrow"
        return table.catalogue(_load_or_make(self._folder / name, f"{identity.mark} {stretch.groups}", make))

    def _drop(self) -> None:
        """Remove the catalogues of segments that have been joined or removed."""
        gone = {identity for identity in list(self._stretches) if not Path(identity.name).exists()}
        for key in [key for key in list(self._catalogues) if key[0] in gone]:
            self._catalogues.pop(key, None)
        for identity in gone:
            self._stretches.pop(identity, None)
        if not self._folder.is_dir() or not _is_own(self._folder):
            return
        with contextlib.suppress(OSError), _lock(self._folder):
            remove_unfinished(self._folder)
            for path in self._folder.iterdir():
                match = _NAME.fullmatch(path.name)
                if match and not (self._folders[match[1]] / f"{match[2]}.parquet").exists():
                    path.unlink()


def _load_or_make(path: Path, mark: str, make: Callable[[], ArrowColumns]) -> ArrowColumns:
    """Return the columns of a file, which is made if it is missing."""
    found: ArrowColumns | None = map_columns(path, mark)
    if found is None and not _is_own(path.parent.parent):
        return make()
    if found is None:
        try:
            path.parent.mkdir(exist_ok=True)
            with _lock(path.parent):
                found = map_columns(path, mark) or _store(path, mark, make())
        except OSError as error:
            event(_log, "catalogue not stored", logging.WARNING, path=str(path), reason=error.strerror or str(error))
            found = make()
    return found


def _is_own(folder: Path) -> bool:
    """Return True if this user may store a catalogue. One of another user could not be replaced by the owner."""
    return os.access(folder, os.W_OK) and folder.stat().st_uid == os.geteuid()


def _store(path: Path, mark: str, columns: ArrowColumns) -> ArrowColumns:
    with atomic_file(path) as file:
        write_columns(file, columns, mark)
    # Memory-mapped, it does not count as memory of the process.
    return map_columns(path, mark) or columns


def _columns(file: OpenSegment, stretch: Stretch, table: _Table[Any]) -> ArrowColumns:
    with map_parquet_errors(file):
        segment = open_parquet(file, table.layout, table.catalogue.REPEATING)
        names = list(table.catalogue.COLUMNS)
        groups = (segment.read_row_group(number, columns=names) for number in stretch.groups)
        columns: ArrowColumns = table.catalogue.columns_of(groups)
    return columns


def _stretches(metadata: pq.FileMetaData, rows_limit: int) -> list[Stretch]:
    found: list[Stretch] = []
    first = rows_count = 0
    for group in range(metadata.num_row_groups):
        rows_count += metadata.row_group(group).num_rows
        if rows_count >= rows_limit or group == metadata.num_row_groups - 1:
            found.append(Stretch(len(found), range(first, group + 1), rows_count))
            first, rows_count = group + 1, 0
    return found


def _identity(file: OpenSegment) -> _SegmentId:
    """Identify a segment by its size and its end, which holds the positions and sizes of all columns."""
    size_bytes = file.data.size()
    end = file.data.read_at(min(size_bytes, _MARK_BYTES), max(0, size_bytes - _MARK_BYTES))
    return _SegmentId(file.name, f"{_FORMAT} {size_bytes} {xxhash.xxh3_64_hexdigest(end)}")


@contextlib.contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Let one process at a time in; the others wait. The end of a process releases the lock."""
    with (folder / "lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
