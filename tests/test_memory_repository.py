"""The repository in memory answers as the one on disk does, which is what lets it stand for it."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repositories import new_folder
from sample_batches import batches
from tarrafa.verify import (
    Batch,
    Extracted,
    Known,
    MemoryRepository,
    Quota,
    Repository,
    RepositoryBounds,
    UrlOrder,
    Veuniq,
    Weigh,
    by_priority,
    drain,
)

SEED = 5
ORDERS: dict[str, UrlOrder] = {
    "default": by_priority,
    "last first": lambda urls: -urls.number.astype(np.int64),
    "links": lambda urls: -urls.links.astype(np.float64),
    "weight": lambda urls: urls.weight.max(initial=0) * 0 - urls.weight.astype(np.int64),
    "whole numbers without a sign": lambda urls: urls.depth,
}
PER_HOST = [None, 1, 3]


def hosts_and_urls(given_batches: list[Batch]) -> tuple[set[str], set[str]]:
    urls = {url for batch in given_batches for url in (*batch.collected.urls, *batch.extracted.urls)}
    return {url[: url.index("/", 8)] for url in urls}, urls


def weights_of(number: int) -> Weigh:
    """Return what gives each URL a weight that follows from its text."""
    return lambda urls: np.array([len(url) * number % 11 for url in urls.to_pylist()], np.uint32)


def known_of(repository: Repository, hosts: set[str]) -> dict[str, list[Known]]:
    return {host: list(repository.urls_of(host)) for host in hosts}


def histories_of(repository: Repository) -> object:
    found = repository.histories(0)
    rows = found.histories.row[::-1]
    columns = [column.tolist() for column in found.histories]
    return columns, found.hosts.tolist(), found.host_names, repository.mean_rate(), repository.known_pages(0, rows)


def without_rate(known: Known) -> Known:
    """Leave out the believed rate, which depends on the pages that were known when a visit was counted."""
    return known._replace(history=known.history and known.history._replace(changes_per_day=0.0))


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**9),
    count=st.integers(1, 6),
    size=st.integers(1, 120),
    quota=st.integers(1, 8).flatmap(lambda most: st.builds(Quota, st.just(most), st.integers(1, most))),
    order=st.sampled_from(list(ORDERS)),
)
def test_twin_of_one_block_equals_veuniq_after_every_batch(
    seed: int, count: int, size: int, quota: Quota, order: str
) -> None:
    given_batches = batches(seed, count, size)
    hosts, urls = hosts_and_urls(given_batches)
    twin = MemoryRepository(quota=quota, order=ORDERS[order], seed=SEED)
    bounds = RepositoryBounds(quota=quota)
    with new_folder() as folder, Veuniq(folder, bounds=bounds, order=ORDERS[order], seed=SEED) as veuniq:
        for batch in given_batches:
            assert twin.cycle(batch) == veuniq.cycle(batch)
            if batch.number % 2:
                twin.weigh(0, weights_of(batch.number))
                veuniq.weigh(0, weights_of(batch.number))
            assert twin.counts() == veuniq.counts()._replace(disk_bytes=0)
            for per_host in PER_HOST:
                assert list(twin.scheduled(0, per_host)) == list(veuniq.scheduled(0, per_host))
            if batch.number % 3 == 1:
                twin.rate(0, weights_of(batch.number))
                veuniq.rate(0, weights_of(batch.number))
            assert histories_of(twin) == histories_of(veuniq)
            assert twin.last_batch == veuniq.last_batch
            assert twin.blocks() == veuniq.blocks()
        assert known_of(twin, hosts) == known_of(veuniq, hosts)
        assert {url: twin.lookup(url) for url in urls} == {url: veuniq.lookup(url) for url in urls}


@settings(max_examples=20)
@given(seed=st.integers(0, 10**9), count=st.integers(1, 6), blocks=st.integers(2, 5))
def test_twin_of_several_blocks_knows_the_same_as_veuniq(seed: int, count: int, blocks: int) -> None:
    """Which batches meet in a cycle depends on the blocks, so what is known is compared when no URL is waiting."""
    given_batches = batches(seed, count, 100)
    hosts, _ = hosts_and_urls(given_batches)
    twin = MemoryRepository(blocks=blocks, seed=SEED)
    with new_folder() as folder, Veuniq(folder, seed=SEED) as veuniq:
        for batch in given_batches:
            twin.cycle(batch)
            veuniq.cycle(batch)
        cycles = list(drain(twin, count))
        assert {cycle.block for cycle in cycles} <= set(twin.blocks())
        everything = [known for host in hosts for known in twin.urls_of(host)]
        assert set(map(without_rate, everything)) == set(map(without_rate, veuniq.urls()))
        assert twin.counts()[:3] == veuniq.counts()[:3]
        assert twin.counts().scheduled == sum(
            len(each.urls) for block in twin.blocks() for each in twin.scheduled(block)
        )


def test_urls_of_other_blocks_wait_for_their_cycle() -> None:
    twin = MemoryRepository(blocks=3, seed=SEED)
    cycle = twin.cycle(batches(1, 1)[0])
    assert cycle.set_aside == twin.counts().waiting > 0
    assert twin.blocks_verified() == [cycle.block]
    verified = [cycle.block, *(each.block for each in drain(twin, 1))]
    assert sorted(verified) == twin.blocks()


def test_columns_of_arrow_are_taken_as_lists_are() -> None:
    url = "http://a.example/1"
    ones, depth, kind = np.ones(1, np.uint16), np.array([9], np.uint32), np.array([1], np.uint8)
    twin = MemoryRepository()
    batch = Batch(0, extracted=Extracted(pa.array([url], pa.large_string()), ones, ones, ones, depth, kind))
    assert twin.cycle(batch).fresh == [url]
    assert twin.lookup(url) == Known(url, False, 1, 1, 1, 9, 1)


@pytest.mark.parametrize("known", [[], ["http://a.example/1"]])
def test_url_that_is_no_url_is_not_known(known: list[str]) -> None:
    ones = np.ones(len(known), np.uint16)
    twin = MemoryRepository()
    twin.cycle(Batch(0, extracted=Extracted(known, ones, ones, ones, ones.astype(np.uint32), ones.astype(np.uint8))))
    assert [twin.lookup(url) for url in ("", "http://a", "http://a.example/é")] == [None] * 3
