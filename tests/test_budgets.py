"""Budgets of hosts, sites, addresses and patterns of URLs: what is visited, what is refused, and how it is counted."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    make_page,
    refused_counts,
    told,
    urls_of,
)
from tarrafa.agent import Checkpoint, CrawlLimits, HostChanges, HostDatabase, HostRecord, HostStatus, HostTable, Totals
from tarrafa.agent.instructions import CountRefused, EndUrl, Fetch, Instruction, Purpose, Resolve, TellGivenUp
from tarrafa.agent.outcomes import Outcome, outcome_of, reason_of, status_of
from tarrafa.agent.referrers import REFERRED_LIMIT, SET_BITS, estimated_count
from tarrafa.agent.saved_values import SavedValues
from tarrafa.agent.unsaved import Unsaved
from tarrafa.configuration import UrlBudget, UrlBudgets
from tarrafa.extract import Extract, PageFormat, PageLinks
from tarrafa.keep import BEGINNING
from tarrafa.urls import fingerprint, host_of

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


# Star budgets: more pages for hosts to which other sites link, fewer for those that yield copies.


STAR = WITH_CONTACT._replace(star_pages=10, host_pages=100)


def linked(brain: BrainDriver, target: str, *sources: str, rel: str = "") -> None:
    """Let a page of each source link to the target."""
    for source in sources:
        links = PageLinks((target,), ("",), (rel,), ())
        brain.discovery.follow_links(Unsaved(), Extract(f"{source}/", PageFormat.HTML, links=links), 1)


def limit_of(brain: BrainDriver, host: str) -> int:
    """Return the limit of a host, as of a schedule."""
    brain.schedule(f"{host}/", left_count=1_000)
    return brain.record(host).available - brain.record(host).pages


def test_host_to_which_no_other_site_links_has_the_pages_of_one_site() -> None:
    brain = limited(STAR)
    linked(brain, f"{WWW}/", WWW, BLOG, "http://shop.site.org")
    assert limit_of(brain, WWW) == 10


def test_limit_of_a_host_grows_with_the_sites_that_link_to_it_each_counted_once() -> None:
    brain = limited(STAR)
    linked(brain, f"{WWW}/", *[f"http://www.other{number}.org" for number in range(4)] * 3)
    linked(brain, f"{WWW}/", "http://blog.other1.org", "http://shop.other2.org")
    assert limit_of(brain, WWW) == 50
    linked(brain, f"{WWW}/", *[f"http://www.more{number}.org" for number in range(50)])
    assert limit_of(brain, WWW) == 100  # of `host_pages`


def test_links_of_one_page_count_for_a_bounded_number_of_hosts() -> None:
    brain = limited(STAR)
    targets = tuple(f"http://www.other{number}.org/" for number in range(REFERRED_LIMIT + 1))
    nothing = ("",) * len(targets)
    brain.discovery.follow_links(
        Unsaved(), Extract(f"{WWW}/", PageFormat.HTML, links=PageLinks(targets, nothing, nothing, ())), 1
    )
    assert len(brain.hosts.take_changes()[0].referrers) == REFERRED_LIMIT


def test_links_that_are_not_to_be_followed_or_lead_out_of_scope_count_for_nothing() -> None:
    brain = BrainDriver(BrainSettings(STAR, rule=lambda name: name != "out.org"))
    linked(brain, f"{WWW}/", OTHER, rel="nofollow")
    linked(brain, "http://out.org/", OTHER)
    assert not brain.hosts.take_changes()[0].referrers


def test_host_that_was_given_up_goes_on_when_its_limit_has_grown() -> None:
    brain = limited(WITH_CONTACT._replace(star_pages=2))
    brain.schedule(*urls_of(WWW, 5))
    assert refused_counts(crawl(brain)) == [CountRefused("host pages", 3)]
    linked(brain, f"{WWW}/", OTHER)
    brain.frontier.urls.finish(brain.pages)
    assert brain.schedule(*urls_of(WWW, 3, start=2))
    crawl(brain)
    assert len(brain.pages) == 4


@given(st.integers(0, 400))
def test_number_of_sites_is_estimated_from_a_set_of_fixed_size(count: int) -> None:
    bits = 0
    for number in range(count):
        bits |= 1 << fingerprint(f"site{number}.org") % SET_BITS
    assert abs(estimated_count(bits) - count) <= max(4, 0.2 * count)


def test_full_set_is_a_number() -> None:
    assert 1_000 < estimated_count((1 << SET_BITS) - 1) < 2_000


@pytest.mark.parametrize(("copies", "limit"), [(0, 100), (5, 80), (25, 0)])
def test_limit_of_a_host_shrinks_by_the_share_of_its_pages_that_are_copies(copies: int, limit: int) -> None:
    record = HostRecord(WWW, pages=25, copies=copies, referrers=9)
    assert STAR.page_limit_of(record) == limit


def test_few_copies_among_the_first_pages_count_for_nothing() -> None:
    assert STAR.page_limit_of(HostRecord(WWW, pages=19, copies=19)) == 10


def test_page_whose_text_another_page_had_is_a_copy_and_a_page_that_is_fetched_again_is_none() -> None:
    brain = limited(STAR)
    for url, signature in [(f"{A}/1", 7), (f"{A}/2", 7), (f"{B}/1", 7), (f"{A}/1", 7), (f"{B}/2", 8), (f"{B}/3", 0)]:
        brain.visits.page_kept(make_page(url), signature)
    brain.visits.page_kept(make_page(f"{B}/4", 404), 7)
    assert (brain.record(A).copies, brain.record(B).copies) == (1, 1)


def test_without_a_star_budget_neither_links_nor_copies_are_counted() -> None:
    brain = BrainDriver()
    linked(brain, f"{WWW}/", OTHER)
    for url in (f"{A}/1", f"{A}/2"):
        brain.visits.page_kept(make_page(url), 7)
    assert brain.record(A).copies == 0
    assert not brain.hosts.take_changes()[0].referrers


def test_sites_that_link_to_a_host_survive_a_restart_and_go_with_it_to_another_owner(tmp_path: Path) -> None:
    brain, path = limited(STAR), tmp_path / "hosts.sqlite"
    linked(brain, f"{WWW}/", OTHER, "http://third.org")
    assert limit_of(brain, WWW) == 30
    export = brain.hosts.export(WWW)
    assert export is not None
    changes, _ = brain.hosts.take_changes()
    database = HostDatabase(path)
    database.commit(Checkpoint(1, BEGINNING, Totals()), changes)
    bits = database.referrers(WWW)
    assert (estimated_count(bits or 0), database.referrers(OTHER), database.spent("site x")) == (2, None, None)
    database.commit(Checkpoint(2, BEGINNING, Totals()), HostChanges(spent={"site x": 3}))
    assert database.spent("site x") == 3
    database.close()
    other = limited(STAR)
    other.hosts.adopt(export)
    assert limit_of(other, WWW) == 30


def test_values_are_read_while_a_checkpoint_saves_them() -> None:
    stored: dict[str, int] = {"a": 1}
    values = SavedValues(stored.get, 0)
    values.put("b", 2)
    assert [values.get(name) for name in "abc"] == [1, 2, 0]
    taken = values.take()
    assert not values
    values.put("b", 3)
    stored.update(taken)
    values.saved()
    assert (values.get("b"), values.take(), stored["b"]) == (3, {"b": 3}, 2)


# Any limits together.


@given(
    counts=st.lists(st.integers(1, 6), min_size=1, max_size=6),
    host_pages=st.integers(1, 8),
    site_pages=st.none() | st.integers(1, 12),
    address_pages=st.none() | st.integers(1, 12),
    url_pages=st.integers(0, 12),
)
def test_every_url_is_a_page_or_refused_once_and_no_budget_is_exceeded_but_by_visits_in_flight(
    counts: list[int], host_pages: int, site_pages: int | None, address_pages: int | None, url_pages: int
) -> None:
    """Two hosts a site, all at one address; and the second URL of each host has a budget together with the others."""
    hosts = [f"http://h{number}.site{number // 2}.org" for number in range(len(counts))]
    limits = WITH_CONTACT._replace(
        host_pages=host_pages,
        site_pages=site_pages,
        address_pages=address_pages,
        url_budgets=(UrlBudget("*.org/1", url_pages),),
    )
    brain = limited(limits)
    urls = {host: urls_of(host, count) for host, count in zip(hosts, counts, strict=True)}
    told_counts: Counter[str] = Counter()
    ended: list[str] = []
    for _ in range(2):  # the second time the repository schedules what is left
        for host in hosts:
            left = [url for url in urls[host] if url not in brain.pages and url not in ended]
            if left:
                brain.schedule(*left)
        instructions = crawl(brain, SHARED)
        ended += [each.url for each in ended_urls(instructions)]
        for each in refused_counts(instructions):
            told_counts[each.reason] += each.urls_count
        brain.frontier.urls.finish([*brain.pages, *ended])
    pages = Counter(host_of(url) for url in brain.pages)
    assert len(brain.pages) == len(set(brain.pages))
    assert told_counts.total() + len(ended) + len(brain.pages) == sum(counts)
    assert max(pages.values(), default=0) <= host_pages
    if site_pages is not None:
        of_sites = Counter(url.partition(".")[2].partition("/")[0] for url in brain.pages)
        assert max(of_sites.values(), default=0) <= site_pages + 1
    # One visit at a time to an address, and so to all of these.
    if address_pages is not None:
        assert len(brain.pages) <= address_pages
    assert sum(url.endswith("/1") for url in brain.pages) <= url_pages
