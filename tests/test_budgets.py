"""Budgets of hosts, sites, addresses and patterns of URLs: what is visited, what is refused, and how it is counted."""

import pytest

from brains import (
    DELAY_SECONDS,
    WITH_CONTACT,
    A,
    B,
    BrainDriver,
    BrainSettings,
    C,
    ended_urls,
    fetched_urls,
    refused_counts,
    told,
    urls_of,
)
from tarrafa.agent import CrawlLimits, HostStatus, HostTable
from tarrafa.agent.instructions import CountRefused, EndUrl, Fetch, Instruction, Purpose, Resolve, TellGivenUp
from tarrafa.agent.outcomes import Outcome, outcome_of, reason_of, status_of
from tarrafa.configuration import UrlBudget, UrlBudgets
from tarrafa.urls import host_of

WWW, BLOG, OTHER = "http://www.site.org", "http://blog.site.org", "http://www.other.org"
SHARED = "93.184.216.34"


def limited(limits: CrawlLimits) -> BrainDriver:
    return BrainDriver(BrainSettings(limits))


def crawl(brain: BrainDriver, address: str = "") -> list[Instruction]:
    """Visit all that may be visited, until nothing is left; return what else the brain instructs."""
    others: list[Instruction] = []
    while not brain.visits.is_exhausted(brain.at):
        instructions = brain.step()
        for each in instructions:
            if isinstance(each, Resolve):
                brain.resolve(each.host, *[address] * bool(address))
            elif isinstance(each, Fetch):
                brain.answer(each, 404 if each.purpose is Purpose.ROBOTS else 200)
            else:
                others.append(each)
        if not instructions and not brain.visits.is_exhausted(brain.at):
            brain.pass_time()
    return others + brain.take()


# Sites.


def test_hosts_of_a_site_share_its_budget_and_other_sites_have_their_own() -> None:
    brain = limited(WITH_CONTACT._replace(site_pages=4))
    for host in (WWW, BLOG, OTHER):
        brain.schedule(*urls_of(host, 3))
    instructions = crawl(brain)
    pages = [host_of(url) for url in brain.pages]
    # One visit more may be in flight to the other host of the site when the last page is kept.
    assert 4 <= pages.count(WWW) + pages.count(BLOG) <= 5
    assert pages.count(OTHER) == 3
    refused = 6 - pages.count(WWW) - pages.count(BLOG)
    assert sum(each.urls_count for each in refused_counts(instructions)) == refused
    assert {each.reason for each in refused_counts(instructions)} == {"site pages"}
    assert {each.reason for each in told(instructions) if isinstance(each, TellGivenUp)} == {"site pages"}


def test_urls_refused_for_the_budget_of_a_site_are_counted_once_however_often_they_are_scheduled() -> None:
    brain = limited(WITH_CONTACT._replace(site_pages=1))
    brain.schedule(f"{WWW}/")
    crawl(brain)
    for left_count, counted in [(10, 10), (10, 0), (14, 4)]:
        assert not brain.schedule(*urls_of(BLOG, 5), left_count=left_count)
        assert refused_counts(brain.take()) == [CountRefused("site pages", counted)] * bool(counted)
    assert brain.record(BLOG).status == HostStatus.GIVEN_UP


def test_host_given_up_for_its_site_is_visited_again_under_a_higher_budget() -> None:
    brain = limited(WITH_CONTACT._replace(site_pages=5))
    brain.hosts.give_up(brain.hosts.meet(WWW), "site pages")
    assert brain.schedule(f"{WWW}/")
    assert brain.record(WWW).status == HostStatus.WELCOME


# Addresses.


def test_hosts_at_an_address_share_its_budget() -> None:
    brain = limited(WITH_CONTACT._replace(address_pages=3))
    for host in (A, B, C):
        brain.schedule(*urls_of(host, 2))
    instructions = crawl(brain, SHARED)
    assert len(brain.pages) == 3
    assert sum(each.urls_count for each in refused_counts(instructions)) == 3
    assert {each.reason for each in refused_counts(instructions)} == {"address pages"}


def test_host_whose_address_has_given_its_pages_is_not_taken_again() -> None:
    """Else a crawl would not end: the host would be visited in vain each time that its block is read."""
    brain = limited(WITH_CONTACT._replace(address_pages=1))
    for host in (A, B):
        brain.schedule(f"{host}/")
    crawl(brain, SHARED)
    (visited,) = brain.pages
    other = B if visited.startswith(A) else A
    assert not brain.schedule(f"{other}/")
    assert not brain.schedule(f"{other}/", f"{other}/more", left_count=2)
    assert refused_counts(brain.take()) == [CountRefused("address pages", 1)]


# Patterns.


def test_urls_of_a_pattern_that_has_given_its_pages_are_ended_without_a_visit() -> None:
    budget = UrlBudget("a.example/calendar/", 2)
    brain = limited(WITH_CONTACT._replace(url_budgets=(budget,)))
    brain.schedule(*[f"{A}/calendar/{day}" for day in range(5)], f"{A}/about")
    instructions = crawl(brain)
    assert brain.pages == [f"{A}/calendar/0", f"{A}/calendar/1", f"{A}/about"]
    assert ended_urls(instructions) == [EndUrl(f"{A}/calendar/{day}", None, "url pages") for day in (2, 3, 4)]
    assert brain.record(A).status == HostStatus.WELCOME


def test_refused_url_is_told_by_its_number_in_the_repository() -> None:
    status = status_of(None, "url pages")
    assert status != status_of(None)
    assert (outcome_of(status), reason_of(status)) == (Outcome.REFUSED, "over the budget of its pattern")


@pytest.mark.parametrize(
    ("match", "url", "is_match"),
    [
        ("example.org/calendar/", "http://example.org/calendar/2026", True),
        ("example.org/calendar/", "https://example.org/calendar/2026", True),
        ("https://example.org/calendar/", "http://example.org/calendar/2026", False),
        ("example.org/calendar/", "http://www.example.org/calendar/2026", False),
        ("*.example.org/calendar/", "http://www.example.org/calendar/2026", True),
        ("example.org/*?action=", "http://example.org/wiki/Home?action=edit", True),
        ("example.org/*?action=", "http://example.org/wiki/Home", False),
        ("*/print/", "http://any.org/a/print/1", True),
    ],
)
def test_pattern_is_the_beginning_of_a_url_with_stars(match: str, url: str, is_match: bool) -> None:
    assert (UrlBudgets([UrlBudget(match, 1)]).of(url) is not None) is is_match


def test_first_of_the_patterns_that_match_counts() -> None:
    first, second = UrlBudget("a.org/x/", 1), UrlBudget("a.org/", 2)
    budgets = UrlBudgets([first, second])
    assert [budgets.of(f"http://a.org/{path}") for path in ("x/1", "y")] == [first, second]


# Together.


def test_what_was_spent_survives_a_restart() -> None:
    limits = WITH_CONTACT._replace(site_pages=10, address_pages=10, url_budgets=(UrlBudget("www.site.org/", 10),))
    brain = limited(limits)
    brain.schedule(*urls_of(WWW, 3))
    crawl(brain, SHARED)
    changes, _ = brain.hosts.take_changes()
    assert changes.spent == {"site site.org": 3, f"address {SHARED}": 3, "url www.site.org/": 3}
    brain.storage.commit(changes)
    again = HostTable(brain.storage, brain.storage, met_count=1)
    assert [again.spent.get(unit) for unit in (*changes.spent, "site other.org")] == [3, 3, 3, 0]


def test_without_such_budgets_nothing_is_counted_for_them() -> None:
    brain = BrainDriver()
    brain.schedule(*urls_of(WWW, 3))
    crawl(brain, SHARED)
    assert not brain.hosts.take_changes()[0].spent


def test_host_budget_is_exact_and_told() -> None:
    brain = limited(WITH_CONTACT._replace(host_pages=2, site_pages=100))
    brain.schedule(*urls_of(WWW, 5))
    instructions = crawl(brain)
    assert brain.pages == urls_of(WWW, 2)
    assert refused_counts(instructions) == [CountRefused("host pages", 3)]
    assert told(instructions) == [TellGivenUp(WWW, "pages")]
    brain.now += DELAY_SECONDS
    assert fetched_urls(brain.step()) == []
