"""Undo the content coding of a page, within a bound: a few kilobytes of gzip can hold gigabytes."""

from dataclasses import dataclass
from typing import Any, cast

from isal import isal_zlib

from tarrafa.records import Page

# The package's type stubs take the class for an instance.
_DamagedError = cast("type[Exception]", isal_zlib.IsalError)

_STEP_BYTES = 1 << 18  # decompressed at a time, so that what came before damage is kept
_CODING_LIMIT = 3  # codings around one body; honest hosts use one
_MEMBER_LIMIT = 100  # gzip members one after another; each costs a copy of what follows

_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_WINDOW = 31
_ZLIB_WINDOW = 15
_RAW_WINDOW = -15


@dataclass(frozen=True, slots=True)
class Decoded:
    body: bytes
    truncated: bool  # at the bound, or because the page itself was cut or damaged
    unknown_coding: str = ""  # that we cannot undo; the body is then still in it


def decode(page: Page, limit_bytes: int) -> Decoded:
    """Never raises: damaged data give what could be read, marked as truncated."""
    body, truncated = page.body, page.truncated
    for coding in reversed(_codings(page)):
        if coding not in ("gzip", "x-gzip", "deflate"):
            return Decoded(body, truncated, unknown_coding=coding)
        body, is_whole = _inflate(body, _window(coding, body), limit_bytes)
        truncated = truncated or not is_whole
    return Decoded(body, truncated)


def _codings(page: Page) -> list[str]:
    values = [value for name, value in page.headers if name.lower() == "content-encoding"]
    codings = [coding.strip().lower() for coding in ",".join(values).split(",")]
    return [coding for coding in codings if coding not in ("", "identity")][-_CODING_LIMIT:]


def _window(coding: str, body: bytes) -> int:
    """Deflate is zlib's format by the standard, and bare in what some hosts send; the first two bytes tell."""
    if coding != "deflate":
        return _GZIP_WINDOW
    has_zlib_header = len(body) >= 2 and body[0] & 0x0F == 8 and int.from_bytes(body[:2]) % 31 == 0
    return _ZLIB_WINDOW if has_zlib_header else _RAW_WINDOW


def _inflate(data: bytes, window: int, limit_bytes: int) -> tuple[bytes, bool]:
    """The first `limit_bytes`, and whether that is everything."""
    out = bytearray()
    for _ in range(_MEMBER_LIMIT if data else 0):
        stream = isal_zlib.decompressobj(window)
        if not _inflate_member(stream, data, out, limit_bytes):
            return bytes(out[:limit_bytes]), False
        data = stream.unused_data
        if window != _GZIP_WINDOW or not data.startswith(_GZIP_MAGIC):
            return bytes(out), True
    return bytes(out), not data


def _inflate_member(stream: Any, data: bytes, out: bytearray, limit_bytes: int) -> bool:
    """Append to `out`, one byte beyond the bound at most; whether the end came before it."""
    while not stream.eof:
        try:
            piece = stream.decompress(data, min(_STEP_BYTES, limit_bytes + 1 - len(out)))
        except _DamagedError:
            return False
        out += piece
        if len(out) > limit_bytes or not (piece or stream.eof):
            return False
        data = stream.unconsumed_tail
    return True
