"""Read what is stored of a page beside its content: its head, its digest, and the record that has its body."""

import os
from pathlib import Path
from typing import NamedTuple

from tarrafa.disk import map_disk_errors
from tarrafa.keep.archive_files import Place, archive_files
from tarrafa.keep.archive_reader import StoredPage, content_of, page_at, page_in, response_in
from tarrafa.keep.warc import Original
from tarrafa.records import Headers

_USUAL_BYTES = 1 << 15  # of the records of a page
_BEGINNING_BYTES = 1 << 12
_NOWAIT: int = getattr(os, "RWF_NOWAIT", 0)  # only Linux has it


class StoredHead(NamedTuple):
    status: int
    headers: Headers
    at: float  # seconds since the Unix epoch, when the fetch began
    is_whole: bool  # the body was read to its end
    fields: Headers | None  # notes about the fetch; None if only the beginning of the record was read
    content: Original  # the record that has the body, which may be that of another page


class HeadReader:
    """Reads an archive while it grows. Safe to use from many threads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[int, Path] = {}  # replaced whole by read when the archive has a new file

    def read_cached(self, place: Place) -> StoredHead | None:
        """Return the head of the page at a place without waiting for the disk.

        None if the system does not have the page in memory, or if it is large or damaged: `read` tells.
        """
        stored = content = self._cached_page(place)
        if stored is not None and stored.original is not None and stored.original < place:
            content = self._cached_page(stored.original)
        if stored is None or content is None or content.original is not None or content.digest != stored.digest:
            return None
        return _head_of(stored, content)

    def read_beginning(self, place: Place) -> StoredHead | None:
        """Return the head of a response from the beginning of its record, in the same way; no checksum is compared.

        It is enough for a conditional request and costs half: the body is not inflated.
        """
        data = self._cached(place, _BEGINNING_BYTES)
        stored = None if data is None else response_in(data, place)
        return None if stored is None else _head_of(stored, stored)._replace(fields=None)

    def _cached_page(self, place: Place) -> StoredPage | None:
        data, path = self._cached(place, _USUAL_BYTES), self._files.get(place.file)
        return None if data is None or path is None else page_in(data, path, place)

    def _cached(self, place: Place, size_bytes: int) -> bytes | None:
        """Return what the system has in memory from a place on; None if it has nothing."""
        path = self._path(place)
        if path is None or not _NOWAIT:
            return None
        data = bytearray(size_bytes)
        with map_disk_errors(self._folder):
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                count = os.preadv(descriptor, [data], place.offset, _NOWAIT)
            except (BlockingIOError, OSError):  # some file systems cannot tell
                return None
            finally:
                os.close(descriptor)
        return bytes(data[:count])

    def _path(self, place: Place) -> Path | None:
        if place.file not in self._files:
            self._files = archive_files(self._folder)
        return self._files.get(place.file)

    def read(self, place: Place) -> StoredHead:
        """Return the head of the page at a place. An archive that is damaged there raises `DamagedError`."""
        with map_disk_errors(self._folder):
            self._path(place)
            stored = page_at(self._files, place)
            content = content_of(self._files, stored)
        return _head_of(stored, content)


def _head_of(stored: StoredPage, content: StoredPage) -> StoredHead:
    page = stored.page
    return StoredHead(
        page.status,
        page.headers,
        page.at,
        not (page.truncated or page.unread),
        stored.fields,
        Original(content.place, content.page.url, content.page.at, content.digest),
    )
