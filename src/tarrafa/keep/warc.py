"""WARC 1.1 records of a page, as bytes. Each record becomes one gzip member.

    response or revisit     the answer as it was received
    request                 what was sent, concurrent to the answer
    metadata                notes about the fetch, concurrent to the answer

The answer comes first, so a reader that knows its position finds the other two after it. HTTP/2 is written in the form
of HTTP/1.1, as other crawlers do; the metadata holds the version. Bodies are stored without their transfer coding. The
header that names the coding is renamed to `X-Crawler-Transfer-Encoding`, so no reader decodes it again.
"""

import base64
import hashlib
import re
from collections.abc import Callable
from datetime import UTC, datetime
from http import HTTPStatus
from typing import NamedTuple

from tarrafa.keep.archive_files import Place
from tarrafa.keep.gzip_members import compress_member, store_member
from tarrafa.records import Headers, Page, header
from tarrafa.urls import host_of, path_of

RECORD_END = b"\r\n\r\n"
_MOVED_PREFIX = "X-Crawler-"
_MOVED_HEADER = re.compile(r"^(?:x-crawler-)*transfer-encoding(?=:)", re.IGNORECASE | re.MULTILINE)
ORIGINAL_FILE, ORIGINAL_OFFSET = "original-file", "original-offset"
TEXT_VERSIONS = ("1.0", "1.1")  # of HTTP, whose status lines are text
NOT_MODIFIED = 304

_ID_BYTES = 16
_PHRASES = {status.value: status.phrase for status in HTTPStatus}
_PROFILE = "http://netpreserve.org/warc/1.1/revisit/"
_CONTENT_TYPES = {
    "warcinfo": "application/warc-fields",
    "response": "application/http; msgtype=response",
    "revisit": "application/http; msgtype=response",
    "request": "application/http; msgtype=request",
    "metadata": "application/warc-fields",
}
STEPS = ("name-seconds", "connect-seconds", "tls-seconds", "first-byte-seconds", "total-seconds")  # as in `Timings`

# A source of random bytes for record ids: called with the number of bytes.
Entropy = Callable[[int], bytes]


class Original(NamedTuple):
    """The record that holds the content of a page that is stored as a revisit."""

    place: Place  # of its full response
    url: str
    at: float
    digest: str


def digest_of(data: bytes) -> str:
    """Return the SHA-1 in base 32, the form that readers and indexes of web archives expect."""
    return "sha1:" + base64.b32encode(hashlib.sha1(data, usedforsecurity=False).digest()).decode()


def date_of(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def pack_info(name: str, at: float, fields: Headers, entropy: Entropy) -> bytes:
    """Return the member of the record that begins each file."""
    block = _lines_of((*fields, ("format", "WARC File Format 1.1"))).encode()
    return _pack("warcinfo", _record_id(entropy), date_of(at), f"WARC-Filename: {name}\r\n", block)


def pack_page(
    page: Page, digest: str, asked: Headers, fields: Headers, original: Original | None, entropy: Entropy
) -> bytes:
    """Return the members of one page.

    With an `original`, which has the same body or to which a 304 refers, the page is a revisit without a body.
    """
    date, answer_id = date_of(page.at), _record_id(entropy)
    target = f"WARC-Target-URI: {page.url}\r\n"
    sent = f"{target}WARC-IP-Address: {page.address}\r\n" if page.address else target
    concurrent = f"WARC-Concurrent-To: {answer_id}\r\n"
    kind, body = ("response", page.body) if original is None else ("revisit", b"")
    answer_fields = f"{sent}{_truncated(page)}{_payload_fields(page, digest, original)}"
    return b"".join(
        (
            _pack(kind, answer_id, date, answer_fields, _answer_head(page) + body, bool(body) and _is_coded(page)),
            _pack("request", _record_id(entropy), date, concurrent + sent, _request_block(page.url, asked)),
            _pack("metadata", _record_id(entropy), date, concurrent + target, _metadata_block(page, original, fields)),
        )
    )


def _record_id(entropy: Entropy) -> str:
    """Return a random UUID (version 4)."""
    digits = entropy(_ID_BYTES).hex()
    return f"<urn:uuid:{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}>"


def _pack(kind: str, record_id: str, date: str, fields: str, block: bytes, is_coded: bool = False) -> bytes:
    """Return a record as a gzip member; `fields` are the lines that only some records have."""
    head = (
        f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: {record_id}\r\nWARC-Date: {date}\r\n{fields}"
        f"Content-Type: {_CONTENT_TYPES[kind]}\r\nWARC-Block-Digest: {digest_of(block)}\r\n"
        f"Content-Length: {len(block)}\r\n\r\n"
    ).encode()
    pack = store_member if is_coded else compress_member
    return pack(b"".join((head, block, RECORD_END)))


def _lines_of(headers: Headers) -> str:
    lines = "".join([f"{name}: {value}\r\n" for name, value in headers])
    if lines.count("\r") + lines.count("\n") == 2 * len(headers) and "\0" not in lines:
        return lines
    return "".join([f"{_one_line(f'{name}: {value}')}\r\n" for name, value in headers])


def _one_line(text: str) -> str:
    """Replace line breaks by spaces: a value from outside must not begin a line of its own."""
    return text.replace("\r", " ").replace("\n", " ").replace("\0", " ")


def _truncated(page: Page) -> str:
    # A page does not say whether it was cut by us or by the host.
    return "WARC-Truncated: unspecified\r\n" if page.truncated or page.unread else ""


def _payload_fields(page: Page, digest: str, original: Original | None) -> str:
    """Return the digest of the body and, for a revisit, the record that has it."""
    if original is None:
        return f"WARC-Payload-Digest: {digest}\r\n"
    profile = "server-not-modified" if page.status == NOT_MODIFIED else "identical-payload-digest"
    return (
        f"WARC-Payload-Digest: {original.digest}\r\nWARC-Profile: {_PROFILE}{profile}\r\n"
        f"WARC-Refers-To-Target-URI: {original.url}\r\nWARC-Refers-To-Date: {date_of(original.at)}\r\n"
    )


def _answer_head(page: Page) -> bytes:
    lines = _MOVED_HEADER.sub(rf"{_MOVED_PREFIX}\g<0>", _lines_of(page.headers))
    return f"{_status_line(page)}\r\n{lines}\r\n".encode("latin-1", "replace")


def _status_line(page: Page) -> str:
    if page.http_version in TEXT_VERSIONS:
        return f"HTTP/{page.http_version} {page.status:03d} {_one_line(page.reason)}"
    return f"HTTP/1.1 {page.status:03d} {_PHRASES.get(page.status, '')}"


def restored_name(name: str) -> str:
    """Return the name of a header as the host wrote it."""
    return name[len(_MOVED_PREFIX) :] if name.startswith(_MOVED_PREFIX) and _MOVED_HEADER.match(f"{name}:") else name


def _request_block(url: str, asked: Headers) -> bytes:
    host = "" if header(asked, "Host") is not None else f"Host: {host_of(url).partition('//')[2]}\r\n"
    return f"GET {path_of(url)} HTTP/1.1\r\n{host}{_lines_of(asked)}\r\n".encode("latin-1", "replace")


def _metadata_block(page: Page, original: Original | None, fields: Headers) -> bytes:
    steps = zip(STEPS, page.timings, strict=True)
    timings = tuple((name, f"{seconds:.6f}") for name, seconds in steps if seconds)
    return _lines_of((*timings, *_notes(page), *_origin(original), *fields)).encode("utf-8", "replace")


def _is_coded(page: Page) -> bool:
    return (page.header("content-encoding") or "identity").strip().lower() not in ("", "identity")


def _notes(page: Page) -> Headers:
    """Return what the other records cannot express."""
    notes: Headers = ()
    if page.unread:
        notes += (("unread", "its type is not wanted"),)
    if page.http_version not in TEXT_VERSIONS:
        notes += (("http-version", page.http_version),)
    if page.tls:
        notes += (("tls", page.tls),)
    return notes


def _origin(original: Original | None) -> Headers:
    """Return where the content is, for our own reader. Positions in the standard fields would be wrong in exports."""
    if original is None:
        return ()
    return ((ORIGINAL_FILE, str(original.place.file)), (ORIGINAL_OFFSET, str(original.place.offset)))
