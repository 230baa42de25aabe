"""Content codings undone, each within a bound: a few kilobytes can hold gigabytes.

Each function gives the first `limit_bytes` of what the data hold, and whether that is everything. None raises: damaged
data give what could be read.
"""

from contextlib import suppress
from typing import Any, cast

import brotli
import zstandard
from isal import isal_zlib

# The package's type stubs take the class for an instance.
_DamagedError = cast("type[Exception]", isal_zlib.IsalError)

_STEP_BYTES = 1 << 16  # decompressed at a time, so that what came before damage is kept
_MEMBER_LIMIT = 100  # gzip members or zstd frames one after another; each costs a copy of what follows

_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_WINDOW = 31
_ZLIB_WINDOW = 15
_RAW_WINDOW = -15

# RFC 9659: nobody may ask for a larger window in this coding. It bounds memory.
_ZSTD_WINDOW_BYTES = 1 << 23
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"

Undone = tuple[bytes, bool]


def gunzip(data: bytes, limit_bytes: int) -> Undone:
    out = bytearray()
    for _ in range(_MEMBER_LIMIT):
        stream = isal_zlib.decompressobj(_GZIP_WINDOW)
        if not _inflate(stream, data, out, limit_bytes):
            return bytes(out[:limit_bytes]), False
        data = stream.unused_data
        if not data.startswith(_GZIP_MAGIC):
            return bytes(out), True
    return bytes(out), False


def inflate(data: bytes, limit_bytes: int) -> Undone:
    """Deflate is zlib's format by the standard, and bare in what some hosts send; the first two bytes tell."""
    has_zlib_header = len(data) >= 2 and data[0] & 0x0F == 8 and int.from_bytes(data[:2]) % 31 == 0
    out = bytearray()
    stream = isal_zlib.decompressobj(_ZLIB_WINDOW if has_zlib_header else _RAW_WINDOW)
    is_whole = _inflate(stream, data, out, limit_bytes)
    return bytes(out[:limit_bytes]), is_whole


def _inflate(stream: Any, data: bytes, out: bytearray, limit_bytes: int) -> bool:
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


def unbrotli(data: bytes, limit_bytes: int) -> Undone:
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


def unzstd(data: bytes, limit_bytes: int) -> Undone:
    """Undone twice: the package can either keep a bound or tell where a frame ends, not both at once."""
    codec = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES)
    out = _read_bounded(codec, data, limit_bytes)
    whole = _read_frames(codec, data) if len(out) <= limit_bytes else None
    if whole is None or len(whole) > limit_bytes:
        return out[:limit_bytes], False
    return whole, True


def _read_bounded(codec: zstandard.ZstdDecompressor, data: bytes, limit_bytes: int) -> bytes:
    """Until the end, until damage, or one byte beyond the bound."""
    reader, out = codec.stream_reader(data, read_across_frames=True), bytearray()
    with suppress(zstandard.ZstdError):
        while len(out) <= limit_bytes and (piece := reader.read(min(_STEP_BYTES, limit_bytes + 1 - len(out)))):
            out += piece
    return bytes(out)


def _read_frames(codec: zstandard.ZstdDecompressor, data: bytes) -> bytes | None:
    """What all frames hold, which is known to be little; None where one of them is damaged or has no end."""
    pieces: list[bytes] = []
    with suppress(zstandard.ZstdError):
        for _ in range(_MEMBER_LIMIT):
            frame = codec.decompressobj()
            pieces.append(frame.decompress(data))
            data = frame.unused_data
            if not data.startswith(_ZSTD_MAGIC):
                return b"".join(pieces) if frame.eof else None
    return None
