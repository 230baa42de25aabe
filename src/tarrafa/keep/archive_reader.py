"""Read an archive: one page by its place, or all pages in order.

Every record has a checksum, so bytes that changed on the disk are reported and never taken for a page.
"""

import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from tarrafa.disk import map_disk_errors
from tarrafa.errors import DamagedError
from tarrafa.keep.archive_files import BEGINNING, Place, archive_files, check_end, removed_files
from tarrafa.keep.gzip_members import GzipMember, MemberError, read_beginning, read_members
from tarrafa.keep.warc import NOT_MODIFIED, ORIGINAL_FILE, ORIGINAL_OFFSET, RECORD_END, STEPS, restored_name
from tarrafa.records import Headers, Page, Timings

_ANSWERS = ("response", "revisit")
# Answer, request, metadata.
_PAGE_RECORDS = 3
_BLANK_LINE = b"\r\n\r\n"
_HEAD_BYTES = 1 << 13  # of a record, usually with its HTTP header


class WarcRecord(NamedTuple):
    place: Place
    length: int  # in the file
    kind: str
    fields: Mapping[str, str]  # by names in lower case
    block: bytes


class StoredPage(NamedTuple):
    """A page as it was stored. A revisit of equal content has its body; a 304 has none, but `original` is set."""

    place: Place
    length: int  # of the answer's record in the file
    page: Page
    status_line: str
    digest: str  # of the body; of a 304, of the original's
    request_line: str = ""
    request_headers: Headers = ()
    fields: Headers = ()  # notes about the fetch
    original: Place | None = None  # the place of the content, if this is a revisit


def read_page(folder: Path, place: Place) -> StoredPage:
    """Return the page at a place of the archive in `folder`."""
    with map_disk_errors(folder):
        files = archive_files(folder)
        return _with_body(files, page_at(files, place))


def read_pages(folder: Path, end: Place | None = None, start: Place = BEGINNING) -> Iterator[StoredPage]:
    """Yield every page from `start` up to `end`, in the order of writing; revisits without their bodies."""
    for group in _groups(folder, start, end):
        yield _stored(group)


def read_whole_pages(folder: Path, end: Place | None = None, start: Place = BEGINNING) -> Iterator[StoredPage]:
    """Yield the same with the bodies of revisits, whose originals may be before `start`."""
    with map_disk_errors(folder):
        files = archive_files(folder)
        for stored in read_pages(folder, end, start):
            yield _with_body(files, stored)


def _records(folder: Path, start: Place, end: Place | None) -> Iterator[WarcRecord]:
    """Yield every record from `start` up to `end`, or up to the end of the files."""
    with map_disk_errors(folder):
        files = archive_files(folder)
        if end is not None:
            check_end(folder, files, end)
        for number, path in files.items():
            if number >= start.file:
                offset = start.offset if number == start.file else 0
                yield from _records_of(path, number, offset, _end_in(number, end))


def end_of_pages(path: Path, start: int = 0) -> int:
    """Return where the last complete page of a file ends."""
    end = start
    with suppress(DamagedError):
        for record in _records_of(path, 0, start):
            if record.kind in ("warcinfo", "metadata"):
                end = record.place.offset + record.length
    return end


def _groups(folder: Path, start: Place, end: Place | None) -> Iterator[list[WarcRecord]]:
    """Yield the records of each page."""
    group: list[WarcRecord] = []
    for record in _records(folder, start, end):
        if group and record.kind in (*_ANSWERS, "warcinfo"):
            yield group
            group = []
        if record.kind != "warcinfo":
            group.append(record)
    if group:
        yield group


def _end_in(number: int, end: Place | None) -> float:
    """Return where reading a file ends."""
    if end is None or number < end.file:
        return math.inf
    return end.offset if number == end.file else 0


def _records_of(path: Path, number: int, offset: int = 0, end: float = math.inf) -> Iterator[WarcRecord]:
    with path.open("rb") as file:
        try:
            for member in read_members(file, offset, end):
                offset = member.offset + member.length
                yield _parse(member, number, path)
        except MemberError as error:
            raise _damaged(path, offset, str(error)) from None


def _parse(member: GzipMember, number: int, path: Path) -> WarcRecord:
    head, blank, rest = member.data.partition(b"\r\n\r\n")
    version, lines = _lines(head.decode("utf-8", "replace"))
    fields = _by_name(lines)
    size = fields.get("content-length", "")
    if not (version.startswith("WARC/") and blank and size.isdecimal()):
        raise _damaged(path, member.offset, "no WARC record begins there")
    block = rest[: int(size)]
    if rest[len(block) :] != RECORD_END or len(block) != int(size):
        raise _damaged(path, member.offset, "the record is not as long as it says")
    return WarcRecord(Place(number, member.offset), member.length, fields.get("warc-type", ""), fields, block)


def page_at(files: dict[int, Path], place: Place) -> StoredPage:
    """Return the page at a place; a revisit without its body."""
    path = files.get(place.file)
    if path is None:
        if place.file in _removed(files):
            raise DamagedError(f"file number {place.file} of the archive was removed with the versions that it held")
        raise DamagedError(f"file number {place.file} of the archive is missing; restore it from a copy")
    group: list[WarcRecord] = []
    for record in _records_of(path, place.file, place.offset):
        if group and record.kind in (*_ANSWERS, "warcinfo"):
            break
        group.append(record)
        if len(group) == _PAGE_RECORDS:
            break
    if not group or group[0].kind not in _ANSWERS:
        raise _damaged(path, place.offset, "no page begins there")
    return _stored(group)


def response_in(data: bytes, place: Place) -> StoredPage | None:
    """Return the head of the response with which these bytes of a file begin, without body, request and notes.

    None if it is no response, or is longer than usual. No checksum is compared.
    """
    try:
        beginning = read_beginning(data, _HEAD_BYTES)
    except MemberError:
        return None
    head, _, rest = beginning.partition(_BLANK_LINE)
    block, is_complete, _ = rest.partition(_BLANK_LINE)
    version, lines = _lines(head.decode("utf-8", "replace"))
    fields = _by_name(lines)
    if not (is_complete and version.startswith("WARC/") and fields.get("warc-type") == "response"):
        return None
    try:
        return _stored([WarcRecord(place, 0, "response", fields, block)])
    except ValueError:  # damage
        return None


def page_in(data: bytes, path: Path, place: Place) -> StoredPage | None:
    """Return the page with which these bytes of a file begin; None if they do not hold all of a page."""
    try:
        members = islice(read_members(BytesIO(data), 0), _PAGE_RECORDS)
        group = [_parse(member, place.file, path) for member in members]
    except (MemberError, DamagedError):
        return None
    kinds = [record.kind for record in group]
    if kinds[1:] != ["request", "metadata"] or kinds[0] not in _ANSWERS:
        return None
    return _stored(group)._replace(place=place)


def _with_body(files: dict[int, Path], stored: StoredPage) -> StoredPage:
    if stored.original is None or stored.page.status == NOT_MODIFIED:
        return stored
    if stored.original.file not in files and stored.original.file in _removed(files):
        # Only a visit that was itself replaced refers to a file that was removed.
        return stored
    return stored._replace(page=stored.page._replace(body=content_of(files, stored).page.body))


def _removed(files: dict[int, Path]) -> frozenset[int]:
    return next((removed_files(path.parent) for path in files.values()), frozenset())


def content_of(files: dict[int, Path], revisit: StoredPage) -> StoredPage:
    """Return the page to which a revisit refers; any other itself. An original is older, so the search ends."""
    stored = revisit
    while stored.original is not None:
        if stored.original >= stored.place:
            raise _damaged(files[stored.place.file], stored.place.offset, "the record refers to a later one")
        stored = page_at(files, stored.original)
    if stored.digest != revisit.digest:
        raise _damaged(files[revisit.place.file], revisit.place.offset, "the record refers to other content")
    return stored


def _stored(group: list[WarcRecord]) -> StoredPage:
    answer = group[0]
    request = next((record.block for record in group if record.kind == "request"), b"")
    noted = next((record.block for record in group if record.kind == "metadata"), b"")
    head, _, body = answer.block.partition(b"\r\n\r\n")
    status_line, headers = _lines(head.decode("latin-1"))
    request_line, request_headers = _lines(request.partition(b"\r\n\r\n")[0].decode("latin-1"))
    fields = _lines("\r\n" + noted.decode("utf-8", "replace"))[1]
    notes = _by_name(fields)
    return StoredPage(
        place=answer.place,
        length=answer.length,
        page=_page(answer, status_line, headers, body, notes),
        status_line=status_line,
        digest=answer.fields.get("warc-payload-digest", ""),
        request_line=request_line,
        request_headers=request_headers,
        fields=fields,
        original=_original(notes) if answer.kind == "revisit" else None,
    )


def _page(answer: WarcRecord, status_line: str, headers: Headers, body: bytes, notes: Mapping[str, str]) -> Page:
    version, status, *reason = status_line.split(" ", 2)
    later_version = notes.get("http-version")
    unread = "unread" in notes
    return Page(
        url=answer.fields.get("warc-target-uri", ""),
        status=int(status),
        headers=tuple([(restored_name(name), value) for name, value in headers]),
        body=body,
        at=datetime.fromisoformat(answer.fields.get("warc-date", "")).timestamp(),
        timings=Timings(*[float(notes.get(name) or 0) for name in STEPS]),
        truncated=not unread and "warc-truncated" in answer.fields,
        address=answer.fields.get("warc-ip-address", ""),
        unread=unread,
        http_version=later_version or version.removeprefix("HTTP/"),
        reason="" if later_version else "".join(reason),
        tls=notes.get("tls", ""),
    )


def _original(notes: Mapping[str, str]) -> Place | None:
    file, offset = notes.get(ORIGINAL_FILE), notes.get(ORIGINAL_OFFSET)
    return Place(int(file), int(offset)) if file and offset else None


def _by_name(lines: Headers) -> dict[str, str]:
    """Return the first value of each name; names in lower case."""
    return {name.lower(): value for name, value in reversed(lines)}


def _lines(text: str) -> tuple[str, Headers]:
    """Return the first line, and the named values after it."""
    first, *lines = text.split("\r\n")
    parts = [line.partition(":") for line in lines if line]
    return first, tuple([(name, value.removeprefix(" ")) for name, _, value in parts])


def _damaged(path: Path, offset: int, why: str) -> DamagedError:
    return DamagedError(f"{path} is damaged at offset {offset:,}: {why}; restore it from a copy")
