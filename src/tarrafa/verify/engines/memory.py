"""All pairs in a dictionary; a journal on disk, replayed at the start, makes them durable.

The journal is a row of frames, one a cycle. A frame that is not whole was being written when the process was killed: it
does not count. A journal that is mostly about pairs that were written again later is written anew at the start.
"""

import struct
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import xxhash

from tarrafa.verify.engines.home import appended
from tarrafa.verify.engines.points import Pair, Points
from tarrafa.verify.veuniq.disk import sync_folder, write_file

_FRAME = struct.Struct("<QQ")  # bytes and sum of what follows
_PAIR = struct.Struct("<II")  # bytes of key and value
_REWRITE_RATIO = 2


class Memory(Points):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder, _Journal)


class _Journal:
    def __init__(self, folder: Path) -> None:
        self._path = folder / "journal"
        self._pairs: dict[bytes, bytes] = {}
        self._size_bytes = 0  # of the frames that count
        written = self._replay(self._path.read_bytes() if self._path.exists() else b"")
        if written > _REWRITE_RATIO * len(self._pairs):
            self._rewrite()

    def _replay(self, data: bytes) -> int:
        """Fill the dictionary, and say how many pairs were read for that."""
        count = 0
        for body in _frames(data):
            for key, value in _unpacked(body):
                self._pairs[key] = value
                count += 1
            self._size_bytes += _FRAME.size + len(body)
        return count

    def _rewrite(self) -> None:
        data = _frame(self._pairs.items())
        write_file(self._path.parent, "journal.new", [data], len(self._pairs))
        self._path.with_suffix(".new").replace(self._path)
        sync_folder(self._path.parent)
        self._size_bytes = len(data)

    def get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return [*map(self._pairs.get, keys)]

    def put(self, pairs: Sequence[Pair]) -> None:
        self._size_bytes = appended(self._path, self._size_bytes, _frame(pairs))
        self._pairs.update(pairs)

    def scan(self, prefix: bytes) -> Iterator[Pair]:
        return iter(sorted(pair for pair in self._pairs.items() if pair[0].startswith(prefix)))

    def close(self) -> None:
        """Nothing is open between cycles."""


def _frame(pairs: Iterable[Pair]) -> bytes:
    body = b"".join([_PAIR.pack(len(key), len(value)) + key + value for key, value in pairs])
    return _FRAME.pack(len(body), xxhash.xxh3_64_intdigest(body)) + body


def _frames(data: bytes) -> Iterator[bytes]:
    """The bodies of the frames, up to the first that is not whole."""
    at = 0
    while at + _FRAME.size <= len(data):
        size, total = _FRAME.unpack_from(data, at)
        body = data[at + _FRAME.size : at + _FRAME.size + size]
        if len(body) != size or xxhash.xxh3_64_intdigest(body) != total:
            return
        yield body
        at += _FRAME.size + size


def _unpacked(body: bytes) -> Iterator[Pair]:
    at = 0
    while at < len(body):
        key_size, value_size = _PAIR.unpack_from(body, at)
        middle = at + _PAIR.size + key_size
        yield body[at + _PAIR.size : middle], body[middle : middle + value_size]
        at = middle + value_size
