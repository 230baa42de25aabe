"""The guarantees of the workbench, by number: crawls at random never break them."""

from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from schedules import Crawl

# A crawl that follows from a seed has no smaller form, so that looking for one would only take minutes.
EXAMPLES = settings(max_examples=25, stateful_step_count=30, phases=[Phase.explicit, Phase.generate])
ALL = range(1, 11)


def crawl_at_random(*checks: int) -> None:
    class Checked(Crawl):
        pass

    Checked.checks = frozenset(checks)
    run_state_machine_as_test(Checked, settings=EXAMPLES)


def test_1_no_delay_of_a_host_is_broken() -> None:
    crawl_at_random(1)


def test_2_no_delay_of_an_address_is_broken() -> None:
    crawl_at_random(2)


def test_3_never_two_visits_in_flight_to_a_host_or_an_address() -> None:
    crawl_at_random(3)


def test_4_no_ready_host_starves() -> None:
    crawl_at_random(4)


def test_5_at_most_ten_urls_wait_and_none_is_dropped() -> None:
    crawl_at_random(5)


def test_6_memory_is_bounded() -> None:
    crawl_at_random(6)


def test_7_tries_and_being_set_aside_come_to_an_end() -> None:
    crawl_at_random(7)


def test_8_after_a_restart_everybody_waits_the_full_delay() -> None:
    crawl_at_random(8)


def test_9_a_clock_that_stands_still_jumps_or_goes_back_breaks_nothing() -> None:
    crawl_at_random(*ALL)


def test_10_nobody_waits_in_vain() -> None:
    crawl_at_random(10)
