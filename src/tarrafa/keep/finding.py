"""Rows by URL: a catalogue beside each segment, made when it is first needed.

    agents/00/catalogue/
    ├── links-00000000-00000049-00000050-000.arrow      of the first stretch of that segment of links
    └── lock                                            held by who makes one

1. An answer is what reading all rows would give, whatever is missing, damaged or of another crawl here.
2. A catalogue is whole or not there; one process at a time makes it, and the others wait for it.
3. Everything here may be removed at any time. What belongs to no segment any more is removed by `keep_up`.

A segment with few rows has its catalogue in memory only. So have all where the folder cannot be written to.
"""

import contextlib
import fcntl
import logging
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import pyarrow.parquet as pq
import xxhash

from tarrafa.disk import atomic_file, map_disk_errors, remove_unfinished
from tarrafa.keep.catalogue import Columns, DocumentCatalogue, LinkCatalogue, Urls
from tarrafa.keep.documents import DOCUMENTS
from tarrafa.keep.links import LINKS
from tarrafa.keep.mapped import map_columns, write_columns
from tarrafa.keep.segments import Layout, OpenSegment, checked, live_files, readable
from tarrafa.layout import CrawlPaths
from tarrafa.logs import event

FEW_ROWS = 20_000  # of a segment, that have no file
STRETCH_ROWS = 2_000_000  # bounds the memory in which a catalogue is made, and the time
_FORMAT = 1
_LINK_COLUMNS = ("target", "text", "rel", "kind")
_MARK_BYTES = 1 << 16
_NAME = re.compile(r"(documents|links)-([0-9]{8,}-[0-9]{8,}-[0-9]{8,})-[0-9]{3,}\.arrow")

_log = logging.getLogger(__name__)

Catalogue = TypeVar("Catalogue", bound=DocumentCatalogue | LinkCatalogue)


class _Kind(NamedTuple, Generic[Catalogue]):
    layout: Layout
    catalogue: type[Catalogue]


_DOCUMENTS = _Kind(DOCUMENTS, DocumentCatalogue)
_LINKS = _Kind(LINKS, LinkCatalogue)


class _Identity(NamedTuple):
    """Tells a segment from another of the same name: an older copy may have been restored, or a crawl begun anew."""

    name: str
    mark: str


class Stretch(NamedTuple):
    """Neighbouring row groups of a segment."""

    number: int
    groups: range
    rows_count: int


class Catalogued(NamedTuple, Generic[Catalogue]):
    """A stretch of an open segment, with its catalogue."""

    file: OpenSegment
    layout: Layout
    stretch: Stretch
    catalogue: Catalogue

    def rows(
        self, numbers: Sequence[int], columns: Sequence[str] | None = None, repeating: Sequence[str] = ()
    ) -> list[dict[str, Any]]:
        """Rows by their numbers in the stretch, in order. Reads the row groups in which they stand.

        Columns whose texts are few are read faster as `repeating` ones.
        """
        found: list[dict[str, Any]] = []
        with readable(self.file):
            segment = checked(self.file, self.layout, repeating)
            first = 0
            for group in self.stretch.groups:
                end = first + segment.metadata.row_group(group).num_rows
                if own := [number - first for number in numbers if first <= number < end]:
                    found += segment.read_row_group(group, columns=columns).take(own).to_pylist()
                first = end
        return found


def newest_document(stretches: Iterable[Catalogued[DocumentCatalogue]], url: str) -> dict[str, Any] | None:
    """The whole row of the last visit of a URL."""
    wanted = Urls.made([url])
    found = [(stretch, visit.row) for stretch in stretches for visit in stretch.catalogue.of(wanted)]
    return found[-1][0].rows([found[-1][1]])[0] if found else None


def newest_links(stretches: Sequence[Catalogued[LinkCatalogue]], url: str) -> tuple[float, list[dict[str, Any]]]:
    """When a page was last seen to have links, and these; 0 and none if it never was."""
    fetched_at, rows = 0.0, list[dict[str, Any]]()
    for stretch in reversed(stretches):
        visit = stretch.catalogue.last_visit(url)
        if rows and (visit is None or visit.fetched_at != fetched_at):
            break
        if visit is not None:
            own = stretch.rows(range(visit.first, visit.end), _LINK_COLUMNS, repeating=("rel", "kind"))
            fetched_at, rows = visit.fetched_at, own + rows
            if visit.first > 0:
                # Only the links at the beginning of a stretch may go on from the one before.
                break
    return fetched_at, rows


class Finder:
    """Finds rows of one agent. Used by any number of threads."""

    def __init__(self, paths: CrawlPaths, few_rows: int = FEW_ROWS, stretch_rows: int = STRETCH_ROWS) -> None:
        self._agent = paths.agent
        self._few_rows = few_rows
        self._stretch_rows = stretch_rows
        self._folder = paths.catalogue
        self._folders = {DOCUMENTS.name: paths.documents, LINKS.name: paths.links}
        self._making = threading.Lock()
        # Both by segment, and filled when it is first looked at; emptied by keep_up of what has gone.
        self._stretches: dict[_Identity, list[Stretch]] = {}
        self._catalogues: dict[tuple[_Identity, int], Any] = {}

    @contextlib.contextmanager
    def documents(self, checkpoint: int) -> Iterator[list[Catalogued[DocumentCatalogue]]]:
        """All documents up to a checkpoint, in the order of writing."""
        with self._catalogued(_DOCUMENTS, checkpoint) as found:
            yield list(found)

    @contextlib.contextmanager
    def links(self, checkpoint: int) -> Iterator[list[Catalogued[LinkCatalogue]]]:
        """All links up to a checkpoint, in the order of writing."""
        with self._catalogued(_LINKS, checkpoint) as found:
            yield list(found)

    def keep_up(self, checkpoint: int, is_stopped: Callable[[], bool]) -> None:
        """Make what is missing, and remove what is of no use any more."""
        with (
            self._catalogued(_DOCUMENTS, checkpoint) as documents,
            self._catalogued(_LINKS, checkpoint) as links,
        ):
            for _ in chain(documents, links):
                if is_stopped():
                    return
        self._drop()

    @contextlib.contextmanager
    def _catalogued(self, kind: _Kind[Catalogue], checkpoint: int) -> Iterator[Iterator[Catalogued[Catalogue]]]:
        with map_disk_errors(self._agent), live_files(self._folders[kind.layout.name], checkpoint) as files:
            yield (each for file in files for each in self._opened(file, kind))

    def _opened(self, file: OpenSegment, kind: _Kind[Catalogue]) -> Iterator[Catalogued[Catalogue]]:
        with readable(file):
            identity = _identity(file)
            stretches = self._stretches.get(identity)
            if stretches is None:
                metadata = checked(file, kind.layout).metadata
                stretches = self._stretches[identity] = _stretches(metadata, self._stretch_rows)
        for stretch in stretches:
            yield Catalogued(file, kind.layout, stretch, self._catalogue(file, identity, stretch, kind))

    def _catalogue(self, file: OpenSegment, identity: _Identity, stretch: Stretch, kind: _Kind[Catalogue]) -> Catalogue:
        found: Catalogue | None = self._catalogues.get((identity, stretch.number))
        if found is None:
            # Many may ask for the same at once, and making it is work for all cores.
            with self._making:
                found = self._catalogues.get((identity, stretch.number)) or self._made(file, identity, stretch, kind)
                self._catalogues[identity, stretch.number] = found
        return found

    def _made(self, file: OpenSegment, identity: _Identity, stretch: Stretch, kind: _Kind[Catalogue]) -> Catalogue:
        make = partial(_columns, file, stretch, kind)
        if stretch.rows_count < self._few_rows:
            return kind.catalogue(make())
        name = f"{kind.layout.name}-{Path(file.name).stem}-{stretch.number:03d}.arrow"
        return kind.catalogue(_kept(self._folder / name, f"{identity.mark} {stretch.groups}", make))

    def _drop(self) -> None:
        """Forget the catalogues of segments that have been joined or removed."""
        gone = {identity for identity in list(self._stretches) if not Path(identity.name).exists()}
        for key in [key for key in list(self._catalogues) if key[0] in gone]:
            self._catalogues.pop(key, None)
        for identity in gone:
            self._stretches.pop(identity, None)
        if not self._folder.is_dir():
            return
        with contextlib.suppress(OSError), _alone(self._folder):
            remove_unfinished(self._folder)
            for path in self._folder.iterdir():
                match = _NAME.fullmatch(path.name)
                if match and not (self._folders[match[1]] / f"{match[2]}.parquet").exists():
                    path.unlink()


def _kept(path: Path, mark: str, make: Callable[[], Columns]) -> Columns:
    """From the file, which is made where it is missing."""
    found: Columns | None = map_columns(path, mark)
    if found is None:
        try:
            path.parent.mkdir(exist_ok=True)
            with _alone(path.parent):
                found = map_columns(path, mark) or _stored(path, mark, make())
        except OSError as error:
            event(_log, "catalogue not kept", logging.WARNING, path=str(path), reason=error.strerror or str(error))
            found = make()
    return found


def _stored(path: Path, mark: str, columns: Columns) -> Columns:
    with atomic_file(path) as file:
        write_columns(file, columns, mark)
    # Mapped, it takes no memory that is missing elsewhere.
    return map_columns(path, mark) or columns


def _columns(file: OpenSegment, stretch: Stretch, kind: _Kind[Any]) -> Columns:
    with readable(file):
        segment = checked(file, kind.layout, kind.catalogue.REPEATING)
        names = list(kind.catalogue.COLUMNS)
        groups = (segment.read_row_group(number, columns=names) for number in stretch.groups)
        columns: Columns = kind.catalogue.columns_of(groups)
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


def _identity(file: OpenSegment) -> _Identity:
    """The end of a segment says where in it everything stands."""
    size_bytes = file.data.size()
    end = file.data.read_at(min(size_bytes, _MARK_BYTES), max(0, size_bytes - _MARK_BYTES))
    return _Identity(file.name, f"{_FORMAT} {size_bytes} {xxhash.xxh3_64_hexdigest(end)}")


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One process at a time; the others wait. A process that ends lets go."""
    with (folder / "lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
