"""A simulated crawl as the verifier sees it: batches of URLs that follow from a seed, the same on every machine.

A batch has the proportions of a real crawl:

- it comes from the region of hosts with most waiting URLs, as a crawler that follows the verifier's blocks chooses;
- its collected URLs were offered before, and are spread over the hosts of the region;
- 80% of its extracted URLs belong to the region, the others to hosts of all other regions, some of them new;
- 17% of its extracted URLs are offered for the first time; the others more often point to a host's first pages;
- the links to a host follow a power law.

A host's pages are numbered and appear in that order, so a few numbers for each host are all the state, however many
URLs are known. Regions are ranges of host hashes that split as blocks do, so they are the blocks of an engine with the
same seed and block size. Other engines see the same URLs.
"""

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tarrafa.verify.contract import Batch, Collected, Extracted
from tarrafa.verify.keys import keys_of
from tarrafa.verify.veuniq.block import rows_limit

U64 = NDArray[np.uint64]
I64 = NDArray[np.int64]

CYCLE_SECONDS = 300
PAGE_BYTES = 20_000
# The largest host gets at most so many times the links of the smallest.
WEIGHT_MAX = 5_000
WORDS = (
    *("noticias", "esporte", "cidade", "governo", "cultura", "saude", "economia", "arquivo"),
    *("busca", "lei", "edital", "turismo", "educacao", "mapa", "agenda", "biblioteca"),
)
SUFFIXES = ("com.br", "org.br", "gov.br", "edu.br")
# Paths before the number of a page: every combination of three words.
HEADS = [f"/{a}/{b}-{c}/item-" for a in WORDS for b in WORDS for c in WORDS]
TAILS = (".html", ".php?pagina=2", "/", ".htm", ".aspx?ordem=data&id=7", ".html", ".shtml", "/index.html")


@dataclass(frozen=True, slots=True)
class StreamShape:
    """The sizes and shares of a stream."""

    collected_count: int = 100_000
    extracted_count: int = 900_000
    fresh_share: float = 0.17
    # Until each of these numbers of known URLs the crawl is young, with more fresh URLs; then come `usual_count` usual
    # batches. After the last number all batches are usual.
    marks: tuple[int, ...] = ()
    usual_count: int = 0
    young_fresh_share: float = 0.9
    staying_share: float = 0.8
    extracted_per_new_host: int = 600
    first_hosts_count: int = 5_000
    region_rows: int = 2_000_000  # a region splits as a block does


@dataclass(slots=True)
class HostRegion:
    """The hosts of a range of hashes; each index of the columns is a host."""

    first: int  # hash
    waiting: int = 0  # offered since the region was last chosen
    ids: I64 = field(default_factory=lambda: np.empty(0, np.int64))
    hashes: U64 = field(default_factory=lambda: np.empty(0, np.uint64))
    weights: NDArray[np.uint32] = field(default_factory=lambda: np.empty(0, np.uint32))
    known: NDArray[np.uint32] = field(default_factory=lambda: np.empty(0, np.uint32))
    collected: NDArray[np.uint32] = field(default_factory=lambda: np.empty(0, np.uint32))

    def add(self, ids: I64, hashes: U64, weights: NDArray[np.uint32]) -> None:
        none = np.zeros(len(ids), np.uint32)
        self.ids = np.concatenate((self.ids, ids))
        self.hashes = np.concatenate((self.hashes, hashes))
        self.weights = np.concatenate((self.weights, weights))
        self.known = np.concatenate((self.known, none))
        self.collected = np.concatenate((self.collected, none))

    def part(self, first: int, inside: NDArray[np.bool_]) -> "HostRegion":
        ids, hashes, weights = self.ids[inside], self.hashes[inside], self.weights[inside]
        return HostRegion(first, 0, ids, hashes, weights, self.known[inside], self.collected[inside])

    def left_count(self) -> int:
        """Return how many pages are known and not collected."""
        return int((self.known - self.collected).sum(dtype=np.int64))

    def halves(self) -> list["HostRegion"]:
        """Split between two hosts, so that both sides know about as many URLs. A single host cannot be split."""
        order = np.argsort(self.hashes)
        if len(order) < 2:
            return [self]
        below = np.cumsum(self.known[order].astype(np.int64))
        edge = self.hashes[order[1 + int(np.argmin(np.abs(below[:-1] - below[-1] / 2)))]]
        return [self.part(self.first, self.hashes < edge), self.part(int(edge), self.hashes >= edge)]


@dataclass(frozen=True, slots=True)
class PageNumbers:
    """Pages by number, with the id of the host."""

    ids: I64
    numbers: I64


class UrlStream:
    """Batches in the order of their numbers, from 0 on. Hosts are hashed with the same `seed`."""

    def __init__(self, seed: int = 1, shape: StreamShape | None = None) -> None:
        self.shape = shape or StreamShape()
        self.next_number = 0
        self.expected_known = 0  # distinct URLs that were offered
        self.expected_collected = 0
        self._seed = seed
        self._hosts_count = 0
        self._regions = [HostRegion(0)]
        self._marks_passed = 0
        self._usual_left = 0
        self._draw = np.random.PCG64(seed)

    @property
    def hosts_count(self) -> int:
        return self._hosts_count

    @property
    def is_usual(self) -> bool:
        """Return True if the next batch has the usual share of fresh URLs."""
        return self._usual_left > 0 or self._marks_passed == len(self.shape.marks)

    @property
    def has_passed_marks(self) -> bool:
        return self._usual_left == 0 and self._marks_passed == len(self.shape.marks)

    @property
    def regions_count(self) -> int:
        return len(self._regions)

    def batch(self, number: int) -> Batch:
        """Return the batch of that number, skipping those before it."""
        if number < self.next_number:
            raise ValueError(f"batch {number} is behind the stream, which is at {self.next_number}")
        while self.next_number < number:
            self.skip()
        collected, extracted = self._advance()
        return Batch(number, _collected(collected, number), _extracted(extracted))

    def skip(self) -> None:
        """Skip a batch, which is cheaper than making it."""
        self._advance()

    def _advance(self) -> tuple[PageNumbers, PageNumbers]:
        """Return the pages of the next batch as numbers."""
        # Raw draws of a named generator, and integer arithmetic from there on: numpy guarantees only these to be
        # stable.
        self._draw = np.random.PCG64([self._seed, self.next_number])
        place = self._choose()
        chosen = self._regions[place]
        new = self._new_hosts()
        collected = self._collect(chosen)
        counts = self._shares(chosen)
        fresh_shares = [self.shape.fresh_share] * len(counts)
        fresh_shares[place] = self._share_now(counts[place])
        found = [self._extract(*each) for each in zip(self._regions, new, counts, fresh_shares, strict=True)]
        self.next_number += 1
        self._settle(place)
        ids, numbers = (np.concatenate(column) for column in zip(*found, strict=True))
        return collected, PageNumbers(ids, numbers)

    def _choose(self) -> int:
        """Return the place of the region with most waiting, if possible among those with enough pages to collect."""
        waiting = np.array([region.waiting for region in self._regions])
        has_enough = np.array([region.left_count() >= self.shape.collected_count for region in self._regions])
        return int(np.argmax(np.where(has_enough, waiting, -1) if has_enough.any() else waiting))

    def _share_now(self, staying: int) -> float:
        """Return the share of fresh URLs among those that stay in the chosen region.

        A young crawl finds more there, and the usual share elsewhere, because waiting URLs of other regions are
        verified much later. Its last batch brings only as many as are missing.
        """
        shape = self.shape
        if self.is_usual:
            self._usual_left = max(0, self._usual_left - 1)
            return shape.fresh_share
        leaving_fresh = (shape.extracted_count - staying) * shape.fresh_share
        missing_share = (shape.marks[self._marks_passed] - self.expected_known - leaving_fresh) / staying
        if missing_share <= shape.young_fresh_share:
            self._marks_passed += 1
            self._usual_left = shape.usual_count
        return max(shape.fresh_share, min(shape.young_fresh_share, missing_share))

    def _settle(self, place: int) -> None:
        """Mark the region as verified, and split it if it has too many URLs."""
        chosen = self._regions[place]
        chosen.waiting = 0
        if chosen.known.sum() > rows_limit(chosen.first, self.shape.region_rows):
            self._regions[place : place + 1] = chosen.halves()

    def _raw(self, count: int) -> U64:
        return self._draw.random_raw(count).astype(np.uint64, copy=False)

    def _new_hosts(self) -> list[I64]:
        """Add new hosts to their regions; return for each region the indexes of its new hosts."""
        shape = self.shape
        count = max(1, shape.extracted_count // shape.extracted_per_new_host)
        if not self._hosts_count:
            count += shape.first_hosts_count
        ids = np.arange(self._hosts_count, self._hosts_count + count)
        self._hosts_count += count
        hashes = keys_of([name + "/" for name in host_names(ids)], self._seed).hosts
        weights = np.minimum(WEIGHT_MAX, (1 << 32) // ((self._raw(count) >> np.uint64(32)) + np.uint64(1)))
        edges = np.array([region.first for region in self._regions], np.uint64)
        place = np.searchsorted(edges, hashes, side="right") - 1
        order = np.argsort(place, kind="stable")
        bounds = np.searchsorted(place[order], np.arange(len(edges) + 1))
        found = []
        for region, (begin, end) in zip(self._regions, pairwise(bounds.tolist()), strict=True):
            mine, before = order[begin:end], len(region.ids)
            if len(mine):
                region.add(ids[mine], hashes[mine], weights[mine].astype(np.uint32))
            found.append(np.arange(before, len(region.ids)))
        return found

    def _collect(self, region: HostRegion) -> PageNumbers:
        """Take the next pages of the region's hosts, as evenly as possible; at first there are only seeds."""
        wanted = self.shape.collected_count
        missing = wanted - region.left_count()
        if missing > 0:
            each, rest = divmod(missing, len(region.ids))
            region.known += np.uint32(each)
            region.known[:rest] += np.uint32(1)
            self.expected_known += missing
        take = _evenly((region.known - region.collected).astype(np.int64), wanted)
        position = np.repeat(np.arange(len(take)), take)
        numbers = region.collected[position] + _ranks(take)
        region.collected += take.astype(np.uint32)
        self.expected_collected += wanted
        return PageNumbers(region.ids[position], numbers.astype(np.int64))

    def _shares(self, chosen: HostRegion) -> list[int]:
        """Return how many URLs are extracted for each region: most for the chosen one, the others by weight."""
        total = self.shape.extracted_count
        if len(self._regions) == 1:
            return [total]
        leaving = total - int(total * self.shape.staying_share)
        weights = np.array([0 if region is chosen else region.weights.sum() for region in self._regions], np.int64)
        counts = np.diff(np.cumsum(weights) * leaving // weights.sum(), prepend=0)
        return [
            total - leaving if region is chosen else n for region, n in zip(self._regions, counts.tolist(), strict=True)
        ]

    def _extract(self, region: HostRegion, new: I64, count: int, fresh_share: float) -> tuple[I64, I64]:
        """Return hosts and numbers of linked pages: each new host once, then hosts by weight."""
        raw = self._raw(count)
        edges = np.cumsum(region.weights, dtype=np.uint64)
        position = np.searchsorted(edges, (raw >> np.uint64(16)) % edges[-1], side="right")
        position[: len(new)] = new[:count]
        fresh = (raw & np.uint64(0xFFFF)) < int(fresh_share * 2**16)
        fresh |= _firsts_of_unknown(position, region.known)
        added = np.bincount(position[fresh], minlength=len(region.ids))
        numbers = np.empty(count, np.int64)
        numbers[fresh] = region.known[position[fresh]] + _rank_among_equals(position[fresh])
        region.known += added.astype(np.uint32)
        again = np.flatnonzero(~fresh)
        numbers[again] = _towards_first(region.known[position[again]], self._raw(len(again)))
        region.waiting += count
        self.expected_known += int(added.sum())
        return region.ids[position], numbers


def _evenly(available: I64, wanted: int) -> I64:
    """Return how many to take of each, so that they sum to `wanted` and the largest is as small as possible."""
    low, high = 0, int(available.max())
    while low < high:
        middle = (low + high) // 2
        if np.minimum(available, middle).sum() >= wanted:
            high = middle
        else:
            low = middle + 1
    take = np.minimum(available, low)
    take[np.flatnonzero(take == low)[: int(take.sum()) - wanted]] -= 1
    return take


def _ranks(counts: I64) -> I64:
    """Return 0, 1, 2, … for each count."""
    ends = np.cumsum(counts)
    return np.arange(int(ends[-1])) - np.repeat(ends - counts, counts)


def _rank_among_equals(values: I64) -> I64:
    """Return how many equal values precede each value."""
    order = np.argsort(values, kind="stable")
    ranks = np.empty(len(values), np.int64)
    ranks[order] = _ranks(np.unique(values, return_counts=True)[1]) if len(values) else 0
    return ranks


def _firsts_of_unknown(position: I64, known: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Return the first links to hosts without pages: these pages must be fresh."""
    marks = np.zeros(len(position), bool)
    unknown = np.flatnonzero(known[position] == 0)
    marks[unknown[np.unique(position[unknown], return_index=True)[1]]] = True
    return marks


def _towards_first(known: NDArray[np.uint32], raw: U64) -> I64:
    """Return a known page, the first ones more often: the product of two uniform draws."""
    half = np.uint64(32)
    below = (known.astype(np.uint64) * (raw >> half)) >> half
    return (((below + np.uint64(1)) * (raw & np.uint64(0xFFFFFFFF))) >> half).astype(np.int64)


def host_names(ids: I64) -> list[str]:
    """Return a host such as `http://www.noticias-cidade123.com.br` for each id."""
    return [
        f"http://www.{WORDS[host % 16]}-{WORDS[host // 16 % 16]}{host}.{SUFFIXES[host // 256 % 4]}"
        for host in ids.tolist()
    ]


def urls_of(pages: PageNumbers) -> pa.LargeStringArray:
    """Return the URLs of pages as a column, as the batches of a crawl do."""
    hosts, places = np.unique(pages.ids, return_inverse=True)
    names = host_names(hosts)
    # Pages with consecutive numbers have different paths, like pages that a crawl finds one after the other.
    heads = (pages.ids * 31 + pages.numbers * 1_103) % len(HEADS)
    columns = (places.tolist(), heads.tolist(), pages.numbers.tolist())
    urls = [f"{names[a]}{HEADS[b]}{number}{TAILS[b & 7]}" for a, b, number in zip(*columns, strict=True)]
    return pa.array(urls, pa.large_string())


def _collected(pages: PageNumbers, number: int) -> Collected:
    count = len(pages.ids)
    order = np.arange(count)
    return Collected(
        urls_of(pages),
        at_seconds=(number * CYCLE_SECONDS + order * (CYCLE_SECONDS / max(1, count))).astype(np.float64),
        status=np.full(count, 200, np.uint16),
        file=np.full(count, number, np.uint32),
        offset=(order * PAGE_BYTES).astype(np.uint64),
    )


def _extracted(pages: PageNumbers) -> Extracted:
    level, count = (pages.numbers % 7).astype(np.uint16), len(pages.numbers)
    return Extracted(
        urls_of(pages),
        priority=level,
        links=np.ones(count, np.uint16),
        outside=(pages.numbers % 4 == 0).astype(np.uint16),
        depth=level.astype(np.uint32),
        kind=np.zeros(count, np.uint8),
    )
