"""What visits teach about a page: the belief about its rate, its phase, and when it may be visited again."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import gamma

from tarrafa.histories import (
    DAY_SECONDS,
    DROPPED_STATUS,
    HISTORY_BYTES,
    REFUSED_STATUS,
    Belief,
    Change,
    Histories,
    Phase,
    VisitNews,
    fold,
    host_rates,
    importance_codes,
    importance_of,
    new_histories,
    taken,
)
from tarrafa.histories.belief import FIRST_RATE, after_visit, joined, prior

NOW = 1_700_000_000.0
SHAPES = st.floats(0.1, 40)
DAYS = st.floats(0.05, 400)


def one(value: float) -> np.ndarray:
    return np.array([value])


def after(belief: tuple[float, float], elapsed: float, changed: bool, content: float = np.nan) -> tuple[float, float]:
    found = after_visit(Belief(one(belief[0]), one(belief[1])), one(elapsed), np.array([changed]), one(content))
    return float(found.shape[0]), float(found.days[0])


# The belief.


@given(SHAPES, DAYS, DAYS)
def test_a_visit_without_a_change_adds_its_days(shape: float, days: float, elapsed: float) -> None:
    assert after((shape, days), elapsed, False) == pytest.approx((shape, days + elapsed))


@given(st.floats(0.3, 20), st.floats(0.5, 100), st.floats(0.1, 100))
def test_after_a_change_mean_and_variance_are_those_of_the_exact_posterior(
    shape: float, days: float, elapsed: float
) -> None:
    """The likelihood of at least one change in the time is 1 − e^(−rate × time)."""
    found_shape, found_days = after((shape, days), elapsed, True)
    before = gamma(shape, scale=1 / days)

    def moment(power: int) -> float:
        def weighed(rate: float) -> float:
            return float(rate**power * before.pdf(rate) * -np.expm1(-rate * elapsed))

        edges = [0.0, *(float(before.ppf(share)) for share in (0.001, 0.1, 0.5, 0.9, 0.999, 1 - 1e-9)), np.inf]
        return math.fsum(quad(weighed, low, high, limit=200)[0] for low, high in pairwise(edges))

    mean, square = moment(1) / moment(0), moment(2) / moment(0)
    assert found_shape / found_days == pytest.approx(mean, rel=1e-3)
    assert found_shape / found_days**2 == pytest.approx(square - mean**2, rel=1e-2)


@given(SHAPES, DAYS, DAYS)
def test_the_age_of_the_content_tells_exactly_when_it_changed(shape: float, days: float, elapsed: float) -> None:
    content = elapsed / 3
    assert after((shape, days), elapsed, True, content) == pytest.approx((shape + 1, days + content))
    older = after((shape, days), elapsed, True, 2 * elapsed)  # a host that contradicts itself is not believed
    assert older == pytest.approx(after((shape, days), elapsed, True))


def test_much_evidence_is_forgotten_in_proportion() -> None:
    shape, days = after((60.0, 30.0), 1.0, False)
    assert shape == pytest.approx(50)
    assert shape / days == pytest.approx(60 / 31)


def test_two_visits_at_one_moment_teach_nothing_twice() -> None:
    assert after((2.0, 5.0), 0.0, True) == (2.0, 5.0)


def test_pages_of_a_host_have_its_rate_as_their_prior() -> None:
    """Host 0 changes often, host 1 never did; the mean of a host with few pages stays near that of all."""
    hosts = np.array([0] * 40 + [1] * 40 + [2])
    shape = np.where(hosts == 0, 20.0, 0.0)
    rates = host_rates(hosts, shape, np.full(len(hosts), 20.0), FIRST_RATE)
    assert rates[0] > 10 * FIRST_RATE > FIRST_RATE > rates[1]
    assert rates[2] == pytest.approx(FIRST_RATE, rel=0.2)
    assert joined(prior(rates), np.zeros(3), np.zeros(3)).shape == pytest.approx(prior(rates).shape)


# Histories.


def news(at: float, status: int = 200, change: Change = Change.NONE, cache: float = np.nan) -> VisitNews:
    changes = np.array([change], np.uint8)
    return VisitNews(one(at), np.array([status], np.uint16), changes, one(np.nan), one(cache))


def visited(*visits: VisitNews) -> Histories:
    """Return the history of one URL after these visits."""
    history = new_histories(np.array([7]))
    for each in visits:
        fold(history, np.array([0]), each, one(FIRST_RATE))
    return history


def days_until_next(history: Histories) -> float:
    return float(history.not_before[0] - history.visited[0]) / DAY_SECONDS


def day(number: float) -> float:
    return NOW + number * DAY_SECONDS


def test_the_first_visit_begins_a_history() -> None:
    history = visited(news(NOW))
    assert (history.row[0], history.visited[0], history.changed[0]) == (7, NOW, NOW)
    assert (history.visits[0], history.changes[0], history.phase[0]) == (1, 0, Phase.LIVE)
    assert (history.shape[0], history.days[0]) == (0, 0)
    assert HISTORY_BYTES == 33


def test_changes_are_counted_and_dated() -> None:
    history = visited(news(day(0)), news(day(2), change=Change.FULL), news(day(5)))
    assert (history.visits[0], history.changes[0], history.changed[0]) == (3, 1, day(2))
    assert history.shape[0] > 0


def test_visits_of_one_batch_count_each_in_the_order_of_their_time() -> None:
    """A batch may hold several visits to one URL, in any order."""
    history = new_histories(np.array([7, 8]))
    at = np.array([day(5), day(0), day(2), day(1)])
    change = np.array([Change.NONE, Change.NONE, Change.FULL, Change.FULL], np.uint8)
    batch = VisitNews(at, np.full(4, 200, np.uint16), change, np.full(4, np.nan), np.full(4, np.nan))
    fold(history, np.array([0, 0, 0, 1]), batch, np.full(4, FIRST_RATE))
    expected = visited(news(day(0)), news(day(2), change=Change.FULL), news(day(5)))
    first = taken(history, np.array([0]))
    assert [column.tolist() for column in first] == [column.tolist() for column in expected]
    assert (history.visits[1], history.changes[1]) == (1, 0)  # the first visit compares with nothing


@pytest.mark.parametrize(
    ("statuses", "phase", "wait_days"),
    [
        ([304], Phase.LIVE, 0),
        ([301], Phase.MOVED, 0),
        ([404], Phase.MISSING, 1),
        ([404, 404], Phase.GONE, 7),
        ([410], Phase.GONE, 7),
        ([410, 410], Phase.GONE, 14),
        ([410] * 9, Phase.GONE, 180),
        ([0], Phase.FAILING, 1),
        ([503, 0], Phase.FAILING, 3),
        ([500] * 4, Phase.FAILING, 27),
        ([500] * 5, Phase.GONE, 7),
        ([REFUSED_STATUS], Phase.REFUSED, 1),
        ([REFUSED_STATUS] * 3, Phase.REFUSED, 30),
        ([1_003], Phase.REFUSED, 1),  # by the scope
        ([1_100], Phase.FAILING, 1),  # its name has no address
    ],
)
def test_each_phase_has_its_wait(statuses: list[int], phase: Phase, wait_days: float) -> None:
    """The visits are two days apart, after a first one that found the page."""
    history = visited(news(day(0)), *(news(day(2 * n), status) for n, status in enumerate(statuses, 1)))
    assert history.phase[0] == phase
    assert days_until_next(history) == pytest.approx(wait_days, abs=1e-3)


def test_a_second_404_of_the_same_day_says_nothing_more() -> None:
    assert visited(news(day(0)), news(day(2), 404), news(day(2.5), 404)).phase[0] == Phase.MISSING


def test_a_hosts_bad_hour_teaches_nothing_about_its_pages() -> None:
    history = visited(news(day(0)), news(day(3)), news(day(5), 503))
    before = visited(news(day(0)), news(day(3)))
    assert (history.shape[0], history.days[0]) == (before.shape[0], before.days[0])
    back = visited(news(day(0)), news(day(3)), news(day(5), 503), news(day(6)))
    assert (back.phase[0], back.failures[0]) == (Phase.LIVE, 0)


def test_after_gone_the_evidence_begins_anew() -> None:
    history = visited(news(day(0)), news(day(9)), news(day(10), 410), news(day(20)))
    assert (history.phase[0], history.shape[0], history.days[0]) == (Phase.LIVE, 0, 0)


def test_the_first_page_after_failures_is_no_evidence() -> None:
    """Its content may have changed at any time since the last visit that found the page."""
    history = visited(news(day(0)), news(day(3)), news(day(30), 503), news(day(31), change=Change.FULL))
    before = visited(news(day(0)), news(day(3)))
    assert (history.shape[0], history.days[0]) == (before.shape[0], before.days[0])
    assert (history.changes[0], history.changed[0]) == (1, day(31))


def test_what_robots_txt_disallowed_for_a_time_keeps_its_evidence() -> None:
    history = visited(news(day(0)), news(day(9)), news(day(10), REFUSED_STATUS), news(day(20)))
    assert (history.phase[0], history.days[0]) == (Phase.LIVE, visited(news(day(0)), news(day(9))).days[0])


def test_a_dropped_page_keeps_all_but_its_phase() -> None:
    """It was not visited."""
    before, after = visited(news(day(0)), news(day(9))), visited(news(day(0)), news(day(9)), news(day(11), 1_099))
    assert DROPPED_STATUS == 1_099
    assert after._replace(phase=before.phase) == before
    assert after.phase[0] == Phase.DROPPED
    again = visited(news(day(0)), news(day(9)), news(day(11), 1_099), news(day(19)))
    assert (again.phase[0], again.visits[0], again.days[0]) == (Phase.LIVE, 3, 19)


def test_slight_changes_at_every_visit_teach_nothing_from_the_fifth_on() -> None:
    """A counter or the time of day in a page changes its signature, and its text hardly at all."""
    visits = [news(day(0)), *(news(day(n), change=Change.SLIGHT) for n in range(1, 5))]
    four = visited(*visits)
    five = visited(*visits, news(day(5), change=Change.SLIGHT))
    assert four.shape[0] > 0
    assert (five.shape[0], five.days[0]) == (four.shape[0], pytest.approx(four.days[0] + 1))
    assert (five.changes[0], five.changed[0]) == (5, day(5))
    six = visited(*visits, news(day(5), change=Change.SLIGHT), news(day(6), change=Change.FULL))
    assert six.shape[0] > five.shape[0]


@pytest.mark.parametrize(("between", "in_a_row"), [(200, 1), (503, 5)])
def test_a_visit_without_a_change_ends_a_row_of_slight_ones_and_a_failure_does_not(between: int, in_a_row: int) -> None:
    visits = [news(day(0)), *(news(day(n), change=Change.SLIGHT) for n in range(1, 5)), news(day(5), between)]
    assert visited(*visits, news(day(6), change=Change.SLIGHT)).slight[0] == in_a_row


def test_cache_lifetime_delays_by_a_day_at_most() -> None:
    assert days_until_next(visited(news(NOW, cache=DAY_SECONDS / 2))) == pytest.approx(0.5)
    assert days_until_next(visited(news(NOW, cache=90 * DAY_SECONDS))) == pytest.approx(1)


@given(st.floats(1e-4, 1e4))
def test_importance_is_kept_to_five_percent(importance: float) -> None:
    assert importance_of(importance_codes(one(importance)))[0] == pytest.approx(importance, rel=0.05)
