"""A dictionary, made durable by a journal on disk that is replayed at the start.

The journal has one record for each cycle. An incomplete record was being written when the process was killed, and does
not count. If most of a journal is obsolete, it is rewritten before the first write after a start.
"""

import struct
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from tarrafa.disk import rename_file
from tarrafa.lab.engines.engine_folder import append_to, complete_records, record_bytes, record_of
from tarrafa.lab.engines.key_value import KeyValue, KeyValueRepository, StoreTraits
from tarrafa.verify.veuniq.stored_files import write_file

_PAIR = struct.Struct("<II")  # lengths of key and value
_REWRITE_RATIO = 2


class JournalRepository(KeyValueRepository):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder, _JournalStore, StoreTraits("journal"))


class _JournalStore:
    def __init__(self, folder: Path) -> None:
        self._path = folder / "journal"
        self._pairs: dict[bytes, bytes] = {}
        self._size_bytes = 0  # of the complete records
        self._replayed = 0  # pairs that were replayed, since the last rewrite
        if self._path.exists():
            with self._path.open("rb") as file:
                self._replay(file, self._path.stat().st_size)

    def _replay(self, file: BinaryIO, size: int) -> None:
        for body in complete_records(file, size):
            for key, value in _unpack(body):
                self._pairs[key] = value
                self._replayed += 1
            self._size_bytes += record_bytes(body)

    def _rewrite(self) -> None:
        self._replayed = 0
        data = record_of(_pack(self._pairs.items()))
        write_file(self._path.parent, "journal.new", [data], len(self._pairs))
        rename_file(self._path.with_suffix(".new"), self._path)
        self._size_bytes = len(data)

    def get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return [*map(self._pairs.get, keys)]

    def put(self, pairs: Sequence[KeyValue]) -> None:
        if self._replayed > _REWRITE_RATIO * len(self._pairs):
            self._rewrite()
        self._size_bytes = append_to(self._path, self._size_bytes, record_of(_pack(pairs)))
        self._pairs.update(pairs)

    def scan(self, prefix: bytes) -> Iterator[KeyValue]:
        return iter(sorted(pair for pair in self._pairs.items() if pair[0].startswith(prefix)))

    def close(self) -> None:
        """Do nothing: no file is open between cycles."""


def _pack(pairs: Iterable[KeyValue]) -> bytes:
    return b"".join([_PAIR.pack(len(key), len(value)) + key + value for key, value in pairs])


def _unpack(body: bytes) -> Iterator[KeyValue]:
    at = 0
    while at < len(body):
        key_size, value_size = _PAIR.unpack_from(body, at)
        middle = at + _PAIR.size + key_size
        yield body[at + _PAIR.size : middle], body[middle : middle + value_size]
        at = middle + value_size
