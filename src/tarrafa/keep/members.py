"""Gzip members: how a record stands in a file, so that any one can be read without those before it.

Level 1 of igzip takes a fifth of zlib's time for the same size. A body that is in a content coding is random to any
compressor: only what stands before it is compressed, the body is put beside it as it is.
"""

import math
import struct
import zlib
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple, cast

from isal import isal_zlib

# The package's type stubs take the class for an instance.
_InflateError = cast("type[Exception]", isal_zlib.IsalError)

_LEVEL = 1
# Where tables of codes of its own cost a record more time than they save: 11 µs against 3, for a fourth of its size.
_SMALL_BYTES = 1_500
_SMALL_LEVEL = 0
_GZIP_WINDOW = 31
_RAW_WINDOW = -15
_HEADER = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
_STORED_MAX_BYTES = 65_535
_STORED_HEAD = struct.Struct("<BHH")  # whether the block is the last, its length, and the complement of that
_TRAILER = struct.Struct("<LL")  # checksum and length of what the member holds
_STEP_BYTES = 1 << 16
# The largest body that can be configured, and its headers. Guards against what a damaged file might inflate to.
MEMBER_MAX_BYTES = (1 << 30) + (1 << 20)


class MemberError(Exception):
    """Bytes that are no whole gzip member. Does not leave this room: readers say which file it is."""


class Member(NamedTuple):
    offset: int
    length: int  # in the file
    data: bytes


def packed(data: bytes) -> bytes:
    member: bytes = isal_zlib.compress(data, _level(data), _GZIP_WINDOW)
    return member


def _level(data: bytes) -> int:
    return _LEVEL if len(data) > _SMALL_BYTES else _SMALL_LEVEL


def packed_beside(head: bytes, body: bytes) -> bytes:
    """One member: `head` compressed, then `body` in stored blocks."""
    stream = isal_zlib.compressobj(_level(head), zlib.DEFLATED, _RAW_WINDOW)
    pieces = [_HEADER, stream.compress(head), stream.flush(zlib.Z_SYNC_FLUSH)]
    for start in range(0, len(body) or 1, _STORED_MAX_BYTES):
        block = body[start : start + _STORED_MAX_BYTES]
        is_last = start + _STORED_MAX_BYTES >= len(body)
        pieces += [_STORED_HEAD.pack(is_last, len(block), len(block) ^ _STORED_MAX_BYTES), block]
    check = isal_zlib.crc32(body, isal_zlib.crc32(head))
    pieces.append(_TRAILER.pack(check, (len(head) + len(body)) & 0xFFFFFFFF))
    return b"".join(pieces)


def members(file: BinaryIO, offset: int, end: float = math.inf) -> Iterator[Member]:
    """The members from `offset` to `end`, or to the end of the file; `MemberError` where there is no whole one."""
    file.seek(offset)
    rest = b""
    while offset < end and (rest := rest or file.read(_STEP_BYTES)):
        data, taken_bytes, rest = _inflate(file, rest)
        yield Member(offset, taken_bytes, data)
        offset += taken_bytes


def _inflate(file: BinaryIO, piece: bytes) -> tuple[bytes, int, bytes]:
    """What the member holds, its length in the file, and the bytes after it that were read."""
    stream, out, taken_bytes = isal_zlib.decompressobj(_GZIP_WINDOW), bytearray(), 0
    while piece:
        taken_bytes += len(piece)
        try:
            out += stream.decompress(piece)
        except _InflateError as error:
            raise MemberError(str(error)) from None
        if len(out) > MEMBER_MAX_BYTES:
            raise MemberError("it is larger than any record")
        if stream.eof:
            rest: bytes = stream.unused_data
            return bytes(out), taken_bytes - len(rest), rest
        piece = file.read(_STEP_BYTES)
    raise MemberError("it breaks off")
