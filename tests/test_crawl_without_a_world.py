"""A whole crawl by the production frontier, workbench and visits: no socket, no file, no thread, on virtual time."""

import socket
import threading
from pathlib import Path

import pytest

from tarrafa.agent import CrawlLimits, HostTable, Policies, make_brain
from tarrafa.agent.host_table import MemoryHostStorage
from tarrafa.agent.url_buffer import BUFFER_LIMIT
from tarrafa.clock import VirtualClock
from tarrafa.lab.simulated_crawl import SimulatedCrawl
from tarrafa.lab.web import Journal, MemoryTransport, Plan, SyntheticWeb, Truth
from tarrafa.schedule import ConstantDelay, Delays, Level, RetryPolicy, Scope, UrlBounds, Workbench
from tarrafa.verify import MemoryRepository

DELAY_SECONDS = 5.0
AGENT = "Tarrafa/1 (+https://crawler.example)"


def crawled(
    web: SyntheticWeb, blocks: int = 1, hosts_limit: int = 100_000, buffer_limit: int = BUFFER_LIMIT
) -> tuple[SimulatedCrawl, Journal]:
    """Crawl a web to its end, as politely as a stranger."""
    journal = Journal(web.robots, DELAY_SECONDS)
    transport = MemoryTransport(web, VirtualClock(), user_agent=AGENT, journal=journal, wants_page_bodies=False)
    storage = MemoryHostStorage()
    limits = CrawlLimits(has_contact=True)
    policies = Policies(Scope(lambda _: True, UrlBounds()), Level(), limits, "tarrafa")
    delays = Delays(ConstantDelay(DELAY_SECONDS), address_seconds=1.0)
    workbench = Workbench(delays, RetryPolicy(), hosts_limit=hosts_limit)
    brain = make_brain(HostTable(storage, storage), workbench, policies, buffer_limit)
    crawl = SimulatedCrawl(web, transport, brain, storage, MemoryRepository(blocks=blocks))
    crawl.run(web.front)
    workbench.check()
    return crawl, journal


@pytest.fixture(autouse=True)
def _no_world(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail whatever opens a socket or a file, or starts a thread."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a crawl without a world touches the world")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    monkeypatch.setattr(Path, "open", refuse)


def wrong_pages(crawl: SimulatedCrawl, web: SyntheticWeb) -> set[str]:
    """Return the pages that the crawl missed, or should not have; without sitemaps, feeds and the like."""
    assert len(crawl.pages) == len(set(crawl.pages))
    rows = {row.url: row for row in Truth(web).rows()}
    fetched = {url for url in crawl.pages if rows[url].kind == "page"}
    return fetched ^ {url for url, row in rows.items() if row.collectable}


def test_crawl_ends_with_exactly_the_pages_of_the_truth_and_offends_no_host() -> None:
    web = SyntheticWeb(Plan(hosts=40, pages=1_500, rng_seed=3))
    crawl, journal = crawled(web, blocks=4)
    assert wrong_pages(crawl, web) == set()
    report = journal.report()
    assert (report["too_early"], report["robots_violations"]) == (0, 0)
    assert crawl.seconds > DELAY_SECONDS * 1_500 / 40


def test_hundred_thousand_pages_of_two_thousand_hosts() -> None:
    web = SyntheticWeb(Plan(hosts=2_000, pages=100_000, rng_seed=1))
    crawl, journal = crawled(web)
    assert set(crawl.pages) >= Truth(web).collectable()
    assert crawl.totals["hosts"] >= 2_000
    report = journal.report(entries=0)
    assert (report["too_early"], report["robots_violations"]) == (0, 0)


def test_twenty_thousand_hosts_are_visited_over_a_workbench_and_a_buffer_that_hold_few_of_them() -> None:
    web = SyntheticWeb(Plan(hosts=20_000, pages=20_000, rng_seed=2))
    crawl, journal = crawled(web, blocks=16, hosts_limit=2_000, buffer_limit=3_000)
    assert wrong_pages(crawl, web) == set()
    assert crawl.totals["hosts"] >= 20_000
    report = journal.report(entries=0)
    assert (report["too_early"], report["robots_violations"]) == (0, 0)
