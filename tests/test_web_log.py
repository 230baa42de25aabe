"""What the server reports: requests too early, against robots.txt or malformed; the truth; the clock."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tarrafa.clock import VirtualClock
from tarrafa.lab.web import Fault, Journal, Plan, ServingOptions, SyntheticServer, SyntheticWeb, Truth
from tarrafa.lab.web.journal import GRACE_SECONDS, LoggedVisit
from tarrafa.lab.web.plan import SyntheticHost
from tarrafa.records import Page
from webs import Wire, get, hosts_of, run_story, until

PLAN = Plan(hosts=12, pages=150, rng_seed=31)


async def ask(
    server: SyntheticServer, path: str, *headers: str, method: str = "GET", host: SyntheticHost | None = None
) -> Page:
    """Send one request on its own connection."""
    async with Wire.open(server) as wire:
        wire.ask(host or server.web.hosts.host(0), path, *headers, method=method)
        return await wire.answer()


async def told(server: SyntheticServer, path: str, method: str = "GET") -> Any:
    page = await ask(server, path, method=method)
    assert page.status == 200, page.body
    assert page.media_type == "application/json"
    return json.loads(page.body)


def tell(story: Callable[[SyntheticServer], Awaitable[None]], plan: Plan = PLAN, **habits: Any) -> None:
    run_story(story, plan, ServingOptions(**habits))


# The journal by itself.


class Visitor:
    """Visit a host at chosen moments, and return the blame."""

    def __init__(self, *faults: Fault, delay_seconds: float = 0.0) -> None:
        web = SyntheticWeb(Plan(hosts=2, pages=60, faults=frozenset(faults)))
        self.host = web.hosts.host(1)
        self.journal = Journal(web.robots, delay_seconds)

    def begin(self, at: float, path: str = "/", user_agent: str = "") -> str:
        return self.journal.begin(self.host, path, user_agent, at)

    def end(self, at: float, retry_after: float = 0.0, status: int = 200) -> None:
        self.journal.end(self.host, LoggedVisit(at, self.host.origin, "/", status, "", "", ""), at, retry_after)

    def visit(self, at: float, path: str = "/", retry_after: float = 0.0) -> str:
        blame = self.begin(at, path)
        self.end(at, retry_after)
        return blame


def test_first_visit_is_never_too_early() -> None:
    assert Visitor(delay_seconds=10.0).visit(0.0) == ""


def test_visit_before_the_delay_is_over_is_too_early_and_one_at_its_end_is_not() -> None:
    visitor = Visitor(delay_seconds=10.0)
    visitor.visit(0.0)
    assert visitor.visit(9.9) == "too early"
    assert visitor.visit(19.8) == "too early"
    assert visitor.visit(29.8) == ""


def test_delay_counts_from_the_end_of_the_answer() -> None:
    visitor = Visitor(delay_seconds=10.0)
    visitor.begin(0.0)
    visitor.end(5.0)
    assert visitor.visit(14.0) == "too early"
    assert visitor.visit(24.0) == ""


def test_a_timer_that_ends_a_millisecond_early_is_forgiven_and_rounding_is() -> None:
    visitor = Visitor(delay_seconds=1.0)
    visitor.visit(0.1 + 0.2)
    assert visitor.visit(1.3 - GRACE_SECONDS / 2) == ""
    assert visitor.visit(2.3 - 3 * GRACE_SECONDS) == "too early"


def test_without_a_delay_nothing_is_too_early_and_nothing_overlaps() -> None:
    visitor = Visitor()
    assert [visitor.begin(0.0) for _ in range(3)] == ["", "", ""]


def test_hosts_own_crawl_delay_counts_where_it_is_longer() -> None:
    visitor = Visitor(Fault.CRAWL_DELAY, delay_seconds=0.5)
    delay = visitor.host.crawl_delay_seconds
    assert delay >= 1
    visitor.visit(0.0)
    assert visitor.visit(delay - 0.1) == "too early"
    assert visitor.visit(2 * delay) == ""


def test_robots_txt_may_be_asked_for_before_its_delay_is_known() -> None:
    """A crawler whose first try failed cannot know the crawl-delay yet."""
    visitor = Visitor(Fault.CRAWL_DELAY)
    visitor.visit(0.0, "/robots.txt")
    assert visitor.visit(0.1, "/robots.txt") == ""
    assert visitor.visit(0.2) == "too early"


def test_retry_after_is_remembered_through_other_visits() -> None:
    visitor = Visitor()
    visitor.visit(0.0, retry_after=10.0)
    assert visitor.visit(1.0) == "too early"
    assert visitor.visit(9.0) == "too early"
    assert visitor.visit(9.5, "/robots.txt") == "too early"
    assert visitor.visit(10.0) == ""


def test_retry_after_of_one_answer_holds_when_another_ends_later() -> None:
    visitor = Visitor()
    visitor.begin(0.0)
    visitor.begin(0.0)
    visitor.end(0.1, retry_after=10.0, status=503)
    visitor.end(0.2)
    assert visitor.visit(5.0) == "too early"


def test_visit_while_another_is_under_way_overlaps() -> None:
    visitor = Visitor(delay_seconds=1.0)
    assert visitor.begin(0.0) == ""
    assert visitor.begin(0.5) == "overlapping"
    visitor.end(1.0)
    visitor.end(1.0)
    assert visitor.begin(3.0) == ""
    assert visitor.journal.report()["overlapping"] == 1


def test_robots_violation_is_blamed_before_all_else_and_all_is_counted() -> None:
    visitor = Visitor(Fault.ROBOTS_BROKEN, delay_seconds=1.0)
    visitor.begin(0.0)
    assert visitor.begin(0.1, "/cgi-bin/x") == "robots"
    assert visitor.begin(9.0, "/", "BadBot/2.0") == "robots"
    report = visitor.journal.report()
    assert (report["robots_violations"], report["overlapping"], report["requests"]) == (2, 2, 3)


def test_journal_keeps_the_last_visits_up_to_its_size_and_counts_all() -> None:
    web = SyntheticWeb(PLAN)
    journal = Journal(web.robots, size=3)
    host = web.hosts.host(0)
    for number in range(10):
        journal.begin(host, f"/{number}", "", 0.0)
        journal.end(host, LoggedVisit(0.0, host.origin, f"/{number}", 200, "", "", ""), 0.0)
    report = journal.report()
    assert [entry["path"] for entry in report["entries"]] == ["/7", "/8", "/9"]
    assert (report["requests"], report["statuses"]) == (10, {"200": 10})
    assert [entry["path"] for entry in journal.report(1)["entries"]] == ["/9"]
    assert journal.report(0)["entries"] == []
    assert len(journal.report(99)["entries"]) == 3


# The log over the wire.


def test_log_says_what_was_asked_when_by_whom() -> None:
    clock = VirtualClock(now=1e9)

    async def story(server: SyntheticServer) -> None:
        host = server.web.hosts.host(3)
        await clock.advance(2.5)
        await ask(server, "/nothing?x=1", f"User-Agent: tester/{'x' * 500}", host=host)
        (entry,) = (await told(server, "/__log"))["entries"]
        assert entry == {
            "at_seconds": 2.5,
            "host": host.origin,
            "path": "/nothing?x=1",
            "status": 404,
            "client": "127.0.0.1",
            "user_agent": f"tester/{'x' * 193}",
            "blame": "",
        }

    run_story(story, PLAN, clock=clock)


def test_log_counts_by_host_and_in_all() -> None:
    clock = VirtualClock()

    async def story(server: SyntheticServer) -> None:
        first, second = server.web.hosts.host(0), server.web.hosts.host(1)
        rules = next(host for host in hosts_of(server.web) if host.robots)
        await ask(server, "/", host=first)
        await ask(server, "/", host=second)
        await clock.advance(1)
        await ask(server, "/", host=first)  # too early: the delay is two seconds
        await clock.advance(2)
        await ask(server, "/", host=first)
        await ask(server, "/cgi-bin/x", host=rules)
        await ask(server, "/a#b", host=second)
        report = await told(server, "/__log?entries=0")
        assert report["by_host"][first.origin]["too_early"] == report["too_early"] == 1
        assert report["by_host"][rules.origin]["robots_violations"] == report["robots_violations"] == 1
        assert report["by_host"][second.origin]["malformed"] == report["malformed"] == 1
        assert report["requests"] == 6
        assert report["hosts"] == len(report["by_host"])
        assert report["statuses"] == {"200": 4, "400": 1, "404": 1}
        assert report["entries"] == []

    run_story(story, PLAN, ServingOptions(delay_seconds=2.0), clock)


def test_visits_that_overlap_on_a_slow_host_are_counted() -> None:
    clock = VirtualClock()

    async def story(server: SyntheticServer) -> None:
        host = server.web.hosts.host(1)
        async with Wire.open(server) as one, Wire.open(server) as other:
            one.ask(host)
            await until(lambda: server.journal.report(0)["requests"] == 1)
            other.ask(host)
            await until(lambda: server.journal.report(0)["requests"] == 2)
            await clock.advance(1)
            assert [(await wire.answer()).status for wire in (one, other)] == [200, 200]
        assert server.journal.report(0)["overlapping"] == 1

    run_story(story, Plan(hosts=2, pages=60, faults=frozenset({Fault.SLOW})), ServingOptions(delay_seconds=0.1), clock)


def test_visitor_who_waits_as_long_as_the_host_asks_is_not_to_blame() -> None:
    clock = VirtualClock()

    async def story(server: SyntheticServer) -> None:
        host = server.web.hosts.host(1)
        for _ in range(12):
            page = await ask(server, "/", host=host)
            await clock.advance(float(page.header("retry-after") or 0.5))
        assert server.journal.report(0)["too_early"] == 0
        for _ in range(12):
            await ask(server, "/", host=host)
            await clock.advance(0.5)
        assert server.journal.report(0)["too_early"] > 0

    run_story(story, Plan(hosts=2, pages=60, faults=frozenset({Fault.BUSY})), ServingOptions(delay_seconds=0.5), clock)


def test_log_is_forgotten_on_demand() -> None:
    async def story(server: SyntheticServer) -> None:
        await ask(server, "/")
        gone = await ask(server, "/__log", method="DELETE")
        assert (gone.status, gone.body, gone.header("content-length")) == (204, b"", None)
        report = await told(server, "/__log")
        assert (report["requests"], report["entries"], report["by_host"]) == (0, [], {})

    tell(story)


def test_log_has_a_size() -> None:
    async def story(server: SyntheticServer) -> None:
        for number in range(5):
            await ask(server, f"/{number}")
        report = await told(server, "/__log")
        assert [entry["path"] for entry in report["entries"]] == ["/3", "/4"]
        assert report["requests"] == 5
        assert [entry["path"] for entry in (await told(server, "/__log?entries=1"))["entries"]] == ["/4"]

    tell(story, log_size=2)


def test_questions_about_the_web_are_no_visits() -> None:
    async def story(server: SyntheticServer) -> None:
        for path in ("/__log", "/__hosts", "/__clock", "/__nothing"):
            await ask(server, path)
        assert server.journal.report()["requests"] == 0

    tell(story)


# The truth over the wire.


def test_truth_is_told_in_full_in_part_and_in_sum() -> None:
    async def story(server: SyntheticServer) -> None:
        truth = Truth(server.web)
        rows = [row.as_dict() for row in truth.rows()]
        whole = await told(server, "/__truth")
        assert whole == {"summary": truth.summary(), "urls": rows}
        assert await told(server, "/__truth?summary") == truth.summary()
        assert (await told(server, "/__truth?kind=page"))["urls"] == [row for row in rows if row["kind"] == "page"]
        host = server.web.hosts.host(2).origin
        found = (await told(server, f"/__truth?kind=redirect&host={host}"))["urls"]
        assert found == [row for row in rows if row["kind"] == "redirect" and row["host"] == host]
        assert found

    tell(story)


def test_truth_is_told_on_every_host_and_to_whoever_asks_at_the_same_time() -> None:
    async def story(server: SyntheticServer) -> None:
        hosts = [server.web.hosts.host(number) for number in (0, 5, 11)]
        answers = await asyncio.gather(*(ask(server, "/__truth?summary", host=host) for host in hosts))
        assert len({page.body for page in answers}) == 1

    tell(story)


def test_rows_leave_out_what_their_kind_does_not_have() -> None:
    rows = [row.as_dict() for row in Truth(SyntheticWeb(PLAN)).rows()]
    image = next(row for row in rows if row["kind"] == "image")
    assert set(image) == {"url", "host", "kind", "status", "allowed", "collectable"}
    redirect = next(row for row in rows if row["kind"] == "redirect")
    assert {"redirect", "reachable", "depth"} <= set(redirect)
    page = next(row for row in rows if row["kind"] == "page")
    assert {"title", "language", "charset", "topic", "changes", "changes_per_day", "modified", "born"} <= set(page)


def test_hosts_are_told_as_a_resolvers_map() -> None:
    async def story(server: SyntheticServer) -> None:
        page = await ask(server, "/__hosts")
        lines = [line.split() for line in page.body.decode().splitlines()]
        assert [(host.address, host.name) for host in hosts_of(server.web)] == [(a, n) for a, n in lines]

    tell(story, Plan(hosts=50, pages=50, names=True))


@pytest.mark.parametrize(
    ("method", "path", "status", "hint"),
    [
        ("GET", "/__x", 404, "try /__truth, /__copies, /__log, /__clock, /__hosts"),
        ("GET", "/__", 404, "try /__truth"),
        ("GET", "/__log?entries=x", 400, "entries=100"),
        ("GET", "/__log?entries=-1", 400, "entries=100"),
        ("GET", "/__log?entries=" + "9" * 5_000, 400, ""),
        ("GET", "/__log?entrys=1", 400, "/__log does not take entrys; it takes entries"),
        ("GET", "/__truth?kind=pages", 400, 'no URL is of the kind "pages"; kinds are page, redirect'),
        ("GET", "/__truth?sumary", 400, "it takes summary, kind, host"),
        ("GET", "/__hosts?x", 400, "it takes nothing"),
        ("POST", "/__clock", 400, "advance_seconds=86400"),
        ("POST", "/__clock?advance_seconds=", 400, "advance_seconds=86400"),
        ("POST", "/__clock?advance_seconds=soon", 400, "advance_seconds=86400"),
        ("POST", "/__clock?advance_seconds=-1", 400, "advance_seconds=86400"),
        ("POST", "/__clock?advance_seconds=nan", 400, "advance_seconds=86400"),
        ("POST", "/__clock?advance_seconds=inf", 400, "advance_seconds=86400"),
        ("POST", "/__clock?advance_seconds=1e12", 400, "century"),
    ],
)
def test_wrong_question_is_answered_with_what_to_say(method: str, path: str, status: int, hint: str) -> None:
    async def story(server: SyntheticServer) -> None:
        page = await ask(server, path, method=method)
        assert page.status == status
        assert hint in page.body.decode()
        assert server.now_ms() == 0

    tell(story)


# The web's clock.


def test_clock_is_moved_by_hand_and_pages_change() -> None:
    async def story(server: SyntheticServer) -> None:
        host = next(host for host in hosts_of(server.web) if host.validators & 1 and host.size > 5)
        before = await ask(server, "/", host=host)
        assert await told(server, "/__clock?advance_seconds=0", "POST") == {
            **await told(server, "/__clock"),
            "web_seconds": 0.0,
        }
        year = 365 * 86_400
        assert (await told(server, f"/__clock?advance_seconds={year}", "POST"))["web_seconds"] == year
        after = await ask(server, "/", host=host)
        assert after.body == get(server.web, host, 0, year * 1_000).body != before.body
        assert after.header("etag") != before.header("etag")
        assert after.header("date") == "Fri, 01 Jan 2027 00:00:00 GMT"
        summary = await told(server, "/__truth?summary")
        assert summary == Truth(server.web, year * 1_000).summary()
        assert (summary["web_seconds"], summary["pages"] > PLAN.pages) == (year, True)

    run_story(story, PLAN, clock=VirtualClock())


def test_web_time_runs_as_fast_as_its_speed_says() -> None:
    clock = VirtualClock(now=500.0)

    async def story(server: SyntheticServer) -> None:
        await clock.advance(24)
        assert await told(server, "/__clock") == {"web_seconds": 86_400.0, "open_seconds": 24.0}
        await told(server, "/__clock?advance_seconds=86400", "POST")
        await clock.advance(1)
        assert (await told(server, "/__clock"))["web_seconds"] == 2 * 86_400.0 + 3_600.0

    run_story(story, PLAN, ServingOptions(speed=3_600.0), clock)


def test_web_stands_still_without_a_speed() -> None:
    clock = VirtualClock()

    async def story(server: SyntheticServer) -> None:
        await clock.advance(1e6)
        assert server.now_ms() == 0

    run_story(story, PLAN, clock=clock)
