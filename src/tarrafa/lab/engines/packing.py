"""What is written as one piece, and read as one piece or not at all: its length and sum, then itself.

Most pieces are rows with their URLs: how many, the rows, the URLs line by line.
"""

import struct
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, NoReturn

import numpy as np
import xxhash

from tarrafa.errors import DamagedError
from tarrafa.lab.engines.home import checked
from tarrafa.lab.engines.offers import Rows

_HEAD = struct.Struct("<QQ")  # bytes after the head, their sum
_COUNT = struct.Struct("<I")


def piece_of(body: bytes) -> bytes:
    return _HEAD.pack(len(body), xxhash.xxh3_64_intdigest(body)) + body


def piece_bytes(body: bytes) -> int:
    """What a piece takes on disk."""
    return _HEAD.size + len(body)


def whole_pieces(file: BinaryIO, size: int) -> Iterator[bytes]:
    """The bodies of the pieces that are the first `size` bytes of a file, up to the first that is not whole."""
    while size >= _HEAD.size:
        length, total = _HEAD.unpack(file.read(_HEAD.size))
        body = file.read(min(length, size))
        if len(body) != length or xxhash.xxh3_64_intdigest(body) != total:
            return
        yield body
        size -= piece_bytes(body)


def read_pieces(path: Path, size: int) -> Iterator[bytes]:
    """The bodies of the pieces that are the first `size` bytes of a file: all that counts of it."""
    if not size:
        return
    with checked(path, size).open("rb") as file:
        for body in whole_pieces(file, size):
            yield body
            size -= piece_bytes(body)
    if size:
        refuse(path)


def only_piece(data: bytes, source: object) -> bytes:
    """The body of the one piece that is all the data."""
    body = next(whole_pieces(BytesIO(data), len(data)), None)
    if body is None or piece_bytes(body) != len(data):
        refuse(source)
    return body


def packed(rows: Rows, urls: list[str]) -> bytes:
    return piece_of(_COUNT.pack(len(rows)) + rows.tobytes() + "\n".join(urls).encode("ascii"))


def unpacked(body: bytes, kind: np.dtype[np.void]) -> tuple[Rows, list[str]]:
    count = _COUNT.unpack_from(body)[0]
    rows = np.frombuffer(body, kind, count, _COUNT.size)
    return rows, body[_COUNT.size + rows.nbytes :].decode("ascii").split("\n") if count else []


def refuse(source: object) -> NoReturn:
    raise DamagedError(f"{source} is not what was written: its sum is wrong; restore it from a copy")
