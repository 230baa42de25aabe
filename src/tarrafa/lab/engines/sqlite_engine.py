"""A B-tree database, as in Pinkerton's WebCrawler: each URL is looked up on disk.

A cycle is one transaction in SQLite's write-ahead log, which is synced at the commit.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

from tarrafa.lab.engines.key_value import KeyValue, KeyValueRepository, StoreTraits

_FILE = "pairs.sqlite"
_CACHE_KIBIBYTES = 256 * 1024
_ASKED_AT_ONCE = 1000


class SqliteRepository(KeyValueRepository):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder, _SqliteStore, StoreTraits(_FILE, sqlite3.Error, _is_damage, _FILE))


def _is_damage(error: Exception) -> bool:
    """Return True for a damaged database. The low byte of the code is its class."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class _SqliteStore:
    def __init__(self, folder: Path) -> None:
        path = folder / _FILE
        if path.exists():
            # SQLite would open a read-only file, and leave a read-only log beside it.
            path.open("r+b").close()
        self._database = sqlite3.connect(path, isolation_level=None)
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = FULL")
        self._database.execute(f"PRAGMA cache_size = -{_CACHE_KIBIBYTES}")
        self._database.execute("CREATE TABLE IF NOT EXISTS pairs (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID")

    def get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        found: dict[bytes, bytes] = {}
        for first in range(0, len(keys), _ASKED_AT_ONCE):
            some = keys[first : first + _ASKED_AT_ONCE]
            marks = ",".join("?" * len(some))
            found.update(self._database.execute(f"SELECT key, value FROM pairs WHERE key IN ({marks})", some))  # noqa: S608
        return [*map(found.get, keys)]

    def put(self, pairs: Sequence[KeyValue]) -> None:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            self._database.executemany("INSERT OR REPLACE INTO pairs VALUES (?, ?)", pairs)
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")

    def scan(self, prefix: bytes) -> Iterator[KeyValue]:
        """Yield the pairs of a prefix. Keys have 17 bytes: none sorts behind the prefix followed by 16 high bytes."""
        ends = (prefix, prefix + b"\xff" * 16)
        yield from self._database.execute("SELECT key, value FROM pairs WHERE key BETWEEN ? AND ? ORDER BY key", ends)

    def close(self) -> None:
        self._database.close()
