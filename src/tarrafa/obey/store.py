"""Every host's last answer about robots.txt, on disk; the permissions used lately, in memory.

One table of an SQLite file that is written ahead (WAL): a killed process loses nothing that was saved, a machine
without power the last moments at most; what is lost is asked for once more. Answers are saved some at a time, because
a transaction costs several times as much as what it writes.
"""

import zlib
from collections import OrderedDict
from pathlib import Path
from typing import Any

from isal import isal_zlib

from tarrafa.database import Database
from tarrafa.errors import DamagedError
from tarrafa.obey.permission import Basis, Permission, RobotsAnswer, permission_of, read_ahead
from tarrafa.obey.robots import ROBOTS_MAX_BYTES
from tarrafa.records import Page

FORMAT = 1
MEMORY_BYTES = 64 * 1024 * 1024
_UNASKED_LIMIT = 100_000
_UNSAVED_LIMIT, _UNSAVED_BYTES = 200, 4_000_000

# What a permission takes beside its rules: itself, its host's name, its place in the dictionary.
_ENTRY_BYTES = 400
_TABLES = """
CREATE TABLE answers (
    host TEXT PRIMARY KEY,
    basis TEXT NOT NULL,
    reason TEXT NOT NULL,
    status INTEGER NOT NULL,
    fetched_at REAL NOT NULL,
    expires_at REAL NOT NULL,
    failing_since REAL,
    body BLOB
);
"""
_REMEDY = "remove it, and every robots.txt is asked for again"
_COLUMNS = "host, basis, reason, status, fetched_at, expires_at, failing_since, body"
_GET = f"SELECT {_COLUMNS} FROM answers WHERE host = ?"  # noqa: S608
_ANY = "SELECT 1 FROM answers LIMIT 1"
_PUT = f"INSERT OR REPLACE INTO answers ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608


class RobotsStore:
    """Filled by whoever fetches robots.txt, asked before every page; one process at a time."""

    def __init__(self, path: Path, token: str, memory_bytes: int = MEMORY_BYTES) -> None:
        self._path = path
        self._token = token
        self._room_bytes = memory_bytes
        # Filled by put and permission; emptied from its beginning, where those stand that were not used for longest.
        self._permissions: OrderedDict[str, Permission] = OrderedDict()
        # Hosts whose robots.txt was never asked for. Filled by answer, emptied by put, or all at once when too many.
        self._unasked: set[str] = set()
        # Rows by host. Filled by put, emptied by save.
        self._unsaved: dict[str, tuple[Any, ...]] = {}
        self._unsaved_bytes = 0
        self._database = Database(path, _TABLES, FORMAT, _REMEDY, is_durable=False)
        # While nothing was left out of memory, there is nothing else on disk.
        self._is_complete = not self._database.rows(_ANY)

    def permission(self, host: str) -> Permission | None:
        """What the host allows, also when that has expired; None where its robots.txt was never asked for."""
        known = self._permissions.get(host)
        if known is not None:
            self._permissions.move_to_end(host)
            return known
        answer = self.answer(host)
        return None if answer is None else self._keep(answer)

    def answer(self, host: str) -> RobotsAnswer | None:
        if host in self._unasked or (self._is_complete and host not in self._permissions):
            return None
        unsaved = self._unsaved.get(host)
        rows = [unsaved] if unsaved else self._database.rows(_GET, (host,))
        if not rows:
            self._note_unasked(host)
            return None
        try:
            return _answer(*rows[0])
        except (ValueError, TypeError, zlib.error) as error:
            raise DamagedError(f"{self._path}: the row of {host} is none of ours ({error}); {_REMEDY}") from error

    def _note_unasked(self, host: str) -> None:
        if len(self._unasked) >= _UNASKED_LIMIT:
            self._unasked.clear()
        self._unasked.add(host)

    def read_ahead(self, page: Page) -> None:
        """A long robots.txt, in any thread, so that `put` does not take long."""
        read_ahead(page, self._token)

    def put(self, answer: RobotsAnswer) -> Permission:
        """On disk with the next `save`."""
        self._unasked.discard(answer.host)
        packed = None if answer.body is None else isal_zlib.compress(answer.body)
        moments = (answer.fetched_at, answer.expires_at, answer.failing_since)
        self._unsaved[answer.host] = (answer.host, answer.basis, answer.reason, answer.status, *moments, packed)
        self._unsaved_bytes += len(packed or b"")
        permission = self._keep(answer)
        is_much = len(self._unsaved) >= _UNSAVED_LIMIT or self._unsaved_bytes >= _UNSAVED_BYTES
        # A delay that the host asks for is to be kept after a kill, too.
        if is_much or permission.rules.crawl_delay_seconds:
            self.save()
        return permission

    def save(self) -> None:
        """What was put is safe from now on, whenever the process is killed."""
        if self._unsaved:
            with self._database.transaction():
                self._database.write_many(_PUT, self._unsaved.values())
            self._unsaved.clear()
            self._unsaved_bytes = 0

    def close(self) -> None:
        try:
            self.save()
        finally:
            self._database.close()

    def _keep(self, answer: RobotsAnswer) -> Permission:
        before = self._permissions.pop(answer.host, None)
        permission = self._permissions[answer.host] = permission_of(answer, self._token)
        self._room_bytes += _size_bytes(before) - _size_bytes(permission)
        while self._room_bytes < 0 and len(self._permissions) > 1:
            self._is_complete = False
            self._room_bytes += _size_bytes(self._permissions.popitem(last=False)[1])
        return permission


def _size_bytes(permission: Permission | None) -> int:
    return 0 if permission is None else _ENTRY_BYTES + permission.rules.size_bytes


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
    unpacker = zlib.decompressobj()
    body = unpacker.decompress(packed, ROBOTS_MAX_BYTES + 1)
    if not unpacker.eof:
        raise ValueError("the file is cut or too long")
    return body
