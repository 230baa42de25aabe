"""What the configuration of a crawl chooses, as the agent has it."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from brains import BrainDriver, BrainSettings
from tarrafa import wiring
from tarrafa.agent import RunLimits
from tarrafa.configuration import Configuration, CrawlSection, PolitenessSection
from tarrafa.schedule import ConstantDelay, DeadlineDelay, DelayPolicy, DensityDelay, Fifo, Level, TenTimesDelay

PUBLIC, PRIVATE = "93.184.216.34", "10.0.0.7"


def is_own(crawl: CrawlSection, politeness: PolitenessSection, host: str, addresses: Sequence[str]) -> bool:
    """Return True if a frontier with this configuration lets the host be visited more often than once a second."""
    limits = wiring.crawl_limits(Configuration(crawl=crawl, politeness=politeness), RunLimits())
    brain = BrainDriver(BrainSettings(limits))
    return brain.frontier.traits(host, tuple(addresses)).is_own


LISTED = replace(PolitenessSection(), own_hosts="own.example, Other.Example")


@pytest.mark.parametrize(
    ("host", "addresses", "allow_private", "expected"),
    [
        ("http://own.example", [PUBLIC], False, True),
        ("https://other.example:8443", [PUBLIC], False, True),
        ("http://not-own.example", [PUBLIC], False, False),
        ("http://www.own.example", [PUBLIC], False, False),
        ("http://not-own.example", [PUBLIC], True, False),
        ("http://not-own.example", [PRIVATE], False, False),
        ("http://not-own.example", [PRIVATE], True, True),
        ("http://not-own.example", [PRIVATE, PUBLIC], True, False),
        ("http://not-own.example", [], True, False),
    ],
)
def test_hosts_that_may_be_visited_more_often_than_once_a_second(
    host: str, addresses: list[str], allow_private: bool, expected: bool
) -> None:
    crawl = replace(CrawlSection(), allow_private=allow_private)
    assert is_own(crawl, LISTED, host, addresses) is expected


def test_no_host_is_ones_own_without_being_listed() -> None:
    assert not is_own(CrawlSection(), PolitenessSection(), "http://none", [PUBLIC])


@pytest.mark.parametrize(
    ("name", "policy"),
    [
        ("constant", ConstantDelay(5.0)),
        ("ten-times", TenTimesDelay()),
        ("density", DensityDelay(15.0)),
        ("deadline", DeadlineDelay(15.0)),
    ],
)
def test_policy_of_delays_is_the_one_that_was_chosen(name: str, policy: DelayPolicy) -> None:
    chosen = wiring.delay_policy(replace(PolitenessSection(), policy=name))
    assert (type(chosen), chosen) == (type(policy), policy)


@pytest.mark.parametrize(("name", "order"), [("level", Level), ("fifo", Fifo)])
def test_order_is_the_one_that_was_chosen(name: str, order: type) -> None:
    assert type(wiring.order(Configuration(crawl=replace(CrawlSection(), order=name)))) is order
