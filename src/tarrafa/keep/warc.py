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
from collections.abc import Callable
from datetime import UTC, datetime
from http import HTTPStatus
from typing import NamedTuple

from tarrafa.keep.members import packed, packed_beside
from tarrafa.keep.places import Place
from tarrafa.records import Headers, Page, Timings
from tarrafa.urls import host_of, path_of

CRLF = "\r\n"
RECORD_END = b"\r\n\r\n"
MOVED_PREFIX = "X-Crawler-"
MOVED_HEADER = re.compile(r"(?:x-crawler-)*transfer-encoding", re.IGNORECASE)
ORIGINAL_FILE, ORIGINAL_OFFSET = "original-file", "original-offset"
TEXT_VERSIONS = ("1.0", "1.1")  # of HTTP, whose status lines are text

_PHRASES = {status.value: status.phrase for status in HTTPStatus}
_NOT_MODIFIED = 304
_PROFILE = "http://netpreserve.org/warc/1.1/revisit/"
_BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_BASE32_PAIRS = [first + second for first in _BASE32 for second in _BASE32]
_DIGEST_SHIFTS = range(150, -1, -10)
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


class Packed(NamedTuple):
    """The members of one page, in the order in which they are written."""

    answer: bytes
    rest: bytes
    digest: str


def digest_of(*pieces: bytes) -> str:
    """SHA-1 in base 32: what all readers and indexes of web archives know."""
    total = hashlib.sha1(usedforsecurity=False)
    for piece in pieces:
        total.update(piece)
    number = int.from_bytes(total.digest())
    return "sha1:" + "".join([_BASE32_PAIRS[number >> shift & 1023] for shift in _DIGEST_SHIFTS])


def date_of(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="microseconds")[: -len("+00:00")] + "Z"


def lines_of(headers: Headers) -> str:
    """Each with its line end. A break within a name or value becomes a space."""
    text = "".join([f"{name}: {value}\r\n" for name, value in headers])
    if text.count("\r") == text.count("\n") == len(headers) and "\0" not in text:
        return text
    return "".join([f"{f'{name}: {value}'.translate(_BREAKS)}\r\n" for name, value in headers])


def pack_info(name: str, at: float, fields: Headers, entropy: Entropy) -> bytes:
    """The record that begins each file."""
    block = lines_of((*fields, ("format", "WARC File Format 1.1"))).encode()
    head = _head(
        "warcinfo", _record_id(entropy), date_of(at), f"WARC-Filename: {name}{CRLF}", "application/warc-fields"
    )
    return _pack(head, block)


def pack_page(page: Page, asked: Headers, fields: Headers, original: Original | None, entropy: Entropy) -> Packed:
    date, answer_id = date_of(page.at), _record_id(entropy)
    digest = digest_of(page.body)
    if original is not None and not (page.status == _NOT_MODIFIED or digest == original.digest):
        original = None
    answer = _pack_answer(page, answer_id, date, digest, original)
    about = f"WARC-Concurrent-To: {answer_id}{CRLF}WARC-Target-URI: {page.url}{CRLF}"
    request = _head("request", _record_id(entropy), date, about + _address(page), "application/http; msgtype=request")
    metadata = _head("metadata", _record_id(entropy), date, about, "application/warc-fields")
    noted = lines_of((*_timings(page.timings), *_notes(page), *_origin(original), *fields)).encode("utf-8", "replace")
    return Packed(answer, _pack(request, _request_block(page.url, asked)) + _pack(metadata, noted), digest)


def _pack_answer(page: Page, record_id: str, date: str, digest: str, original: Original | None) -> bytes:
    http = _answer_head(page)
    body = page.body if original is None else b""
    fields = f"WARC-Target-URI: {page.url}{CRLF}{_address(page)}{_truncated(page)}{_refers(page, digest, original)}"
    kind = "response" if original is None else "revisit"
    head = _head(kind, record_id, date, fields, "application/http; msgtype=response")
    return _pack(head, http, body, is_coded=_is_coded(page))


def _refers(page: Page, digest: str, original: Original | None) -> str:
    """The digest of the payload; of a record without one, where it is found."""
    if original is None:
        return f"WARC-Payload-Digest: {digest}{CRLF}"
    profile = "server-not-modified" if page.status == _NOT_MODIFIED else "identical-payload-digest"
    return (
        f"WARC-Payload-Digest: {original.digest}{CRLF}WARC-Profile: {_PROFILE}{profile}{CRLF}"
        f"WARC-Refers-To-Target-URI: {original.url}{CRLF}WARC-Refers-To-Date: {date_of(original.at)}{CRLF}"
    )


def _head(kind: str, record_id: str, date: str, fields: str, content_type: str) -> str:
    return (
        f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: {record_id}\r\nWARC-Date: {date}\r\n{fields}"
        f"Content-Type: {content_type}\r\n"
    )


def _pack(head: str, block: bytes, body: bytes = b"", is_coded: bool = False) -> bytes:
    """The block is `block` and then `body`; `head` lacks what depends on them."""
    size, digest = len(block) + len(body), digest_of(block, body)
    before = f"{head}WARC-Block-Digest: {digest}\r\nContent-Length: {size}\r\n\r\n".encode() + block
    after = body + RECORD_END
    return packed_beside(before, after) if is_coded else packed(before + after)


def _record_id(entropy: Entropy) -> str:
    """A random UUID (version 4)."""
    text = entropy(16).hex()
    return f"<urn:uuid:{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:]}>"


def _answer_head(page: Page) -> bytes:
    headers = page.headers
    if any(MOVED_HEADER.fullmatch(name) for name, _ in headers):
        headers = tuple((moved(name), value) for name, value in headers)
    return f"{_status_line(page)}{CRLF}{lines_of(headers)}{CRLF}".encode("latin-1", "replace")


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
    if not any(name.lower() == "host" for name, _ in asked):
        asked = (("Host", host_of(url).partition("//")[2]), *asked)
    return f"GET {path_of(url)} HTTP/1.1{CRLF}{lines_of(asked)}{CRLF}".encode("latin-1", "replace")


def _address(page: Page) -> str:
    return f"WARC-IP-Address: {page.address}{CRLF}" if page.address else ""


def _truncated(page: Page) -> str:
    # A page does not say whether it was cut by us or by the host.
    return f"WARC-Truncated: unspecified{CRLF}" if page.truncated or page.unread else ""


def _is_coded(page: Page) -> bool:
    return (page.header("content-encoding") or "identity").strip().lower() not in ("", "identity")


def _notes(page: Page) -> Headers:
    """What the other records cannot say."""
    notes = (
        ("unread", "its type is not wanted" if page.unread else ""),
        ("http-version", "" if page.http_version in TEXT_VERSIONS else page.http_version),
        ("tls", page.tls),
    )
    return tuple(note for note in notes if note[1])


def _timings(timings: Timings) -> Headers:
    steps = (
        ("name-seconds", timings.name_seconds),
        ("connect-seconds", timings.connect_seconds),
        ("tls-seconds", timings.tls_seconds),
        ("first-byte-seconds", timings.first_byte_seconds),
        ("total-seconds", timings.total_seconds),
    )
    return tuple((name, f"{seconds:.6f}") for name, seconds in steps if seconds)


def _origin(original: Original | None) -> Headers:
    """Where the content stands, for our own readers: names and offsets in the record itself would break in exports."""
    if original is None:
        return ()
    return ((ORIGINAL_FILE, str(original.place.file)), (ORIGINAL_OFFSET, str(original.place.offset)))
