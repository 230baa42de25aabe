"""Visits by themselves: robots.txt before pages, what failures lead to, and the limits on what runs at once."""

import pytest

from brains import (
    DAY_SECONDS,
    DELAY_SECONDS,
    EPOCH,
    UNLIMITED,
    WITH_CONTACT,
    A,
    B,
    BrainDriver,
    BrainSettings,
    C,
    D,
    ended_urls,
    fetched_urls,
    resolved_hosts,
    sitemaps,
    urls_of,
)
from tarrafa.agent import CrawlLimits, HostStatus
from tarrafa.agent.instructions import EndUrl, Fetch, Instruction, OfferSitemaps, Purpose, TellSuspended
from tarrafa.agent.visits import NAME_SECONDS, SKIPS_LIMIT
from tarrafa.obey import ROBOTS_MAX_BYTES
from tarrafa.records import FailureKind
from tarrafa.schedule import HostFailure, RetryPolicy

CLOSED = b"User-agent: *\nDisallow: /closed\n"
ALL_CLOSED = b"User-agent: *\nDisallow: /\n"
RETRY_SECONDS = 300.0  # after which an unreachable robots.txt is fetched again
IMPATIENT = RetryPolicy(tries_limit=1, failures_limit=100)


def redirected(brain: BrainDriver, *hosts: str, to: str) -> None:
    """Schedule a page of each host, and answer that its robots.txt is elsewhere."""
    for host in hosts:
        brain.schedule(f"{host}/")
    for robots in brain.run():
        brain.answer(robots, 301, b"", ("Location", to))


# robots.txt.


def test_robots_txt_is_fetched_before_the_first_page_and_the_page_waits_its_delay() -> None:
    brain = BrainDriver()
    brain.schedule(f"{A}/")
    assert resolved_hosts(brain.step()) == [A]
    brain.resolve(A, "192.0.2.1")
    (robots,) = brain.run()
    assert robots.purpose is Purpose.ROBOTS
    assert robots.request.url == f"{A}/robots.txt"
    assert (robots.request.address, robots.request.any_type) == ("192.0.2.1", True)
    assert robots.request.body_limit_bytes == ROBOTS_MAX_BYTES
    brain.answer(robots, 200, CLOSED)
    page = brain.next_fetch()
    assert brain.now == DELAY_SECONDS
    assert (page.purpose, page.request.url, page.request.address) == (Purpose.PAGE, f"{A}/", "192.0.2.1")
    assert not page.request.any_type


def test_disallowed_url_ends_without_a_fetch_and_costs_no_delay() -> None:
    brain = BrainDriver()
    brain.schedule(f"{A}/closed/1", f"{A}/closed/2", f"{A}/open")
    brain.answer(brain.next_fetch(), 200, CLOSED)
    brain.now += DELAY_SECONDS
    instructions = brain.step()
    assert ended_urls(instructions) == [EndUrl(f"{A}/closed/1", None), EndUrl(f"{A}/closed/2", None)]
    assert fetched_urls(instructions) == [f"{A}/open"]
    assert brain.visits.in_flight == 1
    assert brain.record(A).failures == 0


def test_brain_is_not_exhausted_while_the_buffer_has_urls_of_a_host_whose_last_ones_were_refused() -> None:
    brain = BrainDriver()
    brain.schedule(*urls_of(A, 25))
    brain.answer(brain.next_fetch(), 200, ALL_CLOSED)
    brain.now += DELAY_SECONDS
    ended = ended_urls(brain.step())
    while not brain.visits.is_exhausted(brain.at):
        assert brain.visits.wake_at(brain.at) == brain.now
        ended += ended_urls(brain.step())
    assert [each.url for each in ended] == urls_of(A, 25)


def test_step_refuses_a_bounded_number_of_urls_and_the_rest_follow_at_once() -> None:
    count = SKIPS_LIMIT // 10 + 1
    hosts = [f"http://h{number}.example" for number in range(count)]
    brain = BrainDriver(BrainSettings(WITH_CONTACT._replace(in_flight=count)))
    for host in hosts:
        brain.schedule(*urls_of(host, 10))
    for robots in brain.run():
        brain.answer(robots, 200, ALL_CLOSED)
    brain.now += DELAY_SECONDS
    assert brain.visits.step(brain.at, UNLIMITED)
    assert len(ended_urls(brain.take())) == SKIPS_LIMIT
    assert brain.visits.wake_at(brain.at) == brain.now
    assert brain.visits.step(brain.at, UNLIMITED)
    assert len(ended_urls(brain.take())) == 10 * count - SKIPS_LIMIT


def test_robots_txt_that_has_expired_is_fetched_again_before_the_next_page() -> None:
    brain = BrainDriver()
    brain.allow_all(A)
    brain.answer(brain.next_fetch())
    brain.now += 25 * 3_600.0
    brain.schedule(f"{A}/closed/1")
    robots = brain.next_fetch()
    assert robots.request.url == f"{A}/robots.txt"
    brain.answer(robots, 200, CLOSED)
    brain.now += DELAY_SECONDS
    assert brain.step() == [EndUrl(f"{A}/closed/1", None)]


def test_crawl_delay_holds_from_the_fetch_of_robots_txt() -> None:
    brain = BrainDriver()
    brain.schedule(f"{A}/")
    brain.answer(brain.next_fetch(), 200, b"User-agent: *\nCrawl-delay: 40\n")
    assert brain.next_fetch().request.url == f"{A}/"
    assert brain.now == 40.0
    assert brain.record(A).crawl_delay_seconds == 40.0
    assert [record.crawl_delay_seconds for record in brain.storage.journal] == [40.0]


def test_sitemaps_of_robots_txt_are_offered() -> None:
    brain = BrainDriver()
    brain.schedule(f"{A}/")
    body = f"Sitemap: {A}/sitemap.xml\nSitemap: {B}/other.xml\n".encode()
    brain.answer(brain.next_fetch(), 200, body)
    assert sitemaps(brain.take()) == [OfferSitemaps(A, (f"{A}/sitemap.xml", f"{B}/other.xml"))]


def test_unreachable_robots_txt_suspends_the_host_until_it_is_to_be_tried_again() -> None:
    brain = BrainDriver(BrainSettings(retry_policy=IMPATIENT))
    brain.schedule(*urls_of(A, 15))
    brain.fail(brain.next_fetch(), FailureKind.TIMEOUT)
    expires_at = brain.now + RETRY_SECONDS
    brain.pass_time()
    assert brain.run() == []
    record = brain.record(A)
    assert (record.status, record.reason) == (HostStatus.SUSPENDED, "robots.txt timeout")
    assert (record.until, record.suspensions) == (EPOCH + expires_at, 0)
    assert len(brain.frontier.urls) == 1
    assert brain.visits.is_exhausted(brain.at)
    assert brain.visits.wake_at(brain.at) == pytest.approx(expires_at)
    robots = brain.next_fetch()
    assert robots.request.url == f"{A}/robots.txt"
    assert brain.now == pytest.approx(expires_at)
    brain.answer(robots, 404)
    assert brain.next_fetch().request.url == f"{A}/0"


def test_last_robots_txt_stays_valid_while_a_newer_one_is_unreachable() -> None:
    brain = BrainDriver(BrainSettings(retry_policy=IMPATIENT))
    brain.schedule(f"{A}/")
    brain.answer(brain.next_fetch(), 200, CLOSED)
    brain.answer(brain.next_fetch())
    brain.now += 25 * 3_600.0
    brain.schedule(f"{A}/closed/1", f"{A}/open")
    brain.fail(brain.next_fetch(), FailureKind.ANSWER)
    assert brain.next_fetch().request.url == f"{A}/open"
    assert brain.record(A).status == HostStatus.WELCOME


def test_failed_robots_txt_is_retried_before_its_outcome_is_final() -> None:
    brain = BrainDriver(BrainSettings(retry_policy=RetryPolicy(tries_limit=2)))
    brain.schedule(f"{A}/")
    brain.fail(brain.next_fetch())
    assert brain.hosts.robots_answer(A) is None
    robots = brain.next_fetch()
    assert (robots.request.url, robots.visit.tries) == (f"{A}/robots.txt", 1)
    brain.answer(robots, 404)
    assert brain.next_fetch().request.url == f"{A}/"


# robots.txt elsewhere.


def test_host_whose_robots_txt_is_on_another_host_is_held_until_that_host_answers() -> None:
    brain = BrainDriver()
    redirected(brain, A, to=f"{B}/rules.txt")
    assert not brain.frontier.is_idle
    fetch = brain.next_fetch()
    assert (fetch.visit.host, fetch.request.url, fetch.purpose) == (B, f"{B}/rules.txt", Purpose.ROBOTS)
    brain.now += 100.0
    assert brain.run() == []
    assert not brain.visits.is_exhausted(brain.at)
    brain.schedule(f"{A}/closed/1")
    assert brain.run() == []
    brain.answer(fetch, 200, CLOSED)
    instructions: list[Instruction] = []
    while not fetched_urls(instructions):
        instructions += brain.step()
        for host in resolved_hosts(instructions):
            brain.resolve(host)
    assert fetched_urls(instructions) == [f"{A}/"]
    assert brain.hosts.find(B) is None


def test_redirected_robots_txt_says_nothing_about_the_host_that_serves_it() -> None:
    brain = BrainDriver()
    redirected(brain, A, to=f"{B}/rules.txt")
    brain.answer(brain.next_fetch(), 200, ALL_CLOSED)
    assert brain.hosts.robots_answer(B) is None
    answer = brain.hosts.robots_answer(A)
    assert answer is not None
    assert answer.body == ALL_CLOSED


def test_several_hosts_wait_for_one_robots_txt_which_is_fetched_once() -> None:
    brain = BrainDriver()
    redirected(brain, A, B, C, to=f"{D}/rules.txt")
    brain.answer(brain.next_fetch(), 200, ALL_CLOSED)
    brain.now += DELAY_SECONDS
    instructions = brain.step()
    for host in resolved_hosts(instructions):
        brain.resolve(host)
    instructions += brain.step()
    assert sorted(ended_urls(instructions)) == [EndUrl(f"{host}/", None) for host in (A, B, C)]
    assert fetched_urls(instructions) == []


def test_robots_txt_fetched_for_another_host_is_fetched_once_more_for_its_own() -> None:
    brain = BrainDriver()
    redirected(brain, A, to=f"{B}/robots.txt")
    brain.schedule(f"{B}/")
    brain.answer(brain.next_fetch(), 404)
    # That answer counts for A alone: B had not requested it.
    fetched = []
    for _ in range(10):
        if brain.visits.wake_at(brain.at) is None:
            break
        brain.pass_time()
        for fetch in brain.run():
            fetched.append(fetch.request.url)
            brain.answer(fetch, 404)
    assert sorted(fetched) == [f"{A}/", f"{B}/", f"{B}/robots.txt"]


@pytest.mark.parametrize("status", [301, 302, 307])
def test_robots_txt_that_is_redirected_on_its_own_host_is_followed_there(status: int) -> None:
    brain = BrainDriver()
    brain.schedule(f"{A}/")
    brain.answer(brain.next_fetch(), status, b"", ("Location", "/other.txt"))
    assert brain.frontier.is_idle
    fetch = brain.next_fetch()
    assert (fetch.request.url, fetch.purpose) == (f"{A}/other.txt", Purpose.ROBOTS)
    brain.answer(fetch, 200, ALL_CLOSED)
    brain.now += DELAY_SECONDS
    assert ended_urls(brain.step()) == [EndUrl(f"{A}/", None)]


def test_host_whose_robots_txt_is_at_a_failing_host_is_the_only_one_that_counts_as_suspended() -> None:
    """A host on http sends everyone to https, where nothing answers."""
    brain = BrainDriver(BrainSettings(retry_policy=RetryPolicy(tries_limit=1, failures_limit=1)))
    redirected(brain, A, to=f"{B}/robots.txt")
    brain.fail(brain.next_fetch())
    assert brain.run() == []
    brain.pass_time()  # until A may be visited, whose robots.txt counts as unreachable
    assert brain.run() == []
    assert brain.workbench.counts(brain.now).suspended + brain.frontier.suspended_count == 2
    assert brain.frontier.count_suspended() == 1


def test_two_hosts_that_redirect_to_each_other_end_with_everything_allowed() -> None:
    brain = BrainDriver()
    brain.schedule(f"{A}/")
    for number in range(6):
        to = B if number % 2 == 0 else A
        brain.answer(brain.next_fetch(), 301, b"", ("Location", f"{to}/robots.txt"))
    assert brain.next_fetch().request.url == f"{A}/"


def test_redirect_to_a_host_that_was_given_up_counts_as_unreachable() -> None:
    brain = BrainDriver(BrainSettings(retry_policy=IMPATIENT))
    brain.hosts.give_up(brain.hosts.meet(B), "timeout")
    redirected(brain, A, to=f"{B}/robots.txt")
    brain.now += DELAY_SECONDS
    assert brain.run() == []
    record = brain.record(A)
    assert (record.status, record.reason) == (HostStatus.SUSPENDED, "robots.txt unreachable")


def test_redirect_to_a_host_that_is_suspended_does_not_disturb_it() -> None:
    brain = BrainDriver()
    brain.hosts.suspend(brain.hosts.meet(B), "busy", EPOCH + 3_000.0, is_failing=True)
    redirected(brain, A, to=f"{B}/robots.txt")
    brain.now += DELAY_SECONDS
    assert brain.run() == []
    assert brain.record(A).status == HostStatus.SUSPENDED


def test_redirect_to_the_public_web_is_not_followed_without_a_contact() -> None:
    brain = BrainDriver(BrainSettings(CrawlLimits(allow_private=True)))
    host = "http://127.0.0.1:8000"
    redirected(brain, host, to="http://www.example.org/robots.txt")
    brain.now += DELAY_SECONDS
    assert brain.run() == []
    assert brain.record(host).status == HostStatus.SUSPENDED
    assert brain.hosts.find("http://www.example.org") is None


@pytest.mark.parametrize("kind", [FailureKind.NAME, FailureKind.PRIVATE])
def test_hosts_do_not_wait_for_the_robots_txt_of_a_host_without_an_address(kind: FailureKind) -> None:
    brain = BrainDriver(BrainSettings(retry_policy=RetryPolicy(failures_limit=1)))
    redirected(brain, A, C, to=f"{B}/robots.txt")
    assert resolved_hosts(brain.step()) == [B]
    brain.fail_name(B, kind)
    brain.now += DELAY_SECONDS
    assert brain.run() == []
    assert [brain.record(host).reason for host in (A, C)] == ["robots.txt unreachable"] * 2
    assert brain.frontier.suspended_count == 2


def test_robots_txt_is_fetched_although_the_queue_of_its_host_is_full() -> None:
    brain = BrainDriver()
    brain.allow_all(B)
    brain.schedule(*urls_of(B, 30))
    page = brain.next_fetch()
    redirected(brain, A, to=f"{B}/rules.txt")
    brain.answer(page)
    fetched: list[str] = []
    while len(fetched) < 32:
        brain.pass_time()
        for fetch in brain.run():
            fetched.append(fetch.request.url)
            brain.answer(fetch, 404 if fetch.purpose is Purpose.ROBOTS else 200)
    assert fetched[0] == f"{B}/rules.txt"
    assert sorted(fetched[1:]) == sorted([f"{A}/", *urls_of(B, 30)])


# Names and addresses.


def test_name_that_fails_is_tried_again_then_suspends_its_host() -> None:
    brain = BrainDriver(BrainSettings(retry_policy=RetryPolicy(failures_limit=2)))
    brain.schedule(*urls_of(A, 3))
    assert resolved_hosts(brain.step()) == [A]
    brain.fail_name(A)
    assert resolved_hosts(brain.step()) == []
    brain.pass_time()
    assert resolved_hosts(brain.step()) == [A]
    brain.fail_name(A)
    record = brain.record(A)
    assert (record.status, record.reason, record.suspensions) == (HostStatus.SUSPENDED, "name", 1)
    assert [each.status for each in brain.storage.journal] == [HostStatus.SUSPENDED]
    assert (len(brain.frontier.urls), brain.visits.resolving) == (1, 0)
    assert ended_urls(brain.take()) == []


def test_host_with_a_private_address_is_given_up_and_its_urls_are_dropped() -> None:
    brain = BrainDriver()
    brain.schedule(*urls_of(A, 15))
    brain.step()
    brain.fail_name(A, FailureKind.PRIVATE)
    assert (brain.record(A).status, brain.record(A).reason) == (HostStatus.GIVEN_UP, "private")
    assert not any(url in brain.frontier.urls for url in urls_of(A, 15))
    assert brain.visits.is_exhausted(brain.at)


def test_name_is_resolved_again_in_the_step_in_which_its_address_is_found_to_have_expired() -> None:
    """The workbench finds out when the host's turn comes; no wake-up would follow, so the look-up begins at once."""
    brain = BrainDriver()
    brain.schedule(*urls_of(A, 2))
    brain.answer(brain.next_fetch(), 404)
    brain.answer(brain.next_fetch())
    brain.now += NAME_SECONDS
    instructions = brain.step()
    assert (fetched_urls(instructions), resolved_hosts(instructions)) == ([], [A])
    brain.resolve(A, "192.0.2.9")
    (fetch,) = brain.run()
    assert (fetch.request.url, fetch.request.address) == (f"{A}/1", "192.0.2.9")


def test_host_that_only_a_proxy_can_resolve_counts_as_an_address_of_its_own() -> None:
    brain = BrainDriver()
    for host in (A, B):
        brain.schedule(f"{host}/")
    for host in resolved_hosts(brain.step()):
        brain.visits.resolved(host, (), brain.at)
    assert [fetch.visit.address for fetch in brain.run()] == ["a.example", "b.example"]


# Failures.


def test_failed_page_is_retried_then_ends_with_its_failure_which_the_record_counts() -> None:
    brain = BrainDriver(BrainSettings(retry_policy=RetryPolicy(tries_limit=3)))
    brain.allow_all(A)
    for tries in range(3):
        fetch = brain.next_fetch()
        assert (fetch.request.url, fetch.visit.tries) == (f"{A}/", tries)
        assert ended_urls(brain.take()) == []
        failure = brain.fail(fetch)
    assert brain.take() == [EndUrl(f"{A}/", failure)]
    assert brain.record(A).failures == 1
    assert brain.record(A).consecutive_failures == 3
    assert f"{A}/" in brain.frontier.urls
    assert not brain.schedule(f"{A}/")


def test_failure_that_is_about_one_url_is_final_at_once() -> None:
    brain = BrainDriver()
    brain.allow_all(A)
    failure = brain.fail(brain.next_fetch(), FailureKind.URL)
    assert brain.take() == [EndUrl(f"{A}/", failure)]
    assert (brain.record(A).failures, brain.record(A).consecutive_failures) == (1, 0)


def test_each_failure_delays_the_host_in_the_journal_at_once() -> None:
    brain = BrainDriver()
    brain.allow_all(A)
    brain.fail(brain.next_fetch())
    fetch = brain.next_fetch()
    brain.fail(fetch)
    assert [(each.name, each.consecutive_failures) for each in brain.storage.journal] == [(A, 1), (A, 2)]
    assert brain.storage.journal[1].until == pytest.approx(EPOCH + brain.now + 20.0)


def test_page_of_a_busy_host_is_retried_and_kept_when_tries_are_used_up() -> None:
    brain = BrainDriver(BrainSettings(retry_policy=RetryPolicy(tries_limit=2)))
    brain.allow_all(A)
    assert not brain.answer(brain.next_fetch(), 503)
    fetch = brain.next_fetch()
    assert (fetch.request.url, fetch.visit.tries) == (f"{A}/", 1)
    assert brain.answer(fetch, 503)
    record = brain.record(A)
    assert (brain.pages, record.pages, record.visits, record.answers) == ([f"{A}/"], 0, 3, 3)
    assert brain.take() == []


def test_retry_after_is_written_to_the_table_and_the_journal_at_once() -> None:
    brain = BrainDriver()
    brain.allow_all(A)
    assert brain.answer(brain.next_fetch(), 200, b"", ("Retry-After", "500"))
    assert brain.record(A).until == pytest.approx(EPOCH + brain.now + 500.0)
    assert brain.record(A).status == HostStatus.WELCOME
    assert [(each.name, each.until) for each in brain.storage.journal] == [(A, brain.record(A).until)]
    asked_at = brain.now
    brain.schedule(f"{A}/next")
    assert brain.next_fetch().request.url == f"{A}/next"
    assert brain.now == pytest.approx(asked_at + 500.0)


def test_long_retry_after_of_a_busy_host_suspends_it_and_its_page_is_tried_again() -> None:
    brain = BrainDriver()
    brain.allow_all(A)
    assert not brain.answer(brain.next_fetch(), 429, b"", ("Retry-After", "20000"))
    assert (brain.record(A).status, brain.record(A).reason) == (HostStatus.SUSPENDED, "busy")
    asked_at = brain.now
    assert brain.next_fetch().request.url == f"{A}/"
    assert brain.now == pytest.approx(asked_at + 20_000.0)


def test_failing_host_is_suspended_for_longer_each_time_then_given_up() -> None:
    policy = RetryPolicy(tries_limit=100, failures_limit=1, suspensions_limit=2)
    brain = BrainDriver(BrainSettings(retry_policy=policy))
    brain.allow_all(A)
    untils = []
    while brain.record(A).status != HostStatus.GIVEN_UP:
        fetch, began_at = brain.next_fetch(), brain.now
        if fetch.purpose is Purpose.ROBOTS:
            brain.answer(fetch, 404)
            continue
        brain.fail(fetch)
        untils.append(round(brain.record(A).until - EPOCH - began_at))
    assert untils[:2] == [3_600, 4 * 3_600]
    assert len(untils) == 3
    assert f"{A}/" not in brain.frontier.urls
    assert ended_urls(brain.take()) == []
    assert brain.visits.is_exhausted(brain.at)


def test_visit_is_noted_in_the_record_when_it_ends() -> None:
    brain = BrainDriver()
    brain.allow_all(A)
    fetch = brain.next_fetch()
    brain.now += 3.0
    brain.answer(fetch, 200, b"12345")
    record = brain.record(A)
    assert (record.pages, record.bytes, record.visited_at) == (1, 5, EPOCH + brain.now)


# Limits.


def test_visits_in_flight_and_names_being_resolved_have_a_limit() -> None:
    brain = BrainDriver(BrainSettings(WITH_CONTACT._replace(in_flight=3)))
    hosts = [f"http://{number}.example" for number in range(8)]
    for host in hosts:
        brain.schedule(f"{host}/")
    assert resolved_hosts(brain.step()) == hosts[:3]
    assert brain.step() == []
    assert brain.visits.resolving == 8  # five wait for their lookup
    for host in hosts[:3]:
        brain.resolve(host)
    assert resolved_hosts(brain.step()) == hosts[3:6]
    for host in hosts[3:6]:
        brain.resolve(host)
    assert fetched_urls(brain.step()) == []
    assert brain.visits.in_flight == 3


def test_addresses_and_known_names_do_not_wait_for_lookups() -> None:
    brain = BrainDriver(BrainSettings(WITH_CONTACT._replace(in_flight=3), is_known=lambda name: name[0].isdigit()))
    silent, known = [f"http://n{number}.example" for number in range(8)], ["http://192.0.2.1", "http://1.example"]
    for host in (*silent, *known):
        brain.schedule(f"{host}/")
    assert resolved_hosts(brain.step()) == [*known, *silent[:3]]


def test_silent_site_costs_few_lookups_and_its_hosts_are_tried_again_later() -> None:
    """A page links to 300 names of a site whose name servers do not answer."""
    brain = BrainDriver(BrainSettings(retry_policy=RetryPolicy(failures_limit=2)))
    hosts = [f"http://n{number}.silent.example" for number in range(300)]
    for host in hosts:
        brain.schedule(f"{host}/")
    for seconds, status in ((30.0, HostStatus.WELCOME), (3_600.0, HostStatus.SUSPENDED)):
        asked = resolved_hosts(brain.step())
        assert len(asked) == 10
        for host in asked:
            brain.fail_name(host, FailureKind.NAME_SERVER)
        assert brain.visits.resolving == 0
        assert {brain.record(host).status for host in hosts} == {status}
        brain.now += seconds
    for _ in range(31):
        for host in resolved_hosts(brain.step()):
            brain.resolve(host)
    assert brain.visits.in_flight == 300


def test_name_server_that_fails_ends_no_url() -> None:
    brain = BrainDriver(BrainSettings(retry_policy=RetryPolicy(failures_limit=2, suspensions_limit=1)))
    brain.schedule(f"{B}/")
    brain.answer(brain.next_fetch(), 404)  # the network is up
    brain.answer(brain.next_fetch())
    brain.schedule(f"{A}/")
    for _ in range(3):
        for host in resolved_hosts(brain.step()):
            brain.fail_name(host, FailureKind.NAME_SERVER)
        assert ended_urls(brain.take()) == []
        brain.now += DAY_SECONDS
    assert (brain.record(A).status, brain.record(A).reason) == (HostStatus.GIVEN_UP, HostFailure.NAME_SERVER)


@pytest.mark.parametrize(("page_status", "suspensions_count"), [(None, 3), (200, 30)])
def test_host_whose_pages_fail_and_whose_robots_txt_answers_is_given_up_in_the_end(
    page_status: int | None, suspensions_count: int
) -> None:
    """A host that gave a page before is suspended ten times as often. Its robots.txt expires on each way."""
    brain = BrainDriver()
    brain.schedule(*urls_of(A, 30))
    brain.answer(brain.next_fetch(), 404)
    if page_status is not None:
        brain.answer(brain.next_fetch(), page_status)
    suspended: list[TellSuspended] = []
    robots_count = 0
    while brain.record(A).status != HostStatus.GIVEN_UP:
        assert len(suspended) <= suspensions_count
        brain.schedule(*[f"{A}/{brain.now}/{number}" for number in range(10)])
        brain.pass_time()
        for fetch in brain.run():
            if fetch.purpose is Purpose.ROBOTS:
                robots_count += 1
                brain.answer(fetch, 404)
            else:
                brain.fail(fetch, FailureKind.RESET)
        instructions = brain.take()
        if told_suspended := [each for each in instructions if isinstance(each, TellSuspended)]:
            suspended += told_suspended
            brain.now += DAY_SECONDS
    assert len(suspended) == suspensions_count
    assert brain.record(A).reason == HostFailure.RESET
    assert robots_count >= suspensions_count


def test_step_begins_no_more_visits_than_there_is_room_for_and_tells_whether_they_run_short() -> None:
    brain = BrainDriver()
    for host in (A, B, C):
        brain.schedule(f"{host}/")
        brain.step(0)
        brain.resolve(host)
    assert not brain.visits.step(brain.at, 2)
    assert len(fetched_urls(brain.take())) == 2
    assert not brain.visits.step(brain.at, 0)
    assert brain.visits.step(brain.at, UNLIMITED)
    assert len(fetched_urls(brain.take())) == 1


def test_brain_is_exhausted_only_when_no_visit_can_follow() -> None:
    brain = BrainDriver()
    assert brain.visits.is_exhausted(brain.at)
    brain.schedule(f"{A}/")
    stages = [brain.visits.is_exhausted(brain.at)]
    brain.step()
    stages.append(brain.visits.is_exhausted(brain.at))
    brain.resolve(A)
    stages.append(brain.visits.is_exhausted(brain.at))
    (robots,) = brain.run()
    stages.append(brain.visits.is_exhausted(brain.at))
    brain.answer(robots, 404)
    stages.append(brain.visits.is_exhausted(brain.at))
    page = brain.next_fetch()
    stages.append(brain.visits.is_exhausted(brain.at))
    assert stages == [False] * 6
    brain.answer(page)
    assert brain.visits.is_exhausted(brain.at)


def test_brain_wakes_for_the_host_that_is_ready_first() -> None:
    brain = BrainDriver()
    brain.allow_all(A)
    brain.now = 2.0
    brain.allow_all(B)
    brain.run()
    assert brain.visits.wake_at(brain.at) == DELAY_SECONDS
    brain.now = DELAY_SECONDS
    (fetch,) = brain.run()
    assert isinstance(fetch, Fetch)
    assert fetch.visit.host == A
    assert brain.visits.wake_at(brain.at) == 2.0 + DELAY_SECONDS


def test_brain_without_hosts_wakes_only_by_events() -> None:
    brain = BrainDriver()
    assert brain.visits.wake_at(brain.at) is None
    assert brain.visits.is_idle
