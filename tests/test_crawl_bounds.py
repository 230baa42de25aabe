"""Pages per host, the bound that the URLs themselves do not show: what it refuses is counted, each URL once."""

import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crawls import ServedWeb, crawled, documents, served
from tarrafa.agent import CrawlFolder
from tarrafa.urls import host_of
from tarrafa.verify import Veuniq

HOST_PAGES = 8


@pytest.fixture(scope="module")
def web() -> Iterator[ServedWeb]:
    with served("--hosts", "30", "--pages", "900", "--rng-seed", "4") as found:
        yield found


def crawl(web: ServedWeb, folder: Path, host_pages: int = HOST_PAGES, *options: str) -> dict[str, Any]:
    return crawled(web, folder, "--host-pages", str(host_pages), *options)


def pages_of(folder: Path) -> Counter[str]:
    """Return the number of pages of each host that were kept."""
    return Counter(host_of(row["url"]) for row in documents(folder) if row["outcome"] == "fetched")


def left_of(folder: Path) -> Counter[str]:
    """Return the number of known URLs of each host that were not visited."""
    with Veuniq(CrawlFolder(folder).repository) as repository:
        return Counter(host_of(each.url) for each in repository.urls() if not each.collected)


def refused_in_the_book(folder: Path) -> dict[str, int]:
    with sqlite3.connect(CrawlFolder(folder).hosts) as database:
        return dict(database.execute("SELECT name, refused FROM hosts WHERE refused > 0"))


def test_urls_of_hosts_that_have_had_their_pages_are_counted_once_each(web: ServedWeb, tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    told = crawl(web, folder)
    assert told["ending"] == "done"
    assert max(pages_of(folder).values()) == HOST_PAGES
    left = left_of(folder)
    assert told["refusals"]["host pages"] == left.total() > 100
    assert refused_in_the_book(folder) == left
    assert len(left) <= told["given_up"] == told["host_statuses"]["given up"]["pages"]


def test_limit_counts_pages_and_every_request_is_a_visit(web: ServedWeb, tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    before = web.ask("__log?entries=0")["requests"]
    told = crawl(web, folder, 100_000, "--pages", "100")
    assert (told["ending"], told["pages"], told["run_pages"]) == ("page limit", 100, 100)
    assert pages_of(folder).total() == told["outcomes"]["fetched"] == 100
    assert told["visits"] == told["run_visits"] == web.ask("__log?entries=0")["requests"] - before
    assert told["visits"] > sum(told["outcomes"].values()) > 100


def test_going_on_counts_nothing_again(web: ServedWeb, tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    counts = [crawl(web, folder, HOST_PAGES, "--pages", str(pages))["refusals"] for pages in (30, 90, 10_000, 10_000)]
    numbers = [each.get("host pages", 0) for each in counts]
    assert numbers == sorted(numbers)
    assert numbers[-2] == numbers[-1] == left_of(folder).total()


def test_with_more_pages_of_each_host_what_was_refused_is_visited(web: ServedWeb, tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    refused = crawl(web, folder)["refusals"]["host pages"]
    told = crawl(web, folder, 100_000)
    assert not left_of(folder)
    assert told["refusals"]["host pages"] == refused
    assert "given up" not in told["host_statuses"]
