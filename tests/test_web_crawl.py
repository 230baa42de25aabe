"""The truth holds: the reference crawler ends with exactly the truth's pages, over sockets and in memory."""

import asyncio
from collections import defaultdict
from dataclasses import replace
from typing import NamedTuple

import pytest

from tarrafa.lab.web import (
    Journal,
    MemoryTransport,
    Plan,
    SyntheticServer,
    SyntheticWeb,
    Truth,
    TruthRow,
    open_server,
    parse_faults,
)
from tarrafa.lab.web.resources import is_trap
from tarrafa.records import Failure, Page
from tarrafa.urls import BaseUrl, host_of, path_of
from webs import AGENT, Crawl, InstantClock, SocketFetch, body_of, charset_of, read_page

PLAIN = Plan(hosts=20, pages=400, rng_seed=5)
HOSTILE = Plan(hosts=60, pages=500, rng_seed=12, faults=parse_faults("hostile"))
# Not pages, but labelled as HTML.
SNARES = {"endless", "false-length", "false-type", "gzip-bomb", "trap"}


class Run(NamedTuple):
    web: SyntheticWeb
    crawl: Crawl
    truth: Truth
    rows: dict[str, TruthRow]
    journal: Journal

    def collected(self) -> set[str]:
        """Return the collected pages, without those that are only labelled as pages."""
        assert {self.rows[url].kind for url in self.crawl.pages()} <= {"page", *SNARES}
        return {url for url in self.crawl.pages() if self.rows[url].kind == "page"}


def enters(web: SyntheticWeb, url: str) -> bool:
    """Return True outside of traps, which are endless."""
    host = web.hosts.find(host_of(url).removeprefix("http://"))
    return host is None or not is_trap(host, path_of(url))


def crawl_in_memory(plan: Plan, by_sitemap: bool = True, day: int = 0) -> Run:
    """Crawl in memory; with a day, the web stands still at that day."""
    web, clock, day_seconds = SyntheticWeb(plan), InstantClock(), day * 86_400.0
    transport = MemoryTransport(
        web,
        clock,
        user_agent=AGENT,
        speed=day_seconds,
        round_trip_seconds=0.0 if day else 0.01,
        body_limit_bytes=100_000,
    )
    clock.time = 1.0
    crawl = Crawl(transport.fetch, clock.sleep, lambda url: enters(web, url), by_sitemap)
    asyncio.run(crawl.run(web.front))
    truth = Truth(web, int(day_seconds * 1_000))
    return Run(web, crawl, truth, {row.url: row for row in truth.rows()}, transport.journal)


@pytest.fixture(scope="module")
def plain() -> Run:
    return crawl_in_memory(PLAIN)


@pytest.fixture(scope="module")
def by_links() -> Run:
    return crawl_in_memory(PLAIN, by_sitemap=False)


@pytest.fixture(scope="module")
def later() -> Run:
    return crawl_in_memory(PLAIN, day=100)


@pytest.fixture(scope="module")
def hostile() -> Run:
    return crawl_in_memory(HOSTILE)


@pytest.fixture(scope="module", params=["plain", "later", "hostile"])
def run(request: pytest.FixtureRequest) -> Run:
    found = request.getfixturevalue(request.param)
    assert isinstance(found, Run)
    return found


# What is collected.


def test_crawl_ends_with_exactly_the_collectable_pages(run: Run) -> None:
    assert run.collected() == run.truth.collectable()


def test_crawl_without_sitemaps_ends_with_exactly_what_links_lead_to(plain: Run, by_links: Run) -> None:
    assert by_links.collected() == by_links.truth.collectable(by_sitemap=False)
    assert by_links.collected() < plain.collected()


def test_crawl_of_a_host_so_large_that_its_sitemap_is_an_index() -> None:
    plan = Plan(hosts=2, pages=900, rng_seed=3)
    found = crawl_in_memory(plan)
    assert any(row.url.endswith(".xml.gz") for row in found.rows.values())
    assert found.collected() == found.truth.collectable()


def test_crawl_of_a_web_with_names_ends_with_exactly_the_collectable_pages() -> None:
    found = crawl_in_memory(replace(PLAIN, names=True, rng_seed=13))
    assert found.collected() == found.truth.collectable()
    assert all("tz--" in url for url in found.collected())


@pytest.mark.parametrize("seed", range(20, 26))
def test_small_webs_of_any_seed_agree_with_their_truth(seed: int) -> None:
    plan = Plan(hosts=1 + 3 * (seed % 4), pages=60, rng_seed=seed, faults=parse_faults("hostile" if seed % 2 else ""))
    found = crawl_in_memory(plan)
    assert found.collected() == found.truth.collectable()
    assert_rows_say_what_was_seen(found)


def test_webs_hold_something_to_find_and_something_that_is_closed(plain: Run) -> None:
    """Otherwise the tests above would compare nothing."""
    assert len(plain.collected()) > 300
    assert any(not row.allowed for row in plain.rows.values() if row.kind == "page")
    assert any(row.reachable == "sitemap" for row in plain.rows.values())
    assert any(row.copy_of for row in plain.rows.values())
    assert any(row.near_copy_of for row in plain.rows.values())


def test_hostile_web_holds_every_kind_of_url(hostile: Run) -> None:
    kinds = {row.kind for row in hostile.rows.values()}
    assert kinds == {"page", "redirect", "missing", "image", "pdf", "robots", "sitemap", "dead", *SNARES}


# What is said of each URL.


def test_every_url_that_was_met_is_in_the_truth_with_the_right_permission(run: Run) -> None:
    assert {url: run.rows[url].allowed for url in run.crawl.allowed} == run.crawl.allowed


def test_every_url_that_can_be_reached_was_met(run: Run) -> None:
    reachable = {row.url for row in run.rows.values() if row.reachable and enters(run.web, row.url)}
    assert reachable == set(run.crawl.allowed)


def assert_rows_say_what_was_seen(run: Run) -> None:
    for url, outcome in run.crawl.answers.items():
        row = run.rows[url]
        if isinstance(outcome, Failure):
            assert row.status is None, url
            continue
        assert row.status == outcome.status, url
        if row.kind == "page":
            assert_page_is_as_its_row_says(run, row, outcome)
        location = outcome.header("location")
        assert row.redirect == (BaseUrl(url).link(location) if location else None)


def assert_page_is_as_its_row_says(run: Run, row: TruthRow, page: Page) -> None:
    reader, body = read_page(page), body_of(page)
    assert row.host == host_of(page.url)
    assert row.title == reader.title
    assert row.language == reader.language[:2]
    assert row.charset == charset_of(page, body) == reader.meta["charset"]
    assert row.canonical == (reader.canonical or None)
    assert row.nofollow == reader.nofollow
    assert row.noindex == ("noindex" in reader.meta.get("robots", "") or page.header("x-robots-tag") == "noindex")
    if row.copy_of in run.crawl.answers:
        original = run.crawl.answers[row.copy_of]
        assert isinstance(original, Page)
        assert body_of(original) == body


def test_truth_says_of_every_page_what_was_seen(run: Run) -> None:
    assert_rows_say_what_was_seen(run)


def test_pages_with_the_same_bytes_are_those_that_the_truth_calls_copies(run: Run) -> None:
    by_body = defaultdict(set)
    for url, page in run.crawl.pages().items():
        if run.rows[url].kind == "page":
            by_body[body_of(page)].add(url)
    for urls in by_body.values():
        assert len({run.rows[url].copy_of or url for url in urls}) == 1


def test_depth_is_the_number_of_links_from_the_start(by_links: Run) -> None:
    depths = {url: by_links.rows[url].depth for url in by_links.crawl.depth}
    assert depths == by_links.crawl.depth
    assert max(by_links.crawl.depth.values()) >= 4


def test_images_of_collected_pages_are_in_the_truth_and_are_images(plain: Run) -> None:
    sources = {src for page in plain.crawl.pages().values() for src in read_page(page).images}
    assert sources == {row.url for row in plain.rows.values() if row.kind == "image"}
    for src in sources:
        assert plain.rows[src].status == 200


def test_no_url_is_told_twice(run: Run) -> None:
    assert len(run.rows) == sum(1 for _ in run.truth.rows())


def test_polite_crawl_breaks_no_rule_in_the_webs_own_eyes(run: Run) -> None:
    report = run.journal.report(0)
    assert report["robots_violations"] == report["malformed"] == 0
    assert report["requests"] >= len(run.crawl.answers)


def test_after_some_time_pages_were_born_and_others_died(plain: Run, later: Run) -> None:
    assert later.collected() - plain.collected()
    assert plain.collected() - later.collected()
    gone = [row for row in later.rows.values() if row.kind == "missing" and "/antigo/" not in row.url]
    assert gone
    assert {row.status for row in gone} <= {404, 410}
    assert all(row.reachable for row in gone)


def test_summary_counts_what_the_rows_say(run: Run) -> None:
    summary, rows = run.truth.summary(), run.rows.values()
    assert summary["urls"] == len(rows)
    assert summary["pages"] == sum(row.kind == "page" for row in rows)
    assert summary["collectable"] == len(run.collected())
    assert summary["closed_by_robots"] == sum(row.kind == "page" and not row.allowed for row in rows)
    assert summary["copies"] == sum(bool(row.copy_of) for row in rows)
    assert summary["reachable_by_sitemap"] == sum(row.kind == "page" and row.reachable == "sitemap" for row in rows)
    assert summary["front"] == run.web.front


# Over real sockets.


async def crawl_over_sockets(server: SyntheticServer) -> tuple[Crawl, SocketFetch]:
    fetch = SocketFetch()
    crawl = Crawl(fetch, asyncio.sleep, lambda url: enters(server.web, url))
    try:
        return await crawl.run(server.web.front), fetch
    finally:
        fetch.close()


def test_crawl_over_sockets_collects_the_same_and_is_not_to_blame() -> None:
    async def story() -> None:
        async with open_server(replace(PLAIN, port=0)) as server:
            crawl, fetch = await crawl_over_sockets(server)
            truth, report = Truth(server.web), server.journal.report()
            assert set(crawl.pages()) == truth.collectable()
            assert report["malformed"] == report["robots_violations"] == report["too_early"] == 0
            assert report["requests"] == fetch.count == len(report["entries"])
            memory = SyntheticWeb(replace(PLAIN, port=server.web.plan.port))
            assert_transports_agree(memory, crawl.pages())

    asyncio.run(story())


def assert_transports_agree(web: SyntheticWeb, pages: dict[str, Page]) -> None:
    for url, page in pages.items():
        host = web.hosts.find(host_of(url).removeprefix("http://"))
        assert host
        number = web.pages.find(host, path_of(url))
        assert number is not None
        assert body_of(page) == web.renderer.page(host, number, 0)


def test_crawl_over_sockets_gets_through_resets_and_traps() -> None:
    """Leave out the faults that take time; the tests of faults cover those."""
    faults = parse_faults("traps,flaky,reset,redirect-loop,robots-403,robots-500,robots-unreachable,robots-broken")

    async def story() -> None:
        async with open_server(Plan(hosts=25, pages=150, rng_seed=14, port=0, faults=faults)) as server:
            crawl, _ = await crawl_over_sockets(server)
            rows = {row.url: row for row in Truth(server.web).rows()}
            assert {url for url in crawl.pages() if rows[url].kind == "page"} == Truth(server.web).collectable()
            report = server.journal.report(0)
            assert report["malformed"] == report["robots_violations"] == 0

    asyncio.run(story())
