"""The archive: pages go in, in the order in which they come, and stay.

1. What `sync` has returned for is durable: no kill and no loss of power takes it away.
2. What `flush` has returned for outlives the process, though not a loss of power.
3. Opened again with a place that `sync` has returned, the archive ends with the last page after it that is whole, or
   there if none is. So an owner that was killed reads from that place on what it had kept since.
4. The files are valid WARC up to each place that `sync` has returned.

After an error the archive must be opened anew: what a disk has refused once it may silently drop the second time.
"""

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tarrafa import __version__
from tarrafa.clock import Clock
from tarrafa.disk import map_disk_errors, sync_folder
from tarrafa.errors import WorkError
from tarrafa.keep.contents import CONTENTS_LIMIT, Contents
from tarrafa.keep.places import Place, archive_files, check_end, file_name
from tarrafa.keep.read import end_of_pages
from tarrafa.keep.warc import NOT_MODIFIED, Entropy, Original, digest_of, pack_info, pack_page, record_ids
from tarrafa.records import Headers, Page

_BUFFER_BYTES = 1 << 20


class Kept(NamedTuple):
    """Where a page stands, and the digest of its body, by which the same content is known again."""

    place: Place
    digest: str


class Packed(NamedTuple):
    """A page as it stands in a file, with its body."""

    digest: str
    members: bytes


@dataclass(frozen=True, slots=True)
class Habits:
    """How an archive is written."""

    agent: str = "00"  # part of the files' names
    info: Headers = ()  # told at the start of each file: who crawls, and how
    file_limit_bytes: int = 1_000_000_000  # of a file, unless a single page is larger
    contents_limit: int = CONTENTS_LIMIT  # that are remembered, so that they are not kept twice
    entropy: Entropy = os.urandom


class Archive:
    """Comes from `open_archive`. Used by one thread at a time; a page can be read back once `sync` has returned."""

    def __init__(self, folder: Path, end: Place, clock: Clock, habits: Habits) -> None:
        self._folder = folder
        self._clock = clock
        self._habits = habits
        # Of this object alone: what is drawn in advance is never given out by another archive, or after a restart.
        self._ids = record_ids(habits.entropy)
        self._number, self._written_bytes = end
        self._contents = Contents(habits.contents_limit)
        self._path = archive_files(folder).get(end.file)  # None until the file begins
        self._descriptor: int | None = None
        # Filled by append, emptied by _write.
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._is_broken = False

    @property
    def end(self) -> Place:
        """Where the next record will stand."""
        return Place(self._number, self._written_bytes + self._waiting_bytes)

    def append(
        self,
        page: Page,
        asked: Headers = (),
        fields: Headers = (),
        original: Original | None = None,
        packed: Packed | None = None,
    ) -> Kept:
        """`asked` are the headers that were sent, `fields` whatever else is to be noted of the fetch.

        A page whose body was kept lately is kept without it, as a note that refers to the page that has it. So is, with
        an `original`, one that its host calls not modified, or whose body has the original's digest. `packed` is what
        `pack` has made of the same.
        """
        digest = digest_of(page.body) if packed is None else packed.digest
        if original is None or not (page.status == NOT_MODIFIED or digest == original.digest):
            original = self._contents.find(page, digest)
        if packed is None or original is not None:
            packed = Packed(digest, pack_page(page, digest, asked, fields, original, self._ids))
        place = self._place(packed.members)
        if original is None:
            self._contents.add(page, digest, place)
        return Kept(place, digest)

    def pack(self, page: Page, asked: Headers = (), fields: Headers = ()) -> Packed:
        """What takes long of appending a large page. Any thread may do it, at any time before."""
        digest = digest_of(page.body)
        return Packed(digest, pack_page(page, digest, asked, fields, None, record_ids(self._habits.entropy)))

    def _place(self, members: bytes) -> Place:
        """Where a page stands from now on."""
        place = self.end
        if self._path is None or place.offset + len(members) > self._habits.file_limit_bytes:
            self._begin_file()
            place = self.end
        self._take(members)
        if self._waiting_bytes >= _BUFFER_BYTES:
            self._write()
        return place

    def flush(self) -> None:
        """Give all that was appended to the system."""
        self._write()

    def sync(self) -> Place:
        """Make durable all that was appended; where that ends."""
        place, make_durable = self.begin_sync()
        make_durable()
        return place

    def begin_sync(self) -> tuple[Place, Callable[[], None]]:
        """Where all that was appended ends, and what makes it durable; any thread may call that, once."""
        self._write()
        descriptor = None if self._descriptor is None else os.dup(self._descriptor)

        def make_durable() -> None:
            if descriptor is not None:
                try:
                    with self._breakable():
                        os.fsync(descriptor)
                finally:
                    os.close(descriptor)

        return self.end, make_durable

    def close(self) -> None:
        """What was not synced is dropped."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _begin_file(self) -> None:
        if self._path is not None:
            self._end_file()
        now = self._clock.now()
        name = file_name(self._habits.agent, now, self._number)
        info = (("software", f"Tarrafa/{__version__}"), *self._habits.info)
        self._take(pack_info(name, now, info, self._ids))
        self._path = self._folder / name

    def _end_file(self) -> None:
        self.sync()
        self.close()
        self._number, self._written_bytes, self._path = self._number + 1, 0, None

    def _take(self, members: bytes) -> None:
        self._waiting.append(members)
        self._waiting_bytes += len(members)

    def _write(self) -> None:
        if not self._waiting:
            return
        with self._breakable():
            if self._descriptor is None:
                self._descriptor = self._open()
            data = memoryview(b"".join(self._waiting))
            while data:
                count = os.pwrite(self._descriptor, data, self._written_bytes)
                self._written_bytes += count
                data = data[count:]
        self._waiting.clear()
        self._waiting_bytes = 0

    def _open(self) -> int:
        assert self._path is not None
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
        sync_folder(self._folder)
        return descriptor

    @contextlib.contextmanager
    def _breakable(self) -> Iterator[None]:
        if self._is_broken:
            raise WorkError(f"{self._folder}: an earlier write failed; start again from what was saved before it")
        try:
            with map_disk_errors(self._folder):
                yield
        except BaseException:
            self._is_broken = True
            raise


def open_archive(folder: Path, durable: Place, clock: Clock, habits: Habits | None = None) -> Archive:
    """Begin, or go on. `durable` is the caller's last saved place; what is not whole after it is removed."""
    with map_disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        files = archive_files(folder)
        check_end(folder, files, durable)
        end = _last_whole(files, durable)
        _cut(files, end)
        sync_folder(folder)
    return Archive(folder, end, clock, habits or Habits())


def _last_whole(files: dict[int, Path], durable: Place) -> Place:
    """Files follow each other, so what comes after one that is not whole is not the next page."""
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
