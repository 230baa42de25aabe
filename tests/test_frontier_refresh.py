"""Pages that are visited again, through frontier and visits: turns, phases, and hosts that must not be visited."""

import pytest

from brains import A, B, BrainDriver, BrainSettings, ended_urls, fetched_urls, make_page, urls_of
from tarrafa.agent import CrawlLimits, HostStatus
from tarrafa.agent.instructions import EndUrl, Fetch, Purpose
from tarrafa.histories import Phase
from tarrafa.records import FailureKind
from tarrafa.verify import KnownPage

CLOSED = b"User-agent: *\nDisallow: /\n"
DAY = 86_400.0


def known(url: str, visited: float = 0.0) -> KnownPage:
    return KnownPage(url, 1, visited, 200, Phase.LIVE, 3, 14, 0, 0)


def choose(brain: BrainDriver, *urls: str, block: int = 0) -> int:
    return brain.frontier.refresh_pages([known(url) for url in urls], block, brain.at)


def collected(brain: BrainDriver, *hosts: str) -> None:
    """Visit the first page of each host, so that it is known."""
    brain.allow_all(*hosts)
    while len(brain.pages) < len(hosts):
        for fetch in brain.run():
            brain.answer(fetch)
        if len(brain.pages) < len(hosts):
            brain.pass_time()


def visited(brain: BrainDriver, count: int) -> list[Fetch]:
    fetches: list[Fetch] = []
    while len(fetches) < count:
        begun = brain.run()
        for fetch in begun:
            brain.answer(fetch)
        fetches += begun
        if not begun:
            brain.pass_time()
    return fetches


@pytest.mark.parametrize(("share", "again"), [(0.3, 12), (0.0, 0), (1.0, 40), (0.5, 20)])
def test_host_with_pages_of_both_kinds_gives_each_its_share_of_turns(share: float, again: int) -> None:
    brain = BrainDriver(BrainSettings(limits=CrawlLimits(has_contact=True, refresh_share=share)))
    collected(brain, A)
    brain.schedule(*urls_of(A, 100))
    assert choose(brain, *urls_of(A, 100, 500)) == 100
    fetches = visited(brain, 40)
    assert sum(each.known is not None for each in fetches) == pytest.approx(again, abs=1)
    assert len(set(fetched_urls(fetches))) == 40


def test_host_without_new_pages_gives_all_turns_to_those_visited_again_best_first() -> None:
    brain = BrainDriver()
    collected(brain, A)
    choose(brain, *urls_of(A, 25))
    began = brain.now
    fetches = visited(brain, 25)
    assert fetched_urls(fetches) == urls_of(A, 25)
    assert brain.now - began >= 24 * 5.0
    assert [each.known for each in fetches] == [known(url) for url in urls_of(A, 25)]
    assert {(each.distance, each.cash) for each in fetches} == {(1, 0)}
    assert brain.record(A).pages == 1
    assert brain.record(A).refreshes == 25
    assert len(brain.frontier.refresh) == 0


def test_page_that_was_visited_is_not_chosen_again_before_the_repository_tells_of_the_visit() -> None:
    brain = BrainDriver()
    collected(brain, A)
    choose(brain, f"{A}/0")
    visited(brain, 1)
    assert choose(brain, f"{A}/0") == 0
    later = known(f"{A}/0", brain.at.wall)
    assert brain.frontier.refresh_pages([later], 0, brain.at) == 1


def test_look_at_a_block_takes_the_place_of_the_one_before() -> None:
    brain = BrainDriver()
    collected(brain, A, B)
    choose(brain, *urls_of(A, 30))
    choose(brain, *urls_of(B, 5), block=1)
    assert brain.frontier.refresh.held_counts() == {0: 30, 1: 5}
    assert brain.frontier.refresh.drop_block(0) == 30
    assert choose(brain, *urls_of(A, 3, 40)) == 3
    assert sorted(fetched_urls(visited(brain, 8))) == sorted([*urls_of(A, 3, 40), *urls_of(B, 5)])


def test_page_that_robots_txt_forbids_by_now_is_refused_and_stays_known() -> None:
    brain = BrainDriver()
    collected(brain, A)
    brain.now += 2 * DAY
    choose(brain, f"{A}/0", f"{A}/1")
    robots = brain.next_fetch()
    assert robots.purpose is Purpose.ROBOTS
    brain.answer(robots, 200, CLOSED)
    ended = ended_urls(brain.step())
    while len(ended) < 2:
        brain.pass_time()
        ended += ended_urls(brain.step())
    assert [(each.url, each.failure, each.refusal) for each in ended] == [(f"{A}/{n}", None, "robots") for n in (0, 1)]
    assert [each.known for each in ended] == [known(f"{A}/{n}") for n in (0, 1)]
    assert brain.frontier.refresh.landed_count == 2


def test_page_that_fails_is_tried_as_often_as_any_and_stays_known() -> None:
    brain = BrainDriver()
    collected(brain, A)
    choose(brain, f"{A}/0", *urls_of(A, 9, 1))
    ended: list[EndUrl] = []
    tries = 0
    while not ended:
        fetch = brain.next_fetch()
        if fetch.visit.url == f"{A}/0":
            tries += 1
            brain.fail(fetch)
        else:
            brain.answer(fetch)
        ended = ended_urls(brain.take())
    assert tries == 3
    assert (ended[0].url, ended[0].known) == (f"{A}/0", known(f"{A}/0"))


def test_pages_of_a_suspended_host_are_left_to_the_next_look() -> None:
    brain = BrainDriver()
    collected(brain, A)
    choose(brain, *urls_of(A, 20))
    while brain.record(A).status != HostStatus.SUSPENDED:
        brain.fail(brain.next_fetch(), FailureKind.REFUSED)
    assert brain.frontier.refresh.unfinished_count == 0
    assert choose(brain, *urls_of(A, 20)) == 0
    assert set(brain.frontier.suspended_refresh) == {A}
    brain.now += DAY
    brain.step()
    assert choose(brain, *urls_of(A, 20)) == 20
    brain.answer(brain.next_fetch())


def test_limits_of_pages_do_not_hold_for_pages_that_are_visited_again() -> None:
    brain = BrainDriver(BrainSettings(limits=CrawlLimits(has_contact=True, host_pages=1)))
    collected(brain, A)
    choose(brain, f"{A}/0")
    brain.schedule(f"{A}/new")
    fetches = visited(brain, 1)
    assert fetched_urls(fetches) == [f"{A}/0"]
    assert brain.record(A).pages == 1


@pytest.mark.parametrize("goes_on", [True, False])
def test_host_that_was_given_up_has_one_attempt_a_week_in_a_crawl_that_goes_on(goes_on: bool) -> None:
    brain = BrainDriver(BrainSettings(limits=CrawlLimits(has_contact=True, retries_given_up=goes_on)))
    brain.schedule(f"{A}/")
    while (record := brain.hosts.find(A)) is None or record.status != HostStatus.GIVEN_UP:
        if brain.step():
            brain.fail_name(A)
        brain.now += 60.0
    brain.now += 6 * DAY
    assert not brain.schedule(f"{A}/")
    brain.now += 2 * DAY
    assert brain.schedule(f"{A}/") is goes_on
    if goes_on:
        brain.step()
        brain.fail_name(A)
        brain.step()
        assert brain.record(A).status == HostStatus.GIVEN_UP
        assert not brain.schedule(f"{A}/")


def test_page_kept_after_a_kill_counts_as_no_page_more() -> None:
    brain = BrainDriver()
    collected(brain, A)
    brain.visits.page_recovered(make_page(f"{A}/0"), is_refresh=True)
    assert (brain.record(A).pages, brain.record(A).refreshes) == (1, 1)
