"""Breadth on virtual time: many hosts are visited side by side, and none holds the others back."""

from collections.abc import Callable

import pytest

from brains import UNLIMITED, A, BrainDriver, BrainSettings
from tarrafa.agent import CrawlLimits, HostTable, Policies, make_brain
from tarrafa.agent.host_table import MemoryHostStorage
from tarrafa.agent.instructions import Fetch, Purpose, Resolve
from tarrafa.clock import VirtualClock
from tarrafa.lab.simulated_crawl import SimulatedCrawl
from tarrafa.lab.web import MemoryTransport, Plan, SyntheticWeb
from tarrafa.schedule import (
    ConstantDelay,
    Delays,
    HeaviestFirst,
    Level,
    Order,
    RetryPolicy,
    Scope,
    UrlBounds,
    WeightKind,
    Workbench,
)
from tarrafa.urls import host_of
from tarrafa.verify import MemoryRepository, Scheduled

OTHERS = [f"http://other{number}.example" for number in range(100)]
OTHER_PAGES = 20
CYCLE_SECONDS = 20.0
PER_HOST = 200  # URLs of a host that a cycle schedules


def first_hosts(order: Order) -> int:
    """Return from how many hosts the first thousand pages of a crawl are."""
    web = SyntheticWeb(Plan(hosts=2_000, pages=8_000, rng_seed=1))
    agent = "Tarrafa/1 (+https://crawler.example)"
    transport = MemoryTransport(web, VirtualClock(), user_agent=agent, wants_page_bodies=False)
    storage = MemoryHostStorage()
    policies = Policies(Scope(lambda _: True, UrlBounds()), order, CrawlLimits(has_contact=True), "tarrafa")
    workbench = Workbench(Delays(ConstantDelay(5.0), address_seconds=1.0), RetryPolicy())
    brain = make_brain(HostTable(storage, storage), workbench, policies)
    crawl = SimulatedCrawl(web, transport, brain, storage, MemoryRepository(order=order.url_keys))
    crawl.run(web.front)
    return len({host_of(url) for url in crawl.pages[:1_000]})


@pytest.mark.parametrize("policy", [Level, lambda: HeaviestFirst(WeightKind.CASH)], ids=["level", "opic"])
def test_half_of_the_first_thousand_pages_come_from_different_hosts(policy: Callable[[], Order]) -> None:
    assert first_hosts(policy()) >= 500


class CrowdedCrawl:
    """The frontier, workbench and visits, fed by a repository that schedules every host again at each cycle."""

    def __init__(self, pages: dict[str, int], address_of: Callable[[str], str]) -> None:
        self.brain = BrainDriver(BrainSettings(hosts_limit=10_000))
        self.left = {host: [f"{host}/{page}" for page in range(count, 0, -1)] for host, count in pages.items()}
        self.address_of = address_of
        self.fetched = dict.fromkeys(pages, 0)

    def run_until_others_are_done(self) -> float:
        """Crawl until the other hosts have given all their pages; return when that was."""
        next_cycle = 0.0
        while any(self.left[host] for host in OTHERS):
            if self.brain.now >= next_cycle:
                self.cycle()
                next_cycle = self.brain.now + CYCLE_SECONDS
            self.step()
            wake_at = self.brain.visits.wake_at(self.brain.at)
            self.brain.now = max(self.brain.now, min(next_cycle, next_cycle if wake_at is None else wake_at))
        return self.brain.now

    def cycle(self) -> None:
        urls = self.brain.frontier.urls
        for host, left in self.left.items():
            next_urls = left[-1 : -PER_HOST - 1 : -1]
            if next_urls:
                zeros = [0] * len(next_urls)
                self.brain.frontier.scheduled(Scheduled(host, next_urls, zeros, zeros, len(left)), self.brain.at)
        assert len(urls) <= 100_000

    def step(self) -> None:
        brain = self.brain
        while brain.visits.step(brain.at, UNLIMITED) and (instructions := brain.take()):
            for each in instructions:
                if isinstance(each, Resolve):
                    self.brain.resolve(each.host, self.address_of(each.host))
                elif isinstance(each, Fetch):
                    self.answer(each)

    def answer(self, fetch: Fetch) -> None:
        if fetch.purpose is Purpose.ROBOTS:
            self.brain.answer(fetch, 404)
            return
        self.brain.answer(fetch)
        url, host = fetch.visit.url, fetch.visit.host
        left = self.left[host]
        del left[len(left) - 1 - left[: -2 * PER_HOST - 1 : -1].index(url)]
        self.brain.frontier.urls.finish([url])
        self.fetched[host] += 1


def done_at(crowd: dict[str, int], address_of: Callable[[str], str] = lambda host: f"address of {host}") -> float:
    """Return when the other hosts are done, if a crowd is scheduled before them."""
    return CrowdedCrawl({**crowd, **dict.fromkeys(OTHERS, OTHER_PAGES)}, address_of).run_until_others_are_done()


def test_host_with_very_many_pages_does_not_hold_back_the_others() -> None:
    alone = done_at({})
    assert OTHER_PAGES * 5.0 <= alone <= OTHER_PAGES * 5.0 + 3 * CYCLE_SECONDS
    assert done_at({A: 1_000_000}) <= alone + CYCLE_SECONDS


def test_thousand_hosts_at_one_address_do_not_hold_back_the_others() -> None:
    """Their URLs alone would fill the buffer twice, and one address gives them a page a second: for two days."""
    crowd = {f"http://crowd{number}.example": PER_HOST for number in range(1_000)}
    address_of = dict.fromkeys(crowd, "the crowd's")
    assert done_at(crowd, lambda host: address_of.get(host, f"address of {host}")) <= done_at({}) + CYCLE_SECONDS
