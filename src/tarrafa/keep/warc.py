"""What the archive writes for a page, as bytes: WARC 1.1 records, each to become one gzip member.

    response or revisit     the answer as it was received
    request                 what was asked, concurrent to it
    metadata                what we noted of the fetch, concurrent to it

The answer comes first, so that whoever is given its place finds the other two after it. HTTP/2 is written in the form
of HTTP/1.1, as everybody does, and the metadata tell. Bodies come without their transfer coding; so that no reader
undoes it once more, the header that names it is kept as `X-Crawler-Transfer-Encoding`.
"""

import hashlib
import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import lru_cache
from http import HTTPStatus
from typing import NamedTuple

from tarrafa.keep.members import packed, packed_beside
from tarrafa.keep.places import Place
from tarrafa.records import Headers, Page, header
from tarrafa.urls import host_of, path_of

RECORD_END = b"\r\n\r\n"
MOVED_PREFIX = "X-Crawler-"
MOVED_HEADER = re.compile(r"(?:x-crawler-)*transfer-encoding", re.IGNORECASE)
ORIGINAL_FILE, ORIGINAL_OFFSET = "original-file", "original-offset"
TEXT_VERSIONS = ("1.0", "1.1")  # of HTTP, whose status lines are text
NOT_MODIFIED = 304

_PHRASES = {status.value: status.phrase for status in HTTPStatus}
_PROFILE = "http://netpreserve.org/warc/1.1/revisit/"
_CONTENT_TYPES = {
    "warcinfo": "application/warc-fields",
    "response": "application/http; msgtype=response",
    "revisit": "application/http; msgtype=response",
    "request": "application/http; msgtype=request",
    "metadata": "application/warc-fields",
}
_STEPS = ("name-seconds", "connect-seconds", "tls-seconds", "first-byte-seconds", "total-seconds")  # as in `Timings`
_EPOCH = datetime(1970, 1, 1)  # without a zone, since to spell one takes as long as all the rest
# Of random bytes, for 64 ids: to ask the system takes longer than to spell what it answers.
_PORTION_BYTES = 1 << 10
_UUID_PARTS = re.compile("(.{8})(.{4}).(.{3}).(.{3})(.{12})")
# From a digest to a number that has a letter's five bits in each of its bytes: the upper half is moved away from the
# lower one, then the upper half of each, and so on. For each time: the bits that are moved, and how many times they are
# to be added to the number to stand where they should.
_SPREADS = tuple(
    (sum(((1 << bits) - 1) << bits + start for start in range(0, 256, 2 * room)), (1 << room - bits) - 1)
    for bits, room in ((80, 128), (40, 64), (20, 32), (10, 16), (5, 8))
)
_DIGEST_LETTERS = 32
_LETTER_OF_BYTE = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".ljust(256)
# No value, whoever gave it, may begin a line of its own.
_BREAKS = dict.fromkeys(map(ord, "\r\n\0"), " ")

# Random bytes for record ids: that many.
Entropy = Callable[[int], bytes]


class Original(NamedTuple):
    """What the archive holds already of the content that a page shows again."""

    place: Place  # of its full response
    url: str
    at: float
    digest: str


def digest_of(block: bytes, body: bytes = b"") -> str:
    """SHA-1 in base 32: what all readers and indexes of web archives know."""
    total = hashlib.sha1(block, usedforsecurity=False)
    if body:
        total.update(body)
    number = int.from_bytes(total.digest())
    for upper_bits, times in _SPREADS:
        number += (number & upper_bits) * times
    return "sha1:" + number.to_bytes(_DIGEST_LETTERS).translate(_LETTER_OF_BYTE).decode()


def date_of(at: float) -> str:
    return (_EPOCH + timedelta(seconds=at)).isoformat("T", "microseconds") + "Z"


def record_ids(entropy: Entropy) -> Iterator[str]:
    """Random UUIDs (version 4), without end."""
    while True:
        for first, second, third, fourth, last in _UUID_PARTS.findall(entropy(_PORTION_BYTES).hex()):
            yield f"<urn:uuid:{first}-{second}-4{third}-a{fourth}-{last}>"


def lines_of(headers: Headers) -> str:
    """Each with its line end. A break within a name or value becomes a space."""
    text = "".join([f"{name}: {value}\r\n" for name, value in headers])
    if text.count("\r") == text.count("\n") == len(headers) and "\0" not in text:
        return text
    return "".join([f"{f'{name}: {value}'.translate(_BREAKS)}\r\n" for name, value in headers])


def pack_info(name: str, at: float, fields: Headers, ids: Iterator[str]) -> bytes:
    """The record that begins each file."""
    block = lines_of((*fields, ("format", "WARC File Format 1.1"))).encode()
    return _pack("warcinfo", next(ids), date_of(at), f"WARC-Filename: {name}\r\n", block)


def pack_page(
    page: Page, digest: str, asked: Headers, fields: Headers, original: Original | None, ids: Iterator[str]
) -> bytes:
    """The members of one page. With an `original`, which has the same body, or to which a 304 refers, without body."""
    date, answer_id = date_of(page.at), next(ids)
    target = f"WARC-Target-URI: {page.url}\r\n"
    sent = f"{target}WARC-IP-Address: {page.address}\r\n" if page.address else target
    concurrent = f"WARC-Concurrent-To: {answer_id}\r\n"
    answer = _pack_answer(page, answer_id, date, f"{sent}{_truncated(page)}{_refers(page, digest, original)}", original)
    request = _pack("request", next(ids), date, concurrent + sent, _request_block(page.url, asked))
    metadata = _pack("metadata", next(ids), date, concurrent + target, _noted(page, original, fields))
    return b"".join((answer, request, metadata))


def _pack_answer(page: Page, record_id: str, date: str, fields: str, original: Original | None) -> bytes:
    kind, body = ("response", page.body) if original is None else ("revisit", b"")
    return _pack(kind, record_id, date, fields, _answer_head(page), body, is_coded=_is_coded(page))


def _refers(page: Page, digest: str, original: Original | None) -> str:
    """The digest of the payload; of a record without one, where it is found."""
    if original is None:
        return f"WARC-Payload-Digest: {digest}\r\n"
    profile = "server-not-modified" if page.status == NOT_MODIFIED else "identical-payload-digest"
    return (
        f"WARC-Payload-Digest: {original.digest}\r\nWARC-Profile: {_PROFILE}{profile}\r\n"
        f"WARC-Refers-To-Target-URI: {original.url}\r\nWARC-Refers-To-Date: {date_of(original.at)}\r\n"
    )


def _pack(
    kind: str, record_id: str, date: str, fields: str, block: bytes, body: bytes = b"", is_coded: bool = False
) -> bytes:
    """The record's block is `block` and then `body`; `fields` are the lines that not every record has."""
    head = (
        f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: {record_id}\r\nWARC-Date: {date}\r\n{fields}"
        f"Content-Type: {_CONTENT_TYPES[kind]}\r\nWARC-Block-Digest: {digest_of(block, body)}\r\n"
        f"Content-Length: {len(block) + len(body)}\r\n\r\n"
    ).encode()
    if is_coded:
        return packed_beside(head + block, body + RECORD_END)
    return packed(b"".join((head, block, body, RECORD_END)))


def _answer_head(page: Page) -> bytes:
    lines = lines_of(page.headers)
    # To look through all lines at once is cheaper than to look at each name.
    if "transfer-encoding" in lines.lower():
        lines = lines_of(tuple((moved(name), value) for name, value in page.headers))
    return f"{_status_line(page)}\r\n{lines}\r\n".encode("latin-1", "replace")


def _status_line(page: Page) -> str:
    if page.http_version in TEXT_VERSIONS:
        return f"HTTP/{page.http_version} {page.status:03d} {page.reason.translate(_BREAKS)}"
    return f"HTTP/1.1 {page.status:03d} {_PHRASES.get(page.status, '')}"


def moved(name: str) -> str:
    return MOVED_PREFIX + name if MOVED_HEADER.fullmatch(name) else name


def restored(name: str) -> str:
    """The name as the host wrote it."""
    return name[len(MOVED_PREFIX) :] if name.startswith(MOVED_PREFIX) and MOVED_HEADER.fullmatch(name) else name


def _request_block(url: str, asked: Headers) -> bytes:
    lines, has_host = _asked_lines(asked)
    host = "" if has_host else f"Host: {host_of(url).partition('//')[2]}\r\n"
    return f"GET {path_of(url)} HTTP/1.1\r\n{host}{lines}\r\n".encode("latin-1", "replace")


@lru_cache(maxsize=64)
def _asked_lines(asked: Headers) -> tuple[str, bool]:
    """And whether the host is among them. Most pages of a crawl are asked for with the same headers."""
    return lines_of(asked), header(asked, "Host") is not None


def _truncated(page: Page) -> str:
    # A page does not say whether it was cut by us or by the host.
    return "WARC-Truncated: unspecified\r\n" if page.truncated or page.unread else ""


def _is_coded(page: Page) -> bool:
    return (page.header("content-encoding") or "identity").strip().lower() not in ("", "identity")


def _noted(page: Page, original: Original | None, fields: Headers) -> bytes:
    steps = zip(_STEPS, page.timings, strict=True)
    timings = "".join([f"{name}: {seconds:.6f}\r\n" for name, seconds in steps if seconds])
    return f"{timings}{lines_of((*_notes(page), *_origin(original), *fields))}".encode("utf-8", "replace")


def _notes(page: Page) -> Headers:
    """What the other records cannot say."""
    notes: Headers = ()
    if page.unread:
        notes += (("unread", "its type is not wanted"),)
    if page.http_version not in TEXT_VERSIONS:
        notes += (("http-version", page.http_version),)
    if page.tls:
        notes += (("tls", page.tls),)
    return notes


def _origin(original: Original | None) -> Headers:
    """Where the content stands, for our own readers: names and offsets in the record itself would break in exports."""
    if original is None:
        return ()
    return ((ORIGINAL_FILE, str(original.place.file)), (ORIGINAL_OFFSET, str(original.place.offset)))
