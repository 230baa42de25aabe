"""Rounds of refreshes over hosts of the made-up web: those that tell the truth, and those whose validators lie."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import xxhash

from tarrafa.agent import Refreshes
from tarrafa.configuration import HostTables
from tarrafa.extract import Extract, PageFormat
from tarrafa.histories import Change, Phase
from tarrafa.keep import HeadReader, Original, Place, StoredHead, digest_of
from tarrafa.lab.web import Plan, SyntheticWeb
from tarrafa.lab.web.faults import Fault
from tarrafa.lab.web.history import DAY_MS, EPOCH_SECONDS
from tarrafa.lab.web.plan import SyntheticHost
from tarrafa.verify import KnownPage
from webs import get, hosts_of

FACTS = "0" * 16
ROUND_MS = 10 * DAY_MS


class HeadsInMemory(HeadReader):
    """Heads of stored pages, by place."""

    def __init__(self) -> None:
        super().__init__(Path())
        self.heads: dict[Place, StoredHead] = {}

    def is_cached(self, place: Place) -> bool:
        return place in self.heads

    def read(self, place: Place) -> StoredHead:
        return self.heads[place]


@dataclass
class HostRounds:
    """Visits all pages of one host again and again, and counts what it gets and what it misses."""

    web: SyntheticWeb
    host: SyntheticHost
    heads: HeadsInMemory = field(default_factory=HeadsInMemory)
    known: dict[int, KnownPage] = field(default_factory=dict)
    unsent: int = 0
    missed: list[bool] = field(default_factory=list)  # of each refresh: the page had changed, and 304 came

    def __post_init__(self) -> None:
        self.refreshes = Refreshes(self.heads, HostTables())
        for page in range(self.host.size):
            if self.web.pages.dies_ms(self.host, page) is None:
                self.store(page, 0)

    def store(self, page: int, now_ms: int) -> None:
        got, at, place = get(self.web, self.host, page, now_ms), EPOCH_SECONDS + now_ms / 1000, Place(now_ms, page)
        content = Original(place, got.url, at, digest_of(got.body))
        self.heads.heads[place] = StoredHead(200, got.headers, at, True, (("facts-digest", FACTS),), content)
        signature = xxhash.xxh3_64_intdigest(got.body)
        self.known[page] = KnownPage(got.url, 1, at, 200, Phase.LIVE, *place, signature, 0)

    def visit_all(self, now_ms: int) -> None:
        for page, known in self.known.items():
            self.visit(page, known, now_ms)

    def visit(self, page: int, known: KnownPage, now_ms: int) -> None:
        refresh = asyncio.run(self.refreshes.begin(known))
        asked = {name.replace("-", "_").lower(): value for name, value in refresh.conditions}
        got = get(self.web, self.host, page, now_ms, **asked)._replace(at=EPOCH_SECONDS + now_ms / 1000)
        is_other = digest_of(get(self.web, self.host, page, now_ms).body) != digest_of_content(refresh.head)
        self.missed.append(got.status == 304 and is_other)
        self.unsent += got.status == 304
        if got.status == 304:
            landing = self.refreshes.land_stored(refresh, got)
        else:
            landing = self.refreshes.land(refresh, got, Extract(got.url, PageFormat.OTHER), got.body, FACTS)
        assert (landing.change is not Change.NONE) is (got.status == 200 and is_other)
        if landing.change:
            self.store(page, now_ms)
        self.known[page] = self.known[page]._replace(visited_seconds=got.at)


def digest_of_content(head: StoredHead | None) -> str:
    assert head is not None
    return head.content.digest


def rounds_of(faults: frozenset[Fault], rng_seed: int) -> HostRounds:
    web = SyntheticWeb(Plan(hosts=8, pages=400, rng_seed=rng_seed, faults=faults))
    hosts = [host for host in hosts_of(web) if host.validators and (host.faults or not faults)]
    rounds = HostRounds(web, max(hosts, key=lambda host: host.size))
    for number in range(1, 7):
        rounds.visit_all(number * ROUND_MS)
    return rounds


@pytest.mark.parametrize("rng_seed", [0, 1])
def test_honest_host_is_believed_to_the_end_and_nothing_is_missed(rng_seed: int) -> None:
    rounds = rounds_of(frozenset(), rng_seed)
    assert rounds.refreshes.trust.is_trusted(rounds.host.origin)
    assert rounds.unsent > 0.3 * len(rounds.missed)
    assert not any(rounds.missed)


@pytest.mark.parametrize("rng_seed", [1, 3])
def test_host_whose_validators_lie_is_found_out_and_its_changes_are_seen(rng_seed: int) -> None:
    rounds = rounds_of(frozenset({Fault.FALSE_VALIDATORS}), rng_seed)
    assert not rounds.refreshes.trust.is_trusted(rounds.host.origin)
    half = len(rounds.missed) // 2
    assert any(rounds.missed[:half])
    assert not any(rounds.missed[half:])
