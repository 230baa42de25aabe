"""Hints of sitemaps and feeds: what is kept of them, how far they are believed, and what they do to visits."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brains import BrainDriver
from tarrafa.agent import RefreshLooks
from tarrafa.agent.refresher import RefreshMode, RefreshSettings, make_refresher
from tarrafa.clock import Instant
from tarrafa.histories import DAY_SECONDS, Change, new_histories
from tarrafa.refresh import (
    Load,
    Optimal,
    RefreshHints,
    RoundSettings,
    hint_weights,
    page_states,
)
from tarrafa.verify import Batch, Collected, Extracted, MemoryRepository

A, B = "http://a.test", "http://b.test"
NOW = 20_000 * DAY_SECONDS + 43_200.0  # at noon
HALF = -math.log(0.5)  # the weight of a hint of a host of which nothing is known


def noted(hints: RefreshHints, url: str, date: float, read_before: float | None = NOW - 1) -> bool:
    hints.note(A, [(url, date)], read_before, NOW)
    return url in hints.believed().urls


def settled(hints: RefreshHints, *, is_right: bool | None, count: int = 1, visited_before: float | None = 0.0) -> None:
    for _ in range(count):
        hints.note(A, [(f"{A}/x", NOW)], None, NOW)
        hints.settle(A, f"{A}/x", visited_before, is_right=is_right)


def test_only_new_dates_of_the_hosts_own_urls_are_hints() -> None:
    hints = RefreshHints()
    assert noted(hints, f"{A}/new", NOW - 60)
    assert noted(hints, f"{A}/today", 20_000 * DAY_SECONDS)
    assert not noted(hints, f"{A}/future", NOW + 1)
    assert not noted(hints, f"{A}/old", NOW - 2 * DAY_SECONDS)
    assert not noted(hints, f"{B}/other", NOW - 60)
    assert not noted(hints, f"{A}.example/other", NOW - 60)
    assert hints.note(A, [(f"{A}/undated", None)], None, NOW) == 0
    assert len(hints) == 2


def test_list_that_is_read_for_the_first_time_tells_of_the_last_days() -> None:
    assert noted(RefreshHints(), f"{A}/x", NOW - 6 * DAY_SECONDS, None)
    assert not noted(RefreshHints(), f"{A}/x", NOW - 8 * DAY_SECONDS, None)


def test_newest_of_several_dates_counts() -> None:
    hints = RefreshHints()
    hints.note(A, [(f"{A}/x", NOW - 10)], NOW, NOW)
    hints.note(A, [(f"{A}/x", NOW - 20)], NOW, NOW)
    assert hints.believed().modified.tolist() == [NOW - 10]


@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 30), st.integers(-3, 3)), max_size=150),
    st.integers(0, 20),
)
def test_hints_are_bounded_and_every_one_is_kept_dropped_or_settled(
    events: list[tuple[str, int, int]], limit: int
) -> None:
    hints, added, gone = RefreshHints(limit), 0, 0
    for name, page, days in events:
        host, before = f"http://{name}.test", len(hints)
        if days == 0:
            hints.settle(host, f"{host}/{page}", None, is_right=None)
            gone += before - len(hints)
            continue
        is_held = f"{host}/{page}" in hints.believed().urls
        dropped = hints.note(host, [(f"{host}/{page}", NOW + days * 3_600)], NOW, NOW)
        added += bool(limit) and days < 0 and not is_held
        gone += dropped
        assert len(hints) <= limit
        assert all(date <= NOW for date in hints.believed().modified.tolist())
    believed = hints.believed()
    assert len(hints) == added - gone == len(believed.urls) == len(set(believed.urls)) == len(believed.weights)


def test_room_is_made_by_the_host_that_has_most_and_its_oldest_go_first() -> None:
    hints = RefreshHints(limit=10)
    hints.note(B, [(f"{B}/1", NOW)], None, NOW)
    assert hints.note(A, [(f"{A}/{page}", NOW) for page in range(40)], None, NOW) == 31
    assert hints.believed().urls == [f"{B}/1", *(f"{A}/{page}" for page in range(31, 40))]


@given(st.lists(st.booleans(), max_size=40))
def test_precision_counts_the_visits_to_hinted_pages(outcomes: list[bool]) -> None:
    hints = RefreshHints()
    for is_right in outcomes:
        settled(hints, is_right=is_right)
    assert hints.precision(A) == pytest.approx((1 + sum(outcomes)) / (2 + len(outcomes)))
    assert hints.precision(B) == 0.5


def test_host_that_is_never_right_is_not_believed_until_it_is_right_again() -> None:
    hints = RefreshHints()
    settled(hints, is_right=False, count=3)
    assert noted(hints, f"{A}/y", NOW)
    settled(hints, is_right=False)
    assert hints.precision(A) < 0.2
    assert not noted(hints, f"{A}/y", NOW)
    settled(hints, is_right=False, count=1_000)
    settled(hints, is_right=True, count=20)
    assert noted(hints, f"{A}/y", NOW)


def test_visits_that_say_nothing_of_a_hint_teach_nothing() -> None:
    """A first visit, one that failed, and one to a page that had been visited after the date."""
    hints = RefreshHints()
    settled(hints, is_right=True, visited_before=None)
    settled(hints, is_right=None)
    settled(hints, is_right=False, visited_before=NOW + 1)
    assert (hints.precision(A), len(hints)) == (0.5, 0)


def test_hint_counts_if_it_is_newer_than_the_last_visit() -> None:
    hints = RefreshHints()
    day = 20_000 * DAY_SECONDS
    hints.note(A, [(f"{A}/{page}", date) for page, date in enumerate((NOW - 5, NOW - 5, day, day))], None, NOW)
    histories = new_histories(np.arange(5))
    histories.visited[:] = NOW - 10, NOW - 1, day - 1, day + 1, 0
    weights = hint_weights(histories, np.array([0, 1, 2, 3]), hints.believed())
    assert weights.tolist() == pytest.approx([HALF, 0, HALF, 0, 0])
    assert hint_weights(histories, np.full(4, -1), hints.believed()).tolist() == [0] * 5


@given(st.floats(0.05, 0.98), st.floats(0.01, 5.0), st.floats(0.0, 50.0))
def test_hint_stands_for_the_time_in_which_a_page_changes_with_its_precision(
    precision: float, rate: float, days: float
) -> None:
    histories = new_histories(np.arange(1))
    histories.visited[:] = int(NOW - days * DAY_SECONDS)
    plain = page_states(histories, np.array([rate]), NOW)
    pages = page_states(histories, np.array([rate]), NOW, np.array([-math.log1p(-precision)]))
    more = pages.elapsed_days - plain.elapsed_days
    assert 1 - np.exp(-rate * more) == pytest.approx(precision, abs=1e-6)
    assert Optimal().values(pages) >= Optimal().values(plain)


# The refresher of production, on virtual time.

PAGES, DAYS, BANDWIDTH = 60, 40, 0.2


class HintedCrawl:
    """Pages of two hosts. One tells each change within a day; the other says each day that all pages have changed."""

    def __init__(self, mode: RefreshMode = RefreshMode.FOREVER, budget: int | None = None) -> None:
        self.repository, self.hints, self.number = MemoryRepository(blocks=2), RefreshHints(), 0
        self.urls = [f"{host}/{page}" for host in (A, B) for page in range(PAGES)]
        chance = np.random.default_rng(4)
        self.changes = {url: np.cumsum(chance.exponential(20.0, 20)) for url in self.urls}
        self.visited = dict.fromkeys(self.urls, 0.0)  # in days
        self.visits: list[tuple[str, float]] = []
        self.delays: list[float] = []  # from a change to the visit that found it, at the host that tells the truth
        self._save(self.urls, 0.0, [Change.NONE] * len(self.urls))
        settings = RefreshSettings(mode, Optimal(), rounds=RoundSettings(BANDWIDTH), budget=budget)
        self.refresher = make_refresher(self.repository, settings, NOW + 1, Instant(0.0, NOW))

    def _save(self, urls: list[str], day: float, changes: list[Change]) -> None:
        count = len(urls)
        visits = Collected(
            urls,
            at_seconds=np.full(count, NOW + day * DAY_SECONDS),
            status=np.full(count, 200, np.uint16),
            file=np.zeros(count, np.uint32),
            offset=np.zeros(count, np.uint64),
        )
        collected = visits.completed()._replace(change=np.array(changes, np.uint8))
        for _ in self.repository.blocks():
            self.repository.cycle(Batch(self.number, collected, Extracted()))
            self.number, collected = self.number + 1, Collected()

    def read_sitemaps(self, day: float) -> None:
        dated = [(url, self.changes[url][self.changes[url] <= day]) for url in self.urls[:PAGES]]
        told = [(url, NOW + float(moments[-1]) * DAY_SECONDS) for url, moments in dated if len(moments)]
        wall = NOW + day * DAY_SECONDS
        self.hints.note(A, told, wall - DAY_SECONDS, wall)
        self.hints.note(B, [(url, wall) for url in self.urls[PAGES:]], wall - DAY_SECONDS, wall)

    def look(self, day: float) -> list[str]:
        """Look at the next block; return the pages that are chosen."""
        at = Instant(day * DAY_SECONDS, NOW + day * DAY_SECONDS)
        block = self.refresher.next_block(self.repository.blocks(), at)
        if block is None:
            return []
        load = Load(len(self.visits), 0)
        return [page.url for page in self.refresher.choose(block, load, at, self.hints.believed())]

    def visit(self, urls: list[str], day: float) -> None:
        found = []
        for url in urls:
            missed = self.changes[url][(self.changes[url] > self.visited[url]) & (self.changes[url] <= day)]
            found.append(Change.FULL if len(missed) else Change.NONE)
            host, before = url[: len(A)], NOW + self.visited[url] * DAY_SECONDS
            self.hints.settle(host, url, before, is_right=bool(len(missed)))
            self.delays += [day - missed[0]] if len(missed) and host == A else []
            self.visited[url] = day
        self.visits += [(url, day) for url in urls]
        if urls:
            self._save(urls, day, found)

    def run(self, *, is_hinted: bool) -> None:
        read_day = 0
        while (day := self.refresher.due_at / DAY_SECONDS) < DAYS:
            if is_hinted and day >= read_day + 1:
                read_day += 1
                self.read_sitemaps(day)
            self.visit(self.look(day), day)

    def share_of_liar(self) -> float:
        """Return the share of the visits of the last half that the host took that tells nothing."""
        late = [url for url, day in self.visits if day > DAYS / 2]
        return sum(url.startswith(B) for url in late) / len(late)


def test_changes_that_a_sitemap_tells_are_found_sooner_and_a_lying_one_is_soon_not_believed() -> None:
    plain, hinted = HintedCrawl(), HintedCrawl()
    plain.run(is_hinted=False)
    hinted.run(is_hinted=True)
    assert len(hinted.visits) < 1.2 * len(plain.visits)
    assert np.mean(hinted.delays) < 0.4 * np.mean(plain.delays)
    assert hinted.hints.precision(A) > 0.8
    assert hinted.hints.precision(B) < 0.25
    assert hinted.share_of_liar() <= plain.share_of_liar() + 0.1


def test_round_with_a_budget_takes_hinted_pages_first() -> None:
    crawl = HintedCrawl(RefreshMode.ROUND, budget=6)
    told = crawl.urls[10:13]
    crawl.hints.note(A, [(url, NOW + 1.5 * DAY_SECONDS) for url in told], None, NOW + 2 * DAY_SECONDS)
    chosen: list[str] = []
    for _ in range(4):
        urls = crawl.look(2.0)
        crawl.visit(urls, 2.0)
        chosen += urls
    assert set(told) <= set(chosen)
    assert len(chosen) <= 6


def test_look_of_a_crawl_takes_what_is_hinted_when_it_begins() -> None:
    crawl, frontier = HintedCrawl(RefreshMode.ROUND, budget=2), BrainDriver().frontier
    looks, at = RefreshLooks(crawl.refresher, frontier, hints=crawl.hints), Instant(0.0, NOW + 2 * DAY_SECONDS)
    told = crawl.urls[10:12]
    crawl.hints.note(A, [(url, NOW + DAY_SECONDS) for url in told], None, at.wall)
    load = looks.load(0, is_settled=True)
    assert load.hints.urls == told
    chosen = [looks.look(UnratedBlocks(crawl.repository), load, at) for _ in crawl.repository.blocks()]
    assert {page.url for each in chosen if each is not None for page in each.pages} == set(told)


class UnratedBlocks:
    def __init__(self, repository: MemoryRepository) -> None:
        self.blocks = repository.blocks

    def rate(self, block: int) -> None:
        """Do nothing: all pages are equally important."""
