"""Gzip members: each WARC record is one, so any record can be read without those before it."""

import math
import zlib
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple, cast

from isal import isal_zlib

# The package's type stubs take the class for an instance.
_InflateError = cast("type[Exception]", isal_zlib.IsalError)

_LEVEL = 1
# Below that size the Huffman tables of level 1 cost more time than they save room.
_SMALL_BYTES = 1_500
_SMALL_LEVEL = 0
_STORED_LEVEL = 0  # of zlib: no compression
_GZIP_WINDOW = 31
_READ_BYTES = 1 << 16
# The largest body that can be configured, and its headers. Guards against what a damaged file might inflate to.
MEMBER_MAX_BYTES = (1 << 30) + (1 << 20)


class MemberError(Exception):
    """The bytes are not a complete gzip member. Does not leave this room: the reader adds the file's name."""


class GzipMember(NamedTuple):
    offset: int
    length: int  # in the file
    data: bytes


def compress_member(data: bytes) -> bytes:
    member: bytes = isal_zlib.compress(data, _SMALL_LEVEL if len(data) < _SMALL_BYTES else _LEVEL, _GZIP_WINDOW)
    return member


def store_member(data: bytes) -> bytes:
    """Return a member without compression, for data that is compressed already."""
    return zlib.compress(data, _STORED_LEVEL, _GZIP_WINDOW)


def read_members(file: BinaryIO, offset: int, end: float = math.inf) -> Iterator[GzipMember]:
    """Yield the members from `offset` to `end` or the end of the file; raise `MemberError` at an incomplete one."""
    file.seek(offset)
    rest = b""
    while offset < end and (rest := rest or file.read(_READ_BYTES)):
        data, length, rest = _inflate(file, rest)
        yield GzipMember(offset, length, data)
        offset += length


def read_beginning(data: bytes, limit_bytes: int) -> bytes:
    """Return the first bytes of a member, whose checksum is not compared; fewer if `data` breaks off before."""
    try:
        beginning: bytes = isal_zlib.decompressobj(_GZIP_WINDOW).decompress(data, limit_bytes)
    except _InflateError as error:
        raise MemberError(str(error)) from None
    return beginning


def _inflate(file: BinaryIO, piece: bytes) -> tuple[bytes, int, bytes]:
    """Return the content of a member, its length in the file, and the bytes that were read after it."""
    stream, pieces, taken_bytes, out_bytes = isal_zlib.decompressobj(_GZIP_WINDOW), [], 0, 0
    while piece:
        taken_bytes += len(piece)
        try:
            out: bytes = stream.decompress(piece)
        except _InflateError as error:
            raise MemberError(str(error)) from None
        pieces.append(out)
        out_bytes += len(out)
        if out_bytes > MEMBER_MAX_BYTES:
            raise MemberError("it is larger than any record")
        if stream.eof:
            rest: bytes = stream.unused_data
            return b"".join(pieces), taken_bytes - len(rest), rest
        piece = file.read(_READ_BYTES)
    raise MemberError("it breaks off")
