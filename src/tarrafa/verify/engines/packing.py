"""Rows and URLs as bytes, and back: how many, the sum of what follows, the rows, the URLs line by line."""

import struct

import numpy as np
import xxhash

from tarrafa.errors import DamagedError
from tarrafa.verify.engines.offers import Rows

_HEAD = struct.Struct("<IQQ")  # rows, bytes after the head, their sum


def packed(rows: Rows, urls: list[str]) -> bytes:
    body = rows.tobytes() + "\n".join(urls).encode("ascii")
    return _HEAD.pack(len(rows), len(body), xxhash.xxh3_64_intdigest(body)) + body


def unpacked(data: bytes, kind: np.dtype[np.void], source: object) -> tuple[Rows, list[str]]:
    count, size, total = _HEAD.unpack_from(data)
    body = data[_HEAD.size : _HEAD.size + size]
    if len(body) != size or xxhash.xxh3_64_intdigest(body) != total:
        raise DamagedError(f"{source} is not what was written: its sum is wrong; restore it from a copy")
    rows = np.frombuffer(body, kind, count)
    return rows, body[rows.nbytes :].decode("ascii").split("\n") if count else []


def pieces(data: bytes) -> list[bytes]:
    """What was packed several times, one after the other."""
    found, at = [], 0
    while at < len(data):
        size = _HEAD.size + _HEAD.unpack_from(data, at)[1]
        found.append(data[at : at + size])
        at += size
    return found
