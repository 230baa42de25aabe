"""How long hosts rest, and when failing ones are given up."""

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarrafa.schedule import (
    ConstantDelay,
    DeadlineDelay,
    DelayPolicy,
    Delays,
    DensityDelay,
    HostFailure,
    HostTraits,
    Refusal,
    RetryPolicy,
    TenTimesDelay,
)
from tarrafa.schedule.delays import WAIT_MAX_SECONDS, bounded_wait_seconds
from tarrafa.schedule.retry_policy import RetryStep

POLICIES: list[DelayPolicy] = [
    *(ConstantDelay(), ConstantDelay(0.0)),
    *(TenTimesDelay(), TenTimesDelay(0.0), TenTimesDelay(2.0, 50.0)),
    *(DensityDelay(), DensityDelay(15.0, 1_000), DeadlineDelay(), DeadlineDelay(15.0, 3_600.0)),
]
SECONDS = st.one_of(st.none(), st.floats(0.0), st.just(math.nan))
TRAITS = st.builds(
    HostTraits,
    st.integers(0),
    st.floats(),
    st.booleans(),
    st.integers(0),
    delay_seconds=st.none() | st.floats(0.0, 86_400.0),
)
# The host of the thesis with most pages.
DENSEST = 78_523


def sized(pages_count: int, largest_count: int = DENSEST) -> HostTraits:
    return HostTraits(pages_count, largest_count=largest_count)


def test_default_is_five_seconds() -> None:
    assert Delays().host_seconds(HostTraits(), 0.3) == 5.0


def test_ten_times_the_last_download_has_no_bounds_unless_they_are_set() -> None:
    downloads = (0.0, 0.1, 1.5, 30.0)
    bounded = TenTimesDelay(floor_seconds=2.0, ceiling_seconds=50.0)
    assert [TenTimesDelay().seconds(took, HostTraits()) for took in downloads] == [0.0, 1.0, 15.0, 300.0]
    assert [bounded.seconds(took, HostTraits()) for took in downloads] == [2.0, 2.0, 15.0, 50.0]


def test_ten_times_an_unknown_download_is_a_minute_or_the_longest_that_was_set() -> None:
    policies = (TenTimesDelay(), TenTimesDelay(90.0), TenTimesDelay(ceiling_seconds=30.0))
    assert [policy.seconds(None, HostTraits()) for policy in policies] == [60.0, 90.0, 30.0]


def test_ten_times_is_bounded_for_the_hosts_of_others() -> None:
    """By a second and by a day, whatever the policy says."""
    delays = Delays(TenTimesDelay())
    assert [delays.host_seconds(HostTraits(), took) for took in (0.01, 1e9)] == [1.0, WAIT_MAX_SECONDS]


def test_density_is_the_formula_of_the_thesis() -> None:
    counts = (1, 2, 5, 10, 100, 1_000, 10_000, DENSEST)
    delays = [DensityDelay(15.0).seconds(None, sized(count)) for count in counts]
    assert delays == pytest.approx([15, 14.139, 13.001, 12.140, 9.280, 6.420, 3.560, 1], abs=0.0005)


def test_density_scales_by_a_size_that_was_set_instead_of_the_largest_host() -> None:
    policy = DensityDelay(longest_seconds=15.0, pages_max=10_000)
    counts = (-1, 0, 1, 10, 100, 10_000, 10**9)
    assert [policy.seconds(None, sized(count)) for count in counts] == pytest.approx([15, 15, 15, 11.5, 8, 1, 1])


@pytest.mark.parametrize("largest_count", [0, 1])
@pytest.mark.parametrize("policy", [DensityDelay(15.0), DeadlineDelay(15.0)], ids=repr)
def test_host_of_one_page_has_the_longest_delay_also_when_it_is_the_largest(
    policy: DelayPolicy, largest_count: int
) -> None:
    assert policy.seconds(0.1, sized(1, largest_count)) == 15.0


def test_deadline_lets_each_host_take_as_long_as_the_largest_one() -> None:
    counts = (1, 10, 5_000, 5_235, 10_000, 50_000, DENSEST)
    delays = [DeadlineDelay(15.0).seconds(None, sized(count)) for count in counts]
    assert delays == pytest.approx([15, 15, 15, 15, 7.8523, 1.57046, 1], abs=0.001)


def test_deadline_may_be_set_and_no_host_is_visited_faster_than_once_a_second_for_it() -> None:
    policy = DeadlineDelay(15.0, deadline_seconds=3_600.0)
    assert [policy.seconds(None, sized(count)) for count in (10, 360, 3_600, 50_000)] == [15.0, 10.0, 1.0, 1.0]


@given(st.integers(0, DENSEST), st.integers(0, DENSEST), st.sampled_from([DensityDelay(), DeadlineDelay()]))
def test_larger_hosts_never_wait_longer_than_smaller_ones(some: int, more: int, policy: DelayPolicy) -> None:
    some, more = sorted((some, more))
    assert policy.seconds(None, sized(more)) <= policy.seconds(None, sized(some))
    assert 1.0 - 1e-9 <= policy.seconds(None, sized(some)) <= 15.0


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
@given(traits=TRAITS, download_seconds=SECONDS)
def test_every_delay_is_bounded_and_a_stranger_rests_a_second(
    policy: DelayPolicy, traits: HostTraits, download_seconds: float | None
) -> None:
    delay = Delays(policy).host_seconds(traits, download_seconds)
    assert (0.0 if traits.is_own else 1.0) <= delay <= WAIT_MAX_SECONDS


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
@given(traits=TRAITS, download_seconds=SECONDS)
def test_crawl_delay_wins_under_every_policy_when_longer(
    policy: DelayPolicy, traits: HostTraits, download_seconds: float | None
) -> None:
    asked = traits._replace(crawl_delay_seconds=3_000.0)
    assert Delays(policy).host_seconds(asked, download_seconds) >= 3_000.0


def test_crawl_delay_wins_when_longer_also_for_ones_own_hosts() -> None:
    assert Delays().host_seconds(HostTraits(crawl_delay_seconds=20.0, is_own=True), 0.1) == 20.0
    assert Delays().host_seconds(HostTraits(crawl_delay_seconds=2.0), 0.1) == 5.0


def test_less_than_a_second_is_for_ones_own_hosts() -> None:
    delays = Delays(ConstantDelay(0.0))
    assert (delays.host_seconds(HostTraits(), 0.1), delays.host_seconds(HostTraits(is_own=True), 0.1)) == (1.0, 0.0)


@given(st.floats())
def test_what_a_host_asks_for_is_bounded(asked_seconds: float) -> None:
    assert 0.0 <= bounded_wait_seconds(asked_seconds) <= WAIT_MAX_SECONDS


@given(failures=st.integers(1, 10**9), suspensions=st.integers(0, 10**9))
def test_back_off_grows_to_its_ceiling(failures: int, suspensions: int) -> None:
    policy = RetryPolicy()
    assert policy.back_off_seconds(failures) <= policy.back_off_seconds(failures + 1) <= policy.ceiling_seconds
    assert policy.suspension_seconds(suspensions) <= policy.suspension_seconds(suspensions + 1) <= WAIT_MAX_SECONDS


@pytest.mark.parametrize(
    ("reason", "failures", "suspensions", "wait_seconds", "step"),
    [
        (HostFailure.TIMEOUT, 4, 0, 80.0, RetryStep.WAIT),
        (HostFailure.TIMEOUT, 5, 0, 160.0, RetryStep.SUSPEND),
        (HostFailure.BUSY, 1, 0, 601.0, RetryStep.SUSPEND),
        (HostFailure.TIMEOUT, 5, 3, 160.0, RetryStep.GIVE_UP),
        (HostFailure.PRIVATE, 1, 0, 10.0, RetryStep.GIVE_UP),
    ],
)
def test_steps(reason: HostFailure, failures: int, suspensions: int, wait_seconds: float, step: RetryStep) -> None:
    assert RetryPolicy().step(reason, failures, suspensions, wait_seconds) is step


def test_comparison_of_the_policies_in_the_documentation_is_computed() -> None:
    largest, took = 100_000, 0.2
    text = (Path(__file__).parent.parent / "docs" / "concepts" / "politeness.md").read_text()
    policies: dict[str, DelayPolicy] = {
        "constant": ConstantDelay(5.0),
        "ten-times": TenTimesDelay(),
        "density": DensityDelay(15.0),
        "deadline": DeadlineDelay(15.0),
    }
    for name, policy in policies.items():
        seconds = {
            pages: Delays(policy).host_seconds(sized(pages, largest), took) + took for pages in (10, 1_000, largest)
        }
        rates = " | ".join(f"{60 / each:.1f}" for each in seconds.values())
        minutes, hours = 1_000 * seconds[1_000] / 60, largest * seconds[largest] / 3_600
        assert f"| `{name}` | {rates} | {minutes:.0f} min | {hours:.0f} h |" in text.splitlines()


def test_every_reason_and_refusal_is_explained() -> None:
    text = (Path(__file__).parent.parent / "docs" / "concepts" / "politeness.md").read_text()
    assert [word.value for word in (*HostFailure, *Refusal) if f"\n| `{word.value}` |" not in text] == []
