"""How fresh a collection is believed to be, against pages whose every change is known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarrafa.histories import (
    DAY_SECONDS,
    Belief,
    Change,
    Histories,
    Phase,
    VisitNews,
    fold,
    host_rates,
    new_histories,
)
from tarrafa.lab.experiment.changing_pages import ChangingPages
from tarrafa.refresh import (
    CHANGED,
    ENDED,
    UNCHANGED,
    FreshnessSums,
    PastVisits,
    VisitSample,
    expected_ages,
    fresh_shares,
    freshness_at,
    freshness_by_host,
    ordered_visits,
)

EPOCH = 1_700_000_000.0
PAGES, DAYS, GAP = 4_000, 120, 10.0


def poisson_pages() -> ChangingPages:
    rng = np.random.default_rng(3)
    rates = np.exp(rng.normal(-3.0, 1.3, PAGES)) * (rng.random(PAGES) > 0.15)
    moments = [np.sort(rng.uniform(0, DAYS, rng.poisson(rate * DAYS))) for rate in rates]
    return ChangingPages(np.arange(PAGES) % 40, np.ones(PAGES), DAYS, moments)


@pytest.fixture(scope="module")
def pages() -> ChangingPages:
    return poisson_pages()


def visits_of(pages: ChangingPages) -> PastVisits:
    """Visit each page every ten days, from its own day on."""
    everything = np.arange(len(pages))
    offsets = GAP * np.random.default_rng(4).random(len(pages))
    found = []
    for turn in range(int(DAYS / GAP) - 1):
        at = offsets + turn * GAP
        changed = (pages.next_change(everything, at - GAP) <= at) if turn else np.ones(len(pages), bool)
        found.append((everything, at * DAY_SECONDS + EPOCH, np.where(changed, CHANGED, UNCHANGED)))
    page, at_seconds, codes = (np.concatenate(column) for column in zip(*found, strict=True))
    return ordered_visits(PastVisits(page.astype(np.uint64), at_seconds, codes.astype(np.uint8)))


def histories_of(pages: ChangingPages, visits: PastVisits) -> Histories:
    histories = new_histories(np.arange(len(pages)))
    change = np.where(visits.found == CHANGED, Change.FULL, Change.NONE).astype(np.uint8)
    unknown = np.full(len(change), np.nan)
    news = VisitNews(visits.at_seconds, np.full(len(change), 200, np.uint16), change, unknown, unknown)
    fold(histories, visits.page.astype(np.int64), news, np.full(len(change), 1 / 30))
    return histories


def truly_fresh(pages: ChangingPages, visits: PastVisits, day: float) -> tuple[float, float]:
    """Return the true freshness of the copies at a moment, and their mean age in days."""
    is_past = visits.at_seconds <= EPOCH + day * DAY_SECONDS
    last = np.full(len(pages), -np.inf)
    np.maximum.at(last, visits.page[is_past].astype(np.int64), (visits.at_seconds[is_past] - EPOCH) / DAY_SECONDS)
    stale = pages.next_change(np.arange(len(pages)), last)
    return float((stale > day).mean()), float(np.maximum(day - stale, 0).mean())


# The estimate of now.


def test_the_estimate_is_near_the_truth(pages: ChangingPages) -> None:
    visits = visits_of(pages)
    histories = histories_of(pages, visits)
    for day in (DAYS - GAP, DAYS - 1.0):
        rates = host_rates(pages.hosts, histories.shape, histories.days, 1 / 30)[pages.hosts]
        sums = FreshnessSums()
        for each in freshness_by_host(histories, rates, pages.hosts, 40, EPOCH + day * DAY_SECONDS):
            sums = sums.plus(each)
        fresh, age = truly_fresh(pages, visits, day)
        assert sums.pages == PAGES
        assert sums.mean(sums.fresh) == pytest.approx(fresh, abs=0.02)
        assert sums.mean(sums.age_days) == pytest.approx(age, abs=0.1 * max(age, 1))
        assert 0 <= sums.mean(sums.wrong) <= 1 - sums.mean(sums.fresh)


def test_pages_without_a_copy_do_not_count() -> None:
    histories = new_histories(np.arange(4))
    histories.phase[:] = Phase.LIVE, Phase.GONE, Phase.MOVED, Phase.MISSING
    histories.visits[:] = 2
    (sums,) = freshness_by_host(histories, np.full(4, 0.1), np.zeros(4, np.int64), 1, EPOCH)
    assert (sums.pages, sums.visits) == (2, 4)
    assert FreshnessSums().mean(0.0) == 0.0


@given(st.floats(0.05, 50), st.floats(0.001, 1_000), st.floats(0, 1_000))
def test_age_and_freshness_are_within_their_bounds_and_agree(shape: float, days: float, elapsed: float) -> None:
    """The expected age is the integral of the probability of being stale."""
    belief = Belief(np.array([shape]), np.array([days]))
    steps = np.linspace(0, elapsed, 2_001)
    shares = np.array([fresh_shares(belief, np.array([each]))[0] for each in steps[:: len(steps) - 1]])
    assert np.all((shares >= 0) & (shares <= 1))
    (age,) = expected_ages(belief, np.array([elapsed]))
    assert 0 <= age <= elapsed * (1 - shares[-1]) + 1e-6
    many = Belief(np.full(2_001, shape), np.full(2_001, days))
    stale = 1 - fresh_shares(many, steps)
    mean = float(np.mean((stale[1:] + stale[:-1]) / 2)) * elapsed
    assert age == pytest.approx(mean, abs=0.01 * max(elapsed, 1e-3))


# Hindsight.


def test_hindsight_is_near_the_truth_at_every_moment(pages: ChangingPages) -> None:
    visits = visits_of(pages)
    days = np.array([15.0, 42.5, 80.0, DAYS - 1.0])
    for day, found in zip(days, freshness_at(visits, EPOCH + days * DAY_SECONDS), strict=True):
        fresh, age = truly_fresh(pages, visits, day)
        assert found.pages == PAGES
        assert found.freshness == pytest.approx(fresh, abs=0.03)
        assert found.age_days == pytest.approx(age, abs=0.15 * max(age, 1))


def test_copies_are_counted_from_the_first_visit_until_the_page_ends() -> None:
    visits = PastVisits(np.array([1, 1, 1, 2], np.uint64), np.array([10.0, 20, 30, 20]), np.array([0, 1, 2, 0]))
    found = freshness_at(visits, np.array([5.0, 15, 25, 35]))
    assert [each.pages for each in found] == [0, 1, 2, 1]
    assert found[1].freshness == 1.0  # the visit at 20 found no change
    assert freshness_at(PastVisits(*(column[:0] for column in visits)), np.array([1.0]))[0].pages == 0


def test_half_way_between_two_contents_about_half_of_the_copies_are_fresh() -> None:
    visits = PastVisits(np.array([1, 1], np.uint64), np.array([0.0, 2 * DAY_SECONDS]), np.array([CHANGED, CHANGED]))
    (found,) = freshness_at(visits, np.array([DAY_SECONDS]))
    # A little less: it may have changed several times.
    assert (found.freshness, found.age_days) == pytest.approx((0.5, 0.25), abs=0.1)
    assert found.freshness < 0.5


@given(st.integers(1, 400), st.integers(5, 60))
def test_a_sample_has_all_visits_of_its_pages_and_is_bounded(count: int, limit: int) -> None:
    rng = np.random.default_rng(count)
    sample = VisitSample(limit)
    hashes = rng.integers(0, 2**64, 50, np.uint64, endpoint=False)
    pages = rng.choice(hashes, count)
    for part in np.array_split(np.arange(count), 7):
        sample.add(pages[part], part.astype(np.float64), np.full(len(part), ENDED, np.uint8))
    kept = sample.visits()
    assert len(kept.page) <= limit
    for page in set(kept.page.tolist()):
        assert kept.at_seconds[kept.page == page].tolist() == np.flatnonzero(pages == page).tolist()
    assert sample.share == 1 or len(set(kept.page.tolist())) < len(set(pages.tolist()))
