"""What hosts were like, and the checkpoint to which all that is kept belongs: one SQLite file.

A checkpoint is committed together with the facts about hosts, in one transaction. Before that nothing of it has
happened.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from tarrafa.crawl.totals import Totals
from tarrafa.errors import DamagedError, WorkError
from tarrafa.keep import Place

FORMAT = 1


class Standing(StrEnum):
    """Whether a host is visited."""

    WELCOME = ""
    ASIDE = "set aside"  # not visited before `until`
    GIVEN_UP = "given up"


@dataclass(slots=True)
class Host:
    """What is known of a host. Times are those of its last page."""

    name: str
    pages: int = 0
    bytes: int = 0
    failures: int = 0
    visited_at: float = 0.0  # seconds since the Unix epoch
    name_seconds: float = 0.0
    connect_seconds: float = 0.0  # a round trip; of the last new connection
    first_byte_seconds: float = 0.0
    total_seconds: float = 0.0
    standing: str = Standing.WELCOME
    until: float = 0.0  # seconds since the Unix epoch
    reason: str = ""


class Checkpoint(NamedTuple):
    number: int
    end: Place  # of the archive
    totals: Totals


_NAMES = tuple(each.name for each in fields(Host))
_BEGIN = f"""
BEGIN;
CREATE TABLE hosts ({", ".join(_NAMES)}, PRIMARY KEY (name)) WITHOUT ROWID;
CREATE INDEX hosts_standing ON hosts (standing, reason) WHERE standing != '';
CREATE TABLE checkpoint (number INTEGER, file INTEGER, offset INTEGER, totals TEXT);
INSERT INTO checkpoint VALUES (0, 0, 0, '{{}}');
PRAGMA user_version = {FORMAT};
COMMIT;
"""  # noqa: S608
_PUT = f"INSERT OR REPLACE INTO hosts VALUES ({', '.join('?' * len(_NAMES))})"  # noqa: S608


class HostBook:
    """Each thread opens its own; one of them writes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with self._translated():
            path.parent.mkdir(parents=True, exist_ok=True)
            # Whoever opens it and who uses it later may be two threads, never at the same time.
            self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = FULL")
            (version,) = self._database.execute("PRAGMA user_version").fetchone()
            if version == 0:
                self._database.executescript(_BEGIN)
            elif version != FORMAT:
                raise WorkError(f"{path} has format {version}, not {FORMAT}; use the version that wrote it")

    def checkpoint(self) -> Checkpoint:
        with self._translated():
            number, file, offset, totals = self._database.execute("SELECT * FROM checkpoint").fetchone()
        return Checkpoint(number, Place(file, offset), Totals(json.loads(totals)))

    def host(self, name: str) -> Host | None:
        with self._translated():
            row = self._database.execute("SELECT * FROM hosts WHERE name = ?", (name,)).fetchone()
        return None if row is None else Host(*row)

    def commit(self, checkpoint: Checkpoint, hosts: Iterable[Host]) -> None:
        number, end, totals = checkpoint
        with self._translated(), self._transaction():
            self._database.executemany(_PUT, [astuple(host) for host in hosts])
            self._database.execute(
                "UPDATE checkpoint SET number = ?, file = ?, offset = ?, totals = ?", (number, *end, json.dumps(totals))
            )

    def standings(self) -> dict[str, dict[str, int]]:
        """How many hosts are set aside or given up, by reason."""
        query = "SELECT standing, reason, count(*) FROM hosts WHERE standing != '' GROUP BY standing, reason"
        found: dict[str, dict[str, int]] = {}
        with self._translated():
            for standing, reason, count in self._database.execute(query):
                found.setdefault(standing, {})[reason] = count
        return found

    def close(self) -> None:
        with self._translated():
            self._database.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                raise DamagedError(f"{self._path} is not what was written ({error}); restore it from a copy") from error
            raise WorkError(f"{self._path}: {error}; go on when there is room and permission") from error
