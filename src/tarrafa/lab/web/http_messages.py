"""Parse requests and write answers in HTTP/1.1, without sockets."""

import re
from collections.abc import Mapping
from functools import lru_cache
from http import HTTPStatus
from typing import NamedTuple

from tarrafa.lab.web.synthetic_web import SendMode, WebAnswer

HEAD_MAX_BYTES = 16_384
CHUNK_BYTES = 4_096
FALSE_LENGTH_BYTES = 500
BODILESS = (204, 304)
REASONS = {status.value: status.phrase for status in HTTPStatus}

# A target by RFC 3986: visible ASCII without the characters that must be escaped, and complete escapes. Groups are not
# possessive, because Python before 3.11.5 has a bug there; these are fast without it.
_LINE = re.compile(r"([A-Z]{1,20}) (/[!$&-;=?-Z_a-z~]*+(?:%[0-9A-Fa-f]{2}[!$&-;=?-Z_a-z~]*+)*) HTTP/1\.([01])")
_LINE_SHAPE = re.compile(r"[A-Z]{1,20} [^ ]* HTTP/1\.[01]")
# On each line a name without blanks, a colon, and a value without control characters.
_FIELDS = re.compile(r"(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]++:[^\x00-\x08\x0a-\x1f\x7f]*+(?:\r\n|\Z))*")
_LENGTH = re.compile(r"[0-9]{1,15}")
# Headers that must not be repeated: a second one would make the host or the end of the request ambiguous.
_ONLY_ONCE = ("host", "content-length")


class ParsedRequest(NamedTuple):
    method: str
    target: str
    headers: Mapping[str, str]  # names in lower case; the last value of a repeated name
    keep_alive: bool
    minor: str  # minor version: "1", or "0" for clients without chunked coding
    body_bytes: int


class MalformedRequest(NamedTuple):
    reason: str
    line: str
    host: str


class HeaderFields(NamedTuple):
    """The header fields of a request, and what is wrong with them (empty if nothing is)."""

    headers: Mapping[str, str]
    wrong: str
    keep_alive: bool
    body_bytes: int


def read_request(head: bytes) -> ParsedRequest | MalformedRequest:
    """Parse the head of a request, without the empty line that ends it."""
    line, _, rest = head.decode("latin-1").partition("\r\n")
    match = _LINE.fullmatch(line)
    if match is None:
        reason = "target" if _LINE_SHAPE.fullmatch(line) else "request line"
        return MalformedRequest(reason, line, _read_fields(rest, "1").headers.get("host", ""))
    method, target, minor = match.groups()
    fields = _read_fields(rest, minor)
    if fields.wrong:
        return MalformedRequest(fields.wrong, line, fields.headers.get("host", ""))
    return ParsedRequest(method, target, fields.headers, fields.keep_alive, minor, fields.body_bytes)


# A client sends nearly the same headers with every request to a host.
@lru_cache(maxsize=8192)
def _read_fields(rest: str, minor: str) -> HeaderFields:
    headers = {name.lower(): value.strip() for name, _, value in [field.partition(":") for field in rest.split("\r\n")]}
    wrong = _wrong_header(rest, headers, minor)
    body_bytes = 0 if wrong else int(headers.get("content-length", 0))
    return HeaderFields(headers, wrong, _keep_alive(headers, minor), body_bytes)


def _wrong_header(rest: str, headers: Mapping[str, str], minor: str) -> str:
    if not _FIELDS.fullmatch(rest):
        return "header"
    if minor == "1" and not headers.get("host"):
        return "no Host header"
    if len(headers) <= rest.count("\r\n") and _has_repeated(rest):
        return "header given twice"
    return "" if _LENGTH.fullmatch(headers.get("content-length", "0")) else "Content-Length"


def _has_repeated(rest: str) -> bool:
    names = [field.partition(":")[0].lower() for field in rest.split("\r\n")]
    return any(names.count(name) > 1 for name in _ONLY_ONCE)


def _keep_alive(headers: Mapping[str, str], minor: str) -> bool:
    """Return True if another request may follow. None can after a chunked body, which is not parsed here."""
    if "transfer-encoding" in headers:
        return False
    if "connection" not in headers:
        return minor == "1"
    wishes = {wish.strip() for wish in headers["connection"].lower().split(",")}
    return "close" not in wishes and (minor == "1" or "keep-alive" in wishes)


def write_head(answer: WebAnswer, date: str, chunked: bool, asked: ParsedRequest | None) -> bytes:
    """Return the head of an answer; `asked` is None for a malformed request."""
    fields = "".join([f"{name}: {value}\r\n" for name, value in answer.headers])
    if answer.type:
        fields += f"Content-Type: {answer.type}\r\n"
    if chunked:
        fields += "Transfer-Encoding: chunked\r\n"
    elif answer.status not in BODILESS and answer.send_mode is not SendMode.ENDLESS:
        fields += f"Content-Length: {_length(answer)}\r\n"
    if asked is None or not asked.keep_alive:
        fields += "Connection: close\r\n"
    elif asked.minor == "0":
        fields += "Connection: keep-alive\r\n"
    reason = REASONS.get(answer.status, "")
    return f"HTTP/1.1 {answer.status} {reason}\r\nDate: {date}\r\nServer: tarrafa-web\r\n{fields}\r\n".encode("latin-1")


def _length(answer: WebAnswer) -> int:
    """Return the Content-Length to send, which may be false."""
    length = len(answer.body)
    if answer.send_mode is SendMode.SHORT:
        return length + FALSE_LENGTH_BYTES
    return length - FALSE_LENGTH_BYTES if answer.send_mode is SendMode.LONG else length


def encode_chunks(body: bytes) -> bytes:
    pieces = [body[start : start + CHUNK_BYTES] for start in range(0, len(body), CHUNK_BYTES)]
    return b"".join([b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces]) + b"0\r\n\r\n"
