"""Readers of a crawl that may not be written: a folder of another user, and one on a disk that is mounted read-only."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest

from crawls import ServedWeb, crawled, served
from tarrafa.cli.app import run

NOBODY = 65_534
CHILD = Path(__file__).with_name("reader_child.py")


class Answer(NamedTuple):
    code: int
    out: str
    err: str

    def told(self) -> Any:
        assert self.code == 0, self.err
        return json.loads(self.out)


@pytest.fixture(scope="module")
def public() -> Iterator[Path]:
    """A folder that every user can enter, unlike those of pytest."""
    with tempfile.TemporaryDirectory(prefix="tarrafa-readers-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture(scope="module")
def web() -> Iterator[ServedWeb]:
    with served("--hosts", "6", "--pages", "60", "--rng-seed", "5") as found:
        yield found


@pytest.fixture(scope="module")
def crawl(web: ServedWeb, public: Path) -> Path:
    """A crawl that is ranked and indexed, and that only its owner may write."""
    folder = public / "crawl"
    crawled(web, folder)
    assert run(["rank", "--dir", str(folder), "--json"]) == 0
    assert run(["index", "--dir", str(folder), "--json"]) == 0
    for path in [folder, *folder.rglob("*")]:
        # Only taken away: what another user cannot read is for the crawl to mend.
        path.chmod(path.stat().st_mode & 0o555)
    return folder


def commands(folder: Path, url: str) -> list[list[str]]:
    place = ["--dir", str(folder)]
    return [
        ["status", *place, "--json"],
        ["page", url, *place, "--json"],
        ["page", url.removeprefix("http://"), *place, "--links"],
        ["report", *place, "--json"],
        ["export", "jsonl", *place, "--out", "-"],
        ["export", "warc", *place, "--out", "-"],
        ["export", "cdxj", *place, "--out", "-"],
        ["search", "a", *place, "--json"],
        ["repository", "stats", *place, "--json"],
        ["repository", "lookup", url, *place, "--json"],
        ["repository", "verify", *place, "--json"],
        ["rank", *place, "--json"],
        ["explain", url, *place, "--json"],
        ["explain", "--crawl", *place, "--json"],
        ["get", str(folder), f"api/explain?url={quote(url, safe='')}"],
        ["get", str(folder), "api/search?q=a"],
        ["get", str(folder), f"api/facts?url={quote(url, safe='')}"],
    ]


def answers(*asked: list[str], before: tuple[str, ...] = ()) -> list[Answer]:
    words = [*before, sys.executable, str(CHILD), str(NOBODY), *map(json.dumps, asked)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd="/")
    assert done.returncode == 0, done.stderr
    return [Answer(*each) for each in json.loads(done.stdout.splitlines()[-1])]


def contents(folder: Path) -> dict[str, tuple[int, int]]:
    return {str(path): (path.stat().st_mtime_ns, path.stat().st_uid) for path in folder.rglob("*")}


def check(found: list[Answer], pages: int) -> None:
    for each in found:
        assert each.code == 0, each
        assert all("standard output" in line for line in each.err.splitlines()), each
    status, page, _, report, jsonl, *_ = found
    assert status.told()["pages"] == report.told()["crawl"]["pages"] == pages
    assert page.told()["status"] == 200
    assert len(jsonl.out.splitlines()) >= pages
    search, stats, lookup, verify, rank, explained, limits, told, results, facts = found[-10:]
    assert explained.told()["verdict"] == told.told()["verdict"] == "fetched"
    assert not limits.told()["is_running"]
    assert results.told()["count"] == search.told()["count"]
    assert facts.told()["url"] == page.told()["url"]
    assert search.told()["count"] > 0
    assert stats.told()["known"] >= pages
    assert lookup.told()["known"]
    assert verify.told()["sound"]
    assert rank.told()


def test_another_user_reads_everything_and_leaves_no_trace(crawl: Path, web: ServedWeb) -> None:
    before = contents(crawl)
    found = answers(*commands(crawl, web.url))
    check(found, found[0].told()["pages"])
    assert contents(crawl) == before


def test_another_user_reads_what_a_killed_crawl_left(crawl: Path, web: ServedWeb, public: Path) -> None:
    """A killed process leaves the log of its database; a copy may lack the index of the log."""
    copy = public / "killed"
    shutil.copytree(crawl, copy)
    hosts = copy / "agents/00/hosts"
    for path in (hosts, *hosts.iterdir()):
        path.chmod(0o755)
    code = (
        "import os, sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None);"
        "c.execute('PRAGMA journal_mode = WAL'); c.execute('UPDATE checkpoint SET number = number');"
        "os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", code, str(hosts / "hosts.sqlite")], check=True)
    assert {path.name for path in hosts.glob("*-*")} == {"hosts.sqlite-wal", "hosts.sqlite-shm"}
    for path in (*hosts.iterdir(), hosts):
        path.chmod(0o555)
    found = answers(*commands(copy, web.url))
    check(found, found[0].told()["pages"])
    (hosts / "hosts.sqlite-shm").unlink()
    found = answers(*commands(copy, web.url))
    check(found, found[0].told()["pages"])


def test_everything_is_read_on_a_disk_that_is_mounted_read_only(crawl: Path, web: ServedWeb, public: Path) -> None:
    mounted = public / "mounted"
    mounted.mkdir(exist_ok=True)
    script = f'mount --bind "{crawl}" "{mounted}" && mount -o remount,bind,ro "{mounted}" && exec "$0" "$@"'
    before = ("unshare", "--mount", "sh", "-c", script)
    if subprocess.run([*before, "true"], capture_output=True, check=False).returncode:
        pytest.skip("a disk cannot be mounted here: it needs root and its own mount namespace")
    found = answers(*commands(mounted, web.url), before=before)
    check(found, found[0].told()["pages"])


def test_folder_that_may_not_be_read_is_told_with_its_name(crawl: Path, public: Path) -> None:
    closed = public / "closed"
    shutil.copytree(crawl, closed)
    closed.chmod(0o700)
    if os.geteuid() == NOBODY:
        pytest.skip("this user owns the folder")
    for each in answers(*commands(closed, "http://example.org/")[:-3]):
        assert each.code in (1, 2)
        assert str(closed) in each.err
        assert "Permission denied" in each.err


def test_writers_say_what_they_lack(crawl: Path, public: Path) -> None:
    copy = public / "copy"
    shutil.copytree(crawl, copy)
    for each in answers(["index", "--dir", str(copy)], ["crawl", "--dir", str(copy)]):
        assert (each.code, "Permission denied" in each.err, str(copy) in each.err) == (1, True, True), each
