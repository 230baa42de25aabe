"""The frontier by itself: which scheduled URLs enter the workbench, which are held back, which are refused."""

from itertools import pairwise

import pytest

from brains import (
    DAY_SECONDS,
    DELAY_SECONDS,
    EPOCH,
    WITH_CONTACT,
    A,
    B,
    BrainDriver,
    BrainSettings,
    C,
    D,
    fetched_urls,
    refused_counts,
    resolved_hosts,
    told,
    urls_of,
)
from tarrafa.agent import LARGEST, CrawlLimits, HostStatus, HostTable
from tarrafa.agent.frontier import TICK_HOSTS_COUNT
from tarrafa.agent.instructions import CountRefused, Fetch, Purpose, Resolve, TellGivenUp
from tarrafa.configuration import HostSettings, HostTables
from tarrafa.records import FailureKind
from tarrafa.schedule import QUEUED_URLS_LIMIT, DensityDelay, HostFailure, HostTraits, RetryPolicy, UrlKind


def limited(limits: CrawlLimits) -> BrainDriver:
    return BrainDriver(BrainSettings(limits))


# URLs enter.


def test_scheduled_host_enters_the_workbench_and_the_rest_of_its_urls_stay_buffered() -> None:
    brain = BrainDriver()
    assert brain.schedule(*urls_of(A, 25))
    assert not brain.frontier.is_idle
    assert resolved_hosts(brain.step()) == [A]
    assert brain.frontier.is_idle
    assert len(brain.frontier.urls) == 25 - QUEUED_URLS_LIMIT
    assert brain.hosts.met_count == 1


def test_urls_that_are_here_already_are_not_new() -> None:
    """Reading a block again schedules every URL whose outcome the repository has not learnt."""
    brain = BrainDriver()
    assert brain.schedule(*urls_of(A, 3))
    brain.step()
    assert not brain.schedule(*urls_of(A, 3))
    assert len(brain.frontier.urls) == 0
    assert brain.schedule(*urls_of(A, 4))
    assert len(brain.frontier.urls) == 1


def test_host_that_runs_low_is_refilled_in_the_order_of_the_schedule() -> None:
    brain = BrainDriver()
    brain.schedule(*urls_of(A, 25))
    (robots,) = brain.run()
    brain.answer(robots, 404)
    fetched = []
    for _ in range(25):
        fetch = brain.next_fetch()
        fetched.append(fetch.request.url)
        brain.answer(fetch)
    assert fetched == urls_of(A, 25)
    assert brain.visits.is_exhausted(brain.at)


def test_fetch_of_a_url_says_how_deep_it_is_and_whether_it_is_a_sitemap() -> None:
    brain = BrainDriver()
    brain.allow_all(A, B)
    brain.schedule(f"{A}/deep", depth=70_000)
    brain.schedule(f"{B}/sitemap.xml", kind=UrlKind.SITEMAP)
    fetches: list[Fetch] = []
    while len(fetches) < 4:
        brain.pass_time()
        for fetch in brain.run():
            fetches.append(fetch)
            brain.answer(fetch)
    noted = {fetch.request.url: (fetch.distance, fetch.request.any_type) for fetch in fetches}
    assert noted == {
        f"{A}/": (0, False),
        f"{B}/": (0, False),
        f"{A}/deep": (70_000, False),
        f"{B}/sitemap.xml": (0, True),
    }


def test_buffer_has_a_bound_and_what_finds_no_room_is_left_to_the_repository() -> None:
    brain = BrainDriver(BrainSettings(buffer_limit=5))
    assert brain.schedule(*urls_of(A, 9))
    assert len(brain.frontier.urls) == 5
    assert f"{A}/5" not in brain.frontier.urls


def test_host_with_many_urls_makes_room_in_the_buffer_for_another() -> None:
    """Its last URLs are left to the repository, which schedules them again later."""
    brain = BrainDriver(BrainSettings(buffer_limit=100))
    assert brain.schedule(*urls_of(A, 100))
    assert brain.schedule(*urls_of(B, 10))
    assert len(brain.frontier.urls) == 25 + 10
    assert urls_of(A, 100)[24] in brain.frontier.urls
    assert urls_of(A, 100)[25] not in brain.frontier.urls
    assert brain.schedule(*urls_of(A, 100))


def test_buffer_full_of_hosts_with_one_url_each_takes_no_more() -> None:
    brain = BrainDriver(BrainSettings(buffer_limit=3))
    assert [brain.schedule(f"{host}/") for host in (A, B, C, D)] == [True, True, True, False]


def test_urls_that_are_scheduled_later_take_their_place_among_those_that_are_buffered() -> None:
    brain = BrainDriver()
    first, second, third, last = urls_of(A, 4)
    brain.frontier.urls.add(A, [second, last], [0, 0], [0, 0])
    assert brain.frontier.urls.add(A, [first, second, third], [0] * 3, [0] * 3) == 2
    assert brain.frontier.urls.pop(A, 10) == [first, second, third, last]


def test_what_a_page_passes_on_is_known_until_the_repository_knows_its_outcome() -> None:
    urls = BrainDriver().frontier.urls
    urls.add(A, urls_of(A, 3), [0] * 3, [0] * 3)
    urls.set_cash([*urls_of(A, 3), f"{B}/"], [5, 0, 7, 9])
    assert [urls.cash(url) for url in (*urls_of(A, 3), f"{B}/")] == [5, 0, 7, 0]
    urls.finish(urls_of(A, 1))
    urls.drop(A, keep=1)
    assert [urls.cash(url) for url in urls_of(A, 3)] == [0] * 3


def test_hosts_wait_for_room_on_the_workbench() -> None:
    brain = BrainDriver(BrainSettings(hosts_limit=2))
    for host in (A, B, C):
        brain.schedule(f"{host}/")
    assert resolved_hosts(brain.step()) == [A, B]
    assert not brain.frontier.is_idle
    assert not brain.visits.is_exhausted(brain.at)
    brain.fail_name(A, FailureKind.PRIVATE)
    assert resolved_hosts(brain.step()) == [C]


def test_room_made_after_the_last_tick_is_used_without_waiting_for_an_event() -> None:
    """A visit that is refused makes room after the tick of its step. No event tells that another host may enter."""
    brain = BrainDriver(BrainSettings(hosts_limit=1, limits=WITH_CONTACT._replace(host_pages=1)))
    brain.schedule(*urls_of(A, 2))
    brain.schedule(f"{B}/")
    (robots,) = brain.run()
    brain.answer(robots, 404)
    brain.answer(brain.next_fetch())
    brain.now += DELAY_SECONDS
    assert resolved_hosts(brain.step()) == []
    assert brain.visits.wake_at(brain.at) == brain.now
    assert resolved_hosts(brain.step()) == [B]


def test_step_lets_a_bounded_number_of_new_hosts_enter_and_the_rest_follow_at_once() -> None:
    """One page may name a hundred thousand hosts. A step that let all of them enter would block the event loop."""
    hosts = [f"http://h{number}.example" for number in range(3 * TICK_HOSTS_COUNT)]
    limits = WITH_CONTACT._replace(in_flight=len(hosts))
    brain = BrainDriver(BrainSettings(limits, hosts_limit=len(hosts), is_known=lambda _: True))
    for host in hosts:
        brain.schedule(f"{host}/")
    entered: list[str] = []
    for _ in range(3):
        assert not brain.frontier.is_idle
        found = resolved_hosts(brain.step())
        assert len(found) == TICK_HOSTS_COUNT
        entered += found
        assert brain.visits.wake_at(brain.at) == (brain.now if len(entered) < len(hosts) else None)
    assert entered == hosts


def test_suspended_hosts_that_come_back_together_are_woken_by_bounded_steps() -> None:
    hosts = [f"http://h{number}.example" for number in range(2 * TICK_HOSTS_COUNT)]
    brain = BrainDriver(BrainSettings(hosts_limit=len(hosts)))
    for host in hosts:
        brain.hosts.suspend(brain.hosts.meet(host), "timeout", EPOCH + 60.0, is_failing=True)
        assert not brain.schedule(f"{host}/")
    brain.now = 60.0
    brain.step(0)
    assert brain.frontier.suspended_count == TICK_HOSTS_COUNT
    assert brain.visits.wake_at(brain.at) == brain.now
    brain.step(0)
    assert brain.frontier.suspended_count == 0


# Hosts that are not admitted.


def test_no_host_is_met_beyond_the_limit_of_hosts_and_those_met_go_on() -> None:
    brain = limited(CrawlLimits(hosts=2))
    assert brain.schedule(f"{A}/")
    assert brain.schedule(f"{B}/")
    assert not brain.schedule(f"{C}/")
    assert brain.schedule(f"{A}/more")
    assert resolved_hosts(brain.step()) == [A, B]
    assert brain.hosts.met_count == 2
    assert brain.hosts.find(C) is None


def test_host_that_the_scope_no_longer_admits_is_not_visited() -> None:
    """The scope of a crawl may be narrowed before it goes on; the repository still has the URLs."""
    brain = BrainDriver(BrainSettings(rule=lambda name: name != "a.example"))
    brain.hosts.meet(A)
    assert not brain.schedule(f"{A}/")
    assert brain.step() == []
    assert len(brain.frontier.urls) == 0


def test_host_given_up_stays_given_up() -> None:
    brain = BrainDriver()
    brain.hosts.give_up(brain.hosts.meet(A), HostFailure.TIMEOUT)
    assert not brain.schedule(f"{A}/")
    assert brain.step() == []
    assert brain.record(A).status == HostStatus.GIVEN_UP


@pytest.mark.parametrize("allow_private", [False, True])
def test_host_given_up_for_its_private_address_is_forgiven_once_these_are_allowed(allow_private: bool) -> None:
    brain = limited(CrawlLimits(allow_private=allow_private))
    brain.hosts.give_up(brain.hosts.meet(A), HostFailure.PRIVATE)
    assert brain.schedule(f"{A}/") is allow_private
    assert resolved_hosts(brain.step()) == [A] * allow_private
    assert brain.record(A).status == (HostStatus.WELCOME if allow_private else HostStatus.GIVEN_UP)


# The page limit of a host.


def test_host_at_its_page_limit_is_given_up_and_its_buffered_urls_are_counted_as_refused() -> None:
    brain = limited(CrawlLimits(host_pages=1))
    brain.schedule(*urls_of(A, 15))
    (robots,) = brain.run()
    brain.answer(robots, 404)
    brain.answer(brain.next_fetch())
    brain.now += DELAY_SECONDS
    instructions = brain.step()
    assert refused_counts(instructions) == [CountRefused("host pages", 14)]
    assert told(instructions) == [TellGivenUp(A, "pages")]
    assert brain.record(A).status == HostStatus.GIVEN_UP
    assert brain.record(A).refused == 14
    assert [url in brain.frontier.urls for url in urls_of(A, 2)] == [True, False]
    assert brain.visits.is_exhausted(brain.at)


def test_urls_refused_for_the_page_limit_are_counted_once_however_often_they_are_scheduled() -> None:
    brain = limited(CrawlLimits(host_pages=3))
    brain.hosts.meet(A).pages = 3
    for left_count, counted in [(10, 10), (10, 0), (14, 4), (12, 0)]:
        assert not brain.schedule(*urls_of(A, 5), left_count=left_count)
        assert refused_counts(brain.take()) == [CountRefused("host pages", counted)] * bool(counted)
    assert brain.record(A).refused == 14
    assert len(brain.frontier.urls) == 0


def test_url_that_ended_without_the_repository_knowing_is_not_counted_as_refused() -> None:
    brain = limited(CrawlLimits(host_pages=1))
    brain.allow_all(A)
    brain.answer(brain.next_fetch())
    assert not brain.schedule(f"{A}/", f"{A}/1", f"{A}/2", left_count=3)
    assert refused_counts(brain.take()) == [CountRefused("host pages", 2)]


def test_host_at_its_page_limit_is_visited_again_under_a_higher_limit() -> None:
    brain = limited(CrawlLimits(host_pages=5))
    record = brain.hosts.meet(A)
    record.pages = 3
    brain.hosts.give_up(record, "pages")
    assert brain.schedule(f"{A}/")
    assert (record.status, record.reason) == (HostStatus.WELCOME, "")
    assert resolved_hosts(brain.step()) == [A]


# Suspended hosts.


def suspended(brain: BrainDriver, host: str, seconds: float) -> None:
    """Suspend a host in the table, as an earlier process left it."""
    brain.hosts.suspend(brain.hosts.meet(host), HostFailure.TIMEOUT, brain.at.wall + seconds, is_failing=True)


def test_suspended_host_is_held_back_with_one_url_and_comes_back_at_its_time() -> None:
    brain = BrainDriver()
    suspended(brain, A, 1_000.0)
    assert not brain.schedule(*urls_of(A, 5))
    assert len(brain.frontier.urls) == 1
    assert brain.frontier.suspended_count == 1
    assert brain.step() == []
    assert brain.visits.is_exhausted(brain.at)
    assert brain.visits.wake_at(brain.at) == 1_000.0
    brain.now = 999.0
    assert not brain.schedule(*urls_of(A, 5))
    assert brain.step() == []
    brain.now = 1_000.0
    assert resolved_hosts(brain.step()) == [A]
    assert brain.frontier.suspended_count == 0
    assert brain.schedule(*urls_of(A, 5))


def test_suspension_is_measured_by_the_wall_clock_also_when_that_is_set() -> None:
    """A machine that slept has a wall clock far ahead of its monotonic one."""
    brain = BrainDriver()
    suspended(brain, A, 1_000.0)
    brain.schedule(f"{A}/")
    at = brain.at._replace(wall=EPOCH + 700.0)
    assert brain.frontier.wake_at(at) == 300.0
    brain.frontier.tick(at._replace(wall=EPOCH + 1_000.0))
    assert brain.frontier.suspended_count == 0
    assert resolved_hosts(brain.step()) == [A]


def test_suspended_host_does_not_wait_for_years_when_the_clock_is_set_back() -> None:
    """The clock was years ahead when the host was suspended."""
    brain = BrainDriver()
    suspended(brain, A, 1_000.0)
    brain.schedule(f"{A}/")
    at = brain.at._replace(wall=EPOCH - 3_000 * DAY_SECONDS)
    assert brain.frontier.wake_at(at) == at.monotonic
    brain.frontier.tick(at)
    assert brain.frontier.suspended_count == 0


@pytest.mark.parametrize(("seconds", "is_held"), [(DAY_SECONDS, True), (DAY_SECONDS + 1.0, False), (-1.0, False)])
def test_wait_longer_than_any_allowed_is_of_a_wrong_clock_and_ignored(seconds: float, is_held: bool) -> None:
    brain = BrainDriver()
    suspended(brain, A, seconds)
    assert brain.schedule(f"{A}/") is not is_held
    assert brain.frontier.suspended_count == is_held
    assert (fetched_urls(brain.run()) == [f"{A}/robots.txt"]) is not is_held


def test_host_that_backed_off_before_a_restart_waits_on_the_workbench() -> None:
    brain = BrainDriver()
    brain.hosts.back_off(brain.hosts.meet(A), brain.at.wall + 300.0, failures=2)
    assert brain.schedule(f"{A}/")
    assert brain.run() == []
    assert brain.visits.wake_at(brain.at) == 300.0
    assert not brain.visits.is_exhausted(brain.at)
    brain.now = 300.0
    assert fetched_urls(brain.run()) == [f"{A}/robots.txt"]


def test_failures_before_a_restart_go_on_counting() -> None:
    brain = BrainDriver(BrainSettings(retry_policy=RetryPolicy(failures_limit=3)))
    brain.hosts.back_off(brain.hosts.meet(A), brain.at.wall + 1.0, failures=2)
    brain.schedule(f"{A}/")
    brain.fail(brain.next_fetch())
    assert brain.record(A).status == HostStatus.SUSPENDED


def test_host_suspended_by_the_workbench_keeps_one_url_and_is_counted_once() -> None:
    brain = BrainDriver(BrainSettings(retry_policy=RetryPolicy(failures_limit=1)))
    brain.schedule(*urls_of(A, 15))
    (robots,) = brain.run()
    brain.fail(robots)
    assert brain.workbench.counts(brain.now).suspended == 1
    assert not brain.schedule(*urls_of(A, 15))
    brain.step()
    assert (brain.frontier.suspended_count, brain.workbench.counts(brain.now).suspended) == (0, 1)
    assert len(brain.frontier.urls) == 1
    brain.now = 3_600.0
    assert fetched_urls(brain.run()) == [f"{A}/robots.txt"]


def test_suspended_hosts_evicted_for_new_ones_come_back_at_their_time() -> None:
    brain = BrainDriver(BrainSettings(hosts_limit=2, retry_policy=RetryPolicy(failures_limit=1)))
    brain.schedule(f"{A}/")
    brain.schedule(f"{B}/")
    for robots in brain.run():
        brain.fail(robots)
    brain.now = 60.0
    brain.schedule(f"{C}/")
    assert fetched_urls(brain.run()) == [f"{C}/robots.txt"]
    assert brain.frontier.suspended_count == 1
    assert brain.workbench.counts(brain.now).suspended == 1
    brain.now = 3_600.0
    assert fetched_urls(brain.run()) in ([f"{A}/robots.txt"], [f"{B}/robots.txt"])


def test_suspended_hosts_leave_their_urls_to_the_repository_while_the_buffer_is_crowded() -> None:
    brain = BrainDriver(BrainSettings(buffer_limit=10))
    suspended(brain, B, 1_000.0)
    brain.schedule(*urls_of(A, 6))
    assert not brain.schedule(f"{B}/")
    assert f"{B}/" not in brain.frontier.urls
    assert brain.frontier.suspended_count == 0
    brain.step()
    assert not brain.schedule(f"{B}/")
    assert brain.frontier.suspended_count == 1


# What a host's delay depends on.


def test_own_hosts_are_known_by_their_name_whatever_scheme_and_port() -> None:
    brain = limited(CrawlLimits(own_hosts=frozenset({"a.example"})))
    assert brain.frontier.traits(A, ("192.0.2.1",)) == HostTraits(is_own=True)
    assert brain.frontier.traits("https://a.example:8443", ()).is_own
    assert not brain.frontier.traits("http://www.a.example", ("192.0.2.1",)).is_own


@pytest.mark.parametrize(
    ("addresses", "is_own"),
    [
        *[(("127.0.0.1",), True), (("10.1.2.3", "::1"), True), (("8.8.8.8",), False), (("10.1.2.3", "8.8.8.8"), False)],
        *[((), False), (("no address",), False)],
    ],
)
def test_host_with_only_private_addresses_is_own_where_these_are_allowed(
    addresses: tuple[str, ...], is_own: bool
) -> None:
    assert limited(CrawlLimits(allow_private=True)).frontier.traits(A, addresses).is_own is is_own
    assert not limited(CrawlLimits(allow_private=False)).frontier.traits(A, addresses).is_own


def test_traits_have_available_pages_and_crawl_delay_from_the_record_and_the_largest_host() -> None:
    brain = BrainDriver()
    record = brain.hosts.meet(A)
    record.pages, record.crawl_delay_seconds = 7, 30.0
    brain.schedule(f"{A}/", left_count=20)
    brain.schedule(f"{B}/", left_count=50)
    assert brain.frontier.traits(A, ()) == HostTraits(27, 30.0, False, 50, True)
    assert brain.frontier.traits(D, ()) == HostTraits()


def test_pages_beyond_the_limit_of_a_host_are_not_available() -> None:
    """A host without end is not the largest for ever."""
    brain = limited(CrawlLimits(host_pages=30))
    brain.schedule(f"{A}/", left_count=1_000_000)
    assert (brain.record(A).available, brain.hosts.largest_count) == (30, 30)


def test_delay_follows_the_pages_that_become_known_while_the_host_is_visited() -> None:
    """A host of one page is visited every 15 s; when a thousand of its pages are known it is the largest."""
    brain = BrainDriver(BrainSettings(policy=DensityDelay(15.0)))
    brain.allow_all(A)
    began: list[float] = []
    for _ in range(3):
        brain.answer(brain.next_fetch())
        began.append(brain.now)
        brain.schedule(*urls_of(A, 20), left_count=1_000)
    assert [round(after - before, 3) for before, after in pairwise(began)] == [15.0, 1.0]


def test_sizes_survive_a_restart_and_go_with_the_host_to_another_owner() -> None:
    brain = BrainDriver()
    brain.schedule(f"{A}/", left_count=70)
    export = brain.hosts.export(A)
    changes, _ = brain.hosts.take_changes()
    brain.storage.commit(changes)
    again = HostTable(brain.storage, brain.storage, met_count=1, largest_count=changes.counts[LARGEST])
    assert again.largest_count == 70
    (record,) = changes.records
    assert record.available == 70
    other = BrainDriver()
    assert export is not None
    other.hosts.adopt(export)
    assert (other.record(A).available, other.hosts.largest_count) == (70, 70)


def test_crawl_delay_in_the_record_holds_before_robots_txt_is_fetched_again() -> None:
    brain = BrainDriver()
    brain.hosts.meet(A).crawl_delay_seconds = 30.0
    brain.schedule(f"{A}/")
    (robots,) = brain.run()
    brain.fail(robots, FailureKind.ANSWER)
    assert robots.purpose is Purpose.ROBOTS
    assert brain.workbench.wake_at() == 30.0


# Crowds.


def test_thousand_hosts_on_one_address_that_fill_the_buffer_hold_back_no_host_that_comes_later() -> None:
    """Their URLs would take a day: one visit at a time to their address, and a second of rest."""
    crowd = [f"http://crowd{number}.example" for number in range(1_000)]
    others = [f"http://other{number}.example" for number in range(50)]
    brain = BrainDriver(BrainSettings(hosts_limit=2_000, buffer_limit=20_000))
    for host in crowd:
        brain.schedule(*urls_of(host, 20))

    def go_on(seconds: float) -> None:
        until = brain.now + seconds
        while brain.now < until:
            for instruction in brain.step():
                if isinstance(instruction, Resolve):
                    address = ("192.0.2.1",) if "crowd" in instruction.host else ()
                    brain.resolve(instruction.host, *address)
                elif isinstance(instruction, Fetch):
                    brain.answer(instruction, 404 if instruction.purpose is Purpose.ROBOTS else 200)
            brain.pass_time()

    go_on(20.0)
    for host in others:
        assert brain.schedule(*urls_of(host, 10))
    go_on(10 * (DELAY_SECONDS + 1.0))
    pages = [url for url in brain.pages if "other" in url]
    assert len(pages) == 10 * len(others)
    # The crowd has its visits meanwhile, to the robots.txt of one host after the other.
    assert sum(brain.record(host).visits for host in crowd) > 30


# Settings of some hosts.


def test_host_of_a_higher_priority_enters_first_and_one_of_a_lower_priority_last() -> None:
    tables = HostTables((HostSettings("host:c.example", priority=5), HostSettings("host:a.example", priority=-5)))
    brain = BrainDriver(BrainSettings(CrawlLimits(has_contact=True, tables=tables, longest_share=1e-9), hosts_limit=1))
    for host in (A, B, C, D):
        brain.schedule(f"{host}/")
    entered: list[str] = []
    while len(entered) < 4:
        for fetch in brain.run():
            if fetch.purpose is Purpose.ROBOTS:
                entered.append(fetch.visit.host)
            brain.answer(fetch, 404)
        brain.pass_time()
    assert entered == [C, B, D, A]


def test_robots_txt_of_a_host_with_connections_is_fetched_alone_and_once_and_its_pages_beside_each_other() -> None:
    tables = HostTables((HostSettings("host:a.example", connections=3),))
    brain = limited(CrawlLimits(has_contact=True, tables=tables))
    brain.schedule(*urls_of(A, 10))
    (robots,) = brain.run()
    brain.now += 100.0
    assert robots.purpose is Purpose.ROBOTS
    assert brain.run() == []
    brain.answer(robots, 404)
    starts: list[tuple[float, str]] = []
    while len(starts) < 3:
        starts += [(brain.now, fetch.request.url) for fetch in brain.run()]
        brain.now += DELAY_SECONDS
    assert starts == [(100.0 + DELAY_SECONDS * number, f"{A}/{number}") for number in range(3)]
    assert brain.run() == []
