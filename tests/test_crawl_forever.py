"""A crawl that goes on for ever, on virtual time: how fresh it keeps its pages, beside what the experiment says."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from tarrafa.agent import CrawlLimits, HostTable, Policies, RefreshLooks, RefreshMode, RefreshSettings, make_brain
from tarrafa.agent.brain import Brain
from tarrafa.agent.host_table import MemoryHostStorage
from tarrafa.agent.refresher import make_refresher
from tarrafa.clock import VirtualClock
from tarrafa.histories import DAY_SECONDS, Phase
from tarrafa.lab.experiment.changing_pages import ChangingPages, changing_pages
from tarrafa.lab.experiment.freshness import keep_fresh
from tarrafa.lab.simulated_crawl import SimulatedCrawl
from tarrafa.lab.web import Journal, MemoryTransport, Plan, SyntheticWeb, Truth
from tarrafa.refresh import Optimal, RoundSettings
from tarrafa.schedule import ConstantDelay, Delays, Level, RetryPolicy, Scope, UrlBounds, Workbench
from tarrafa.verify import MemoryRepository

HOSTS, PAGES, RNG_SEED = 40, 1_000, 5
DAYS, BANDWIDTH = 30.0, 0.31  # of all URLs that are collected; of these, redirects do not change
DELAY_SECONDS = 5.0
AGENT = "Tarrafa/1 (+https://crawler.example)"
SETTINGS = RefreshSettings(RefreshMode.FOREVER, Optimal(), rounds=RoundSettings(BANDWIDTH))


class EverCrawl:
    """A crawl --forever of a changing web, from its first day."""

    def __init__(self, settings: RefreshSettings = SETTINGS) -> None:
        self._settings = settings
        self.web = SyntheticWeb(Plan(hosts=HOSTS, pages=PAGES, rng_seed=RNG_SEED, port=80))
        self.journal = Journal(self.web.robots, DELAY_SECONDS)
        self.storage = MemoryHostStorage()
        self.repository = MemoryRepository(blocks=2)
        transport = MemoryTransport(
            self.web, VirtualClock(), user_agent=AGENT, journal=self.journal, speed=1.0, wants_page_bodies=False
        )
        self.crawl = SimulatedCrawl(self.web, transport, self._brain(), self.storage, self.repository, speed=1.0)
        self._look()

    def _brain(self, is_restarted: bool = False) -> Brain:
        limits = CrawlLimits(has_contact=True, retries_given_up=True)
        policies = Policies(Scope(lambda _: True, UrlBounds()), Level(), limits, "tarrafa")
        delays = Delays(ConstantDelay(DELAY_SECONDS), address_seconds=1.0)
        workbench = Workbench(delays, RetryPolicy(), restarted_at=0.0 if is_restarted else None)
        met = self.crawl.totals["hosts"] if is_restarted else 0
        brain = make_brain(HostTable(self.storage, self.storage, met), workbench, policies)
        self.brain = brain
        return brain

    def _look(self) -> None:
        refresher = make_refresher(self.repository, self._settings, 0.0, self.crawl.at)
        self.crawl.looks = RefreshLooks(refresher, self.brain.frontier)

    def kill(self) -> None:
        """Lose all that was neither in the archive nor saved, and start again with a clock that begins anew."""
        self.crawl.restart(self._brain(is_restarted=True))
        self._look()

    def run(self, *seeds: str, until_days: float) -> None:
        self.crawl.run(*seeds, until=until_days * DAY_SECONDS)

    def rate(self, importance: dict[str, float]) -> None:
        """Tell the repository the rank of each page, as the crawl does when ranks are new."""

        def weigh(urls: pa.LargeStringArray) -> NDArray[np.uint32]:
            return np.array([1_000 * importance.get(url, 0.0) for url in urls.to_pylist()], np.uint32)

        for block in self.repository.blocks():
            self.repository.rate(block, weigh)


def urls_of(web: SyntheticWeb, days: float) -> list[str]:
    """Return the URLs of the changing pages, in their order."""
    end_ms, found = int(days * DAY_SECONDS * 1_000), []
    for number in range(HOSTS):
        host = web.hosts.host(number)
        alive = [page for page in range(host.size) if web.pages.alive(host, page, end_ms)]
        found += [host.origin + web.pages.entry(host, page).path for page in alive]
    return found


class Visited(NamedTuple):
    """Visits to pages of the experiment, ordered by page and time."""

    pages: NDArray[np.int64]
    days: NDArray[np.float64]


def visited_pages(urls: list[str], visits: list[tuple[str, float]]) -> Visited:
    numbers = {url: number for number, url in enumerate(urls)}
    told = sorted((numbers[url], at / DAY_SECONDS) for url, at in visits if url in numbers)
    return Visited(np.array([page for page, _ in told]), np.array([at for _, at in told]))


def weighted_freshness(pages: ChangingPages, visited: Visited, begin: float) -> float:
    """Return the share of time, from `begin` on, in which copies are what the web has, by importance."""
    is_last = np.append(visited.pages[1:] != visited.pages[:-1], True)
    until = np.where(is_last, pages.days, np.append(visited.days[1:], 0.0))
    stale = pages.next_change(visited.pages, visited.days)
    fresh = np.clip(np.minimum(stale, until), begin, pages.days) - np.clip(visited.days, begin, pages.days)
    weights = pages.importance[visited.pages]
    return float(weights @ fresh / (pages.importance.sum() * (pages.days - begin)))


def test_month_of_a_crawl_that_is_killed_twice_is_as_fresh_as_the_experiment_says() -> None:
    """The experiment has the pages that the crawl could visit, and as many visits to them as the crawl made.

    The crawl has more to do: pages are found one by one, redirects and pages that are gone are asked for too, hosts
    have delays, and kills lose what was on its way.
    """
    ever, begin = EverCrawl(), DAYS * 2 / 3
    every_page, urls = changing_pages(PAGES, HOSTS, DAYS, RNG_SEED), urls_of(ever.web, DAYS)
    ever.run(ever.web.front, until_days=1)
    ever.rate(dict(zip(urls, every_page.importance.tolist(), strict=True)))
    ever.run(until_days=9)
    ever.kill()
    ever.run(until_days=22.3)
    ever.kill()
    ever.run(until_days=DAYS)
    early = {url for url, at in ever.crawl.visited if at < begin * DAY_SECONDS}
    which = np.array([number for number, url in enumerate(urls) if url in early])
    pages, visited = every_page.part(which), visited_pages([urls[number] for number in which], ever.crawl.visited)
    assert len(which) > 0.95 * len(Truth(ever.web).collectable())
    bandwidth = float((visited.days >= begin).sum() / (DAYS - begin) / len(pages))
    expected = keep_fresh("optimal", pages, bandwidth)

    measured = weighted_freshness(pages, visited, begin)
    assert measured == pytest.approx(expected.weighted, abs=0.02)
    assert bandwidth == pytest.approx(0.5, abs=0.05)
    report = ever.journal.report(entries=0)
    assert (report["too_early"], report["robots_violations"]) == (0, 0)


def test_collection_that_is_full_keeps_its_most_important_pages() -> None:
    ever = EverCrawl(SETTINGS._replace(pages_limit=300))
    ever.run(ever.web.front, until_days=4)
    found = [ever.repository.histories(block).histories for block in ever.repository.blocks()]
    phase, importance = (np.concatenate([getattr(each, name) for each in found]) for name in ("phase", "importance"))
    stays, left = (phase == Phase.LIVE) | (phase == Phase.MISSING), phase == Phase.DROPPED
    assert 250 < stays.sum() < 330
    assert left.sum() > 300
    assert importance[stays].mean() > importance[left].mean()
    dropped_at = len(ever.crawl.visited)
    ever.run(until_days=6)
    again = {url for url, _ in ever.crawl.visited[dropped_at:]}
    assert len(again) < 500, "what has left is not visited again"
