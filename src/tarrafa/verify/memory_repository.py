"""The repository in memory: the same guarantees and the same schedule as `Veuniq`, but no files and no threads.

It is the twin for tests and simulations of a crawl. With one block and the same seed it answers exactly as `Veuniq`
does; with several, hosts are spread over a fixed number of blocks by their hash. A cycle costs time in proportion to
its batch. Nothing survives the process, so guarantee 5 holds only while it lives.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tarrafa.histories import Histories, Phase, VisitNews, host_rates, taken
from tarrafa.records import DEPTH_MAX
from tarrafa.urls import HOST_START, fingerprint, host_hash
from tarrafa.verify.contract import (
    HASHES,
    LINKS_MAX,
    PRIORITY_MAX,
    WEIGHT_MAX,
    Batch,
    BlockHistories,
    Cycle,
    Division,
    Expansion,
    HostCollision,
    Known,
    KnownPage,
    Quota,
    RepositoryCounts,
    Scheduled,
    UrlColumns,
    UrlOrder,
    Urls,
    Weigh,
    by_priority,
    checked_keys,
    first_placed,
)
from tarrafa.verify.page_histories import (
    NO_HISTORIES,
    mean_rate_of,
    page_histories,
    phase_counts,
    positions_of,
    rated,
    with_importance,
    with_visits,
)

_DEFAULT_QUOTA = Quota()


class _MemoryVisit(NamedTuple):
    """A collected URL of a batch; of several the greatest one counts."""

    batch: int
    at_seconds: float
    place: int  # in the batch
    status: int
    file: int
    offset: int
    signature: int
    similarity: int


class _MemoryNews(NamedTuple):
    """What a visit changes in the history of its URL."""

    url: "_MemoryUrl"
    at_seconds: float
    status: int
    change: int
    content_seconds: float
    cache_seconds: float


@dataclass(slots=True, eq=False)
class _MemoryUrl:
    url: str
    host: "_MemoryHost"
    priority: int = PRIORITY_MAX
    depth: int = DEPTH_MAX
    kind: int = 0
    links: int = 0
    outside: int = 0
    weight: int = 0
    # Its keys: by the order of the repository, by that with URLs of `FIRST_PRIORITY` first, and by the division.
    keys: tuple[float, float, float] | None = None
    order: int = -1  # of admission; -1 for a URL that waits for its first cycle
    is_scheduled: bool = False
    visit: _MemoryVisit | None = None
    # What was offered since the last cycle of the block.
    is_waiting: bool = False
    new_priority: int = PRIORITY_MAX
    new_depth: int = DEPTH_MAX
    new_kind: int = 0
    new_links: int = 0
    new_outside: int = 0
    new_weight: int = 0
    new_visit: _MemoryVisit | None = None

    @property
    def place(self) -> tuple[float, int]:
        """Its place among the remaining URLs of its host."""
        assert self.keys is not None
        return self.keys[2], self.order

    def __lt__(self, other: "_MemoryUrl") -> bool:
        """Decide between two entries of one URL at the same place."""
        return False

    def known(self) -> Known:
        numbers = self.priority, self.links, self.outside, self.depth, self.kind
        known = Known(self.url, self.visit is not None, *numbers, weight=self.weight)
        if self.visit is None:
            return known
        at_seconds, status, file, offset = self.visit.at_seconds, self.visit.status, self.visit.file, self.visit.offset
        return known._replace(at_seconds=at_seconds, status=status, file=file, offset=offset)


@dataclass(slots=True, eq=False)
class _MemoryHost:
    name: str
    block: "_MemoryBlock"
    number: int = -1  # in its block; -1 without admitted URLs
    urls: list[_MemoryUrl] = field(default_factory=list)  # in order of admission
    scheduled: dict[str, _MemoryUrl] = field(default_factory=dict)
    # Heap of (key, order, URL). An entry is stale if its URL was scheduled, collected or moved.
    remaining: list[tuple[float, int, _MemoryUrl]] = field(default_factory=list)
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
            *place, each = heappop(self.remaining)
            if not each.is_scheduled and each.visit is None and place == [*each.place]:
                chosen.append(each)
        self.schedule(chosen)

    def start(self, quota: Quota, division: Division) -> None:
        """Schedule the first URLs of a new host."""
        left = [each for each in self.urls if each.visit is None]
        lengths = np.array([len(each.url) for each in left], np.int64)
        keys = checked_keys(division.first(_columns(left), lengths), len(left))
        left = [left[place] for place in np.argsort(keys, kind="stable").tolist()]
        self.schedule(left[: quota.scheduled])
        self.remaining = [(*each.place, each) for each in left[quota.scheduled :]]
        heapify(self.remaining)

    def reorder(self, each: _MemoryUrl) -> None:
        """Let the order of the host's URLs follow a new key."""
        if each.is_scheduled:
            self.ordered = None
        else:
            heappush(self.remaining, (*each.place, each))

    def in_order(self) -> list[_MemoryUrl]:
        if self.ordered is None:
            self.ordered = sorted(self.scheduled.values(), key=_first_place)
        return self.ordered


@dataclass(slots=True, eq=False)
class _MemoryBlock:
    number: int
    hosts: dict[str, _MemoryHost] = field(default_factory=dict)  # with admitted URLs, in order of admission
    known: int = 0
    collected: int = 0
    # Distinct URLs that were offered, and how many rows told of them. Filled by every batch, emptied by a cycle.
    offered: list[_MemoryUrl] = field(default_factory=list)
    waiting: int = 0
    owners: dict[int, str] = field(default_factory=dict)  # the host that has a hash
    # Visits that were offered. Filled by every batch, emptied by a cycle.
    news: list[_MemoryNews] = field(default_factory=list)
    urls: list[_MemoryUrl] = field(default_factory=list)  # in order of admission, which is that of rows
    url_hosts: "array[int]" = field(default_factory=lambda: array("I"))  # the number of the host of each
    histories: Histories = NO_HISTORIES
    rate_sum: float = 0.0


class MemoryRepository:
    """Fulfils `Repository`."""

    def __init__(
        self,
        *,
        blocks: int = 1,
        quota: Quota = _DEFAULT_QUOTA,
        order: UrlOrder = by_priority,
        division: Division | None = None,
        seed: int = 0,
    ) -> None:
        assert quota.scheduled >= quota.refill_below
        self._order = order
        self._division = division or Expansion(order)
        self._blocks = [_MemoryBlock(number) for number in range(blocks)]
        self._quota = quota
        self._seed = seed
        # Everything that was offered, also what still waits for a cycle.
        self._urls: dict[str, _MemoryUrl] = {}
        self._hosts: dict[str, _MemoryHost] = {}
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
        waiting = [block.waiting for block in self._blocks]
        self._offer(batch)
        block = max(self._blocks, key=lambda each: each.waiting)
        self._verified = [block.number]
        set_aside = sum(each.waiting - waiting[each.number] for each in self._blocks if each is not block)
        return self._verify(block)._replace(set_aside=set_aside)

    def _offer(self, batch: Batch) -> None:
        told, found = batch.collected.completed(), batch.extracted
        contents = zip(
            *(each.tolist() for each in (told.file, told.offset, told.signature, told.similarity)), strict=True
        )
        news = (told.at_seconds, told.status, told.change, told.content_seconds, told.cache_seconds)
        rows = zip(*(each.tolist() for each in news), strict=True)
        for place, (url, row, content) in enumerate(zip(_strings(told.urls), rows, contents, strict=True)):
            each = self._offered(url)
            visit = _MemoryVisit(batch.number, row[0], place, row[1], *content)
            each.new_visit = visit if each.new_visit is None else max(visit, each.new_visit)
            each.host.block.news.append(_MemoryNews(each, *row))
        weights = found.weight if len(found.weight) else np.zeros(len(found.urls), np.uint32)
        columns = (column.tolist() for column in (*found[1:-1], weights))
        for url, priority, links, outside, depth, kind, weight in zip(_strings(found.urls), *columns, strict=True):
            each = self._offered(url)
            each.new_priority, each.new_depth = min(each.new_priority, priority), min(each.new_depth, depth)
            each.new_kind = max(each.new_kind, kind)
            each.new_links += links
            each.new_outside += outside
            each.new_weight += weight

    def _offered(self, url: str) -> _MemoryUrl:
        """Return the record of a URL, which now waits for a cycle of its block."""
        each = self._urls.get(url) or self._new(url)
        block = each.host.block
        block.waiting += 1
        if not each.is_waiting:
            each.is_waiting = True
            block.offered.append(each)
        return each

    def _new(self, url: str) -> _MemoryUrl:
        name = url[: url.index("/", HOST_START)]
        host = self._hosts.get(name)
        if host is None:
            number = host_hash(name, self._seed) * len(self._blocks) // HASHES
            host = self._hosts[name] = _MemoryHost(name, self._blocks[number])
        each = self._urls[url] = _MemoryUrl(url, host)
        return each

    def _verify(self, block: _MemoryBlock) -> Cycle:
        offered, block.offered, block.waiting = block.offered, [], 0
        fresh = [each for each in offered if each.order < 0]
        fresh.sort(key=lambda each: (host_hash(each.host.name, self._seed), fingerprint(each.url, self._seed)))
        fresh, collisions = self._without_collisions(block, fresh)
        if collisions:
            offered = [each for each in offered if each.url in self._urls]
        now = [each for each in offered if each.new_visit is not None]
        others = [each for each in offered if each.new_visit is None and each.order >= 0]
        collected_before = sum(each.visit is not None for each in others)
        for each in offered:
            _merge(each)
        changed = _admit(block, fresh)
        _collect(now, changed)
        self._fold(block)
        self._place(offered)
        for host, is_new in changed.items():
            if is_new:
                host.start(self._quota, self._division)
            elif len(host.scheduled) < self._quota.refill_below:
                host.refill(self._quota)
        return Cycle(
            block=block.number,
            collected_before=collected_before,
            known=len(others) - collected_before,
            collected_now=len(now),
            fresh=[each.url for each in fresh if each.visit is None],
            collisions=tuple(collisions),
        )

    def _fold(self, block: _MemoryBlock) -> None:
        """Fold the visits that waited for a block into its histories."""
        told, block.news = [each for each in block.news if each.url.order >= 0], []
        visited = np.array([each.url.order for each in told], np.int64)
        columns = zip(*(each[1:] for each in told), strict=True) if told else ((),) * len(VisitNews._fields)
        types = (np.float64, np.uint16, np.uint8, np.float32, np.float32)
        news = VisitNews(*(np.array(column, each) for column, each in zip(columns, types, strict=True)))
        hosts = np.array(block.url_hosts, np.uint32)
        if told:
            block.histories, block.rate_sum = with_visits(block.histories, visited, news, hosts, self.mean_rate())

    def _without_collisions(
        self, block: _MemoryBlock, fresh: list[_MemoryUrl]
    ) -> tuple[list[_MemoryUrl], list[HostCollision]]:
        """Leave out the URLs of hosts whose hash another host has."""
        counts: Counter[tuple[str, str]] = Counter()
        kept = []
        for each in fresh:
            owner = block.owners.setdefault(host_hash(each.host.name, self._seed), each.host.name)
            if owner == each.host.name:
                kept.append(each)
            else:
                counts[each.host.name, owner] += 1
                del self._urls[each.url]
        return kept, [HostCollision(host, other, count) for (host, other), count in counts.items()]

    def _place(self, urls: Sequence[_MemoryUrl]) -> None:
        """Set the keys of URLs whose columns may have changed, and let the order of their hosts follow."""
        columns = _columns(urls)
        keys = checked_keys(self._order(columns), len(urls))
        nexts = first_placed(checked_keys(self._division.next(columns), len(urls)), columns)
        all_keys = zip(keys.tolist(), first_placed(keys, columns).tolist(), nexts.tolist(), strict=True)
        for each, found in zip(urls, all_keys, strict=True):
            if found != each.keys:
                each.keys = found
                if each.visit is None:
                    each.host.reorder(each)

    def weigh(self, block: int, weigh: Weigh) -> None:
        hosts = self._blocks[block].hosts.values()
        urls = [each for host in hosts for each in host.urls if each.visit is None]
        weights = weigh(pa.array([each.url for each in urls], pa.large_string()))
        for each, weight in zip(urls, weights.tolist(), strict=True):
            each.weight = weight
        self._place(urls)

    def histories(self, block: int) -> BlockHistories:
        found = self._blocks[block]
        collected = [found.urls[row] for row in found.histories.row.tolist()]
        histories = with_importance(found.histories, *_links(collected))
        hosts = np.array(found.url_hosts, np.int64)[histories.row]
        return BlockHistories(histories, hosts, list(found.hosts))

    def rows_of(self, block: int, urls: Sequence[str]) -> NDArray[np.int64]:
        found, here = [self._urls.get(url) for url in urls], self._blocks[block]
        return np.array([-1 if each is None or each.host.block is not here else each.order for each in found], np.int64)

    def known_pages(self, block: int, rows: NDArray[np.uint32]) -> list[KnownPage]:
        found = self._blocks[block]
        part = taken(found.histories, positions_of(found.histories, rows))
        told = zip(part.visited.tolist(), part.phase.tolist(), part.failures.tolist(), strict=True)
        return [_known_page(found.urls[row], *each) for row, each in zip(rows.tolist(), told, strict=True)]

    def mean_rate(self) -> float:
        collected = sum(len(block.histories.row) for block in self._blocks)
        return mean_rate_of(sum(block.rate_sum for block in self._blocks), collected)

    def rate(self, block: int, weigh: Weigh) -> None:
        found = self._blocks[block]
        urls = [found.urls[row].url for row in found.histories.row.tolist()]
        found.histories = rated(found.histories, weigh(pa.array(urls, pa.large_string())))

    def lookup(self, url: str) -> Known | None:
        found = self._urls.get(url)
        return None if found is None or found.order < 0 else next(self._known(found.host, [found]))

    def urls_of(self, host: str) -> Iterator[Known]:
        found = self._hosts.get(host)
        return iter(()) if found is None else self._known(found, found.urls)

    def _known(self, host: _MemoryHost, urls: Sequence[_MemoryUrl]) -> Iterator[Known]:
        """Yield what is known of URLs of one host, with their histories."""
        whole, collected = host.block.histories, [each for each in host.urls if each.visit is not None]
        own = taken(whole, positions_of(whole, np.array([each.order for each in collected], np.int64)))
        own = with_importance(own, *_links(collected))
        rate = host_rates(np.zeros(len(own.row), np.int64), own.shape, own.days, self.mean_rate())
        told = page_histories(own, np.repeat(rate, len(own.row)))
        by_row = dict(zip(own.row.tolist(), told, strict=True))
        return (each.known()._replace(history=by_row.get(each.order)) for each in urls)

    def scheduled(self, block: int, per_host: int | None = None) -> Iterator[Scheduled]:
        for host in self._blocks[block].hosts.values():
            if host.scheduled:
                best = host.in_order()[:per_host]
                depths, kinds = [each.depth for each in best], [each.kind for each in best]
                weights = [each.weight for each in best]
                facts = depths, kinds, host.left_count, _least_key(best), weights if any(weights) else []
                yield Scheduled(host.name, [each.url for each in best], *facts)

    def counts(self) -> RepositoryCounts:
        hosts = [host for block in self._blocks for host in block.hosts.values()]
        return RepositoryCounts(
            known=sum(block.known for block in self._blocks),
            collected=sum(block.collected for block in self._blocks),
            hosts=len(hosts),
            blocks=len(self._blocks),
            waiting=sum(block.waiting for block in self._blocks),
            disk_bytes=0,
            scheduled=sum(len(host.scheduled) for host in hosts),
            phases=tuple(map(sum, zip(*(phase_counts(each.histories) for each in self._blocks), strict=True))),
        )

    def close(self) -> None:
        """Do nothing: what is known stays as long as the object."""


def _strings(urls: Urls) -> Iterable[str]:
    to_list = getattr(urls, "to_pylist", None)
    return urls if to_list is None else to_list()


def _first_place(each: _MemoryUrl) -> tuple[float, int]:
    assert each.keys is not None
    return each.keys[1], each.order


def _links(urls: Sequence[_MemoryUrl]) -> tuple[NDArray[np.uint16], NDArray[np.uint32]]:
    """Return what importance follows from: the links from other hosts, and the depth."""
    return np.array([each.outside for each in urls], np.uint16), np.array([each.depth for each in urls], np.uint32)


def _known_page(each: _MemoryUrl, visited: int, phase: int, failures: int) -> KnownPage:
    assert each.visit is not None
    content = each.visit.file, each.visit.offset, each.visit.signature, each.visit.similarity
    facts = float(visited), each.visit.status, Phase(phase)
    return KnownPage(each.url, each.depth, *facts, *content, each.kind, failures)


def _least_key(urls: Iterable[_MemoryUrl]) -> float:
    return float(min(each.keys[0] for each in urls if each.keys is not None))


def _columns(urls: Sequence[_MemoryUrl]) -> UrlColumns:
    return UrlColumns(
        np.array([each.priority for each in urls], np.uint16),
        np.array([each.depth for each in urls], np.uint32),
        np.array([each.links for each in urls], np.uint16),
        np.array([each.outside for each in urls], np.uint16),
        np.array([each.weight for each in urls], np.uint32),
        np.array([each.order for each in urls], np.uint32),
    )


def _merge(each: _MemoryUrl) -> None:
    """Add to a URL what was found of it."""
    each.is_waiting = False
    each.links = min(each.links + each.new_links, LINKS_MAX)
    each.outside = min(each.outside + each.new_outside, LINKS_MAX)
    each.new_links = each.new_outside = 0
    each.kind, each.new_kind = max(each.kind, each.new_kind), 0
    each.weight, each.new_weight = min(each.weight + each.new_weight, WEIGHT_MAX), 0
    each.priority, each.depth = min(each.priority, each.new_priority), min(each.depth, each.new_depth)
    each.new_priority, each.new_depth = PRIORITY_MAX, DEPTH_MAX


def _admit(block: _MemoryBlock, fresh: list[_MemoryUrl]) -> dict[_MemoryHost, bool]:
    """Make URLs known; return the hosts that changed, and whether each is new."""
    changed: dict[_MemoryHost, bool] = {}
    for each in fresh:
        host = each.host
        changed.setdefault(host, not host.urls)
        each.order = block.known
        block.known += 1
        if host.number < 0:
            host.number = len(block.hosts)
            block.hosts[host.name] = host
        block.urls.append(each)
        block.url_hosts.append(host.number)
        host.urls.append(each)
        host.left_count += 1
    return changed


def _collect(now: list[_MemoryUrl], changed: dict[_MemoryHost, bool]) -> None:
    """Set the visits of collected URLs, and add their hosts to those that changed."""
    for each in now:
        host = each.host
        if each.visit is None:
            host.block.collected += 1
            host.left_count -= 1
        if each.is_scheduled:
            each.is_scheduled = False
            del host.scheduled[each.url]
            host.ordered = None
        each.visit, each.new_visit = each.new_visit, None
        changed.setdefault(host, False)
