"""`tarrafa experiment freshness`: refresh policies on a virtual clock, beside the best possible."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawls import run
from tarrafa.lab.experiment.changing_pages import ChangingPages, changing_pages
from tarrafa.lab.experiment.freshness import QUICK, WHOLE, BandwidthResult, compare, periodic_curves, steady_curve
from tarrafa.lab.experiment.freshness_report import gates, told, verdict
from tarrafa.lab.experiment.optimal_rates import fresh_share, optimal_visits

RATES = st.lists(st.floats(0.001, 4), min_size=2, max_size=30)


@pytest.fixture(scope="module")
def pages() -> ChangingPages:
    return changing_pages(400, 10, QUICK.longest_days([0.3]), rng_seed=2)


@pytest.fixture(scope="module")
def result(pages: ChangingPages) -> BandwidthResult:
    (found,) = compare(pages, [0.3], QUICK)
    return found


# The best possible.


@given(RATES, st.floats(0.5, 3))
def test_the_optimum_uses_the_bandwidth_and_no_shift_of_visits_is_better(rates: list[float], bandwidth: float) -> None:
    changes, weights = np.array(rates), np.linspace(0.5, 2, len(rates))
    visits = optimal_visits(changes, weights, bandwidth, visits_max=1e6)
    # A page is visited at least once in sixty changes, or never, so the mean has a jump.
    assert visits.mean() == pytest.approx(bandwidth, rel=0.02, abs=max(rates) / 60)
    best = float(weights @ fresh_share(changes, visits))
    step = 0.01 * bandwidth
    for giver, taker in ((0, -1), (-1, 0)):
        moved = visits.copy()
        moved[giver], moved[taker] = max(0.0, moved[giver] - step), moved[taker] + min(step, moved[giver])
        assert float(weights @ fresh_share(changes, moved)) <= best * (1 + 1e-5)


def test_a_page_that_changes_too_fast_to_be_kept_fresh_is_left_out_by_the_pure_optimum() -> None:
    visits = optimal_visits(np.array([1_000.0, 1.0]), np.ones(2), 0.5, 1e6)
    assert visits.tolist() == pytest.approx([0, 1], abs=1e-2)


# The pages.


def test_next_change_is_the_first_after_a_moment() -> None:
    pages = ChangingPages(np.array([0, 0, 1]), np.ones(3), 10, [np.array([1.0, 4.0]), np.array([]), np.array([9.5])])
    asked = np.array([0, 0, 0, 1, 2, 2])
    found = pages.next_change(asked, np.array([0.0, 1.0, 4.0, 0.0, 0.0, 9.5]))
    assert found.tolist() == [1.0, 4.0, np.inf, np.inf, 9.5, np.inf]
    assert pages.rates.tolist() == [0.2, 0.0, 0.1]
    short = pages.until(5)
    assert short.next_change(np.array([2]), 0.0).tolist() == [np.inf]
    assert short.rates.tolist() == pages.rates.tolist()


def test_pages_have_hosts_ranks_and_changes(pages: ChangingPages) -> None:
    assert pages.importance.mean() == pytest.approx(1, rel=0.01)
    assert 0.2 < (pages.rates > 0).mean() < 0.9
    assert len(set(pages.hosts.tolist())) > 5


# Policies, and what must appear.


def test_optimal_is_near_the_best_possible_and_above_the_others(result: BandwidthResult) -> None:
    shares = {each.policy: each.weighted / result.optimum for each in result.policies}
    assert shares["optimal"] >= 0.95
    assert shares["optimal"] == max(shares.values())
    assert shares["optimal"] <= 1.01
    assert shares["uniform"] > shares["proportional_true"]
    assert all(each.visits == pytest.approx(0.3, rel=0.06) for each in result.policies)
    shown = {each["policy"]: each for each in told([result])["details"]}
    assert shown["optimal"]["age_days"] < shown["uniform"]["age_days"]
    assert shown["optimal"]["changed_share"] > shown["uniform"]["changed_share"]
    assert 0 < shown["optimal"]["rate_error"] < 1.5


def test_a_gate_that_is_missed_is_told(result: BandwidthResult) -> None:
    worse = [each._replace(weighted=result.of("importance").weighted) for each in result.policies]
    missed = result._replace(policies=worse)
    assert [each.holds for each in gates([missed])] == [False, False, True]
    assert "Missed: " in verdict([missed])
    assert "0.3: 0.000 of 2" in verdict([missed])
    assert gates([result._replace(bandwidth=0.01)])[0].name.startswith("uniform")  # no other gate below 0.03


def test_at_least_fifteen_visits_a_page_and_45_days_are_simulated() -> None:
    assert [WHOLE.days_at(each) for each in (0.03, 0.3, 1.0)] == pytest.approx([500, 50, 45])
    assert WHOLE.longest_days([1.0]) == 120  # figure 2 needs them


# Figure 2.


def test_a_collection_that_is_kept_up_is_as_fresh_on_average_as_one_made_anew_and_level(pages: ChangingPages) -> None:
    periodic, swapped = periodic_curves(pages, 10, [1, 5])
    assert swapped.mean < periodic.mean
    steady = steady_curve("uniform", pages, 10)
    assert steady.mean == pytest.approx(periodic.mean, abs=0.03)
    assert np.ptp(periodic.shares) > 2 * np.ptp(steady.shares)


def test_the_first_day_of_a_period_makes_a_collection_fresh() -> None:
    pages = ChangingPages(np.zeros(2, np.int64), np.ones(2), 40, [np.array([15.0, 25.0, 35.0]), np.array([])])
    (curve,) = periodic_curves(pages, 10, [1e-6], points=4)
    # Two periods of ten days from day 20: the page changes in the middle of each.
    assert curve.days.tolist() == [0, 5, 10, 15]
    assert curve.shares.tolist()[1:] == [0.5, 1.0, 0.5]


# The command.


def test_the_command_writes_figures_tables_and_plots(tmp_path: Path) -> None:
    words = ["experiment", "freshness", "--quick", "--pages", "2000", "--hosts", "50", "--bandwidths", "0.3", "--out"]
    done = run(*words, str(tmp_path / "out"), "--json")
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout.splitlines()[-1])["bandwidths"]
    assert {"bandwidth", "uniform", "importance", "proportional", "proportional_true", "optimal", "optimum"} == set(row)
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"freshness.json", "freshness.md", "freshness.png", "freshness.svg"} <= written
    found = json.loads((tmp_path / "out" / "freshness.json").read_text())
    assert found["bandwidths"] == [row]
    assert len(found["figure_2"]) == 4
    assert {each["policy"] for each in found["details"]} == set(row) - {"bandwidth", "optimum"}


@pytest.mark.parametrize("text", ["", "x", "0", "0.1,99"])
def test_bandwidths_out_of_bounds_are_refused(text: str) -> None:
    done = run("experiment", "freshness", "--bandwidths", text)
    assert (done.returncode, "--bandwidths" in done.stderr) == (2, True)
