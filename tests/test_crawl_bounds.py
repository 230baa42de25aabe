"""Pages per host, the bound that the URLs themselves do not show: what it refuses is counted, each URL once."""

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crawls import HASTE, ServedWeb, crawled, documents, links, run, served
from tarrafa.agent import CrawlFolder
from tarrafa.agent.outcomes import URL_BUDGET, status_of
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


def test_urls_beyond_the_budget_of_their_pattern_are_refused_and_counted_once_each(
    web: ServedWeb, tmp_path: Path
) -> None:
    folder, settings = tmp_path / "crawl", tmp_path / "budget.toml"
    start = web.url.removeprefix("http://")
    settings.write_text(f'{HASTE}\n[[budget]]\nmatch = "{start}"\npages = 5\n')
    words = ["--config", str(settings), "crawl", web.url, "--dir", str(folder), "--json", "--host-pages", "8"]
    tolds = [json.loads(run(*words).stdout.splitlines()[-1]) for _ in range(2)]
    assert pages_of(folder)[web.url.rstrip("/")] == 5
    with Veuniq(CrawlFolder(folder).repository) as repository:
        refused = [each.url for each in repository.urls() if each.status == status_of(None, URL_BUDGET)]
    assert len(refused) > 5
    assert all(url.startswith(web.url) for url in refused)
    assert [told["refusals"]["url pages"] for told in tolds] == [len(refused)] * 2
    assert "over the budget of its pattern" in run("page", refused[0], "--dir", str(folder)).stderr


def test_hosts_of_an_address_share_its_budget(tmp_path: Path) -> None:
    """The hosts of this web have an address each, so that the budget of each is that of its address and of its site."""
    with served("--hosts", "4", "--pages", "60", "--rng-seed", "4") as web:
        for key, reason in (("address_pages", "address pages"), ("site_pages", "site pages")):
            folder, settings = tmp_path / key, tmp_path / f"{key}.toml"
            settings.write_text(HASTE.replace("[crawl]\n", f"[crawl]\n{key} = 6\n"))
            words = ["--config", str(settings), "crawl", web.url, "--dir", str(folder), "--json"]
            told = json.loads(run(*words).stdout.splitlines()[-1])
            assert max(pages_of(folder).values()) == 6
            assert told["refusals"][reason] == left_of(folder).total() > 10
            assert told["host_statuses"]["given up"][reason] > 0


def test_star_budget_gives_more_pages_to_hosts_to_which_more_sites_link(web: ServedWeb, tmp_path: Path) -> None:
    """Each host of this web is a site of its own."""
    folder, settings = tmp_path / "crawl", tmp_path / "star.toml"
    settings.write_text(HASTE.replace("[crawl]\n", '[crawl]\nbudget = "star"\nstar_pages = 3\n'))
    done = run("--config", str(settings), "crawl", web.url, "--dir", str(folder), "--json")
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["refusals"]["host pages"] > 0
    with sqlite3.connect(CrawlFolder(folder).hosts) as database:
        referrers = dict(database.execute("SELECT name, referrers FROM hosts"))
    pages, linking = pages_of(folder), defaultdict(set)
    for row in links(folder):
        linking[host_of(row["target"])].add(host_of(row["source"]))
    assert max(pages.values()) > 3
    for host, count in pages.items():
        others = len(linking[host] - {host})
        assert referrers[host] <= 4 + 1.3 * others
        assert count <= 3 * (1 + 4 + 1.3 * others)


def test_with_more_pages_of_each_host_what_was_refused_is_visited(web: ServedWeb, tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    refused = crawl(web, folder)["refusals"]["host pages"]
    told = crawl(web, folder, 100_000)
    assert not left_of(folder)
    assert told["refusals"]["host pages"] == refused
    assert "given up" not in told["host_statuses"]
