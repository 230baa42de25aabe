"""Undo the content coding of a page within a bound: a few kilobytes can hold gigabytes. The page itself is unchanged.

Each decoder returns the first `limit_bytes` of the decoded data, and whether that is everything. None raises: damaged
data give what could be decoded.
"""

from contextlib import suppress
from typing import Any, NamedTuple, cast

import brotli
import zstandard
from isal import isal_zlib

from tarrafa.records import Page

ACCEPTED = "gzip, deflate, br, zstd"  # the codings that hosts are asked for

# The package's type stubs take the class for an instance.
_DamagedError = cast("type[Exception]", isal_zlib.IsalError)

_STEP_BYTES = 1 << 16  # decompressed at a time, so that data before damage are kept
_MEMBER_LIMIT = 100  # gzip members or zstd frames one after another; each costs a copy of what follows
_CODING_LIMIT = 3  # codings around one body; honest hosts use one

_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_WINDOW = 31
_ZLIB_WINDOW = 15
_RAW_WINDOW = -15

# The largest window that RFC 9659 allows in this coding. It bounds memory.
_ZSTD_WINDOW_BYTES = 1 << 23
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"

_DecodedBytes = tuple[bytes, bool]


class Decoded(NamedTuple):
    body: bytes
    truncated: bool  # at the bound, or because the page itself was cut or damaged
    unknown_coding: str = ""  # that cannot be undone; the body is then still in it


def decode(page: Page, limit_bytes: int) -> Decoded:
    """Return the decoded body. Never raises: damaged data give what could be decoded, marked as truncated."""
    body, truncated = page.body, page.truncated
    for coding in reversed(_codings(page)):
        decoder = _DECODERS.get(coding)
        if decoder is None:
            return Decoded(body, truncated, unknown_coding=coding)
        if body:  # a 304 may carry the coding of the body that it does not have
            body, is_whole = decoder(body, limit_bytes)
            truncated = truncated or not is_whole
    return Decoded(body, truncated)


def _codings(page: Page) -> list[str]:
    values = [value for name, value in page.headers if name.lower() == "content-encoding"]
    codings = [coding.strip().lower() for coding in ",".join(values).split(",")]
    return [coding for coding in codings if coding not in ("", "identity")][-_CODING_LIMIT:]


def _gunzip(data: bytes, limit_bytes: int) -> _DecodedBytes:
    out = bytearray()
    for _ in range(_MEMBER_LIMIT):
        stream = isal_zlib.decompressobj(_GZIP_WINDOW)
        if not _inflate_into(out, stream, data, limit_bytes):
            return bytes(out[:limit_bytes]), False
        data = stream.unused_data
        if not data.startswith(_GZIP_MAGIC):
            return bytes(out), True
    return bytes(out), False


def _inflate(data: bytes, limit_bytes: int) -> _DecodedBytes:
    """Decode deflate: zlib's format by the standard, but bare from some hosts. The first two bytes tell which."""
    has_zlib_header = len(data) >= 2 and data[0] & 0x0F == 8 and int.from_bytes(data[:2]) % 31 == 0
    out = bytearray()
    stream = isal_zlib.decompressobj(_ZLIB_WINDOW if has_zlib_header else _RAW_WINDOW)
    is_whole = _inflate_into(out, stream, data, limit_bytes)
    return bytes(out[:limit_bytes]), is_whole


def _inflate_into(out: bytearray, stream: Any, data: bytes, limit_bytes: int) -> bool:
    """Append to `out`, at most one byte beyond the bound; return True if the stream ended before that."""
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


def _unbrotli(data: bytes, limit_bytes: int) -> _DecodedBytes:
    stream, out = brotli.Decompressor(), bytearray()
    while not stream.is_finished():
        try:
            out += stream.process(data, output_buffer_limit=_STEP_BYTES)
        except brotli.error:
            return bytes(out[:limit_bytes]), False
        if len(out) > limit_bytes or (stream.can_accept_more_data() and not stream.is_finished()):
            return bytes(out[:limit_bytes]), False
        data = b""
    return bytes(out), len(out) <= limit_bytes


def _unzstd(data: bytes, limit_bytes: int) -> _DecodedBytes:
    """Decode twice: the package can either keep a bound or tell where a frame ends, not both at once."""
    codec = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES)
    out = _read_bounded(codec, data, limit_bytes)
    whole = _read_frames(codec, data) if len(out) <= limit_bytes else None
    if whole is None or len(whole) > limit_bytes:
        return out[:limit_bytes], False
    return whole, True


def _read_bounded(codec: zstandard.ZstdDecompressor, data: bytes, limit_bytes: int) -> bytes:
    """Read until the end, until damage, or one byte beyond the bound."""
    reader, out = codec.stream_reader(data, read_across_frames=True), bytearray()
    with suppress(zstandard.ZstdError):
        while len(out) <= limit_bytes and (piece := reader.read(min(_STEP_BYTES, limit_bytes + 1 - len(out)))):
            out += piece
    return bytes(out)


def _read_frames(codec: zstandard.ZstdDecompressor, data: bytes) -> bytes | None:
    """Return what all frames hold, which is known to be within the bound; None if one is damaged or has no end."""
    pieces: list[bytes] = []
    with suppress(zstandard.ZstdError):
        for _ in range(_MEMBER_LIMIT):
            frame = codec.decompressobj()
            pieces.append(frame.decompress(data))
            data = frame.unused_data
            if not data.startswith(_ZSTD_MAGIC):
                return b"".join(pieces) if frame.eof else None
    return None


_DECODERS = {"gzip": _gunzip, "x-gzip": _gunzip, "deflate": _inflate, "br": _unbrotli, "zstd": _unzstd}
