"""How long hosts rest, and when failing ones are given up."""

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarrafa.schedule import (
    ConstantDelay,
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

POLICIES: list[DelayPolicy] = [ConstantDelay(), ConstantDelay(0.0), TenTimesDelay(), TenTimesDelay(0.0), DensityDelay()]
SECONDS = st.one_of(st.none(), st.floats(0.0), st.just(math.nan))
TRAITS = st.builds(HostTraits, st.integers(0), st.floats(), st.booleans())


def test_default_is_five_seconds() -> None:
    assert Delays().host_seconds(HostTraits(), 0.3) == 5.0


def test_ten_times_the_last_download_within_floor_and_ceiling() -> None:
    policy = TenTimesDelay(floor_seconds=2.0, ceiling_seconds=50.0)
    assert [policy.seconds(took, 0) for took in (0.0, 0.1, 1.5, 30.0, None)] == [2.0, 2.0, 15.0, 50.0, 50.0]


def test_density_goes_from_the_longest_delay_to_a_second_by_the_logarithm() -> None:
    policy = DensityDelay(longest_seconds=15.0, pages_max=10_000)
    counts = (-1, 0, 1, 10, 100, 10_000, 10**9)
    assert [policy.seconds(None, count) for count in counts] == pytest.approx([15, 15, 15, 11.5, 8, 1, 1])


@pytest.mark.parametrize("pages_max", [0, 1])
def test_density_without_a_scale_is_the_longest_delay(pages_max: int) -> None:
    assert DensityDelay(15.0, pages_max).seconds(0.1, 100) == 15.0


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
@given(traits=TRAITS, download_seconds=SECONDS)
def test_every_delay_is_bounded_and_a_stranger_rests_a_second(
    policy: DelayPolicy, traits: HostTraits, download_seconds: float | None
) -> None:
    delay = Delays(policy).host_seconds(traits, download_seconds)
    assert (0.0 if traits.is_own else 1.0) <= delay <= WAIT_MAX_SECONDS


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
@given(traits=TRAITS, download_seconds=st.floats(0.0, 1e6))
def test_delay_after_an_unknown_download_is_the_longest(
    policy: DelayPolicy, traits: HostTraits, download_seconds: float
) -> None:
    delays = Delays(policy)
    assert delays.host_seconds(traits, download_seconds) <= delays.host_seconds(traits, None)


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


def test_every_reason_and_refusal_is_explained() -> None:
    text = (Path(__file__).parent.parent / "docs" / "concepts" / "politeness.md").read_text()
    assert [word.value for word in (*HostFailure, *Refusal) if f"\n| `{word.value}` |" not in text] == []
