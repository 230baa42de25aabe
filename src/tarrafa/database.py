"""SQLite files in WAL mode, with a format number, and with errors as `WorkError` and `DamagedError`.

`Database` writes, `DatabaseReader` only reads: also files of another user, on a read-only disk, and while another
process writes.
"""

import shutil
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tarrafa.disk import describe_disk_error, make_folder
from tarrafa.errors import DamagedError, WorkError

_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_READ_TRIES = 5


class Database:
    """One file. A killed process loses nothing that was committed; with `is_durable`, nor does a loss of power.

    It may be opened in one thread and used in another, but never by two at the same time.
    """

    def __init__(self, path: Path, tables: str, number: int, remedy: str, *, is_durable: bool) -> None:
        """Open the file. A new one gets `tables` and the format `number`; `remedy` tells the user how to replace it."""
        self._path = path
        self._remedy = remedy
        with self._map_errors():
            make_folder(path.parent)
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
        with _mapped_errors(self._path, self._remedy):
            yield


class DatabaseReader:
    """One file, open for reading. Creates no file beside it, and takes no lock that a writer could meet.

    A writer creates a log and a shared index of it beside the file. While both exist, they are used. Without a log the
    file is complete and is read as immutable; a query is repeated if a writer has begun meanwhile. A log without its
    index is all that a copy of a killed writer's files may have; then file and log are copied to a temporary folder.
    """

    def __init__(self, path: Path, number: int, remedy: str) -> None:
        self._path = path
        self._log = path.with_name(f"{path.name}-wal")
        self._remedy = remedy
        with self._map_errors():
            self._stamp = self._current_stamp()
            self._connection = self._connect()
        try:
            ((version,),) = self.rows("PRAGMA user_version")
            if not version and not self.rows("SELECT 1 FROM sqlite_schema LIMIT 1"):
                raise WorkError(f"{self._path} is empty: it is being created; try again in a moment")
            if version != number:
                raise DamagedError(f"{self._path} has format {version}, not {number}; {self._remedy}")
        except BaseException:
            self._connection.close()
            raise

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        for _ in range(_READ_TRIES):
            with self._map_errors():
                self._reconnect_if_changed()
                try:
                    found = self._connection.execute(query, values).fetchall()
                except sqlite3.DatabaseError:
                    if not self._is_changed():
                        raise
                    continue
                if not self._is_changed():
                    return found
        raise WorkError(f"{self._path} changes faster than it can be read; try again")

    def close(self) -> None:
        self._connection.close()

    def _reconnect_if_changed(self) -> None:
        if self._is_changed():
            self._connection.close()
            self._stamp = self._current_stamp()
            self._connection = self._connect()

    def _is_changed(self) -> bool:
        """Return True if the file is read as immutable, and is not any more."""
        return self._stamp is not None and self._stamp != self._current_stamp()

    def _current_stamp(self) -> tuple[int, ...] | None:
        """Return what identifies an immutable state of the file; None if there is a log."""
        if self._log.exists() and self._log.stat().st_size:
            return None
        stored = self._path.stat()
        return stored.st_ino, stored.st_size, stored.st_mtime_ns

    def _connect(self) -> sqlite3.Connection:
        uri = self._path.absolute().as_uri()
        if self._stamp is not None:
            return _open_uri(f"{uri}?mode=ro&immutable=1")
        if self._path.with_name(f"{self._path.name}-shm").exists():
            return _open_uri(f"{uri}?mode=ro&readonly_shm=1")
        return self._connect_copy()

    def _connect_copy(self) -> sqlite3.Connection:
        with tempfile.TemporaryDirectory(prefix="tarrafa-") as folder:
            copies = [Path(shutil.copyfile(path, Path(folder, path.name))) for path in (self._path, self._log)]
            connection = sqlite3.connect(copies[0], check_same_thread=False)
            # Opens the copies, which stay open after their names are removed.
            connection.execute("PRAGMA user_version").fetchone()
        return connection

    @contextmanager
    def _map_errors(self) -> Iterator[None]:
        with _mapped_errors(self._path, self._remedy):
            yield


def _open_uri(uri: str) -> sqlite3.Connection:
    return sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)


@contextmanager
def _mapped_errors(path: Path, remedy: str) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        # Errors of a closed connection have no code; the low byte of a code is its kind.
        kind = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if kind in _DAMAGED:
            raise DamagedError(f"{path} is not what was written ({error}); {remedy}") from error
        if kind == sqlite3.SQLITE_IOERR:
            # SQLite says so of a disk without room and of one that fails.
            raise WorkError(f"{path}: {error}; go on when there is room, and check the disk if there is") from error
        raise WorkError(f"{path}: {error}; go on when there is room and permission") from error
    except OSError as error:
        raise WorkError(describe_disk_error(error, path)) from error
