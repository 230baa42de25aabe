"""Everything that is known of hosts, in one table: counts, times, status, back-off, Crawl-delay, robots.txt.

`HostTable` holds the records of hosts that were met lately, and what changed since the last checkpoint. The rest stands
in a `HostStorage`: an SQLite file for a crawl (`host_database`), nothing but dictionaries for a simulation. Whatever
delays a host's next visit is written to a `HostJournal` at once, because a kill must not let the host be visited too
early.

A host's record can be exported whole and imported by another owner.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, fields
from enum import StrEnum
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, Protocol

from tarrafa.agent.saved_values import SavedValues
from tarrafa.lru import LruCache
from tarrafa.obey import RobotsAnswer
from tarrafa.records import Failure, FailureKind, Page, Timings

HOSTS_LIMIT = 200_000  # records in memory
_UNKNOWN_LIMIT = 200_000
_TENTH = math.log(1.1)
_LAST_CHANCE = 10_000  # failures and suspensions: more than any limit allows
LARGEST = "largest host"  # in the counts: its size, as the sum of its growth


class HostStatus(StrEnum):
    WELCOME = ""
    SUSPENDED = "suspended"  # not visited before `until`
    GIVEN_UP = "given up"


@dataclass(slots=True)
class HostRecord:
    """What is known of a host. Times of day are seconds since the Unix epoch."""

    name: str
    visits: int = 0  # requests, whatever came of them: also retries and robots.txt
    answers: int = 0  # of the visits, those that were answered
    pages: int = 0  # of the answers, those that were kept with a 2xx status
    bytes: int = 0  # of bodies that were kept
    failures: int = 0
    visited_at: float = 0.0  # end of the last visit
    name_seconds: float = 0.0  # mean of its answers, as are the next but one and the last
    connect_seconds: float = 0.0  # one round trip: of the last new connection
    first_byte_seconds: float = 0.0
    total_seconds: float = 0.0
    status: str = HostStatus.WELCOME
    until: float = 0.0  # not visited before: it is suspended or given up, or it failed, or sent Retry-After
    reason: str = ""
    suspensions: int = 0  # consecutive
    consecutive_failures: int = 0
    refused: int = 0  # URLs, because it has reached its page limit
    crawl_delay_seconds: float = 0.0  # from its robots.txt
    robots_at: float = 0.0  # when its robots.txt was last fetched; 0 for never
    download_seconds: float = 0.0  # of the last answer
    address: str = ""  # the last one that it was visited at
    # Only with a star budget: other sites that link to it, as of its last schedule, and pages whose text another has.
    referrers: int = 0
    copies: int = 0
    # Pages that it has for this crawl: those kept, and the URLs that are known and not visited, within its limit. Set
    # whenever the repository schedules it, and saved with other changes, or when it has grown or shrunk by a tenth.
    available: int = 0
    wall: str = ""  # the bot wall that sent a challenge page; empty for none
    slowed_patterns: str = ""  # of its URLs, as `HostYields` dumps them; empty for none
    mirror_of: str = ""  # the host that has the same pages; empty for none
    refreshes: int = 0  # of the visits, those to pages that were collected before
    give_ups: int = 0  # consecutive, without an answer for a page in between

    def copy(self) -> "HostRecord":
        return HostRecord(*record_values(self))


RECORD_FIELDS = tuple(each.name for each in fields(HostRecord))
record_values = attrgetter(*RECORD_FIELDS)


class HostExport(NamedTuple):
    """All that another owner needs to go on with a host."""

    record: HostRecord
    robots: RobotsAnswer | None
    referrers: int = 0  # the set of `Referrers`


class HostChanges(NamedTuple):
    """What changed since the last checkpoint. Nothing changes it after it was taken."""

    records: Sequence[HostRecord] = ()
    robots: Sequence[RobotsAnswer] = ()
    # `visits`, `hosts` met, hosts `given up`, `failure …`, growth of the `largest host`
    counts: Mapping[str, int] = MappingProxyType({})
    spent: Mapping[str, int] = MappingProxyType({})  # pages of each site, address or pattern that has a budget
    referrers: Mapping[str, int] = MappingProxyType({})  # of each host, the set of `Referrers`

    def __bool__(self) -> bool:
        return bool(self.records or self.robots or self.counts or self.spent or self.referrers)


class HostStorage(Protocol):
    """Where the records and answers of the last checkpoint are."""

    def host(self, name: str) -> HostRecord | None: ...

    def robots_answer(self, host: str) -> RobotsAnswer | None: ...

    def spent(self, unit: str) -> int | None:
        """Return the pages that a site, an address or a pattern of URLs has given; None if none were counted."""
        ...

    def referrers(self, host: str) -> int | None:
        """Return which sites link to a host, as the set of `Referrers`; None if none does."""
        ...

    def close(self) -> None: ...


class HostJournal(Protocol):
    """Records that must survive a kill before the next checkpoint."""

    def write(self, record: HostRecord) -> None: ...

    def read(self) -> list[HostRecord]:
        """Return what a killed process left, the oldest first."""
        ...

    def rotate(self) -> list[Path]:
        """Start a new file. Return the files so far: the checkpoint that begins now contains all of them."""
        ...

    def remove(self, files: Sequence[Path]) -> None:
        """Remove files that a checkpoint made obsolete."""
        ...

    def close(self) -> None: ...


class MemoryHostStorage:
    """Storage and journal without files, for tests and simulation."""

    def __init__(self) -> None:
        # Filled by commit.
        self._records: dict[str, HostRecord] = {}
        self._robots: dict[str, RobotsAnswer] = {}
        self._spent: dict[str, int] = {}
        self._referrers: dict[str, int] = {}

    def commit(self, changes: HostChanges) -> None:
        self._records.update((record.name, record) for record in changes.records)
        self._robots.update((answer.host, answer) for answer in changes.robots)
        self._spent.update(changes.spent)
        self._referrers.update(changes.referrers)

    def host(self, name: str) -> HostRecord | None:
        record = self._records.get(name)
        return record.copy() if record else None

    def robots_answer(self, host: str) -> RobotsAnswer | None:
        return self._robots.get(host)

    def spent(self, unit: str) -> int | None:
        return self._spent.get(unit)

    def referrers(self, host: str) -> int | None:
        return self._referrers.get(host)

    def write(self, record: HostRecord) -> None:
        """Do nothing: there is no process that could be killed."""

    def read(self) -> list[HostRecord]:
        return []

    def rotate(self) -> list[Path]:
        return []

    def remove(self, files: Sequence[Path]) -> None:
        """Do nothing: there are no files."""

    def close(self) -> None:
        """Do nothing: there is nothing to close."""


class HostTable:
    """Used by one thread."""

    def __init__(
        self,
        storage: HostStorage,
        journal: HostJournal,
        met_count: int = 0,
        limit: int = HOSTS_LIMIT,
        largest_count: int = 0,
    ) -> None:
        self._storage = storage
        self._journal = journal
        self._limit = limit
        self.met_count = met_count  # hosts ever met
        self.largest_count = largest_count  # pages available at the largest host known so far
        # Filled by find and meet; the oldest are dropped by saved.
        self._records: dict[str, HostRecord] = {}
        # Hosts without a record in storage. Filled by find, emptied by meet; drops the least recently used.
        self._unknown: LruCache[str, bool] = LruCache(_UNKNOWN_LIMIT)
        # While no record was ever dropped, storage has no others.
        self._is_complete = met_count == 0
        # Names of changed records, and new answers. Filled by changed and put_robots, emptied by take_changes.
        self._changed: dict[str, HostRecord] = {}
        self._new_robots: dict[str, RobotsAnswer] = {}
        self._counts: Counter[str] = Counter()
        # Pages that sites, addresses and patterns of URLs have given, of those that have a budget.
        self.spent = SavedValues(storage.spent, 0)
        # Sites that link to each host, if budgets depend on them.
        self.referrers = SavedValues(storage.referrers, 0)
        self.unsaved_bytes = 0  # of new robots.txt files
        # Answers of the checkpoint under way. Filled by take_changes, emptied by saved.
        self._robots_being_saved: dict[str, RobotsAnswer] = {}

    def find(self, name: str) -> HostRecord | None:
        """Return the record of a host; None if it was never met."""
        record = self._records.get(name)
        if record is None and not self._is_complete and name not in self._unknown:
            record = self._storage.host(name)
            if record is None:
                self._unknown.put(name, True)
            else:
                self._records[name] = record
        return record

    def meet(self, name: str) -> HostRecord:
        """Return the record of a host, made if this is the first time."""
        record = self.find(name)
        if record is None:
            record = self._records[name] = HostRecord(name)
            self._unknown.pop(name)
            self.met_count += 1
            self._counts["hosts"] += 1
            self.changed(record)
        return record

    def set_available(self, record: HostRecord, pages_count: int) -> None:
        """Set how many pages a host has for this crawl."""
        self._note_size(record, record.available, pages_count)
        record.available = pages_count
        growth = pages_count - self.largest_count
        if growth > 0:
            self.largest_count = pages_count
            self._counts[LARGEST] += growth

    def set_referrers(self, record: HostRecord, sites_count: int) -> None:
        """Set how many other sites link to a host."""
        self._note_size(record, record.referrers, sites_count)
        record.referrers = sites_count

    def set_address(self, record: HostRecord, address: str) -> None:
        if record.address != address:
            record.address = address
            self.changed(record)

    def _note_size(self, record: HostRecord, former: int, new: int) -> None:
        """Save the record if a size has another magnitude, so that what storage has is right to a tenth."""
        if new != former and _magnitude(new) != _magnitude(former):
            self.changed(record)

    def changed(self, record: HostRecord) -> None:
        """Save the record with the next checkpoint."""
        self._changed[record.name] = record

    def suspend(self, record: HostRecord, reason: str, until: float, *, is_failing: bool) -> None:
        record.status, record.reason, record.until = HostStatus.SUSPENDED, reason, until
        record.suspensions += is_failing
        self._write_through(record)

    def back_off(self, record: HostRecord, until: float, failures: int) -> None:
        record.until, record.consecutive_failures = until, failures
        self._write_through(record)

    def give_up(self, record: HostRecord, reason: str, retry_at: float = 0.0) -> None:
        record.status, record.reason, record.until, record.suspensions = HostStatus.GIVEN_UP, reason, retry_at, 0
        record.give_ups += 1
        self._counts["given up"] += 1
        self.changed(record)

    def welcome(self, record: HostRecord) -> None:
        """Visit a host again that was given up or suspended."""
        record.status, record.reason = HostStatus.WELCOME, ""
        self.changed(record)

    def give_last_chance(self, record: HostRecord) -> None:
        """Let the next failure of a host give it up again."""
        record.suspensions = record.consecutive_failures = _LAST_CHANCE
        record.until = 0.0

    def _write_through(self, record: HostRecord) -> None:
        self.changed(record)
        self._journal.write(record)

    def count_visit(self, name: str, got: Page | Failure, ended_at: float, *, is_refresh: bool = False) -> None:
        """Count a visit that has ended. A host only asked for the robots.txt of another has no record."""
        self._counts["visits"] += 1
        if isinstance(got, Failure):
            self._counts[f"failure {got.kind}"] += 1
        record = self.find(name)
        if record is not None:
            record.visits += 1
            record.refreshes += is_refresh
            record.visited_at = ended_at
            if isinstance(got, Page):
                _count_answer(record, got.timings)
            self.changed(record)

    def count_kept(self, page: Page, host: str, *, is_new_page: bool = True) -> None:
        """Count an answer that was kept, as a page if its status is 2xx and it is new. It also ends a suspension."""
        record = self.meet(host)
        record.pages += page.is_success and is_new_page
        record.bytes += len(page.body)
        record.consecutive_failures = record.give_ups = 0
        if record.suspensions >= _LAST_CHANCE:
            record.suspensions = 0
        if record.status == HostStatus.SUSPENDED:
            record.status, record.reason, record.suspensions = HostStatus.WELCOME, "", 0
        self.changed(record)

    def count_failed_lookup(self, kind: FailureKind) -> None:
        """Count a host whose name was looked up in vain."""
        self._counts[f"failure {kind}"] += 1

    def count_wall(self, name: str, wall: str) -> None:
        """Count the challenge page of a bot wall."""
        self._counts[f"wall {wall}"] += 1
        self._counts[f"failure {FailureKind.WALL}"] += 1
        record = self.meet(name)
        record.wall = wall
        self.changed(record)

    def count_failure(self, name: str) -> None:
        record = self.meet(name)
        record.failures += 1
        self.changed(record)

    def robots_answer(self, host: str) -> RobotsAnswer | None:
        """Return what became of a host's robots.txt; None if it was never fetched."""
        answer = self._new_robots.get(host) or self._robots_being_saved.get(host)
        if answer is not None:
            return answer
        record = self.find(host)
        return self._storage.robots_answer(host) if record and record.robots_at else None

    def put_robots(self, answer: RobotsAnswer, crawl_delay_seconds: float) -> None:
        record = self.meet(answer.host)
        is_longer = crawl_delay_seconds > record.crawl_delay_seconds
        record.robots_at, record.crawl_delay_seconds = answer.fetched_at, crawl_delay_seconds
        self._new_robots[answer.host] = answer
        self.unsaved_bytes += len(answer.body or b"")
        self._write_through(record) if is_longer else self.changed(record)

    def export(self, name: str) -> HostExport | None:
        """Return everything that is known of a host; None if it was never met."""
        record = self.find(name)
        return HostExport(record.copy(), self.robots_answer(name), self.referrers.get(name)) if record else None

    def adopt(self, export: HostExport) -> None:
        """Take over a host from another owner. What that owner knew replaces what is known here."""
        record = self.meet(export.record.name)
        for name, value in zip(RECORD_FIELDS, record_values(export.record), strict=True):
            setattr(record, name, value)
        if export.robots is not None:
            self._new_robots[record.name] = export.robots
        if export.referrers:
            self.referrers.put(record.name, export.referrers | self.referrers.get(record.name))
        self.set_available(record, record.available)
        self._write_through(record)

    def recover(self) -> None:
        """Apply what a killed process wrote after its last checkpoint."""
        for written in self._journal.read():
            record = self.meet(written.name)
            record.status, record.until, record.reason = written.status, written.until, written.reason
            record.suspensions, record.consecutive_failures = written.suspensions, written.consecutive_failures
            record.crawl_delay_seconds = written.crawl_delay_seconds
            self.changed(record)

    @property
    def has_changes(self) -> bool:
        return bool(self._changed or self._new_robots or self._counts or self.spent or self.referrers)

    @property
    def unsaved_counts(self) -> Counter[str]:
        return self._counts

    def take_changes(self) -> tuple[HostChanges, list[Path]]:
        """Return what the next checkpoint saves, and the journal files that it makes obsolete."""
        records = [record.copy() for record in self._changed.values()]
        changes = HostChanges(
            records, list(self._new_robots.values()), self._counts, self.spent.take(), self.referrers.take()
        )
        self._changed, self._counts, self.unsaved_bytes = {}, Counter(), 0
        self._robots_being_saved, self._new_robots = self._new_robots, {}
        return changes, self._journal.rotate()

    def saved(self, journal_files: Sequence[Path]) -> None:
        """Note that the changes taken last are in storage, and forget the oldest records beyond the limit."""
        self._journal.remove(journal_files)
        self._robots_being_saved = {}
        self.spent.saved()
        self.referrers.saved()
        excess = len(self._records) - self._limit
        if excess > 0:
            self._is_complete = False
            for name in [name for name in self._records if name not in self._changed][:excess]:
                del self._records[name]

    def close(self) -> None:
        """Close both, also if one of them fails."""
        with ExitStack() as parts:
            parts.callback(self._journal.close)
            parts.callback(self._storage.close)


def _magnitude(count: int) -> int:
    """Return the same number for counts that differ by less than a tenth and are rounded alike."""
    return int(math.log(count) / _TENTH) if count > 0 else -1


def _count_answer(record: HostRecord, times: Timings) -> None:
    record.answers += 1
    record.download_seconds = times.total_seconds
    record.name_seconds += (times.name_seconds - record.name_seconds) / record.answers
    record.first_byte_seconds += (times.first_byte_seconds - record.first_byte_seconds) / record.answers
    record.total_seconds += (times.total_seconds - record.total_seconds) / record.answers
    if times.connect_seconds:
        record.connect_seconds = times.connect_seconds
