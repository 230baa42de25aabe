"""A whole crawl by the production frontier, workbench and visits: no socket, no file, no thread, on virtual time."""

import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tarrafa.agent import CrawlLimits, HostTable, Policies, make_brain
from tarrafa.agent.host_table import MemoryHostStorage
from tarrafa.agent.outcomes import status_of
from tarrafa.agent.url_buffer import BUFFER_LIMIT
from tarrafa.clock import VirtualClock
from tarrafa.lab.simulated_crawl import SimulatedCrawl
from tarrafa.lab.web import Journal, MemoryTransport, NetworkCut, Plan, SyntheticWeb, Truth, parse_faults
from tarrafa.records import Failure, FailureKind, Page, Request
from tarrafa.schedule import ConstantDelay, Delays, Level, RetryPolicy, Scope, UrlBounds, Workbench
from tarrafa.verify import MemoryRepository

DELAY_SECONDS = 5.0
HOUR, DAY = 3_600.0, 86_400.0
EPOCH = 1_700_000_000.0  # the wall clock at the start
AGENT = "Tarrafa/1 (+https://crawler.example)"


def crawled(
    web: SyntheticWeb,
    blocks: int = 1,
    hosts_limit: int = 100_000,
    buffer_limit: int = BUFFER_LIMIT,
    wall: Callable[[float], float] = lambda now: EPOCH + now,
    cut: NetworkCut | None = None,
    transport_type: type[MemoryTransport] = MemoryTransport,
    repository: MemoryRepository | None = None,
) -> tuple[SimulatedCrawl, Journal]:
    """Crawl a web to its end, as politely as a stranger; wait for hosts that are suspended."""
    journal = Journal(web.robots, DELAY_SECONDS)
    cuts = () if cut is None else (cut,)
    transport = transport_type(
        web, VirtualClock(), user_agent=AGENT, journal=journal, wants_page_bodies=False, cuts=cuts
    )
    storage = MemoryHostStorage()
    limits = CrawlLimits(has_contact=True)
    policies = Policies(Scope(lambda _: True, UrlBounds()), Level(), limits, "tarrafa")
    delays = Delays(ConstantDelay(DELAY_SECONDS), address_seconds=1.0)
    workbench = Workbench(delays, RetryPolicy(), hosts_limit=hosts_limit)
    brain = make_brain(HostTable(storage, storage), workbench, policies, buffer_limit)
    crawl = SimulatedCrawl(web, transport, brain, storage, repository or MemoryRepository(blocks=blocks), wall)
    crawl.run(web.front, is_waiting=True)
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


# Moments of the monotonic clock, and by how much the wall clock is wrong from then on.
JUMPS = {
    "ahead and back": [(60.0, 10 * HOUR), (200.0, 0.0)],
    "back and ahead": [(60.0, -10 * HOUR), (200.0, 0.0)],
    "years ahead, then right": [(30.0, 3_000 * DAY), (300.0, 0.0)],
    "years back, then years ahead": [(30.0, -3_000 * DAY), (90.0, 3_000 * DAY), (400.0, -1.0)],
    "every minute": [(60.0 * n, (-1) ** n * 2 * n * HOUR) for n in range(1, 200)],
}


@pytest.mark.parametrize("jumps", JUMPS.values(), ids=JUMPS)
def test_wall_clock_that_jumps_both_ways_loses_nothing_and_shortens_no_delay(jumps: list[tuple[float, float]]) -> None:
    """The hosts are suspended by an outage and wait by the clock that jumps; and robots.txt expires by it."""

    def wall(now: float) -> float:
        return EPOCH + now + next((error for at, error in reversed(jumps) if now >= at), 0.0)

    web = SyntheticWeb(Plan(hosts=3, pages=150, rng_seed=8, faults=parse_faults("crawl-delay")))
    cut = NetworkCut(100.0, 100.0 + 3 * HOUR, FailureKind.TIMEOUT, 30.0)
    crawl, journal = crawled(web, blocks=2, wall=wall, cut=cut)
    assert wrong_pages(crawl, web) == set()
    report = journal.report(entries=0)
    assert (report["too_early"], report["robots_violations"]) == (0, 0)
    steady, _ = crawled(web, blocks=2, cut=cut)
    assert crawl.seconds < steady.seconds + DAY


# robots.txt that changes in mid-crawl.

CHANGED_AT = 300.0
OPEN, CLOSED = b"User-agent: *\nCrawl-delay: 60\n", b"User-agent: *\nDisallow: /\n"


class ChangingRobots(MemoryTransport):
    """A web whose hosts allow everything at first, and nothing after a while."""

    def answer(self, request: Request, at_seconds: float) -> tuple[float, Page | Failure]:
        seconds, got = super().answer(request, at_seconds)
        if isinstance(got, Page) and request.url.endswith("/robots.txt"):
            got = got._replace(status=200, body=OPEN if at_seconds < CHANGED_AT else CLOSED)
        return seconds, got


def test_what_a_robots_txt_that_changed_disallows_is_ended_with_that_reason_and_the_rest_is_kept() -> None:
    """It is valid for a day, and the crawl takes longer: a minute a page, 2,500 pages of one host."""
    web = SyntheticWeb(Plan(hosts=1, pages=2_500, rng_seed=4))
    repository = MemoryRepository()
    crawl, _ = crawled(web, transport_type=ChangingRobots, repository=repository)
    known = {each.url: each for host in {web.front.rstrip("/")} for each in repository.urls_of(host)}
    assert {each.collected for each in known.values()} == {True}
    refused = {url for url, each in known.items() if each.status == status_of(None)}
    assert len(refused) > 500
    assert len(crawl.pages) > 900
    assert refused.isdisjoint(crawl.pages)
    assert crawl.totals["outcome refused"] == len(refused)
    # Not a page was fetched once the file had expired; it was asked for again at the next visit.
    assert DAY < crawl.seconds < DAY + HOUR
