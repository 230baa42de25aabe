"""The repository in memory: the same guarantees and the same schedule as `Veuniq`, but no files and no threads.

It is the twin for tests and simulations of a crawl. With one block and the same seed it answers exactly as `Veuniq`
does; with several, hosts are spread over a fixed number of blocks by their hash. A cycle costs time in proportion to
its batch. Nothing survives the process, so guarantee 5 holds only while it lives.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from tarrafa.urls import fingerprint, host_hash
from tarrafa.verify.contract import (
    LINKS_MAX,
    PRIORITY_MAX,
    Batch,
    Cycle,
    Known,
    Quota,
    RepositoryCounts,
    Scheduled,
    Urls,
)

_HASHES = 2**64
_HOST_START = len("http://x")
_DEFAULT_QUOTA = Quota()


class _MemoryVisit(NamedTuple):
    """A collected URL of a batch; of several the greatest one counts."""

    batch: int
    at_seconds: float
    place: int  # in the batch
    status: int
    file: int
    offset: int


class _MemoryFind(NamedTuple):
    url: str
    priority: int
    links: int
    outside: int


@dataclass(slots=True, eq=False)
class _MemoryUrl:
    url: str
    priority: int = PRIORITY_MAX
    links: int = 0
    outside: int = 0
    order: int = -1  # of admission
    is_scheduled: bool = False
    visit: _MemoryVisit | None = None

    def known(self) -> Known:
        fields = self.url, self.visit is not None, self.priority, self.links, self.outside
        if self.visit is None:
            return Known(*fields)
        return Known(*fields, self.visit.at_seconds, self.visit.status, self.visit.file, self.visit.offset)


@dataclass(slots=True, eq=False)
class _MemoryHost:
    name: str
    urls: list[_MemoryUrl] = field(default_factory=list)  # in order of admission
    scheduled: dict[str, _MemoryUrl] = field(default_factory=dict)
    # Heap of (priority, order, URL). An entry is stale if its URL was scheduled, collected, or given a new priority.
    remaining: list[tuple[int, int, _MemoryUrl]] = field(default_factory=list)
    left_count: int = 0
    # The scheduled URLs in order; None when they changed since they were last asked for.
    ordered: list[_MemoryUrl] | None = None

    def schedule(self, chosen: Iterable[_MemoryUrl]) -> None:
        for each in chosen:
            each.is_scheduled = True
            self.scheduled[each.url] = each
        self.ordered = None

    def refill(self, quota: Quota) -> None:
        chosen: list[_MemoryUrl] = []
        while self.remaining and len(chosen) < quota.scheduled:
            priority, _, each = heappop(self.remaining)
            if not each.is_scheduled and each.visit is None and priority == each.priority:
                chosen.append(each)
        self.schedule(chosen)

    def start(self, quota: Quota) -> None:
        """Schedule the shortest URLs of a new host."""
        left = sorted((each for each in self.urls if each.visit is None), key=lambda each: len(each.url))
        self.schedule(left[: quota.scheduled])
        self.remaining = [(each.priority, each.order, each) for each in left[quota.scheduled :]]
        heapify(self.remaining)

    def in_order(self) -> list[_MemoryUrl]:
        if self.ordered is None:
            self.ordered = sorted(self.scheduled.values(), key=lambda each: (each.priority, each.order))
        return self.ordered


@dataclass(slots=True, eq=False)
class _MemoryBlock:
    hosts: dict[str, _MemoryHost] = field(default_factory=dict)
    urls: dict[str, _MemoryUrl] = field(default_factory=dict)
    collected: int = 0
    # What was offered for this block. Filled by every batch, emptied by a cycle of the block.
    visits: list[tuple[str, _MemoryVisit]] = field(default_factory=list)
    finds: list[_MemoryFind] = field(default_factory=list)

    @property
    def waiting(self) -> int:
        return len(self.visits) + len(self.finds)


class MemoryRepository:
    """Fulfils `Repository`."""

    def __init__(self, *, blocks: int = 1, quota: Quota = _DEFAULT_QUOTA, seed: int = 0) -> None:
        assert quota.scheduled >= quota.refill_below
        self._blocks = [_MemoryBlock() for _ in range(blocks)]
        self._quota = quota
        self._seed = seed
        self._block_of_host: dict[str, _MemoryBlock] = {}
        self._verified = list(range(blocks))
        self._last_batch = -1

    @property
    def last_batch(self) -> int:
        return self._last_batch

    def blocks(self) -> list[int]:
        return list(range(len(self._blocks)))

    def blocks_verified(self) -> list[int]:
        return self._verified

    def cycle(self, batch: Batch) -> Cycle:
        if batch.number <= self._last_batch:
            return Cycle(block=-1)
        self._last_batch = batch.number
        before = [block.waiting for block in self._blocks]
        self._offer(batch)
        number = max(self.blocks(), key=lambda each: self._blocks[each].waiting)
        set_aside = sum(block.waiting - before[each] for each, block in enumerate(self._blocks) if each != number)
        self._verified = [number]
        return self._verify(self._blocks[number])._replace(block=number, set_aside=set_aside)

    def _offer(self, batch: Batch) -> None:
        told, found = batch.collected, batch.extracted
        pages = (told.at_seconds.tolist(), told.status.tolist(), told.file.tolist(), told.offset.tolist())
        for place, (url, at_seconds, *rest) in enumerate(zip(_strings(told.urls), *pages, strict=True)):
            self._block(_host(url)).visits.append((url, _MemoryVisit(batch.number, at_seconds, place, *rest)))
        links = (found.priority.tolist(), found.links.tolist(), found.outside.tolist())
        for each in map(_MemoryFind, _strings(found.urls), *links):
            self._block(_host(each.url)).finds.append(each)

    def _block(self, host: str) -> _MemoryBlock:
        block = self._block_of_host.get(host)
        if block is None:
            block = self._blocks[host_hash(host, self._seed) * len(self._blocks) // _HASHES]
            self._block_of_host[host] = block
        return block

    def _verify(self, block: _MemoryBlock) -> Cycle:
        visits = _last_visits(block.visits)
        known, fresh = _merge(block, visits)
        block.visits, block.finds = [], []
        others = [each for url, each in known.items() if url not in visits]
        collected_before = sum(each.visit is not None for each in others)
        admitted = sorted(fresh.values(), key=lambda each: self._key(each.url))
        changed = _admit(block, admitted)
        _collect(block, visits, changed)
        for host, is_new in changed.items():
            if is_new:
                host.start(self._quota)
            elif len(host.scheduled) < self._quota.refill_below:
                host.refill(self._quota)
        return Cycle(
            block=0,
            collected_before=collected_before,
            known=len(others) - collected_before,
            collected_now=len(visits),
            fresh=[each.url for each in admitted if each.visit is None],
        )

    def _key(self, url: str) -> tuple[int, int]:
        """Return what fresh URLs of a cycle are admitted in order of."""
        return host_hash(_host(url), self._seed), fingerprint(url, self._seed)

    def lookup(self, url: str) -> Known | None:
        found = next((block.urls[url] for block in self._blocks if url in block.urls), None)
        return None if found is None else found.known()

    def urls_of(self, host: str) -> Iterator[Known]:
        found = self._block(host).hosts.get(host)
        return iter(()) if found is None else (each.known() for each in found.urls)

    def scheduled(self, block: int, per_host: int | None = None) -> Iterator[Scheduled]:
        for host in self._blocks[block].hosts.values():
            if host.scheduled:
                best = host.in_order()[:per_host]
                urls, priorities = [each.url for each in best], [each.priority for each in best]
                yield Scheduled(host.name, urls, priorities, host.left_count)

    def counts(self) -> RepositoryCounts:
        hosts = [host for block in self._blocks for host in block.hosts.values()]
        return RepositoryCounts(
            known=sum(len(block.urls) for block in self._blocks),
            collected=sum(block.collected for block in self._blocks),
            hosts=len(hosts),
            blocks=len(self._blocks),
            waiting=sum(block.waiting for block in self._blocks),
            disk_bytes=0,
            scheduled=sum(len(host.scheduled) for host in hosts),
        )

    def close(self) -> None:
        """Do nothing: what is known stays as long as the object."""


def _strings(urls: Urls) -> Iterable[str]:
    to_list = getattr(urls, "to_pylist", None)
    return urls if to_list is None else to_list()


def _host(url: str) -> str:
    return url[: url.index("/", _HOST_START)]


def _last_visits(visits: list[tuple[str, _MemoryVisit]]) -> dict[str, _MemoryVisit]:
    last: dict[str, _MemoryVisit] = {}
    for url, visit in visits:
        last[url] = max(visit, last.get(url, visit))
    return last


def _merge(block: _MemoryBlock, visits: dict[str, _MemoryVisit]) -> tuple[dict[str, _MemoryUrl], dict[str, _MemoryUrl]]:
    """Add up what the finds say of each URL; return the URLs that were known before, and those that were not."""
    known: dict[str, _MemoryUrl] = {}
    fresh = {url: _MemoryUrl(url) for url in visits if url not in block.urls}
    for url, priority, links, outside in block.finds:
        each = block.urls.get(url)
        if each is None:
            each = fresh.get(url) or fresh.setdefault(url, _MemoryUrl(url))
        else:
            known[url] = each
        each.links = min(each.links + links, LINKS_MAX)
        each.outside = min(each.outside + outside, LINKS_MAX)
        if priority < each.priority:
            each.priority = priority
            _move_up(block, each)
    return known, fresh


def _move_up(block: _MemoryBlock, each: _MemoryUrl) -> None:
    """Let the order of the host's URLs follow a new priority."""
    if each.order >= 0 and each.visit is None:
        host = block.hosts[_host(each.url)]
        host.ordered = None
        if not each.is_scheduled:
            heappush(host.remaining, (each.priority, each.order, each))


def _admit(block: _MemoryBlock, admitted: list[_MemoryUrl]) -> dict[_MemoryHost, bool]:
    """Make URLs known; return the hosts that changed, and whether each is new."""
    changed: dict[_MemoryHost, bool] = {}
    for each in admitted:
        name = _host(each.url)
        host = block.hosts.get(name)
        if host is None:
            host = block.hosts[name] = _MemoryHost(name)
            changed[host] = True
        each.order = len(block.urls)
        block.urls[each.url] = each
        host.urls.append(each)
        host.left_count += 1
        if not changed.setdefault(host, False):
            heappush(host.remaining, (each.priority, each.order, each))
    return changed


def _collect(block: _MemoryBlock, visits: dict[str, _MemoryVisit], changed: dict[_MemoryHost, bool]) -> None:
    """Set the visits of collected URLs, and add their hosts to those that changed."""
    for url, visit in visits.items():
        each, host = block.urls[url], block.hosts[_host(url)]
        if each.visit is None:
            block.collected += 1
            host.left_count -= 1
        if each.is_scheduled:
            each.is_scheduled = False
            del host.scheduled[url]
            host.ordered = None
        each.visit = visit
        changed.setdefault(host, False)
