"""SQLite files in WAL mode, with a format number, and with errors as `WorkError` and `DamagedError`."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tarrafa.errors import DamagedError, WorkError

_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class Database:
    """One file. A killed process loses nothing that was committed; with `is_durable`, nor does a loss of power.

    It may be opened in one thread and used in another, but never by two at the same time.
    """

    def __init__(self, path: Path, tables: str, number: int, remedy: str, *, is_durable: bool) -> None:
        """Open the file. A new one gets `tables` and the format `number`; `remedy` tells the user how to replace it."""
        self._path = path
        self._remedy = remedy
        with self._map_errors():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        try:
            self._open(tables, number, is_durable)
        except BaseException:
            self._connection.close()
            raise

    def _open(self, tables: str, number: int, is_durable: bool) -> None:
        with self._map_errors():
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute(f"PRAGMA synchronous = {'FULL' if is_durable else 'NORMAL'}")
            (version,) = self._connection.execute("PRAGMA user_version").fetchone()
            (is_used,) = self._connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            if not is_used:
                self._connection.executescript(f"BEGIN; {tables} PRAGMA user_version = {number}; COMMIT;")
            elif version != number:
                raise DamagedError(f"{self._path} has format {version}, not {number}; {self._remedy}")

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._map_errors():
            return self._connection.execute(query, values).fetchall()

    def write(self, command: str, values: Sequence[Any] = ()) -> None:
        with self._map_errors():
            self._connection.execute(command, values)

    def write_many(self, command: str, rows: Iterable[Sequence[Any]]) -> None:
        with self._map_errors():
            self._connection.executemany(command, rows)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit everything that is written in the block, or nothing."""
        self.write("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            # After some errors, such as a full disk, SQLite has rolled back already.
            if self._connection.in_transaction:
                self.write("ROLLBACK")
            raise
        self.write("COMMIT")

    def close(self) -> None:
        with self._map_errors():
            self._connection.close()

    @contextmanager
    def _map_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            # Errors of a closed connection have no code; the low byte of a code is its kind.
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED:
                raise DamagedError(f"{self._path} is not what was written ({error}); {self._remedy}") from error
            raise WorkError(f"{self._path}: {error}; go on when there is room and permission") from error
        except OSError as error:
            raise WorkError(f"{self._path}: {error.strerror}; go on when there is room and permission") from error
