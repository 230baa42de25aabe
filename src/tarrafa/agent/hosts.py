"""What hosts were like, and the checkpoint to which all that is kept belongs: one SQLite file.

A checkpoint is committed together with the facts about hosts, in one transaction. Before that nothing of it has
happened.
"""

import json
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, fields
from enum import StrEnum
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from tarrafa.agent.totals import Totals
from tarrafa.database import Database
from tarrafa.keep import Place

FORMAT = 4


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
    until: float = 0.0  # seconds since the Unix epoch; not visited before: set aside, or it failed, or asked for it
    reason: str = ""
    asides: int = 0  # times in a row that it was set aside
    failing: int = 0  # failures in a row
    refused: int = 0  # URLs, because it has had its pages

    def copy(self) -> "Host":
        return Host(*_values(self))


class Checkpoint(NamedTuple):
    number: int
    end: Place  # of the archive
    totals: Totals


_NAMES = tuple(each.name for each in fields(Host))
_values = attrgetter(*_NAMES)
_TABLES = f"""
CREATE TABLE hosts ({", ".join(_NAMES)}, PRIMARY KEY (name)) WITHOUT ROWID;
CREATE INDEX hosts_standing ON hosts (standing, reason) WHERE standing != '';
CREATE TABLE checkpoint (number INTEGER, file INTEGER, offset INTEGER, totals TEXT);
INSERT INTO checkpoint VALUES (0, 0, 0, '{{}}');
"""  # noqa: S608
_PUT = f"INSERT OR REPLACE INTO hosts VALUES ({', '.join('?' * len(_NAMES))})"  # noqa: S608
_COMMIT = "UPDATE checkpoint SET number = ?, file = ?, offset = ?, totals = ?"
_STANDINGS = "SELECT standing, reason, count(*) FROM hosts WHERE standing != '' GROUP BY standing, reason"


class HostBook:
    """Each thread opens its own; one of them writes."""

    def __init__(self, path: Path) -> None:
        self._database = Database(path, _TABLES, FORMAT, "restore it from a copy", is_durable=True)

    def checkpoint(self) -> Checkpoint:
        ((number, file, offset, totals),) = self._database.rows("SELECT * FROM checkpoint")
        return Checkpoint(number, Place(file, offset), Totals(json.loads(totals)))

    def host(self, name: str) -> Host | None:
        rows = self._database.rows("SELECT * FROM hosts WHERE name = ?", (name,))
        return Host(*rows[0]) if rows else None

    def commit(self, checkpoint: Checkpoint, hosts: Iterable[Host]) -> None:
        number, end, totals = checkpoint
        with self._database.transaction():
            self._database.write_many(_PUT, [_values(host) for host in hosts])
            self._database.write(_COMMIT, (number, *end, json.dumps(totals)))

    def standings(self) -> dict[str, dict[str, int]]:
        """How many hosts are set aside or given up, by reason."""
        found: dict[str, dict[str, int]] = {}
        for standing, reason, count in self._database.rows(_STANDINGS):
            found.setdefault(standing, {})[reason] = count
        return found

    def close(self) -> None:
        self._database.close()


def checkpoint_of(path: Path) -> Checkpoint:
    """The last one of the book that stands there, also while a crawl writes in it."""
    with closing(HostBook(path)) as book:
        return book.checkpoint()


def host_in(path: Path, name: str) -> Host | None:
    """What the book that stands there says of a host, also while a crawl writes in it."""
    with closing(HostBook(path)) as book:
        return book.host(name)
