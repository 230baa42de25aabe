"""Whole crawls of a made-up web under each delay policy, on virtual time, judged by the log of the web."""

from collections import defaultdict
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import pytest

from tarrafa.agent import CrawlLimits, HostTable, Policies, make_brain
from tarrafa.agent.host_table import MemoryHostStorage
from tarrafa.clock import VirtualClock
from tarrafa.lab.simulated_crawl import SimulatedCrawl
from tarrafa.lab.web import Journal, MemoryTransport, Plan, SyntheticWeb, Truth
from tarrafa.schedule import (
    ConstantDelay,
    DeadlineDelay,
    DelayPolicy,
    Delays,
    DensityDelay,
    Level,
    RetryPolicy,
    Scope,
    TenTimesDelay,
    UrlBounds,
    Workbench,
)
from tarrafa.urls import host_name, site
from tarrafa.verify import MemoryRepository

PLAN = Plan(hosts=40, pages=2_000, rng_seed=8)
POLICIES: dict[str, DelayPolicy] = {
    "constant": ConstantDelay(15.0),
    "ten-times": TenTimesDelay(),
    "density": DensityDelay(15.0),
    "deadline": DeadlineDelay(15.0),
}


class Judged(NamedTuple):
    crawl: SimulatedCrawl
    journal: Journal
    web: SyntheticWeb

    def gaps(self, key: Callable[[str], str]) -> dict[str, list[float]]:
        """Return the times from the begin of a visit to the next, by host or by site."""
        begun = defaultdict(list)
        for entry in self.journal.report()["entries"]:
            begun[key(entry["host"])].append(entry["at_seconds"])
        return {name: [after - before for before, after in pairwise(sorted(times))] for name, times in begun.items()}


def crawled(plan: Plan, policy: DelayPolicy, site_of: Callable[[str], str] | None = None) -> Judged:
    web = SyntheticWeb(plan)
    journal = Journal(web.robots, 1.0)
    transport = MemoryTransport(
        web, VirtualClock(), user_agent="Tarrafa/1 (+https://crawler.example)", journal=journal, wants_page_bodies=False
    )
    storage = MemoryHostStorage()
    policies = Policies(Scope(lambda _: True, UrlBounds()), Level(), CrawlLimits(has_contact=True), "tarrafa")
    workbench = Workbench(Delays(policy, address_seconds=1.0), RetryPolicy(), site_of=site_of)
    brain = make_brain(HostTable(storage, storage), workbench, policies)
    crawl = SimulatedCrawl(web, transport, brain, storage, MemoryRepository())
    crawl.run(web.front)
    workbench.check()
    return Judged(crawl, journal, web)


@pytest.fixture(scope="module")
def by_policy() -> dict[str, Judged]:
    return {name: crawled(PLAN, policy) for name, policy in POLICIES.items()}


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_finds_every_page_and_visits_no_host_early(name: str, by_policy: dict[str, Judged]) -> None:
    found = by_policy[name]
    assert set(found.crawl.pages) >= Truth(found.web).collectable()
    report = found.journal.report(entries=0)
    assert (report["too_early"], report["overlapping"], report["robots_violations"]) == (0, 0, 0)


def test_density_and_deadline_end_about_as_early_and_deadline_hurries_fewer_visits(
    by_policy: dict[str, Judged],
) -> None:
    constant, density, deadline = (by_policy[name].crawl.seconds for name in ("constant", "density", "deadline"))
    assert max(density, deadline) < 0.6 * constant
    assert deadline < 1.25 * density
    slow = {
        name: sum(gap >= 14.0 for gaps in by_policy[name].gaps(str).values() for gap in gaps)
        for name in ("density", "deadline")
    }
    assert slow["deadline"] > 2 * slow["density"]


def test_sites_rest_when_they_are_to_and_every_page_is_found() -> None:
    plan = Plan(hosts=40, pages=600, rng_seed=3, names=True)
    found = crawled(plan, ConstantDelay(5.0), lambda host: site(host_name(host)))
    assert set(found.crawl.pages) >= Truth(found.web).collectable()
    by_host, by_site = found.gaps(str), found.gaps(lambda host: site(host_name(host)))
    assert len(by_site) < len(by_host)
    assert min(gap for gaps in by_site.values() for gap in gaps) >= 5.0 - 1e-6
