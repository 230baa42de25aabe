"""`tarrafa experiment freshness`: refresh policies on a virtual clock, beside the best possible."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawls import run
from tarrafa.lab.experiment.changing_pages import ChangingPages, changing_pages
from tarrafa.lab.experiment.freshness import compare, fresh_over_time, longest_days
from tarrafa.lab.experiment.optimal_rates import fresh_share, optimal_visits

RATES = st.lists(st.floats(0.001, 4), min_size=2, max_size=30)


@pytest.fixture(scope="module")
def pages() -> ChangingPages:
    return changing_pages(400, 10, longest_days([0.3]), rng_seed=2)


# The best possible.


@given(RATES, st.floats(0.5, 3))
def test_the_optimum_uses_the_bandwidth_and_no_shift_of_visits_is_better(rates: list[float], bandwidth: float) -> None:
    changes, weights = np.array(rates), np.linspace(0.5, 2, len(rates))
    visits = optimal_visits(changes, weights, bandwidth, visits_max=1e6)
    assert visits.mean() == pytest.approx(bandwidth, rel=0.02)
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


def test_optimal_is_near_the_best_possible_and_above_the_others(pages: ChangingPages) -> None:
    (result,) = compare(pages, [0.3])
    shares = {each.policy: each.weighted / result.optimum for each in result.policies}
    assert shares["optimal"] >= 0.95
    assert shares["optimal"] == max(shares.values())
    assert shares["optimal"] <= 1.01
    assert shares["uniform"] > shares["proportional_true"]
    assert all(each.visits == pytest.approx(0.3, rel=0.02) for each in result.policies)


def test_a_collection_that_is_kept_up_is_as_fresh_on_average_as_one_made_anew_and_level(pages: ChangingPages) -> None:
    _, periodic = fresh_over_time(pages, 10, 1)
    _, steady = fresh_over_time(pages, 10, 10)
    assert periodic.mean() == pytest.approx(steady.mean(), abs=0.03)
    assert np.ptp(periodic) > 2 * np.ptp(steady)


# The command.


def test_the_command_writes_figures_tables_and_plots(tmp_path: Path) -> None:
    words = ["experiment", "freshness", "--pages", "200", "--hosts", "5", "--bandwidths", "1", "--out"]
    done = run(*words, str(tmp_path / "out"), "--json")
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout.splitlines()[-1])["bandwidths"]
    assert {"bandwidth", "uniform", "importance", "proportional", "proportional_true", "optimal", "optimum"} == set(row)
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"freshness.json", "freshness.md", "freshness.png", "freshness.svg"} <= written
    assert json.loads((tmp_path / "out" / "freshness.json").read_text())["bandwidths"] == [row]


@pytest.mark.parametrize("text", ["", "x", "0", "0.1,99"])
def test_bandwidths_out_of_bounds_are_refused(text: str) -> None:
    done = run("experiment", "freshness", "--bandwidths", text)
    assert (done.returncode, "--bandwidths" in done.stderr) == (2, True)
