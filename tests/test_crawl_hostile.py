"""Everything that can go wrong at once: the crawl ends, nothing is lost, nothing exceeds its bound."""

import json
import os
import shutil
import sqlite3
import stat
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from crawls import ServedWeb, arguments, crawled, documents, followed, hasty, pages, pages_fetched, run, served
from tarrafa.agent import CrawlFolder
from tarrafa.keep import read_pages
from tarrafa.urls import host_of
from tarrafa.verify import Veuniq

BODY_LIMIT_BYTES = 200_000
HOST_PAGES = 8
SNARES = ("endless", "false-length", "false-type", "gzip-bomb", "redirect-loop", "trap")


@pytest.fixture(scope="module")
def web() -> Iterator[ServedWeb]:
    with served("--hosts", "60", "--pages", "400", "--rng-seed", "12", "--faults", "hostile") as found:
        yield found


@pytest.fixture(scope="module")
def whole(web: ServedWeb, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile") / "crawl"
    # Few pages of each host, for some of them take seconds for each; so the snares are among the seeds.
    snares = [url for url, row in web.rows().items() if row["kind"] in SNARES]
    told = crawled(web, folder, *snares, "--depth", "12", "--in-flight", "60", "--host-pages", str(HOST_PAGES), code=3)
    assert told["ending"] == "suspended hosts"  # some hosts never answer for their robots.txt
    return folder


def test_no_page_is_missing_but_of_hosts_that_were_set_aside_or_failed(web: ServedWeb, whole: Path) -> None:
    with Veuniq(CrawlFolder(whole).repository) as repository:
        known = {each.url: each for each in repository.urls()}
    aside = hosts_not_visited(whole)
    assert {host_of(url) for url, each in known.items() if not each.collected} <= aside
    missing = web.collectable() - pages_fetched(whole, web)
    failed = {url for url in missing if url in known and (known[url].status or 0) >= 500}
    assert {host_of(url) for url in missing - failed} <= aside
    assert len(pages_fetched(whole, web)) > len(web.collectable()) // 2


def hosts_not_visited(folder: Path) -> set[str]:
    with sqlite3.connect(CrawlFolder(folder).hosts) as database:
        return {name for (name,) in database.execute("SELECT name FROM hosts WHERE status != ''")}


def test_no_url_that_was_extracted_is_lost(whole: Path) -> None:
    with Veuniq(CrawlFolder(whole).repository) as repository:
        known = {each.url for each in repository.urls()}
    lost = followed(whole) - known
    # Refused by the plain bounds that end every trap.
    assert all(len(url) > 2_000 or url.count("/") > 5 or "calend" in url for url in lost), sorted(lost)[:5]


def test_every_url_is_known_with_what_became_of_it(whole: Path) -> None:
    kept = {stored.page.url for stored in read_pages(CrawlFolder(whole).archive)}
    with Veuniq(CrawlFolder(whole).repository) as repository:
        assert list(repository.problems()) == []
        known = {each.url: each for each in repository.urls()}
    assert kept <= known.keys()
    assert all(each.collected for url, each in known.items() if url in kept)


def test_no_page_is_larger_than_its_bound(whole: Path) -> None:
    sizes = [len(stored.page.body) for stored in read_pages(CrawlFolder(whole).archive)]
    assert max(sizes) <= BODY_LIMIT_BYTES
    assert max(sizes) > BODY_LIMIT_BYTES // 2


def test_traps_end(web: ServedWeb, whole: Path) -> None:
    kinds = {url: row["kind"] for url, row in web.rows().items()}
    assert "trap" in kinds.values()
    assert max(len(row["url"]) for row in documents(whole)) <= 2_000
    # Of every host as many pages as it may have, and those that were in flight when it had them.
    assert max(Counter(host_of(row["url"]) for row in pages(whole)).values()) == HOST_PAGES


def test_what_every_host_was_like_is_kept(whole: Path) -> None:
    rows = Counter(host_of(row["url"]) for row in pages(whole))
    with sqlite3.connect(CrawlFolder(whole).hosts) as database:
        query = "SELECT name, pages, connect_seconds, first_byte_seconds, total_seconds FROM hosts WHERE pages > 0"
        hosts = {name: times for name, *times in database.execute(query)}
    assert {name: times[0] for name, times in hosts.items()} == rows
    assert all(0 < connect < 5 and 0 < first <= total for _, connect, first, total in hosts.values())


def test_nobody_was_visited_against_their_will(web: ServedWeb, whole: Path) -> None:
    assert documents(whole)
    log = web.log()
    assert (log["robots_violations"], log["malformed"], log["too_early"]) == (0, 0, 0)


# The disk.


@pytest.fixture
def small(tmp_path: Path) -> Iterator[tuple[ServedWeb, Path]]:
    """A crawl that was begun."""
    with served("--hosts", "10", "--pages", "300") as web:
        crawled(web, tmp_path / "crawl", "--pages", "100")
        yield web, tmp_path / "crawl"


def test_full_disk_stops_with_a_message_and_it_goes_on_when_there_is_room(small: tuple[ServedWeb, Path]) -> None:
    web, folder = small
    words = ["prlimit", "--fsize=150000", "--"] if shutil.which("prlimit") else []
    assert words, "prlimit is part of every Linux"
    done = run(*arguments(web, folder), before=words)
    assert done.returncode == 1
    assert "go on with a higher limit on the size of files" in done.stderr
    assert "Traceback" not in done.stderr
    shown = run("status", "--dir", str(folder)).stdout.splitlines()[-1]
    assert shown.startswith("Failed: ")
    assert "go on with a higher limit on the size of files" in shown
    crawled(web, folder)
    assert pages_fetched(folder, web) == web.collectable()


def test_read_only_folder_is_told(small: tuple[ServedWeb, Path]) -> None:
    web, folder = small
    archive = CrawlFolder(folder).archive
    if os.geteuid() == 0:
        words = ["setpriv", "--reuid=65534", "--clear-groups", "--"]
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        for path in folder.parents:
            path.chmod(path.stat().st_mode | stat.S_IXOTH | stat.S_IROTH)
    else:
        words = []
        archive.chmod(0o500)
    done = run(*arguments(web, folder), before=words)
    assert done.returncode in (1, 2)
    assert "Traceback" not in done.stderr
    assert "ermission" in done.stderr or "read-only" in done.stderr
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    crawled(web, folder)
    assert pages_fetched(folder, web) == web.collectable()


def test_archive_with_a_torn_end_goes_on(small: tuple[ServedWeb, Path]) -> None:
    web, folder = small
    last = max(CrawlFolder(folder).archive.iterdir())
    with last.open("ab") as file:
        file.write(b"\x1f\x8b\x08\x00half a record")
    crawled(web, folder)
    assert pages_fetched(folder, web) == web.collectable()


def test_damaged_batch_is_named(small: tuple[ServedWeb, Path], tmp_path: Path) -> None:
    web, folder = small
    batch = CrawlFolder(folder).batches / "00000999.arrow"
    assert list(CrawlFolder(folder).batches.iterdir()) == []
    batch.write_bytes(b"nothing of ours")
    crawled(web, folder, "--pages", "101")  # it belongs to no checkpoint
    hosts = CrawlFolder(folder).hosts
    hosts.write_bytes(b"x" * 5_000)
    for path in hosts.parent.glob("hosts.sqlite-*"):
        path.unlink()
    done = run("--config", str(hasty(tmp_path)), "crawl", web.url, "--dir", str(folder))
    assert done.returncode == 1
    assert "hosts.sqlite" in done.stderr
    assert "restore it from a copy" in done.stderr


def test_status_of_a_hostile_crawl_tells_why_hosts_are_not_visited(whole: Path) -> None:
    told = json.loads(run("status", "--dir", str(whole), "--json").stdout)
    assert told["host_statuses"]["suspended"]
    # Hosts that never answer, and hosts that break off.
    assert told["failures"].keys() >= {"timeout", "reset"}
    assert all(count > 0 for count in told["failures"].values())
    assert told["visits"] > told["pages"]
