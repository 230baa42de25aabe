"""Read what is stored of a page beside its content: its head, its digest, and the record that has its body."""

import os
from pathlib import Path
from typing import NamedTuple

from tarrafa.disk import map_disk_errors
from tarrafa.keep.archive_files import Place, archive_files
from tarrafa.keep.archive_reader import content_of, page_at
from tarrafa.keep.warc import Original
from tarrafa.records import Headers

_USUAL_BYTES = 1 << 15  # of the records of a page
_NOWAIT: int = getattr(os, "RWF_NOWAIT", 0)  # only Linux has it


class StoredHead(NamedTuple):
    status: int
    headers: Headers
    at: float  # seconds since the Unix epoch, when the fetch began
    is_whole: bool  # the body was read to its end
    fields: Headers  # notes about the fetch
    content: Original  # the record that has the body, which may be that of another page


class HeadReader:
    """Reads an archive while it grows. Safe to use from many threads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[int, Path] = {}  # replaced whole by read when the archive has a new file

    def is_cached(self, place: Place) -> bool:
        """Return True if `read` will not wait for the disk, because the system has the page in memory."""
        path = self._path(place)
        if path is None or not _NOWAIT:
            return False
        with map_disk_errors(self._folder), path.open("rb", buffering=0) as file:
            try:
                return os.preadv(file.fileno(), [bytearray(_USUAL_BYTES)], place.offset, _NOWAIT) > 0
            except (BlockingIOError, OSError):  # some file systems cannot tell
                return False

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
        page = stored.page
        return StoredHead(
            page.status,
            page.headers,
            page.at,
            not (page.truncated or page.unread),
            stored.fields,
            Original(content.place, content.page.url, content.page.at, content.digest),
        )
