"""Reading an archive back: one page by its place, or all of them in order.

Every record carries a checksum, so what was changed on the disk is noticed and named, and never taken for a page.
"""

import math
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from tarrafa.disk import map_disk_errors
from tarrafa.errors import DamagedError
from tarrafa.keep.members import Member, MemberError, members
from tarrafa.keep.places import BEGINNING, Place, archive_files, check_end
from tarrafa.keep.warc import NOT_MODIFIED, ORIGINAL_FILE, ORIGINAL_OFFSET, RECORD_END, restored
from tarrafa.records import Headers, Page, Timings, header

_ANSWERS = ("response", "revisit")
# A page is three records; a reader looks no further than that.
_PAGE_RECORDS = 3


class Record(NamedTuple):
    place: Place
    length: int  # in the file
    fields: Headers
    block: bytes

    @property
    def kind(self) -> str:
        return header(self.fields, "WARC-Type") or ""


class StoredPage(NamedTuple):
    """A page as it was kept. A revisit of equal content has its body, one of a 304 has none but knows its original."""

    place: Place
    length: int  # of the answer's record in the file
    page: Page
    status_line: str
    digest: str  # of the body; of a 304, of the original's
    request_line: str = ""
    request_headers: Headers = ()
    fields: Headers = ()  # what was noted of the fetch
    original: Place | None = None  # where the content stands, if this is a revisit


def read_page(folder: Path, place: Place) -> StoredPage:
    """The page whose answer stands at that place of the archive in `folder`."""
    with map_disk_errors(folder):
        files = archive_files(folder)
        return _with_body(files, _page_at(files, place))


def pages(folder: Path, end: Place | None = None, start: Place = BEGINNING) -> Iterator[StoredPage]:
    """Every page from `start` up to `end`, in the order in which they were kept; revisits without their bodies."""
    for group in _groups(folder, start, end):
        yield _stored(group)


def whole_pages(folder: Path, end: Place | None = None, start: Place = BEGINNING) -> Iterator[StoredPage]:
    """The same, and revisits of equal content with the bodies of their originals, which may stand before `start`."""
    with map_disk_errors(folder):
        files = archive_files(folder)
        for stored in pages(folder, end, start):
            yield _with_body(files, stored)


def records(folder: Path, end: Place | None = None, start: Place = BEGINNING) -> Iterator[Record]:
    """Every record from `start` up to `end`, which is where the files end if it is not given."""
    with map_disk_errors(folder):
        files = archive_files(folder)
        if end is not None:
            check_end(folder, files, end)
        for number, path in files.items():
            if number >= start.file:
                offset = start.offset if number == start.file else 0
                yield from _records_of(path, number, offset, _end_in(number, end))


def end_of_pages(path: Path, start: int = 0) -> int:
    """Where the last whole page of a file ends; what follows is no record, or a page that lacks some of its own."""
    end = start
    with suppress(DamagedError):
        for record in _records_of(path, 0, start):
            if record.kind in ("warcinfo", "metadata"):
                end = record.place.offset + record.length
    return end


def _groups(folder: Path, start: Place, end: Place | None) -> Iterator[list[Record]]:
    """The records of each page."""
    group: list[Record] = []
    for record in records(folder, end, start):
        if group and record.kind in (*_ANSWERS, "warcinfo"):
            yield group
            group = []
        if record.kind != "warcinfo":
            group.append(record)
    if group:
        yield group


def _end_in(number: int, end: Place | None) -> float:
    """Where reading a file ends."""
    if end is None or number < end.file:
        return math.inf
    return end.offset if number == end.file else 0


def _records_of(path: Path, number: int, offset: int = 0, end: float = math.inf) -> Iterator[Record]:
    with path.open("rb") as file:
        try:
            for member in members(file, offset, end):
                offset = member.offset + member.length
                yield _parse(member, number, path)
        except MemberError as error:
            raise _damaged(path, offset, str(error)) from None


def _parse(member: Member, number: int, path: Path) -> Record:
    head, blank, rest = member.data.partition(b"\r\n\r\n")
    version, fields = _lines(head.decode("utf-8", "replace"))
    size = header(fields, "Content-Length") or ""
    if not (version.startswith("WARC/") and blank and size.isdecimal()):
        raise _damaged(path, member.offset, "no WARC record begins there")
    block = rest[: int(size)]
    if rest[len(block) :] != RECORD_END or len(block) != int(size):
        raise _damaged(path, member.offset, "the record is not as long as it says")
    return Record(Place(number, member.offset), member.length, fields, block)


def _page_at(files: dict[int, Path], place: Place) -> StoredPage:
    path = files.get(place.file)
    if path is None:
        raise DamagedError(f"file number {place.file} of the archive is missing; restore it from a copy")
    group: list[Record] = []
    for record in _records_of(path, place.file, place.offset):
        if group and record.kind in (*_ANSWERS, "warcinfo"):
            break
        group.append(record)
        if len(group) == _PAGE_RECORDS:
            break
    if not group or group[0].kind not in _ANSWERS:
        raise _damaged(path, place.offset, "no page stands there")
    return _stored(group)


def _with_body(files: dict[int, Path], stored: StoredPage) -> StoredPage:
    if stored.original is None or stored.page.status == NOT_MODIFIED:
        return stored
    return stored._replace(page=stored.page._replace(body=_body_of(files, stored)))


def _body_of(files: dict[int, Path], revisit: StoredPage) -> bytes:
    """The body of the original, which is older, so the way back ends."""
    stored = revisit
    while stored.original is not None:
        if stored.original >= stored.place:
            raise _damaged(files[stored.place.file], stored.place.offset, "the record refers to a later one")
        stored = _page_at(files, stored.original)
    if stored.digest != revisit.digest:
        raise _damaged(files[revisit.place.file], revisit.place.offset, "the record refers to other content")
    return stored.page.body


def _stored(group: list[Record]) -> StoredPage:
    answer = group[0]
    request = next((record.block for record in group if record.kind == "request"), b"")
    noted = next((record.block for record in group if record.kind == "metadata"), b"")
    head, _, body = answer.block.partition(b"\r\n\r\n")
    status_line, headers = _lines(head.decode("latin-1"))
    request_line, request_headers = _lines(request.partition(b"\r\n\r\n")[0].decode("latin-1"))
    fields = _lines("\r\n" + noted.decode("utf-8", "replace"))[1]
    return StoredPage(
        place=answer.place,
        length=answer.length,
        page=_page(answer, status_line, headers, body, fields),
        status_line=status_line,
        digest=header(answer.fields, "WARC-Payload-Digest") or "",
        request_line=request_line,
        request_headers=request_headers,
        fields=fields,
        original=_original(fields) if answer.kind == "revisit" else None,
    )


def _page(answer: Record, status_line: str, headers: Headers, body: bytes, fields: Headers) -> Page:
    version, status, *reason = status_line.split(" ", 2)
    later_version = header(fields, "http-version")
    unread = header(fields, "unread") is not None
    return Page(
        url=header(answer.fields, "WARC-Target-URI") or "",
        status=int(status),
        headers=tuple((restored(name), value) for name, value in headers),
        body=body,
        at=datetime.fromisoformat(header(answer.fields, "WARC-Date") or "").timestamp(),
        timings=_timings(fields),
        truncated=not unread and header(answer.fields, "WARC-Truncated") is not None,
        address=header(answer.fields, "WARC-IP-Address") or "",
        unread=unread,
        http_version=later_version or version.removeprefix("HTTP/"),
        reason="" if later_version else "".join(reason),
        tls=header(fields, "tls") or "",
    )


def _timings(fields: Headers) -> Timings:
    def seconds(name: str) -> float:
        return float(header(fields, f"{name}-seconds") or 0)

    return Timings(seconds("name"), seconds("connect"), seconds("tls"), seconds("first-byte"), seconds("total"))


def _original(fields: Headers) -> Place | None:
    file, offset = header(fields, ORIGINAL_FILE), header(fields, ORIGINAL_OFFSET)
    return Place(int(file), int(offset)) if file and offset else None


def _lines(text: str) -> tuple[str, Headers]:
    """The first line, and the named values after it."""
    first, *lines = text.split("\r\n")
    parts = (line.partition(":") for line in lines if line)
    return first, tuple((name, value.removeprefix(" ")) for name, _, value in parts)


def _damaged(path: Path, offset: int, why: str) -> DamagedError:
    return DamagedError(f"{path} is damaged at offset {offset:,}: {why}; restore it from a copy")
