"""The host table on disk: an SQLite file with hosts, robots.txt answers and the checkpoint; and the journal beside it.

A checkpoint is committed together with what changed about hosts, in one transaction. Before that, nothing of it has
happened. The journal has one line for each delay that a host was given since. At a start it is newer than the database.
Its lines are handed to the system without fsync: a power failure may lose the last of them.
"""

import contextlib
import json
import os
import zlib
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from isal import isal_zlib

from tarrafa.agent.host_table import RECORD_FIELDS, HostChanges, HostRecord, record_values
from tarrafa.agent.referrers import SET_BITS
from tarrafa.agent.unsaved import Totals
from tarrafa.database import Database, DatabaseReader
from tarrafa.disk import make_folder, map_disk_errors
from tarrafa.errors import DamagedError
from tarrafa.keep import Place
from tarrafa.obey import ROBOTS_MAX_BYTES, Basis, RobotsAnswer

FORMAT = 13
_REMEDY = "restore it from a copy"
_NO_CHANGES = HostChanges()


class Checkpoint(NamedTuple):
    number: int
    end: Place  # of the archive
    totals: Totals


_ROBOTS_FIELDS = ("host", "basis", "reason", "status", "fetched_at", "expires_at", "failing_since", "body")
_TABLES = f"""
CREATE TABLE hosts ({", ".join(RECORD_FIELDS)}, PRIMARY KEY (name)) WITHOUT ROWID;
CREATE INDEX hosts_status ON hosts (status, reason) WHERE status != '';
CREATE TABLE robots ({", ".join(_ROBOTS_FIELDS)}, PRIMARY KEY (host));
CREATE TABLE spent (unit, pages, PRIMARY KEY (unit)) WITHOUT ROWID;
CREATE TABLE referrers (host, bits, PRIMARY KEY (host)) WITHOUT ROWID;
CREATE TABLE checkpoint (number INTEGER, file INTEGER, offset INTEGER, totals TEXT);
INSERT INTO checkpoint VALUES (0, 0, 0, '{{}}');
"""  # noqa: S608
_PUT_HOST = f"INSERT OR REPLACE INTO hosts VALUES ({', '.join('?' * len(RECORD_FIELDS))})"  # noqa: S608
_PUT_ROBOTS = f"INSERT OR REPLACE INTO robots VALUES ({', '.join('?' * len(_ROBOTS_FIELDS))})"  # noqa: S608
_PUT_SPENT = "INSERT OR REPLACE INTO spent VALUES (?, ?)"
_PUT_REFERRERS = "INSERT OR REPLACE INTO referrers VALUES (?, ?)"
_COMMIT = "UPDATE checkpoint SET number = ?, file = ?, offset = ?, totals = ?"
_STATUSES = "SELECT status, reason, count(*) FROM hosts WHERE status != '' GROUP BY status, reason"


class HostQueries:
    """What can be asked of the file, open in either way."""

    def __init__(self, path: Path, database: Database | DatabaseReader) -> None:
        self._path = path
        self._database = database

    def checkpoint(self) -> Checkpoint:
        ((number, file, offset, totals),) = self._database.rows("SELECT * FROM checkpoint")
        return Checkpoint(number, Place(file, offset), Totals(json.loads(totals)))

    def host(self, name: str) -> HostRecord | None:
        rows = self._database.rows("SELECT * FROM hosts WHERE name = ?", (name,))
        return HostRecord(*rows[0]) if rows else None

    def robots_answer(self, host: str) -> RobotsAnswer | None:
        rows = self._database.rows("SELECT * FROM robots WHERE host = ?", (host,))
        try:
            return _answer(*rows[0]) if rows else None
        except (ValueError, TypeError, zlib.error) as error:
            raise DamagedError(f"{self._path}: the robots.txt of {host} is damaged ({error}); {_REMEDY}") from error

    def spent(self, unit: str) -> int | None:
        """Return the pages that a site, an address or a pattern of URLs has given; None if none were counted."""
        rows = self._database.rows("SELECT pages FROM spent WHERE unit = ?", (unit,))
        return int(rows[0][0]) if rows else None

    def referrers(self, host: str) -> int | None:
        """Return which sites link to a host, as the set of `Referrers`; None if none does."""
        rows = self._database.rows("SELECT bits FROM referrers WHERE host = ?", (host,))
        return int.from_bytes(rows[0][0]) if rows else None

    def host_statuses(self) -> dict[str, dict[str, int]]:
        """Return how many hosts are suspended or given up, by reason."""
        found: dict[str, dict[str, int]] = {}
        for status, reason, count in self._database.rows(_STATUSES):
            found.setdefault(status, {})[reason] = count
        return found

    def close(self) -> None:
        self._database.close()


class HostDatabase(HostQueries):
    """Open for writing. Each thread opens its own; one of them writes."""

    def __init__(self, path: Path) -> None:
        self._writer = Database(path, _TABLES, FORMAT, _REMEDY, is_durable=True)
        super().__init__(path, self._writer)

    def commit(self, checkpoint: Checkpoint, changes: HostChanges = _NO_CHANGES) -> None:
        number, end, totals = checkpoint
        with self._writer.transaction():
            self._writer.write_many(_PUT_HOST, [record_values(record) for record in changes.records])
            self._writer.write_many(_PUT_ROBOTS, [_row(answer) for answer in changes.robots])
            self._writer.write_many(_PUT_SPENT, list(changes.spent.items()))
            packed = [(host, bits.to_bytes(SET_BITS // 8)) for host, bits in changes.referrers.items()]
            self._writer.write_many(_PUT_REFERRERS, packed)
            self._writer.write(_COMMIT, (number, *end, json.dumps(totals)))


class HostDatabaseReader(HostQueries):
    """Open for reading only, also while the crawl runs, and in a folder that may not be written."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, DatabaseReader(path, FORMAT, _REMEDY))

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._database.rows(query, values)


def _row(answer: RobotsAnswer) -> tuple[Any, ...]:
    packed = None if answer.body is None else isal_zlib.compress(answer.body)
    return (*answer[:-1], packed)


def _answer(
    host: str,
    basis: str,
    reason: str,
    status: int,
    fetched_at: float,
    expires_at: float,
    failing_since: float | None,
    packed: bytes | None,
) -> RobotsAnswer:
    body = None if packed is None else _unpacked(packed)
    return RobotsAnswer(host, Basis(basis), reason, status, fetched_at, expires_at, failing_since, body)


def _unpacked(packed: bytes) -> bytes:
    decompressor = zlib.decompressobj()
    body = decompressor.decompress(packed, ROBOTS_MAX_BYTES + 1)
    if not decompressor.eof:
        raise ValueError("the file is cut or too long")
    return body


def checkpoint_of(path: Path) -> Checkpoint:
    """Return the last checkpoint of a crawl, also while it runs."""
    with closing(HostDatabaseReader(path)) as database:
        return database.checkpoint()


def host_in(path: Path, name: str) -> HostRecord | None:
    """Return the record of a host as of the last checkpoint, also while the crawl runs."""
    with closing(HostDatabaseReader(path)) as database:
        return database.host(name)


def journal_records(folder: Path) -> list[HostRecord]:
    """Return the records in the journal of a crawl, the oldest first, also while the crawl runs."""
    with map_disk_errors(folder):
        return _records_in(sorted(folder.glob("*.jsonl")))


def _records_in(paths: Sequence[Path]) -> list[HostRecord]:
    found: list[HostRecord] = []
    for path in paths:
        with contextlib.suppress(FileNotFoundError):  # a checkpoint may make it obsolete meanwhile
            for line in path.read_bytes().splitlines():
                with contextlib.suppress(ValueError, TypeError):  # a kill may leave a torn line
                    found.append(HostRecord(**json.loads(line)))
    return found


class FileHostJournal:
    """One file for each checkpoint to come. Written by the event loop's thread only."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with map_disk_errors(folder):
            make_folder(folder)
            # Files that no checkpoint has made obsolete. Filled by write and by a killed process, emptied by rotate.
            self._files = sorted(folder.glob("*.jsonl"))
        self._next = 1 + max((int(path.stem) for path in self._files if path.stem.isdigit()), default=0)
        self._descriptor: int | None = None

    def read(self) -> list[HostRecord]:
        with map_disk_errors(self._folder):
            return _records_in(self._files)

    def write(self, record: HostRecord) -> None:
        line = json.dumps(dict(zip(RECORD_FIELDS, record_values(record), strict=True)))
        with map_disk_errors(self._folder):
            if self._descriptor is None:
                path = self._folder / f"{self._next:08d}.jsonl"
                self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
                self._files.append(path)
                self._next += 1
            os.write(self._descriptor, line.encode() + b"\n")

    def rotate(self) -> list[Path]:
        files, self._files = self._files, []
        self.close()
        return files

    def remove(self, files: Sequence[Path]) -> None:
        with map_disk_errors(self._folder):
            for path in files:
                path.unlink(missing_ok=True)

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
