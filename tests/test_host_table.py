"""What is known of hosts: what was committed is there after a kill, what delays a visit at once, memory has a bound."""

import contextlib
import json
import os
import resource
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarrafa.agent.host_database import FORMAT, Checkpoint, FileHostJournal, HostDatabase
from tarrafa.agent.host_table import HostChanges, HostRecord, HostStatus, HostTable, MemoryHostStorage
from tarrafa.agent.robots_cache import RobotsCache
from tarrafa.agent.unsaved import Totals
from tarrafa.errors import DamagedError, WorkError
from tarrafa.keep import BEGINNING, Place
from tarrafa.obey import ROBOTS_MAX_BYTES, Basis, RobotsAnswer
from tarrafa.records import Failure, FailureKind, Page, Timings

A, B = "http://a.example", "http://b.example"
CLOSED = b"User-agent: *\nDisallow: /closed\n"


def answer(host: str, body: bytes | None = CLOSED, expires_at: float = 200.5) -> RobotsAnswer:
    basis = Basis.MISSING if body is None else Basis.FILE
    return RobotsAnswer(host, basis, "http-200", 200, 100.25, expires_at, None, body)


def table(storage: MemoryHostStorage | None = None, met_count: int = 0, limit: int = 100) -> HostTable:
    storage = storage or MemoryHostStorage()
    return HostTable(storage, storage, met_count, limit)


def save(hosts: HostTable, storage: MemoryHostStorage) -> HostChanges:
    changes, files = hosts.take_changes()
    storage.commit(changes)
    hosts.saved(files)
    return changes


# The table.


def test_records_that_are_dropped_from_memory_come_back_from_storage_as_they_were() -> None:
    storage = MemoryHostStorage()
    hosts = table(storage, limit=2)
    records = [hosts.meet(f"http://{number}.example") for number in range(5)]
    save(hosts, storage)
    records[4].pages = 7
    hosts.changed(records[4])
    assert hosts.met_count == 5
    assert hosts.find(records[4].name) is records[4]
    assert hosts.find(records[0].name) == records[0]
    assert hosts.find(records[0].name) is not records[0]
    assert hosts.meet(records[1].name) == records[1]
    assert hosts.met_count == 5
    assert hosts.find("http://never.example") is None


@given(sizes=st.lists(st.integers(0, 1_000) | st.integers(0, 1_000_000), min_size=1, max_size=20))
def test_sizes_in_storage_are_right_to_a_tenth_although_small_changes_are_not_saved(sizes: list[int]) -> None:
    """Many small changes must not add up to a large one that is lost when the record is dropped."""
    storage = MemoryHostStorage()
    hosts = table(storage, limit=1)
    record = hosts.meet(A)
    for size in sizes:
        hosts.set_available(record, size)
        hosts.set_referrers(record, size)
        save(hosts, storage)
        saved = storage.host(A)
        assert saved is not None
        assert abs(saved.available - size) <= 0.1 * size
        assert abs(saved.referrers - size) <= 0.1 * size


def test_small_change_of_a_size_and_the_same_address_are_not_saved() -> None:
    storage = MemoryHostStorage()
    hosts = table(storage)
    hosts.set_available(hosts.meet(B), 100_000)  # the growth of the largest host is a change of its own
    save(hosts, storage)
    record = hosts.meet(A)
    hosts.set_address(record, "192.0.2.1")
    hosts.set_available(record, 1_000)
    assert [each.address for each in save(hosts, storage).records] == ["192.0.2.1"]
    hosts.set_address(record, "192.0.2.1")
    hosts.set_available(record, 1_001)
    assert not hosts.has_changes
    hosts.set_address(record, "192.0.2.2")
    assert [each.address for each in save(hosts, storage).records] == ["192.0.2.2"]


def test_unsaved_records_are_never_dropped() -> None:
    storage = MemoryHostStorage()
    hosts = table(storage, limit=1)
    for number in range(3):
        hosts.meet(f"http://{number}.example")
    changes, files = hosts.take_changes()
    hosts.count_failure("http://1.example")
    storage.commit(changes)
    hosts.saved(files)
    record = hosts.find("http://1.example")
    assert record is not None
    assert record.failures == 1


def test_changes_that_were_taken_do_not_change_any_more() -> None:
    hosts = table()
    record = hosts.meet(A)
    changes, _ = hosts.take_changes()
    record.pages = 9
    assert [each.pages for each in changes.records] == [0]
    assert changes.counts == {"hosts": 1}
    assert not hosts.has_changes


def test_times_are_means_and_the_round_trip_is_that_of_the_last_connection() -> None:
    hosts = table()
    hosts.meet(A)
    for connect, total in ((0.5, 1.0), (0.0, 3.0)):
        page = Page(f"{A}/", 200, (), b"body", 7.0, Timings(0.0, connect, 0.0, total / 2, total))
        hosts.count_visit(A, page, 9.0)
        hosts.count_kept(page, A)
    record = hosts.find(A)
    assert record is not None
    assert (record.pages, record.bytes, record.visited_at) == (2, 8, 9.0)
    assert (record.connect_seconds, record.first_byte_seconds, record.total_seconds) == (0.5, 1.0, 2.0)


def test_pages_and_visits_are_two_numbers() -> None:
    """Redirects, errors and failures are visits; only an answer with a 2xx status that was kept is a page."""
    hosts = table()
    record = hosts.meet(A)
    for status in (200, 204, 301, 404, 503):
        page = Page(f"{A}/{status}", status, (), b"body", 7.0)
        hosts.count_visit(A, page, 9.0)
        if status != 503:  # it will be retried
            hosts.count_kept(page, A)
    hosts.count_visit(A, Failure(f"{A}/", FailureKind.RESET, ""), 10.0)
    hosts.count_visit(B, Page(f"{B}/robots.txt", 200, (), b"", 7.0), 10.0)  # asked for the robots.txt of another host
    assert (record.visits, record.answers, record.pages, record.bytes) == (6, 5, 2, 16)
    assert hosts.unsaved_counts["visits"] == 7


def test_page_ends_a_suspension() -> None:
    hosts = table()
    record = hosts.meet(A)
    hosts.suspend(record, "busy", 50.0, is_failing=True)
    assert (record.status, record.suspensions) == (HostStatus.SUSPENDED, 1)
    hosts.count_kept(Page(f"{A}/", 200, (), b"", 60.0), A)
    assert (record.status, record.reason, record.suspensions) == (HostStatus.WELCOME, "", 0)


def test_host_can_be_exported_whole_and_adopted_by_another_owner() -> None:
    first, second = table(), table()
    RobotsCache(first, "tarrafa").put(answer(A, b"User-agent: *\nCrawl-delay: 30\nDisallow: /closed\n"))
    first.suspend(first.meet(A), "busy", 50.0, is_failing=True)
    first.count_failure(A)
    export = first.export(A)
    assert export is not None
    second.adopt(export)
    assert second.export(A) == export
    record = second.find(A)
    assert record is not None
    assert (record.crawl_delay_seconds, record.until, record.failures) == (30.0, 50.0, 1)
    permission = RobotsCache(second, "tarrafa").permission(A, 150.0)
    assert permission is not None
    assert permission.refusal(f"{A}/closed/1") == "disallowed"
    assert second.export(B) is None


# robots.txt.


def test_host_whose_robots_txt_was_never_fetched_has_no_permission() -> None:
    hosts = table()
    hosts.meet(A)
    robots = RobotsCache(hosts, "tarrafa")
    assert (robots.permission(A, 150.0), robots.permission(B, 150.0), robots.reason(A)) == (None, None, "")
    assert robots.usage(A, f"{A}/") == ()


def test_newer_robots_txt_replaces_the_older_and_an_expired_one_must_be_fetched_again() -> None:
    robots = RobotsCache(table(), "tarrafa")
    robots.put(answer(A))
    robots.put(answer(A, None, expires_at=300.0))
    permission = robots.permission(A, 250.0)
    assert permission is not None
    assert permission.refusal(f"{A}/closed") is None
    assert robots.permission(A, 300.0) is None


def test_permissions_in_memory_have_a_bound_and_those_used_lately_stay() -> None:
    robots = RobotsCache(table(limit=1_000), "tarrafa", memory_bytes=10_000)
    first, second = robots.put(answer("http://0.example")), robots.put(answer("http://1.example"))
    for number in range(2, 100):
        robots.put(answer(f"http://{number}.example"))
        assert robots.permission("http://0.example", 150.0) is first
    again = robots.permission("http://1.example", 150.0)
    assert again == second
    assert again is not second


def test_permission_larger_than_the_memory_is_given_all_the_same() -> None:
    robots = RobotsCache(table(), "tarrafa", memory_bytes=100)
    many = b"User-agent: *\n" + b"".join(b"Disallow: /%d\n" % number for number in range(500))
    assert robots.put(answer(A, many)).refusal(f"{A}/77") == "disallowed"


def test_answer_is_found_before_during_and_after_a_checkpoint() -> None:
    storage = MemoryHostStorage()
    hosts = table(storage)
    hosts.put_robots(answer(A), 0.0)
    assert hosts.unsaved_bytes == len(CLOSED)
    assert hosts.robots_answer(A) == answer(A)
    changes, files = hosts.take_changes()
    assert (hosts.robots_answer(A), hosts.unsaved_bytes) == (answer(A), 0)
    storage.commit(changes)
    hosts.saved(files)
    assert hosts.robots_answer(A) == answer(A)


# The database.


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "hosts.sqlite"


@pytest.fixture
def database(path: Path) -> Iterator[HostDatabase]:
    made = HostDatabase(path)
    yield made
    made.close()


ANSWERS = [
    answer(A),
    answer("http://a.example:8080", b""),
    answer(B, None),
    answer("http://c.example", bytes(range(256)) * (ROBOTS_MAX_BYTES // 256)),
    RobotsAnswer("https://d.example", Basis.UNREACHABLE, "timeout", 0, 1.0, 2.0, 0.5),
]


def test_checkpoint_hosts_and_robots_txt_are_committed_together(path: Path) -> None:
    first = HostDatabase(path)
    assert first.checkpoint() == Checkpoint(0, BEGINNING, Totals())
    record = HostRecord(A, pages=4, status=HostStatus.SUSPENDED, reason="busy", crawl_delay_seconds=2.5)
    checkpoint = Checkpoint(1, Place(2, 30), Totals({"pages": 4}))
    first.commit(checkpoint, HostChanges([record], ANSWERS))
    first.close()
    again = HostDatabase(path)
    assert again.checkpoint() == checkpoint
    assert again.host(A) == record
    assert again.host(B) is None
    assert again.host_statuses() == {"suspended": {"busy": 1}}
    assert [again.robots_answer(one.host) for one in ANSWERS] == ANSWERS
    assert again.robots_answer("http://never.example") is None
    again.close()


def test_database_of_another_format_is_refused(path: Path) -> None:
    HostDatabase(path).close()
    with contextlib.closing(sqlite3.connect(path)) as raw:
        raw.execute(f"PRAGMA user_version = {FORMAT + 2}")
    with pytest.raises(WorkError, match=f"format {FORMAT + 2}"):
        HostDatabase(path)


def overwrite(path: Path) -> None:
    path.write_bytes(b"not a database, but some text that is long enough to be taken for one" * 100)


def scratch(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\x99" * (len(whole) - 4096))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:9_000])


def change(statement: str) -> Callable[[Path], None]:
    def changed(path: Path) -> None:
        with contextlib.closing(sqlite3.connect(path)) as raw:
            raw.execute(statement)
            raw.commit()

    return changed


@pytest.mark.parametrize(
    "damage",
    [
        overwrite,
        scratch,
        cut,
        change("UPDATE robots SET basis = 'odd'"),
        change("UPDATE robots SET body = 'text'"),
        change("UPDATE robots SET body = X'0102'"),
        change("UPDATE robots SET body = substr(body, 1, 40)"),
    ],
)
def test_damage_is_told_and_never_taken_for_true(path: Path, damage: Callable[[Path], None]) -> None:
    names = [f"http://{number}.example" for number in range(300)]
    filled = HostDatabase(path)
    answers = [answer(name, CLOSED + os.urandom(200)) for name in names]
    filled.commit(Checkpoint(1, BEGINNING, Totals()), HostChanges([HostRecord(name) for name in names], answers))
    filled.close()
    damage(path)

    def read() -> None:
        with contextlib.closing(HostDatabase(path)) as database:
            for name in names:
                database.host(name)
                database.robots_answer(name)

    with pytest.raises(DamagedError, match=r"hosts\.sqlite.*restore it"):
        read()


def test_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "nowhere").write_text("a file")
    with pytest.raises(WorkError, match="nowhere"):
        HostDatabase(tmp_path / "nowhere" / "hosts.sqlite")


def test_full_disk_is_told_and_the_last_checkpoint_stays(path: Path, database: HostDatabase) -> None:
    first, second = Checkpoint(1, BEGINNING, Totals()), Checkpoint(2, BEGINNING, Totals())
    database.commit(first, HostChanges([HostRecord(A)], [answer(A)]))
    large = answer(B, os.urandom(40_000))
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, usual[1]))
    try:
        with pytest.raises(WorkError, match="go on when there is room"):
            database.commit(second, HostChanges([HostRecord(B)], [large]))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    assert (database.checkpoint(), database.robots_answer(A), database.host(B)) == (first, answer(A), None)
    database.commit(second, HostChanges([HostRecord(B)], [large]))
    again = HostDatabase(path)
    assert (again.checkpoint(), again.robots_answer(B)) == (second, large)
    again.close()


CHILD = """
import sys
from pathlib import Path
from tarrafa.agent import Checkpoint, HostChanges, HostDatabase, HostRecord, Totals
from tarrafa.keep import BEGINNING

database = HostDatabase(Path(sys.argv[1]))
number = 0
while True:
    number += 1
    records = [HostRecord(f"http://{number}-{each}.example") for each in range(3)]
    database.commit(Checkpoint(number, BEGINNING, Totals()), HostChanges(records))
    print(number, flush=True)
"""


def test_killed_process_loses_nothing_that_was_committed(path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", CHILD, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    for _ in range(100):
        process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    rest = process.stdout.read()
    told = 100 + len(rest.splitlines()) - (not rest.endswith("\n"))
    process.stdout.close()
    process.wait()
    with contextlib.closing(HostDatabase(path)) as database:
        assert database.checkpoint().number >= told
        assert all(database.host(f"http://{number}-{each}.example") for number in range(1, told + 1) for each in (0, 2))


# The journal.


def names(journal: FileHostJournal) -> list[str]:
    return [record.name for record in journal.read()]


def test_journal_is_read_by_the_next_process(tmp_path: Path) -> None:
    first = FileHostJournal(tmp_path / "journal")
    assert first.read() == []
    records = [
        HostRecord(A, until=7.5, consecutive_failures=2),
        HostRecord(B, status=HostStatus.SUSPENDED, until=9.0, reason="busy", suspensions=1, crawl_delay_seconds=4.0),
    ]
    for record in records:
        first.write(record)
    second = FileHostJournal(tmp_path / "journal")
    assert second.read() == records
    hosts = HostTable(MemoryHostStorage(), second)
    hosts.recover()
    found = hosts.find(B)
    assert found is not None
    assert (found.status, found.until, found.suspensions, found.crawl_delay_seconds) == ("suspended", 9.0, 1, 4.0)
    assert hosts.has_changes


def test_checkpoint_removes_what_it_contains_and_nothing_else(tmp_path: Path) -> None:
    journal = FileHostJournal(tmp_path)
    journal.write(HostRecord(A, until=1.0))
    contained = journal.rotate()
    journal.write(HostRecord(B, until=2.0))
    assert names(FileHostJournal(tmp_path)) == [A, B]
    journal.remove(contained)
    assert names(FileHostJournal(tmp_path)) == [B]
    journal.remove(journal.rotate())
    assert list(tmp_path.iterdir()) == []
    journal.close()


def test_process_after_a_kill_writes_to_a_file_of_its_own(tmp_path: Path) -> None:
    FileHostJournal(tmp_path).write(HostRecord(A, until=1.0))
    second = FileHostJournal(tmp_path)
    second.write(HostRecord(B, until=2.0))
    assert names(FileHostJournal(tmp_path)) == [A, B]
    second.remove(second.rotate())
    assert names(FileHostJournal(tmp_path)) == []


@pytest.mark.parametrize("garbage", [b'{"name": "http://c.exa', b"7\n", b"[1, 2]\n", b"\xff\n", b"\n", b'{"x": 1}\n'])
def test_torn_line_is_skipped_and_hides_nothing(garbage: bytes, tmp_path: Path) -> None:
    journal = FileHostJournal(tmp_path)
    journal.write(HostRecord(A, until=1.0))
    journal.close()
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes() + garbage)
    assert names(FileHostJournal(tmp_path)) == [A]


def test_whatever_delays_a_host_is_in_the_journal_at_once(tmp_path: Path) -> None:
    """Were it forgotten by a kill, the host would be visited too early after it."""
    hosts = HostTable(MemoryHostStorage(), FileHostJournal(tmp_path))
    record = hosts.meet(A)
    hosts.put_robots(answer(A), 0.0)
    assert names(FileHostJournal(tmp_path)) == []
    hosts.put_robots(answer(A), 60.0)
    hosts.back_off(record, 70.0, 1)
    hosts.suspend(record, "busy", 80.0, is_failing=True)
    lines = [json.loads(line) for path in tmp_path.iterdir() for line in path.read_text().splitlines()]
    assert [(line["crawl_delay_seconds"], line["until"], line["status"]) for line in lines] == [
        (60.0, 0.0, ""),
        (60.0, 70.0, ""),
        (60.0, 80.0, "suspended"),
    ]
