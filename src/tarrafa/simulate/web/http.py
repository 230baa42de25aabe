"""HTTP/1.1 as bytes: a request read, an answer written. No socket here."""

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import NamedTuple

from tarrafa.simulate.web.answers import Answer, Manner

HEAD_MAX_BYTES = 16_384
CHUNK_BYTES = 4_096
FALSE_LENGTH_BYTES = 500
REASONS = {status.value: status.phrase for status in HTTPStatus}

_LINE = re.compile(r"([A-Z]{1,20}) ([^ ]*) HTTP/1\.([01])")
# What a request may carry: visible ASCII without the signs that must be escaped, and whole escapes.
_TARGET = re.compile(r"/(?:[!$&-;=?-\[\]-~]|%[0-9A-Fa-f]{2})*")
# The names of all headers, written without anything between: a field without a colon brings its blanks with it.
_NAMES = re.compile(r"[!#$%&'*+\-.^_`|~0-9a-z]+")


class Asked(NamedTuple):
    method: str
    target: str
    headers: Mapping[str, str]
    keep_alive: bool


class Malformed(NamedTuple):
    reason: str
    line: str
    host: str


def read_request(head: bytes) -> Asked | Malformed:
    """The head of a request, without the empty line that ends it."""
    line, _, rest = head.decode("latin-1").partition("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in [field.partition(":") for field in rest.split("\r\n")]}
    host = headers.get("host", "")
    match = _LINE.fullmatch(line)
    if not match:
        return Malformed("request line", line, host)
    method, target, minor = match.groups()
    if not _TARGET.fullmatch(target):
        return Malformed("target", line, host)
    if rest and not _NAMES.fullmatch("".join(headers)):
        return Malformed("header", line, host)
    if minor == "1" and not host:
        return Malformed("no Host header", line, host)
    connection = headers.get("connection", "").lower()
    keep_alive = connection == "keep-alive" if minor == "0" else connection != "close"
    return Asked(method, target, headers, keep_alive)


def write_head(answer: Answer, date: str, chunked: bool, keep_alive: bool) -> bytes:
    fields = "".join([f"{name}: {value}\r\n" for name, value in answer.headers])
    if answer.type:
        fields += f"Content-Type: {answer.type}\r\n"
    if chunked:
        fields += "Transfer-Encoding: chunked\r\n"
    elif answer.status not in (204, 304):
        fields += f"Content-Length: {_length(answer)}\r\n"
    if not keep_alive:
        fields += "Connection: close\r\n"
    reason = REASONS.get(answer.status, "")
    return f"HTTP/1.1 {answer.status} {reason}\r\nDate: {date}\r\nServer: tarrafa-web\r\n{fields}\r\n".encode("latin-1")


def _length(answer: Answer) -> int:
    """The length that the head promises: not always that of the body."""
    length = len(answer.body)
    if answer.manner is Manner.SHORT:
        return length + FALSE_LENGTH_BYTES
    return length - FALSE_LENGTH_BYTES if answer.manner is Manner.LONG else length


def in_chunks(body: bytes) -> bytes:
    pieces = [body[start : start + CHUNK_BYTES] for start in range(0, len(body), CHUNK_BYTES)]
    return b"".join([b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces]) + b"0\r\n\r\n"
