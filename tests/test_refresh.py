"""Which pages are visited again: the policies, the price that fills the bandwidth, and a look at a block."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.integrate import quad

from tarrafa.histories import DAY_SECONDS, FIRST_RATE, Belief, Histories, new_histories
from tarrafa.refresh import (
    POLICIES,
    LookSettings,
    LookTime,
    PageStates,
    Price,
    counts_of_values,
    look,
    page_states,
    price_of,
    proportional_rate,
    stale_value,
    worth_visiting,
)
from tarrafa.refresh.policies import age_value

NOW = 1_700_000_000.0
ONE = np.ones(1)


def states(elapsed: float = 5.0, importance: float = 1.0, shape: float = 2.0, days: float = 10.0) -> PageStates:
    return PageStates(ONE * elapsed, ONE * importance, Belief(ONE * shape, ONE * days), ONE * 3, ONE * 4)


# The contract of every policy.


@pytest.mark.parametrize("name", POLICIES)
def test_values_are_never_negative_and_nothing_is_worth_a_visit_at_once(name: str) -> None:
    values = [float(POLICIES[name].values(states(elapsed))[0]) for elapsed in (0.0, 0.1, 1.0, 30.0, 4_000.0)]
    assert values[0] == 0
    assert all(np.isfinite(values))
    assert all(later >= earlier for earlier, later in pairwise(values))


@pytest.mark.parametrize("name", ["importance", "optimal", "age"])
def test_what_is_twice_as_important_is_worth_twice_as_much(name: str) -> None:
    once, twice = POLICIES[name].values(states()), POLICIES[name].values(states(importance=2.0))
    assert twice == pytest.approx(2 * once)


def test_never_values_nothing() -> None:
    assert POLICIES["never"].values(states(900.0)) == 0


# Formulas.


@pytest.mark.parametrize(("changes", "days", "rate"), [(0, 1, 1), (3, 2, 1.5), (99, 1, 10), (1, 99, 0.1), (4, 0, 4)])
def test_the_proportional_rate_is_that_of_the_formula(changes: float, days: float, rate: float) -> None:
    assert proportional_rate(np.array(changes), np.array(days)) == pytest.approx(rate)


@given(st.floats(0.1, 30), st.floats(0.1, 300), st.floats(0.01, 300))
def test_the_value_of_a_visit_is_that_of_its_integral(shape: float, days: float, elapsed: float) -> None:
    def stale(age: float) -> float:
        return float(1 - (days / (days + age)) ** shape)

    edges = [0.0, *np.geomspace(1e-4, 1.0, 9) * elapsed]
    expected = elapsed * stale(elapsed) - sum(quad(stale, *each)[0] for each in pairwise(edges))
    assert stale_value(ONE * shape, ONE * days, ONE * elapsed)[0] == pytest.approx(expected, rel=1e-4, abs=1e-6)


@given(st.floats(0.01, 5), st.floats(0.01, 100))
def test_the_value_for_age_is_that_of_its_integral(rate: float, elapsed: float) -> None:
    def age(time: float) -> float:
        return time - float(-np.expm1(-rate * time)) / rate

    expected = elapsed * age(elapsed) - quad(age, 0, elapsed, limit=200)[0]
    assert age_value(ONE * rate, ONE * elapsed)[0] == pytest.approx(expected, rel=2e-2, abs=1e-6)


def test_a_page_that_changes_faster_than_the_tolerance_is_not_abandoned() -> None:
    """Without a tolerance, a page that changes each minute is worth a visit less than one that changes each week."""
    fast, weekly = states(shape=50, days=50 / 1_440), states(shape=50, days=350)
    assert POLICIES["optimal"].values(fast) > 0.5 * POLICIES["optimal"].values(weekly)


def test_what_is_uncertain_comes_in_time_without_bound() -> None:
    """Both pages are expected to change once in 250 days; much is known of the first, nothing of the second."""
    known, unknown = states(9_000, shape=8, days=2_000), states(9_000, shape=0.4, days=100)
    assert POLICIES["optimal"].values(unknown) > 2 * POLICIES["optimal"].values(known)


# The price.


@given(
    st.lists(st.floats(0, 1e6), min_size=1, max_size=300),
    st.lists(st.floats(1e-3, 1e3), max_size=300),
    st.floats(0, 400),
)
def test_the_price_fills_the_bandwidth(first: list[float], second: list[float], wanted: float) -> None:
    """The counts of two blocks are added; at their price both together visit as many as are wanted, but for chance."""
    blocks = [np.array(values, np.float64) for values in (first, second)]
    price = price_of(counts_of_values(blocks[0]) + counts_of_values(blocks[1]), wanted)
    values = np.concatenate(blocks)
    positive = int((values > 0).sum())
    least, most = (int(worth_visiting(values, price, np.full(len(values), chance)).sum()) for chance in (1.0, 0.0))
    assert least <= min(wanted, positive) <= most + 1e-9
    chosen = worth_visiting(values, price, np.zeros(len(values)))
    if chosen.any() and not chosen.all():
        assert values[chosen].min() >= values[~chosen].max() * 2 ** (-1 / 8) or values[~chosen].max() == 0


def test_with_room_for_all_all_that_is_worth_anything_is_visited() -> None:
    values = np.array([0.0, 1e-9, 5.0])
    price = price_of(counts_of_values(values), 10)
    assert worth_visiting(values, price, np.ones(3) * 0.99).tolist() == [False, True, True]


def test_pages_of_value_0_are_visited_at_no_price() -> None:
    """A round without a budget takes all that may be visited, and what was just visited may not."""
    assert worth_visiting(np.array([0.0, 1e-9]), Price(), np.zeros(2)).tolist() == [False, True]


# A look.


def block(visited_days_ago: Sequence[float], not_before: float = 0.0) -> Histories:
    histories = new_histories(np.arange(len(visited_days_ago)))
    visited = NOW - np.array(visited_days_ago) * DAY_SECONDS
    return histories._replace(
        visited=visited.astype(np.uint32), not_before=np.full(len(visited), not_before, np.uint32)
    )


def looked(histories: Histories, name: str, price: Price, settings: LookSettings | None = None) -> NDArray[np.int64]:
    count = len(histories.row)
    rates, time = np.full(count, FIRST_RATE), LookTime(NOW, 0.25 * DAY_SECONDS)
    found = look(histories, rates, POLICIES[name], price, time, np.zeros(count), settings or LookSettings())
    assert found.counts.sum() == count
    return found.chosen


def test_a_look_chooses_the_best_first() -> None:
    histories = block([1, 30, 5, 20])
    values = POLICIES["uniform"].values(page_states(histories, np.full(4, FIRST_RATE), NOW))
    price = price_of(counts_of_values(values), 2)
    assert looked(histories, "uniform", price).tolist() == [1, 3]


def test_pages_that_must_wait_are_not_chosen() -> None:
    assert looked(block([30], not_before=NOW + 1), "uniform", Price(0, 1.0)).tolist() == []


def test_what_waits_longer_than_the_floor_has_a_share_of_the_visits() -> None:
    """Ten pages are worth the price; two more wait longer than 90 days, and get a fifth of the visits."""
    histories = block([80] * 10 + [100, 120])
    importance = np.array([200] * 10 + [10, 10], np.uint8)
    histories = histories._replace(importance=importance)
    values = POLICIES["importance"].values(page_states(histories, np.full(12, FIRST_RATE), NOW))
    price = price_of(counts_of_values(values), 10)
    chosen = looked(histories, "importance", price)
    assert chosen[:2].tolist() == [11, 10]
    assert len(chosen) == 10


def test_the_counts_of_a_look_are_those_of_the_next_one() -> None:
    """All pages age alike: by their values now, all of them would be above the price of the next look."""
    histories, time = block([1, 1, 1, 2]), LookTime(NOW, DAY_SECONDS)
    rates = np.full(4, FIRST_RATE)
    uniform = POLICIES["uniform"]
    price = price_of(counts_of_values(uniform.values(page_states(histories, rates, NOW))), 1)
    found = look(histories, rates, uniform, price, time, np.zeros(4))
    assert found.chosen.tolist() == [3]
    visited = histories.visited.copy()
    visited[3] = NOW
    later = page_states(histories._replace(visited=visited), rates, NOW + DAY_SECONDS)
    assert found.counts.tolist() == counts_of_values(uniform.values(later)).tolist()
