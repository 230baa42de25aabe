"""The archive: append pages in the order in which they come.

1. Pages appended before `sync` returns are durable: neither a kill nor a loss of power removes them.
2. Pages appended before `flush` returns survive the process, though not a loss of power.
3. Opened again with a place that `sync` returned, the archive ends after the last complete page that follows it, or
   at that place if there is none. An owner that was killed reads from there what it had appended since.
4. The files are valid WARC up to each place that `sync` returned.

After an error the archive must be opened anew: a disk that refused a write once may silently drop the next one.

A body that was stored recently is not stored twice: the page becomes a revisit that refers to the first one. Recent
bodies are kept in an LRU cache by digest, which is empty after each start. Two bodies with one SHA-1 can be made on
purpose; that only lets a site replace one of its own two pages by the other.
"""

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tarrafa import __version__
from tarrafa.clock import Clock
from tarrafa.disk import make_folder, map_disk_errors, sync_folder
from tarrafa.errors import WorkError
from tarrafa.keep.archive_files import Place, archive_files, check_end, file_name
from tarrafa.keep.archive_reader import end_of_pages
from tarrafa.keep.warc import NOT_MODIFIED, Entropy, Original, digest_of, pack_info, pack_page
from tarrafa.lru import LruCache
from tarrafa.records import Headers, Page

_BUFFER_BYTES = 1 << 20
# Below that, a revisit saves too little for the second lookup that reading it costs.
_DEDUP_LEAST_BYTES = 1_000


class StoredAt(NamedTuple):
    """Where a page was stored, and the digest of its body."""

    place: Place
    digest: str


class PackedPage(NamedTuple):
    """The compressed records of a page, and the digest of its body."""

    digest: str
    members: bytes


@dataclass(frozen=True, slots=True)
class ArchiveSettings:
    agent: str = "00"  # part of the files' names
    info: Headers = ()  # written at the start of each file: operator, user agent and so on
    file_limit_bytes: int = 1_000_000_000  # of a file, unless a single page is larger
    dedup_limit: int = 20_000  # recent bodies that are not stored twice
    entropy: Entropy = os.urandom


_DEFAULT_SETTINGS = ArchiveSettings()


class Archive:
    """Made by `open_archive`. Used by one thread at a time; a page can be read back once `sync` has returned."""

    def __init__(self, folder: Path, end: Place, clock: Clock, settings: ArchiveSettings) -> None:
        self._folder = folder
        self._clock = clock
        self._settings = settings
        self._number, self._written_bytes = end
        # By digest. Filled by append.
        self._originals: LruCache[str, Original] = LruCache(settings.dedup_limit)
        self._path = archive_files(folder).get(end.file)  # None until the file begins
        self._descriptor: int | None = None
        # Filled by append, emptied by flush.
        self._buffer: list[bytes] = []
        self._buffer_bytes = 0
        self._is_broken = False

    @property
    def end(self) -> Place:
        """The place of the next record."""
        return Place(self._number, self._written_bytes + self._buffer_bytes)

    def append(
        self,
        page: Page,
        asked: Headers = (),
        fields: Headers = (),
        original: Original | None = None,
        packed: PackedPage | None = None,
    ) -> StoredAt:
        """Append a page; `asked` are the request headers, `fields` further notes about the fetch.

        The page becomes a revisit without a body if its body was stored recently, or if it is a 304 or has the digest
        of `original`. `packed` is what `pack` returned for the same page.
        """
        digest = digest_of(page.body) if packed is None else packed.digest
        if original is None or not (page.status == NOT_MODIFIED or digest == original.digest):
            original = self._originals.get(digest) if _is_complete(page) else None
        if packed is None or original is not None:
            packed = PackedPage(digest, pack_page(page, digest, asked, fields, original, self._settings.entropy))
        place = self._store(packed.members)
        if original is None and _is_complete(page) and len(page.body) >= _DEDUP_LEAST_BYTES:
            self._originals.put(digest, Original(place, page.url, page.at, digest))
        return StoredAt(place, digest if original is None else original.digest)

    def pack(self, page: Page, asked: Headers = (), fields: Headers = ()) -> PackedPage:
        """Do the slow part of appending a large page. Any thread may call it."""
        digest = digest_of(page.body)
        return PackedPage(digest, pack_page(page, digest, asked, fields, None, self._settings.entropy))

    def flush(self) -> None:
        """Hand everything appended to the operating system."""
        if not self._buffer:
            return
        with self._broken_by_errors():
            if self._descriptor is None:
                self._descriptor = self._open_file()
            data = memoryview(b"".join(self._buffer))
            while data:
                count = os.pwrite(self._descriptor, data, self._written_bytes)
                self._written_bytes += count
                data = data[count:]
        self._buffer.clear()
        self._buffer_bytes = 0

    def sync(self) -> Place:
        """Make everything appended durable; return its end."""
        place, make_durable = self.begin_sync()
        make_durable()
        return place

    def begin_sync(self) -> tuple[Place, Callable[[], None]]:
        """Return the end of what was appended and a function that makes it durable; any thread may call that, once."""
        self.flush()
        descriptor = None if self._descriptor is None else os.dup(self._descriptor)

        def make_durable() -> None:
            if descriptor is not None:
                try:
                    with self._broken_by_errors():
                        os.fsync(descriptor)
                finally:
                    os.close(descriptor)

        return self.end, make_durable

    def close(self) -> None:
        """Close the file; what was not synced is dropped."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _store(self, members: bytes) -> Place:
        if self._path is None or self.end.offset + len(members) > self._settings.file_limit_bytes:
            self._begin_file()
        place = self.end
        self._add_to_buffer(members)
        if self._buffer_bytes >= _BUFFER_BYTES:
            self.flush()
        return place

    def _begin_file(self) -> None:
        if self._path is not None:
            self._end_file()
        now = self._clock.now()
        name = file_name(self._settings.agent, now, self._number)
        info = (("software", f"Tarrafa/{__version__}"), *self._settings.info)
        self._add_to_buffer(pack_info(name, now, info, self._settings.entropy))
        self._path = self._folder / name

    def _end_file(self) -> None:
        self.sync()
        self.close()
        self._number, self._written_bytes, self._path = self._number + 1, 0, None

    def _add_to_buffer(self, members: bytes) -> None:
        self._buffer.append(members)
        self._buffer_bytes += len(members)

    def _open_file(self) -> int:
        assert self._path is not None
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
        sync_folder(self._folder)
        return descriptor

    @contextlib.contextmanager
    def _broken_by_errors(self) -> Iterator[None]:
        """Refuse to write after the first error."""
        if self._is_broken:
            raise WorkError(f"{self._folder}: an earlier write failed; start again from what was saved before it")
        try:
            with map_disk_errors(self._folder):
                yield
        except BaseException:
            self._is_broken = True
            raise


def _is_complete(page: Page) -> bool:
    """Return True if the body may stand for equal bodies: it was not cut, and is not that of a 304."""
    return not (page.truncated or page.unread or page.status == NOT_MODIFIED)


def open_archive(folder: Path, durable: Place, clock: Clock, settings: ArchiveSettings = _DEFAULT_SETTINGS) -> Archive:
    """Open or create an archive. `durable` is the caller's last saved place; an incomplete page after it is removed."""
    with map_disk_errors(folder):
        make_folder(folder)
        files = archive_files(folder)
        check_end(folder, files, durable)
        end = _end_of_complete(files, durable)
        _cut(files, end)
        sync_folder(folder)
    return Archive(folder, end, clock, settings)


def _end_of_complete(files: dict[int, Path], durable: Place) -> Place:
    """Return where the complete pages end. A file counts only if the one before it is complete."""
    end = durable
    while end.file in files:
        path = files[end.file]
        end = Place(end.file, end_of_pages(path, end.offset))
        if end.offset < path.stat().st_size or end.file + 1 not in files:
            break
        end = Place(end.file + 1, 0)
    return end


def _cut(files: dict[int, Path], end: Place) -> None:
    for number, path in files.items():
        if number > end.file or (number == end.file and end.offset == 0):
            path.unlink()
        elif number == end.file:
            with path.open("rb+") as file:
                file.truncate(end.offset)
                os.fsync(file.fileno())
