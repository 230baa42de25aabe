"""A crawl of a web with any faults to its end, on virtual time: where its visits went, and what it found.

Hosts that are slow, hang, or ask for rests make such a crawl long for a clock on the wall, and not for a processor. The
brain, the extraction and the watch over traps are those of production; see `SimulatedCrawl` for what is simulated.
"""

from collections.abc import Iterable
from typing import NamedTuple

from tarrafa.agent import CrawlLimits, HostTable, Policies, make_brain
from tarrafa.agent.host_table import MemoryHostStorage
from tarrafa.clock import VirtualClock
from tarrafa.lab.simulated_crawl import SimulatedCrawl
from tarrafa.lab.trap_figures import in_trap
from tarrafa.lab.web import MemoryTransport, SyntheticWeb, Truth
from tarrafa.lab.web.resources import without_session
from tarrafa.schedule import ConstantDelay, Delays, Order, RetryPolicy, Scope, UrlBounds, Workbench
from tarrafa.urls import host_of
from tarrafa.verify import MemoryRepository

_AGENT = "Tarrafa/1 (+https://crawler.example)"
_BODY_LIMIT_BYTES = 200_000
_DELAY_SECONDS = 1.0


class HostileFigures(NamedTuple):
    """Answers that were stored, and pages that a perfect crawl finds."""

    answers: int
    trapped: int  # answers from URLs of traps, and from other names of a host
    real_pages: int
    found: int
    virtual_seconds: float = 0.0

    @property
    def trap_share(self) -> float:
        return self.trapped / max(1, self.answers)

    @property
    def found_share(self) -> float:
        return self.found / max(1, self.real_pages)


def crawl_hostile(web: SyntheticWeb, order: Order) -> HostileFigures:
    """Crawl a web until nothing is left, also of hosts that were suspended."""
    clock, storage = VirtualClock(), MemoryHostStorage()
    transport = MemoryTransport(web, clock, user_agent=_AGENT, body_limit_bytes=_BODY_LIMIT_BYTES)
    policies = Policies(Scope(lambda _: True, UrlBounds()), order, CrawlLimits(has_contact=True), "tarrafa")
    workbench = Workbench(Delays(ConstantDelay(_DELAY_SECONDS), address_seconds=0.0), RetryPolicy())
    brain = make_brain(HostTable(storage, storage), workbench, policies)
    repository = MemoryRepository(order=order.url_keys)
    crawl = SimulatedCrawl(web, transport, brain, storage, repository, reads_bodies=True)
    crawl.run(web.front, is_waiting=True)
    return figures_of(web, crawl.answers)._replace(virtual_seconds=crawl.seconds)


def figures_of(web: SyntheticWeb, answers: Iterable[str]) -> HostileFigures:
    """Compare the answers of a crawl with the truth. The first answer for a page is no trap, whatever its session."""
    real = Truth(web).collectable()
    found: set[str] = set()
    count = trapped = 0
    for url in answers:
        origin = host_of(url)
        page = origin + without_session(url[len(origin) :])
        is_first = page in real and page not in found
        if is_first:
            found.add(page)
        count += 1
        trapped += in_trap(web, url) and not is_first
    return HostileFigures(count, trapped, len(real), len(found))
