"""Outages of this machine's network, on virtual time: a crawl goes on by itself, and ends with the truth's pages."""

import pytest

from brains import A, B, BrainDriver, BrainSettings, resolved_hosts, told, urls_of
from tarrafa.agent import CrawlLimits, HostStatus, HostTable, Policies, make_brain
from tarrafa.agent.host_table import MemoryHostStorage
from tarrafa.agent.instructions import Fetch, TellOutageBegun, TellOutageEnded
from tarrafa.clock import VirtualClock
from tarrafa.lab.simulated_crawl import SimulatedCrawl
from tarrafa.lab.web import Journal, MemoryTransport, NetworkCut, Plan, SyntheticWeb, Truth
from tarrafa.records import FailureKind
from tarrafa.schedule import ConstantDelay, Delays, Level, OutageBreaker, RetryPolicy, Scope, UrlBounds, Workbench
from tarrafa.schedule.outage import (
    FAILED_MIN_COUNT,
    FEW_SECONDS,
    MANY_SECONDS,
    PROBE_MAX_SECONDS,
    PROBES_COUNT,
    WINDOW_SECONDS,
)
from tarrafa.verify import MemoryRepository

HOUR = 3_600.0
DAY = 24 * HOUR
DELAY_SECONDS = 5.0
OWN, OTHERS = FailureKind.UNREACHABLE, FailureKind.TIMEOUT


def failed(breaker: OutageBreaker, key: str, now: float = 0.0, kind: FailureKind = OTHERS) -> bool:
    return breaker.failed(key, f"http://{key}", kind, now, is_evidence=True)


# The breaker.


def test_outage_begins_when_all_of_the_last_addresses_fail_and_any_answer_ends_it() -> None:
    breaker = OutageBreaker()
    told = [failed(breaker, str(number)) for number in range(FAILED_MIN_COUNT)]
    assert told == [False] * (FAILED_MIN_COUNT - 1) + [True]
    breaker.answered("x", "http://x", 1.0)
    assert not breaker.is_open
    assert not failed(breaker, "0", 2.0)


def test_one_address_that_fails_often_is_no_outage() -> None:
    breaker = OutageBreaker()
    assert not any(failed(breaker, "a", float(number)) for number in range(100))


def test_addresses_that_never_answered_are_no_evidence() -> None:
    """A page of dead links is no outage."""
    breaker = OutageBreaker()
    assert not any(breaker.failed(str(n), "", OWN, 0.0, is_evidence=False) for n in range(100))


def test_answers_among_the_failures_mean_that_the_network_is_up() -> None:
    breaker = OutageBreaker()
    for number in range(100):
        if number % 4 == 0:
            breaker.answered(f"good {number}", "", 0.0)
        assert not failed(breaker, f"bad {number}", 0.0)


def test_failure_of_our_own_side_is_believed_of_a_single_address() -> None:
    breaker = OutageBreaker()
    breaker.answered("a", "http://a", 0.0)
    assert failed(breaker, "a", 1.0, OWN)


def test_other_address_that_answered_lately_speaks_against_an_outage_and_one_that_did_long_ago_does_not() -> None:
    breaker = OutageBreaker()
    breaker.answered("b", "http://b", 0.0)
    assert not failed(breaker, "a", 1.0, OWN)
    assert failed(breaker, "a", WINDOW_SECONDS + 1.0, OWN)


def test_probes_are_few_and_back_off() -> None:
    breaker = OutageBreaker()
    failed(breaker, "a", 0.0, OWN)
    waits, now = [], 0.0
    for _ in range(10):
        assert not breaker.may_begin
        waits.append(breaker.probe_at - now)
        now = breaker.probe_at
        breaker.tick(now)
        for _ in range(PROBES_COUNT):
            assert breaker.may_begin
            breaker.begun()
        assert failed(breaker, "a", now, OWN)
    assert waits[:4] == [5.0, 10.0, 20.0, 40.0]
    assert max(waits) == PROBE_MAX_SECONDS


@pytest.mark.parametrize(("count", "seconds"), [(1, FEW_SECONDS), (FAILED_MIN_COUNT, MANY_SECONDS)])
def test_outage_is_not_believed_for_ever(count: int, seconds: float) -> None:
    """The last hosts of a crawl may be dead. Then their failures count again, and suspend them."""
    breaker = OutageBreaker()
    keys = [str(number) for number in range(count)]
    assert [failed(breaker, key, 0.0, OWN) for key in keys][-1]
    assert all(failed(breaker, key, seconds - 1.0, OWN) for key in keys)
    assert not any(failed(breaker, key, seconds, OWN) for key in keys)
    breaker.answered("0", "", seconds + 1.0)
    assert all(failed(breaker, key, seconds + 1.0 + WINDOW_SECONDS, OWN) for key in keys)


def test_answer_of_a_host_that_is_not_visited_any_more_says_nothing() -> None:
    breaker = OutageBreaker()
    breaker.answered("finished", "http://finished", 0.0)
    told = []
    for number in range(FAILED_MIN_COUNT):
        breaker.forget_answers(lambda host: host != "http://finished")
        told.append(failed(breaker, str(number), 1.0))
    assert told == [False] * (FAILED_MIN_COUNT - 1) + [True]
    breaker.answered("visited", "http://visited", 2.0)
    breaker.forget_answers(lambda host: host == "http://visited")
    assert not any(failed(breaker, str(number), 3.0) for number in range(FAILED_MIN_COUNT))


# What visits make of it.


@pytest.mark.parametrize("urls_left", [0, 50])
def test_outage_is_noticed_though_a_host_has_just_ended(urls_left: int) -> None:
    """With short back-offs, five failures are over before the last answer is old."""
    brain = BrainDriver(BrainSettings(retry_policy=RetryPolicy(first_seconds=0.1, ceiling_seconds=0.1)))
    hosts = [f"http://host{number}.example" for number in range(FAILED_MIN_COUNT)]
    brain.allow_all(A, *hosts)
    while len(brain.pages) <= len(hosts):
        brain.pass_time()
        for fetch in brain.run():
            brain.answer(fetch)
    for host, count in [(A, urls_left), *((host, 20) for host in hosts)]:
        if count:
            brain.schedule(*urls_of(host, count))
    visited: set[str] = set()
    while not visited.issuperset(hosts):
        brain.pass_time()
        for fetch in brain.run():
            visited.add(fetch.visit.host)
            brain.answer(fetch) if fetch.visit.host == A else brain.fail(fetch)
    assert brain.visits.outage.is_open == (urls_left == 0)


def test_visits_and_look_ups_wait_during_an_outage_and_nothing_counts() -> None:
    brain = BrainDriver()
    brain.allow_all(A)
    brain.answer(brain.next_fetch())
    brain.schedule(*urls_of(A, 20))
    brain.fail(brain.next_fetch(), OWN)
    began_at = brain.now
    assert brain.visits.outage.is_open
    brain.schedule(f"{B}/")
    assert told(brain.take()) == [TellOutageBegun(A, OWN)]
    assert brain.step() == []
    assert brain.visits.wake_at(brain.at) == brain.visits.outage.probe_at
    fetched: list[Fetch] = []
    for _ in range(20):
        brain.pass_time()
        fetches = brain.run()
        assert len(fetches) <= PROBES_COUNT
        fetched += fetches
        for fetch in fetches:
            brain.fail(fetch, OWN)
        assert brain.take() == []
    assert {fetch.visit.host for fetch in fetched} == {A, B}
    assert {fetch.visit.tries for fetch in fetched} == {0}
    for host in (A, B):
        record = brain.record(host)
        assert (record.status, record.consecutive_failures, record.failures) == (HostStatus.WELCOME, 0, 0)
    brain.pass_time()
    seconds = brain.now - began_at
    brain.answer(brain.run()[0])
    assert not brain.visits.outage.is_open
    assert told(brain.take()) == [TellOutageEnded(seconds, is_answered=True)]


def test_outage_that_is_not_believed_any_more_is_told_to_have_ended_without_an_answer() -> None:
    brain = BrainDriver()
    brain.allow_all(A)
    brain.answer(brain.next_fetch())
    brain.schedule(*urls_of(A, 20))
    brain.fail(brain.next_fetch(), OWN)
    began_at, instructions = brain.now, brain.take()
    while brain.visits.outage.is_open:
        brain.pass_time()
        for fetch in brain.run():
            brain.fail(fetch, OWN)
        instructions += brain.take()
    assert told(instructions) == [TellOutageBegun(A, OWN), TellOutageEnded(brain.now - began_at, is_answered=False)]
    assert brain.now - began_at >= FEW_SECONDS


# Hosts are not given up for what the network does.


def failed_until_given_up(brain: BrainDriver, host: str, most: int) -> int:
    """Fail every visit to hosts, a day apart; return how many days it takes until this one is given up."""
    for day in range(most):
        for _ in range(20):  # as often as a host fails before it is suspended
            brain.now += 700.0
            for fetch in brain.run():
                brain.fail(fetch, OTHERS)
        brain.now += DAY
        if brain.record(host).status == HostStatus.GIVEN_UP:
            return day
    return most


def test_no_host_is_given_up_while_the_hosts_that_answered_before_fail_too() -> None:
    brain = BrainDriver()
    brain.allow_all(A)
    brain.answer(brain.next_fetch())
    brain.schedule(*urls_of(A, 5))
    brain.schedule(f"{B}/")
    assert failed_until_given_up(brain, B, 50) == 50
    assert brain.record(A).suspensions == 1  # the first time, A alone had failed
    assert brain.record(B).suspensions == 0
    assert {brain.record(host).status for host in (A, B)} == {HostStatus.SUSPENDED}


def test_host_that_never_answers_is_given_up_while_others_answer() -> None:
    brain = BrainDriver()
    brain.schedule(*urls_of(B, 50))
    brain.allow_all(A)
    for _ in range(400):
        brain.schedule(f"{A}/{brain.now}")
        brain.now += 700.0
        for fetch in brain.run():
            if fetch.visit.host == A:
                brain.answer(fetch, 200)
            else:
                brain.fail(fetch, OTHERS)
    assert (brain.record(B).status, brain.record(B).reason) == (HostStatus.GIVEN_UP, "timeout")


def test_crawl_in_which_nothing_ever_answered_gives_no_host_up() -> None:
    """It may have begun, or have been resumed, in an outage."""
    brain = BrainDriver()
    brain.schedule(f"{B}/")
    assert failed_until_given_up(brain, B, 20) == 20
    assert brain.record(B).suspensions == 0


def test_name_that_does_not_exist_is_an_answer_of_the_network() -> None:
    brain = BrainDriver(BrainSettings(retry_policy=RetryPolicy(failures_limit=1)))
    brain.schedule(f"{B}/")
    for _ in range(5):
        for host in resolved_hosts(brain.step()):
            brain.fail_name(host)
        brain.now += DAY
    assert (brain.record(B).status, brain.record(B).reason) == (HostStatus.GIVEN_UP, "name")


# Whole crawls.


def crawled(web: SyntheticWeb, *cuts: NetworkCut) -> tuple[SimulatedCrawl, Journal]:
    """Crawl a web to its end, through cuts of the network; wait for hosts that are suspended."""
    journal = Journal(web.robots, DELAY_SECONDS)
    transport = MemoryTransport(web, VirtualClock(), journal=journal, wants_page_bodies=False, cuts=cuts)
    storage = MemoryHostStorage()
    policies = Policies(Scope(lambda _: True, UrlBounds(depth=60)), Level(), CrawlLimits(has_contact=True), "tarrafa")
    workbench = Workbench(Delays(ConstantDelay(DELAY_SECONDS), address_seconds=1.0), RetryPolicy())
    brain = make_brain(HostTable(storage, storage), workbench, policies)
    crawl = SimulatedCrawl(web, transport, brain, storage, MemoryRepository(blocks=2))
    crawl.run(web.front, is_waiting=True)
    workbench.check()
    return crawl, journal


def wrong_pages(crawl: SimulatedCrawl, web: SyntheticWeb) -> set[str]:
    assert len(crawl.pages) == len(set(crawl.pages))
    rows = {row.url: row for row in Truth(web).rows()}
    return {url for url in crawl.pages if rows[url].kind == "page"} ^ {url for url in rows if rows[url].collectable}


@pytest.mark.parametrize("kind", [FailureKind.UNREACHABLE, FailureKind.TIMEOUT, FailureKind.REFUSED])
@pytest.mark.parametrize("hosts", [1, 2, 30])
@pytest.mark.parametrize("seconds", [120.0, 3 * DAY, 40 * DAY])
def test_crawl_through_an_outage_ends_with_exactly_the_pages_of_the_truth(
    hosts: int, kind: FailureKind, seconds: float
) -> None:
    """Three days are longer than every back-off and every suspension, forty than an outage of many hosts is believed.

    Some hosts have answered before the outage, and some were never visited.
    """
    web = SyntheticWeb(Plan(hosts=hosts, pages=20 * hosts, rng_seed=5))
    cut = NetworkCut(60.0, 60.0 + seconds, kind, 30.0 if kind is FailureKind.TIMEOUT else 0.0)
    crawl, journal = crawled(web, cut)
    assert wrong_pages(crawl, web) == set()
    assert crawl.seconds >= 60.0 + seconds
    report = journal.report(entries=0)
    assert (report["too_early"], report["robots_violations"]) == (0, 0)


def test_crawl_goes_on_soon_after_an_outage() -> None:
    web = SyntheticWeb(Plan(hosts=30, pages=600, rng_seed=5))
    crawl, _ = crawled(web, NetworkCut(60.0, 6 * HOUR))
    assert wrong_pages(crawl, web) == set()
    whole, _ = crawled(web)
    assert crawl.seconds <= 6 * HOUR + whole.seconds + 2 * PROBE_MAX_SECONDS
    assert crawl.totals["given up"] == whole.totals["given up"]
