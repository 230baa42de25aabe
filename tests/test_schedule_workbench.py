"""Turns, case by case, on a clock that the test holds."""

import pytest

from tarrafa.records import FailureKind
from tarrafa.schedule.delays import ConstantDelay, DeadlineDelay, Delays, HostTraits, TenTimesDelay
from tarrafa.schedule.hosts import CALL_HOSTS_COUNT
from tarrafa.schedule.messages import (
    BackOff,
    Fate,
    FollowUp,
    HostGivenUp,
    HostHistory,
    HostSuspended,
    Visit,
    VisitResult,
)
from tarrafa.schedule.retry_policy import HostFailure, RetryPolicy, RetryStep
from tarrafa.schedule.workbench import Workbench

A, B, C = "http://a.test", "http://b.test", "http://c.test"
OK = VisitResult(200, None, 0.1)
TIMEOUT = VisitResult(0, FailureKind.TIMEOUT, 30.0)
FOREVER = 1e9


def workbench(hosts_limit: int = 100, address_hosts_limit: int = 100) -> Workbench:
    return Workbench(
        Delays(ConstantDelay(5.0), address_seconds=1.0),
        RetryPolicy(),
        hosts_limit=hosts_limit,
        address_hosts_limit=address_hosts_limit,
    )


def urls(host: str, count: int = 3) -> list[str]:
    return [f"{host}/{number}" for number in range(count)]


def settle(bench: Workbench, now: float = 0.0, **addresses: str) -> None:
    """VisitResult every name: `a="192.0.2.1"` for http://a.test; the others have an address each."""
    while (host := bench.next_unresolved(now)) is not None:
        letter = host[len("http://")]
        bench.resolved(host, [addresses.get(letter, f"address of {letter}")], now, FOREVER)


def with_hosts(*hosts: str, bench: Workbench | None = None, **addresses: str) -> Workbench:
    bench = bench or workbench()
    for host in hosts:
        bench.add(host, urls(host), 0.0)
    settle(bench, 0.0, **addresses)
    return bench


def visited(bench: Workbench, now: float) -> Visit:
    visit = bench.next(now)
    assert visit is not None
    return visit


def fail(bench: Workbench, now: float, answer: VisitResult = TIMEOUT) -> FollowUp:
    """Let the next visit at or after `now` fail; names are resolved on the way."""
    return fail_at(bench, now, answer)[0]


def fail_at(bench: Workbench, now: float, answer: VisitResult = TIMEOUT) -> tuple[FollowUp, float]:
    """Do the same; return also when the visit ended."""
    settle(bench, now)
    while (visit := bench.next(now)) is None:
        now = max(now, bench.wake_at() or now)
        settle(bench, now)
    return bench.ended(visit, now, answer), now


def test_delay_counts_from_the_end_of_the_answer() -> None:
    bench = with_hosts(A)
    visit = visited(bench, 0.0)
    assert bench.next(100.0) is None
    bench.ended(visit, 100.0, OK)
    assert bench.next(104.9) is None
    assert bench.wake_at() == pytest.approx(105.0, abs=0.02)
    assert visited(bench, 105.0).url == f"{A}/1"


def test_host_that_shares_an_address_waits_for_it_while_others_go_on() -> None:
    bench = with_hosts(A, B, C, a="192.0.2.1", b="192.0.2.1")
    first, third = visited(bench, 0.0), visited(bench, 0.0)
    assert (first.host, third.host) == (A, C)
    assert bench.next(50.0) is None
    bench.ended(first, 50.0, OK)
    assert bench.next(50.9) is None
    assert visited(bench, 51.0).host == B


def test_first_url_goes_before_all_others() -> None:
    bench = with_hosts(A)
    assert bench.add_first(A, f"{A}/robots.txt", 0.0)
    assert visited(bench, 0.0).url == f"{A}/robots.txt"


def test_more_than_ten_urls_are_handed_back_and_one_first_still_finds_room() -> None:
    bench = workbench()
    assert bench.add(A, urls(A, 13), 0.0) == (f"{A}/10", f"{A}/11", f"{A}/12")
    assert bench.add_first(A, f"{A}/robots.txt", 0.0)
    assert not bench.add_first(A, f"{A}/again", 0.0)


def test_new_host_is_refused_when_the_workbench_is_full() -> None:
    bench = workbench(hosts_limit=1)
    assert bench.add(A, urls(A), 0.0) == ()
    assert bench.add(B, urls(B), 0.0) == tuple(urls(B))
    assert not bench.add_first(B, f"{B}/robots.txt", 0.0)
    assert bench.remove(A, 0.0) == tuple(urls(A))
    assert bench.add(B, urls(B), 0.0) == ()


def test_host_that_leaves_and_comes_back_has_not_escaped_its_delay() -> None:
    bench = with_hosts(A)
    visit = visited(bench, 0.0)
    assert bench.remove(A, 0.0) == (f"{A}/1", f"{A}/2")
    bench.ended(visit, 10.0, OK)
    assert bench.counts(10.0).left == 1
    bench.add(A, urls(A), 11.0)
    settle(bench, 11.0)
    assert bench.next(14.9) is None
    assert bench.next(15.0) is not None


def test_host_that_left_is_forgotten_when_its_delay_has_passed() -> None:
    bench = with_hosts(A)
    bench.ended(visited(bench, 0.0), 0.0, OK)
    bench.remove(A, 0.0)
    assert bench.needs_urls(5.0, 10) == ()
    assert sum(bench.counts(5.0)[1:]) == 0


def test_hosts_that_come_and_go_without_a_visit_leave_nothing_behind() -> None:
    bench = workbench(hosts_limit=10)
    for number in range(1_000):
        bench.add(f"http://{number}.test", [f"http://{number}.test/"], 0.0)
        settle(bench)
        bench.remove(f"http://{number}.test", 0.0)
        bench.check()


def test_crawl_delay_that_becomes_known_counts_from_the_last_answer() -> None:
    """robots.txt is the first visit; what it says is known only after that visit has ended."""
    bench = with_hosts(A)
    bench.ended(visited(bench, 0.0), 10.0, OK)
    bench.update_traits(A, HostTraits(crawl_delay_seconds=30.0), 10.5)
    assert bench.next(39.9) is None
    assert bench.next(40.0) is not None


@pytest.mark.parametrize(
    ("sizes", "ready_at"),
    [([48], 20.0), ([48, 47, 46], 20.0), ([40], 25.0), ([48, 47, 46, 45, 44, 40], 25.0), ([40, 39, 50], 25.0)],
)
def test_delay_that_grows_with_known_sizes_counts_from_the_last_answer_if_it_is_longer_by_a_tenth(
    sizes: list[int], ready_at: float
) -> None:
    """The delay is 1,000 seconds divided by the pages. Small changes add up; a shorter delay is for the next wait."""
    bench = with_hosts(A, bench=Workbench(Delays(DeadlineDelay(100.0, 1_000.0)), RetryPolicy()))
    bench.update_sizes(A, 50, 50, 0.0)
    bench.ended(visited(bench, 0.0), 0.0, OK)
    for size in sizes:
        bench.update_sizes(A, size, 50, 0.5)
        bench.check()
    assert bench.next(ready_at - 0.1) is None
    bench.ended(visited(bench, ready_at), ready_at, OK)
    delay = 1_000.0 / sizes[-1]
    assert bench.next(ready_at + delay - 0.1) is None
    assert bench.next(ready_at + delay) is not None


def test_visit_that_was_not_made_begins_no_delay() -> None:
    bench = with_hosts(A)
    assert bench.skip(visited(bench, 0.0), 0.0, again=False) == FollowUp(Fate.FINAL)
    visit = visited(bench, 0.0)
    assert visit.url == f"{A}/1"
    assert bench.skip(visit, 0.0, again=True) == FollowUp(Fate.AGAIN)
    assert visited(bench, 0.0).url == f"{A}/1"


def test_visit_that_ends_twice_is_an_error() -> None:
    bench = with_hosts(A)
    visit = visited(bench, 0.0)
    bench.ended(visit, 0.0, OK)
    with pytest.raises(ValueError, match="not in flight"):
        bench.ended(visit, 0.0, OK)


def test_hungry_host_is_named_once_before_it_runs_dry_and_again_when_it_has() -> None:
    bench = workbench()
    bench.add(A, urls(A, 5), 0.0)
    settle(bench)
    for number in range(5):
        visit = visited(bench, 10.0 * number)
        assert bench.needs_urls(10.0 * number, 5) == ((A,) if number else ())
        bench.ended(visit, 10.0 * number, OK)
    assert bench.needs_urls(40.0, 5) == (A,)
    assert bench.needs_urls(40.0, 5) == ()
    assert bench.counts(40.0).idle == 1


@pytest.mark.parametrize(("delay", "address_delay", "full"), [(5.0, 1.0, 5.0), (0.0, 3.0, 3.0)])
def test_after_a_restart_host_and_address_wait_their_full_delay(
    delay: float, address_delay: float, full: float
) -> None:
    bench = with_hosts(A, bench=Workbench(Delays(ConstantDelay(delay), address_delay), RetryPolicy(), restarted_at=0.0))
    assert bench.next(full - 0.1) is None
    assert bench.next(full) is not None


def test_after_a_restart_the_longest_delay_counts_when_the_last_download_is_not_known() -> None:
    bench = with_hosts(A, bench=Workbench(Delays(TenTimesDelay(1.0, 60.0)), RetryPolicy(), restarted_at=0.0))
    assert bench.next(59.9) is None
    assert bench.next(60.0) is not None


def test_address_that_was_asked_for_counts_for_one_turn_however_long_that_took() -> None:
    bench = workbench()
    bench.add(A, urls(A), 0.0)
    assert bench.next_unresolved(0.0) == A
    bench.resolved(A, ["192.0.2.1"], 0.0, expires_at=1.0)
    bench.ended(visited(bench, 50.0), 50.0, OK)
    assert (bench.next(55.0), bench.next_unresolved(55.0)) == (None, A)


def test_call_looks_at_a_bounded_number_of_expired_addresses_and_the_rest_follow_at_once() -> None:
    """After an outage the address of every host has expired, and all of them are due at the same moment."""
    count = CALL_HOSTS_COUNT + 1
    bench = workbench(hosts_limit=count)
    for number in range(count):
        bench.add(f"http://{number}.test", ["first", "second"], 0.0)
        bench.next_unresolved(0.0)
        bench.resolved(f"http://{number}.test", [str(number)], 0.0, expires_at=1.0)
    for _ in range(count):
        bench.ended(visited(bench, 0.0), 0.0, OK)
    for unresolved in (CALL_HOSTS_COUNT, count):
        assert bench.next(10.0) is None
        assert bench.counts(10.0).unresolved == unresolved
        assert bench.wake_at() == (None if unresolved == count else 5.0)


def test_late_answer_for_a_host_that_has_left_changes_nothing() -> None:
    bench = workbench()
    bench.add(A, urls(A), 0.0)
    assert bench.next_unresolved(0.0) == A
    bench.remove(A, 0.0)
    assert bench.resolved(A, ["192.0.2.1"], 0.0, FOREVER) == FollowUp()
    assert bench.resolve_failed(A, 0.0, FailureKind.NAME) == FollowUp()
    assert bench.next(0.0) is None


def test_host_of_a_crowded_address_is_put_off_with_its_urls_handed_back() -> None:
    bench = workbench(address_hosts_limit=1)
    bench.add(A, urls(A), 0.0)
    bench.add(B, urls(B), 0.0)
    assert bench.next_unresolved(0.0) == A
    bench.resolved(A, ["192.0.2.1"], 0.0, FOREVER)
    told = bench.resolved(B, ["192.0.2.1"], 0.0, FOREVER)
    assert told == FollowUp(Fate.FINAL, tuple(urls(B)), HostSuspended(B, HostFailure.CROWDED, 600.0, is_counted=False))
    assert bench.needs_urls(600.0, 5) == (A, B)


def test_failing_host_waits_twice_as_long_each_time_and_its_url_is_tried_again_after_the_others() -> None:
    bench = with_hosts(A)
    now = 0.0
    for failures, wait in enumerate((10.0, 20.0, 40.0, 80.0), 1):
        visit = visited(bench, now)
        assert (visit.url, visit.tries) == (f"{A}/{(failures - 1) % 3}", failures // 4)
        assert bench.ended(visit, now, TIMEOUT) == FollowUp(Fate.AGAIN, back_off=BackOff(now + wait, failures))
        assert (bench.next(now + wait - 0.1), bench.next_unresolved(now + wait - 0.1)) == (None, None)
        now += wait
        assert bench.next(now) is None  # its address is to be asked for again first
        settle(bench, now)


def test_url_that_failed_too_often_while_the_host_answers_is_final() -> None:
    bench = workbench()
    bench.add(A, urls(A, 5), 0.0)
    fates = []
    for number in range(7):
        settle(bench, 1_000.0 * number)
        visit = bench.next(1_000.0 * number)
        if visit is None:  # its address is to be asked for again first
            settle(bench, 1_000.0 * number)
            visit = visited(bench, 1_000.0 * number)
        answer = TIMEOUT if visit.url == f"{A}/0" else OK
        fates.append((visit.url[-1], bench.ended(visit, 1_000.0 * number, answer).fate))
    assert [fate for url, fate in fates if url == "0"] == [Fate.AGAIN, Fate.AGAIN, Fate.FINAL]
    assert bench.remove(A, 1e6) == ()


@pytest.mark.parametrize("answer", [TIMEOUT, VisitResult(503), VisitResult(0, FailureKind.REFUSED)])
@pytest.mark.parametrize("count", [2, 3, 10])
def test_no_url_of_a_host_that_is_suspended_is_final(answer: VisitResult, count: int) -> None:
    """Three quick tries must not end a URL for ever when it is the host that fails."""
    bench = workbench()
    bench.add(A, urls(A, count), 0.0)
    told = [fail(bench, 0.0, answer) for _ in range(5)]
    assert [each.fate for each in told] == [Fate.AGAIN] * 4 + [Fate.RETURNED]
    assert sorted(told[-1].urls) == urls(A, count)


@pytest.mark.parametrize(
    "answer",
    [
        *(VisitResult(0, kind) for kind in (FailureKind.REFUSED, FailureKind.UNREACHABLE, FailureKind.TLS)),
        VisitResult(0, FailureKind.TIMEOUT, is_unreached=True),
    ],
)
def test_last_url_of_a_host_that_cannot_be_reached_is_not_final(answer: VisitResult) -> None:
    bench = workbench()
    bench.add(A, [f"{A}/"], 0.0)
    told = [fail(bench, 0.0, answer) for _ in range(5)]
    assert (told[-1].fate, told[-1].urls) == (Fate.RETURNED, (f"{A}/",))


def test_first_url_that_failed_stays_before_all_others() -> None:
    """A page cannot be visited before its host's robots.txt."""
    bench = with_hosts(A)
    bench.add_first(A, f"{A}/robots.txt", 0.0)
    fail(bench, 0.0)
    settle(bench, 10.0)
    bench.next(10.0)
    settle(bench, 10.0)
    assert visited(bench, 10.0).url == f"{A}/robots.txt"


def test_host_that_answered_before_is_suspended_ten_times_as_often_before_it_is_given_up() -> None:
    policy = RetryPolicy()
    for has_answered, limit in ((False, 3), (True, 30)):
        steps = [policy.step(HostFailure.TIMEOUT, 5, number, 600.0, has_answered=has_answered) for number in range(40)]
        assert steps.index(RetryStep.GIVE_UP) == limit


def test_postponed_visit_counts_neither_as_a_try_nor_as_a_failure_and_the_host_rests() -> None:
    bench = with_hosts(A)
    for number in range(10):
        visit = visited(bench, 5.0 * number)
        assert (visit.url, visit.tries) == (f"{A}/0", 0)
        assert bench.postpone(visit, 5.0 * number) == FollowUp(Fate.AGAIN)
        assert bench.next(5.0 * number + 4.9) is None


def test_host_that_goes_on_failing_is_set_aside_for_longer_each_time_and_then_given_up() -> None:
    bench = with_hosts(A)
    for _ in range(4):
        assert fail(bench, 0.0).event is None
    hours = []
    ended, now = fail_at(bench, 0.0)
    while isinstance(ended.event, HostSuspended):
        assert ended.event.reason is HostFailure.TIMEOUT
        hours.append((ended.event.until - now) / 3_600.0)
        assert bench.add(A, urls(A), ended.event.until - 1.0) == tuple(urls(A))
        assert bench.needs_urls(ended.event.until, 5) == (A,)
        assert bench.add(A, urls(A), ended.event.until) == ()
        ended, now = fail_at(bench, ended.event.until)
    assert hours == [1.0, 4.0, 16.0]
    assert ended == FollowUp(Fate.RETURNED, (f"{A}/1", f"{A}/2", f"{A}/0"), HostGivenUp(A, HostFailure.TIMEOUT))


def test_host_with_a_past_waits_until_then_and_its_failures_go_on_counting() -> None:
    bench = workbench()
    bench.add(A, urls(A), 0.0, HostHistory(failures=2, until=30.0))
    settle(bench, 0.0)
    assert bench.next(29.9) is None
    assert bench.ended(visited(bench, 30.0), 30.0, TIMEOUT).back_off == BackOff(30.0 + 40.0, 3)


def test_past_of_a_host_that_is_known_here_changes_nothing() -> None:
    bench = with_hosts(A)
    bench.add(A, [f"{A}/more"], 0.0, HostHistory(suspensions=3, failures=4, until=1e6))
    assert bench.ended(visited(bench, 0.0), 0.0, TIMEOUT).back_off == BackOff(10.0, 1)


def test_host_that_asks_for_time_with_a_good_answer_gets_it() -> None:
    bench = with_hosts(A)
    assert bench.ended(visited(bench, 0.0), 0.0, VisitResult(200, None, 0.1, 60.0)) == FollowUp(
        back_off=BackOff(60.0, 0)
    )
    assert bench.next(59.9) is None


def test_good_answer_forgets_failures() -> None:
    bench = with_hosts(A)
    assert [fail(bench, 0.0, answer).event for answer in (*[TIMEOUT] * 4, OK, TIMEOUT)] == [None] * 6


def test_after_a_failure_another_address_of_the_host_is_tried() -> None:
    bench = workbench()
    bench.add(A, urls(A), 0.0)
    seen = []
    for now in (0.0, 100.0, 200.0):
        bench.next(now)
        assert bench.next_unresolved(now) == A
        bench.resolved(A, ["192.0.2.1", "192.0.2.2"], now, FOREVER)
        visit = visited(bench, now)
        seen.append(visit.address)
        bench.ended(visit, now, TIMEOUT)
    assert seen == ["192.0.2.1", "192.0.2.2", "192.0.2.1"]


@pytest.mark.parametrize(("asked", "waited"), [(60.0, 60.0), (1.0, 10.0), (-5.0, 10.0), (float("nan"), 10.0)])
def test_retry_after_wins_when_it_is_longer(asked: float, waited: float) -> None:
    bench = with_hosts(A)
    bench.ended(visited(bench, 0.0), 0.0, VisitResult(429, None, 0.1, asked))
    assert bench.next(waited - 0.1) is None
    assert bench.next(waited) is not None


def test_long_retry_after_is_spent_set_aside_and_is_at_most_a_day() -> None:
    bench = with_hosts(A)
    ended = bench.ended(visited(bench, 0.0), 0.0, VisitResult(503, None, 0.1, 1e12))
    assert ended == FollowUp(
        Fate.RETURNED, (f"{A}/1", f"{A}/2", f"{A}/0"), HostSuspended(A, HostFailure.BUSY, 86_400.0)
    )


def test_name_without_address_backs_off_and_a_private_one_is_given_up_at_once() -> None:
    bench = workbench()
    bench.add(A, urls(A), 0.0)
    bench.add(B, urls(B), 0.0)
    assert (bench.next_unresolved(0.0), bench.next_unresolved(0.0)) == (A, B)
    assert bench.resolve_failed(A, 0.0, FailureKind.NAME) == FollowUp()
    assert bench.resolve_failed(B, 0.0, FailureKind.PRIVATE).event == HostGivenUp(B, HostFailure.PRIVATE)
    assert bench.next_unresolved(9.9) is None
    assert bench.next_unresolved(10.0) == A


@pytest.mark.parametrize("kind", [FailureKind.HEADER, FailureKind.ANSWER, FailureKind.OTHER])
def test_host_whose_answers_cannot_be_used_is_suspended(kind: FailureKind) -> None:
    bench = with_hosts(A)
    told = [fail(bench, 0.0, VisitResult(0, kind)) for _ in range(5)][-1]
    assert told.event is not None
    assert (told.event.reason, told.fate) == (HostFailure(kind.value), Fate.RETURNED)


def test_failure_that_is_the_urls_own_is_final_and_the_host_goes_on() -> None:
    bench = with_hosts(A)
    assert bench.ended(visited(bench, 0.0), 0.0, VisitResult(0, FailureKind.URL, 0.1)) == FollowUp(Fate.FINAL)
    assert visited(bench, 5.0).url == f"{A}/1"


def suspended(bench: Workbench, host: str, now: float) -> float:
    """Until when."""
    bench.add(host, urls(host), now)
    settle(bench, now)
    event = bench.ended(visited(bench, now), now, VisitResult(503, None, 0.1, 50_000.0)).event
    assert isinstance(event, HostSuspended)
    return event.until


def test_hosts_that_are_set_aside_are_handed_over_when_nobody_new_could_come() -> None:
    bench = workbench(hosts_limit=2)
    suspended(bench, A, 0.0)
    assert bench.evict_suspended(10.0, lambda _: True) == ()  # there is room
    until = suspended(bench, B, 10.0)
    assert not bench.has_room(20.0)
    assert bench.evict_suspended(20.0, lambda name: name != B) == ()
    assert bench.evict_suspended(20.0, lambda _: True) == (B,)  # it has longest to wait
    assert bench.counts(20.0).suspended == 1
    assert bench.add(C, urls(C), 20.0) == ()
    assert until == 50_010.0
    assert bench.add(A, urls(A), 49_999.0) == tuple(urls(A))  # it is still remembered here
    assert bench.add(A, urls(A), 50_000.0) == ()


def test_address_is_left_alone_also_when_its_host_could_be_handed_over() -> None:
    bench = workbench(hosts_limit=1)
    suspended(bench, A, 0.0)
    assert bench.evict_suspended(0.9, lambda _: True) == ()
    assert bench.evict_suspended(1.0, lambda _: True) == (A,)


def test_host_that_was_handed_over_is_given_up_in_the_end() -> None:
    bench = workbench()
    bench.add(A, urls(A), 0.0, HostHistory(suspensions=3))
    ended = [fail(bench, 0.0) for _ in range(5)]
    assert ended[-1].event == HostGivenUp(A, HostFailure.TIMEOUT)


# Sites that rest.


def by_site(*hosts: str, restarted_at: float | None = None) -> Workbench:
    """All hosts are of one site, and have an address each."""
    delays = Delays(ConstantDelay(5.0), address_seconds=1.0)
    bench = Workbench(delays, RetryPolicy(), restarted_at=restarted_at, site_of=lambda _: "test")
    return with_hosts(*hosts, bench=bench)


def test_one_host_of_a_site_is_visited_at_a_time_and_the_site_rests_as_long_as_that_host() -> None:
    bench = by_site(A, B)
    visit = visited(bench, 0.0)
    assert (visit.host, bench.next(0.0)) == (A, None)
    bench.ended(visit, 2.0, OK)
    assert bench.next(6.9) is None
    assert bench.wake_at() == 7.0
    assert visited(bench, 7.0).host == B
    assert bench.next(7.0) is None


def test_site_rests_for_the_crawl_delay_of_the_host_that_was_visited_and_not_for_its_retry_after() -> None:
    bench = by_site(A, B)
    bench.update_traits(A, HostTraits(crawl_delay_seconds=30.0), 0.0)
    bench.ended(visited(bench, 0.0), 0.0, VisitResult(503, None, 0.1, 400.0))
    assert bench.next(29.9) is None
    assert visited(bench, 30.0).host == B


def test_visit_that_was_not_made_lets_the_next_host_of_the_site_go_at_once() -> None:
    bench = by_site(A, B)
    visit = visited(bench, 0.0)
    assert bench.next(0.0) is None
    bench.skip(visit, 0.0, again=False)
    assert visited(bench, 0.0).host == B


def test_host_that_waits_for_its_site_leaves_with_its_urls() -> None:
    bench = by_site(A, B, C)
    visit = visited(bench, 0.0)
    assert bench.next(0.0) is None
    assert bench.remove(B, 0.0) == tuple(urls(B))
    bench.ended(visit, 0.0, OK)
    assert visited(bench, 5.0).host == C
    bench.check()


def test_site_rests_after_a_restart() -> None:
    bench = by_site(A, restarted_at=0.0)
    assert bench.next(4.9) is None
    assert visited(bench, 5.0).host == A


# Several visits at once.

FOUR = HostTraits(is_own=True, delay_seconds=2.0, connections=4)


def with_connections(*hosts: str, traits: HostTraits = FOUR, **addresses: str) -> Workbench:
    bench = workbench()
    for host in hosts:
        bench.add(host, urls(host, 10), 0.0)
        bench.update_traits(host, traits, 0.0)
    settle(bench, 0.0, **addresses)
    return bench


def visits_until(bench: Workbench, now: float) -> list[tuple[float, str]]:
    """Begin every visit up to a time and end none; return when each began, and its host."""
    begun: list[tuple[float, str]] = []
    while (wake_at := bench.wake_at()) is not None and wake_at <= now:
        at = max(wake_at, begun[-1][0] if begun else 0.0)
        if (visit := bench.next(at)) is not None:
            begun.append((at, visit.host))
    return begun


def test_delay_of_a_host_with_connections_lies_between_the_starts_and_no_more_than_these_are_in_flight() -> None:
    bench = with_connections(A)
    assert visits_until(bench, 100.0) == [(0.0, A), (2.0, A), (4.0, A), (6.0, A)]
    assert bench.counts(100.0).in_flight == 4


def test_end_of_one_of_several_visits_lets_another_begin_at_once_if_the_delay_since_the_last_start_has_passed() -> None:
    bench = with_connections(A)
    first = visited(bench, 0.0)
    visits_until(bench, 100.0)
    assert bench.next(100.0) is None
    bench.ended(first, 100.0, OK)
    assert visited(bench, 100.0).host == A
    assert bench.next(200.0) is None


def test_retry_after_of_one_of_several_visits_holds_the_others_back() -> None:
    bench = with_connections(A)
    first, _ = visited(bench, 0.0), visited(bench, 2.0)
    bench.ended(first, 2.0, VisitResult(200, None, 0.1, 60.0))
    assert bench.next(61.9) is None
    assert visited(bench, 62.0).host == A


def test_of_several_visits_that_fail_together_the_last_decides_and_the_next_is_alone() -> None:
    bench = with_connections(A)
    flying = [visited(bench, now) for now in (0.0, 2.0, 4.0, 6.0)]
    for visit in flying[:3]:
        assert bench.ended(visit, 10.0, TIMEOUT).event is None
    assert bench.next(5_000.0) is None
    follow_up = bench.ended(flying[3], 5_000.0, TIMEOUT)
    assert follow_up.back_off == BackOff(5_010.0, 1)  # one failure, not four
    assert bench.next(5_010.0) is None  # its name is resolved again
    settle(bench, 5_010.0)
    again = visited(bench, 5_010.0)
    assert bench.next(5_100.0) is None  # one at a time until it answers
    bench.ended(again, 5_100.0, OK)
    assert [visited(bench, now).host for now in (5_100.0, 5_102.0)] == [A, A]


def test_url_that_goes_first_is_visited_alone() -> None:
    """Pages wait for the answer of robots.txt, also when several are in flight."""
    bench = with_connections(A)
    page = visited(bench, 0.0)
    assert bench.add_first(A, f"{A}/robots.txt", 1.0)
    assert bench.next(100.0) is None
    bench.ended(page, 100.0, OK)
    robots = visited(bench, 100.0)
    assert robots.url == f"{A}/robots.txt"
    assert bench.next(200.0) is None
    bench.ended(robots, 200.0, OK)
    assert visited(bench, 200.0).url != robots.url


def test_host_with_connections_does_not_keep_another_host_of_its_address_waiting() -> None:
    bench = with_connections(A, a="192.0.2.1")
    flying = [visited(bench, 0.0), visited(bench, 2.0)]
    bench.add(B, urls(B), 3.0)
    settle(bench, 3.0, b="192.0.2.1")
    assert bench.next(100.0) is None
    for visit in flying:
        bench.ended(visit, 100.0, OK)
    assert visited(bench, 100.0).host == B
    assert visited(bench, 200.0).host == A


def test_visit_beside_others_that_is_not_made_begins_no_delay() -> None:
    bench = with_connections(A)
    visited(bench, 0.0)
    skipped = visited(bench, 2.0)
    assert bench.skip(skipped, 2.0, again=True).fate is Fate.AGAIN
    assert visited(bench, 2.0).url == skipped.url


def test_host_with_connections_that_is_removed_leaves_when_all_its_visits_have_ended() -> None:
    bench = with_connections(A)
    first, second = visited(bench, 0.0), visited(bench, 2.0)
    assert len(bench.remove(A, 3.0)) == 8
    assert bench.ended(first, 4.0, TIMEOUT) == FollowUp(Fate.RETURNED, (first.url,), None, BackOff(14.0, 0))
    assert bench.ended(second, 5.0, OK).fate is Fate.FINAL
    assert bench.next(1_000.0) is None
    bench.check()


def test_hosts_of_a_site_that_rests_get_one_visit_at_a_time_whatever_their_connections() -> None:
    bench = Workbench(Delays(ConstantDelay(5.0), 1.0), RetryPolicy(), site_of=lambda _: "test")
    bench.add(A, urls(A), 0.0)
    bench.update_traits(A, FOUR, 0.0)
    settle(bench)
    visit = visited(bench, 0.0)
    assert bench.next(100.0) is None
    bench.ended(visit, 100.0, OK)
    assert bench.next(101.9) is None
    assert visited(bench, 102.0).host == A
