"""Answers on disk: what was put is there, whatever happened since; permissions in memory within their bound."""

import contextlib
import os
import resource
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tarrafa.errors import DamagedError, WorkError
from tarrafa.obey import ROBOTS_MAX_BYTES, Basis, RobotsAnswer, RobotsStore
from tarrafa.obey.store import FORMAT

TOKEN = "tarrafa"
CLOSED = b"User-agent: *\nDisallow: /closed\n"


def answer(host: str, body: bytes | None = CLOSED, expires_at: float = 200.5) -> RobotsAnswer:
    basis = Basis.MISSING if body is None else Basis.FILE
    return RobotsAnswer(host, basis, "http-200", 200, 100.25, expires_at, None, body)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "robots.sqlite"


@pytest.fixture
def store(path: Path) -> Iterator[RobotsStore]:
    made = RobotsStore(path, TOKEN)
    yield made
    made.close()


ANSWERS = [
    answer("http://a.example"),
    answer("http://a.example:8080", b""),
    answer("http://b.example", None),
    answer("http://c.example", bytes(range(256)) * (ROBOTS_MAX_BYTES // 256)),
    RobotsAnswer("https://d.example", Basis.UNREACHABLE, "timeout", 0, 1.0, 2.0, 0.5),
]


def test_every_answer_comes_back_as_it_was_put_also_after_reopening(path: Path, store: RobotsStore) -> None:
    for one in ANSWERS:
        store.put(one)
    store.close()
    again = RobotsStore(path, TOKEN)
    assert [again.answer(one.host) for one in ANSWERS] == ANSWERS
    permission = again.permission("http://a.example")
    assert permission
    assert permission.refusal("http://a.example/closed") == "disallowed"
    again.close()


def test_host_that_was_never_asked_is_unknown(store: RobotsStore) -> None:
    assert (store.permission("http://a.example"), store.answer("http://a.example")) == (None, None)


def test_newer_answer_takes_the_place_of_the_older(store: RobotsStore) -> None:
    store.put(answer("http://a.example"))
    store.put(answer("http://a.example", None, expires_at=300.0))
    permission = store.permission("http://a.example")
    assert permission
    assert (permission.expires_at, permission.refusal("http://a.example/closed")) == (300.0, None)


def test_memory_is_bounded_and_those_used_lately_stay(path: Path) -> None:
    small = RobotsStore(path, TOKEN, memory_bytes=10_000)
    first = small.put(answer("http://0.example"))
    second = small.put(answer("http://1.example"))
    for number in range(2, 100):
        small.put(answer(f"http://{number}.example"))
        assert small.permission("http://0.example") is first
    again = small.permission("http://1.example")
    assert again == second
    assert again is not second
    small.close()


def test_permission_larger_than_the_memory_is_given_all_the_same(path: Path) -> None:
    small = RobotsStore(path, TOKEN, memory_bytes=100)
    many = b"User-agent: *\n" + b"".join(b"Disallow: /%d\n" % number for number in range(500))
    assert small.put(answer("http://a.example", many)).refusal("http://a.example/77")
    small.close()


# Golden: what version 1 wrote. A change here makes the stores of every user unreadable.

VERSION_1 = """
CREATE TABLE answers (host TEXT PRIMARY KEY, basis TEXT NOT NULL, reason TEXT NOT NULL, status INTEGER NOT NULL,
                      fetched_at REAL NOT NULL, expires_at REAL NOT NULL, failing_since REAL, body BLOB);
PRAGMA user_version = 1;
INSERT INTO answers VALUES ('http://a.example', 'file', 'http-503', 503, 100.25, 200.5, 90.0,
    X'789c0b2d4e2dd24d4c4fcd2bb152d0e272c92c4eccc9c92fb752d04fcec92f4e4de10200b3ab0ab6');
"""


def test_store_of_version_1_opens(path: Path) -> None:
    database = sqlite3.connect(path)
    database.executescript(VERSION_1)
    database.close()
    store = RobotsStore(path, TOKEN)
    expected = RobotsAnswer("http://a.example", Basis.FILE, "http-503", 503, 100.25, 200.5, 90.0, CLOSED)
    assert store.answer("http://a.example") == expected
    store.close()


def test_store_of_another_version_is_refused(path: Path) -> None:
    database = sqlite3.connect(path)
    database.executescript(VERSION_1 + f"PRAGMA user_version = {FORMAT + 1}")
    database.close()
    with pytest.raises(DamagedError, match="format 2"):
        RobotsStore(path, TOKEN)


def test_many_answers_are_saved_without_being_asked(path: Path, store: RobotsStore) -> None:
    """What waits in memory is bounded."""
    for number in range(1_000):
        store.put(answer(f"http://{number}.example"))
    assert len(store._unsaved) <= 200
    assert saved_count(path) == 1_000 - len(store._unsaved)


def saved_count(path: Path) -> int:
    with contextlib.closing(sqlite3.connect(path)) as database:
        (count,) = database.execute("SELECT count(*) FROM answers").fetchone()
    return int(count)


def test_large_answers_do_not_wait_in_memory_until_they_are_many(path: Path, store: RobotsStore) -> None:
    for number in range(20):
        store.put(answer(f"http://{number}.example", os.urandom(400_000)))
    assert saved_count(path) >= 10


def test_delay_that_a_host_asks_for_is_saved_at_once(path: Path, store: RobotsStore) -> None:
    """Were it forgotten by a kill, the host would be visited too early after it."""
    store.put(answer("http://a.example"))
    assert saved_count(path) == 0
    store.put(answer("http://b.example", b"User-agent: *\nCrawl-delay: 60\n"))
    assert saved_count(path) == 2


# What can go wrong.


def filled(path: Path) -> None:
    store = RobotsStore(path, TOKEN)
    for number in range(300):
        store.put(answer(f"http://{number}.example", CLOSED + os.urandom(200)))
    store.close()


def overwrite(path: Path) -> None:
    path.write_bytes(b"not a database, but some text that is long enough to be taken for one" * 100)


def scratch(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\x99" * (len(whole) - 4096))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:9_000])


def change(statement: str) -> Callable[[Path], None]:
    def changed(path: Path) -> None:
        database = sqlite3.connect(path)
        database.execute(statement)
        database.commit()
        database.close()

    return changed


@pytest.mark.parametrize(
    "damage",
    [
        overwrite,
        scratch,
        cut,
        change("UPDATE answers SET basis = 'odd'"),
        change("UPDATE answers SET body = 'text'"),
        change("UPDATE answers SET body = X'0102'"),
        change("UPDATE answers SET body = substr(body, 1, 40)"),
    ],
)
def test_damage_is_told_and_never_taken_for_true(path: Path, damage: Callable[[Path], None]) -> None:
    filled(path)
    damage(path)

    def read() -> None:
        store = RobotsStore(path, TOKEN)
        try:
            for number in range(300):
                store.permission(f"http://{number}.example")
        finally:
            store.close()

    with pytest.raises(DamagedError, match=r"robots\.sqlite.*remove it"):
        read()


def test_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "nowhere").write_text("a file")
    with pytest.raises(WorkError, match="nowhere"):
        RobotsStore(tmp_path / "nowhere" / "robots.sqlite", TOKEN)


def test_full_disk_is_told_and_what_was_there_stays(path: Path, store: RobotsStore) -> None:
    store.put(answer("http://a.example"))
    store.save()
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, usual[1]))
    try:
        store.put(large := answer("http://b.example", os.urandom(40_000)))
        with pytest.raises(WorkError, match="go on when there is room"):
            store.save()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    assert store.answer("http://a.example") == answer("http://a.example")
    store.save()
    store.close()
    again = RobotsStore(path, TOKEN)
    assert again.answer("http://b.example") == large
    again.close()


CHILD = """
import sys
from pathlib import Path
from tarrafa.obey import Basis, RobotsAnswer, RobotsStore

store = RobotsStore(Path(sys.argv[1]), "tarrafa")
number = 0
while True:
    for _ in range(3):
        store.put(RobotsAnswer(f"http://{number}.example", Basis.FILE, "http-200", 200, 1.0, 2.0, None, b"Disallow: /"))
        number += 1
    store.save()
    print(number, flush=True)
"""


def test_killed_process_loses_nothing_that_was_saved(path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", CHILD, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    for _ in range(500):
        process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    rest = process.stdout.read()
    told = 500 + len(rest.splitlines()) - (not rest.endswith("\n"))
    process.stdout.close()
    process.wait()
    store = RobotsStore(path, TOKEN)
    assert all(store.answer(f"http://{number}.example") for number in range(3 * told))
    store.close()
