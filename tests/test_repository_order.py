"""The order of scheduled URLs, their weights and the division of a host's URLs: one suite for every `Repository`."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from repositories import new_folder
from tarrafa.errors import WorkError
from tarrafa.verify import (
    Batch,
    Collected,
    Division,
    Extracted,
    Known,
    MemoryRepository,
    Quota,
    Repository,
    RepositoryBounds,
    UrlColumns,
    UrlOrder,
    Veuniq,
    by_priority,
    drain,
)
from tarrafa.verify.contract import WEIGHT_MAX

HOST, OTHER = "http://a.example", "http://b.example"
Opener = Callable[[Path, Quota, UrlOrder, Division | None], Repository]
OPENERS: dict[str, Opener] = {
    "veuniq": lambda folder, quota, order, division: Veuniq(
        folder, bounds=RepositoryBounds(quota=quota), order=order, division=division, seed=1
    ),
    "veuniq of small blocks": lambda folder, quota, order, division: Veuniq(
        folder, bounds=RepositoryBounds(rows=8, quota=quota), order=order, division=division, seed=1
    ),
    "twin": lambda _, quota, order, division: MemoryRepository(quota=quota, order=order, division=division, seed=1),
    "twin of three blocks": lambda _, quota, order, division: MemoryRepository(
        blocks=3, quota=quota, order=order, division=division, seed=1
    ),
}
engines = pytest.mark.parametrize("name", OPENERS)
FIND = st.tuples(
    st.sampled_from([f"{host}/{number}" for host in (HOST, OTHER) for number in range(9)]),
    st.sampled_from([0, 1, 5, 2**31, 2**32 - 1]),
)
HISTORIES = st.lists(st.lists(FIND, max_size=8), min_size=1, max_size=6)


@contextmanager
def opened(
    name: str, folder: Path, quota: Quota | None = None, order: UrlOrder = by_priority, division: Division | None = None
) -> Iterator[Repository]:
    with closing(OPENERS[name](folder, quota or Quota(), order, division)) as repository:
        yield repository


def batch(number: int, *finds: tuple[str, int], collected: tuple[str, ...] = ()) -> Batch:
    """Return a batch of URLs with their weights. Priority and depth are 1, and a URL has one link for each find."""
    count, done = len(finds), len(collected)
    ones = np.ones(count, np.uint16)
    visits = Collected(
        collected,
        np.full(done, float(number)),
        np.full(done, 200, np.uint16),
        np.zeros(done, np.uint32),
        np.zeros(done, np.uint64),
    )
    weights = np.array([weight for _, weight in finds], np.uint32)
    urls = [url for url, _ in finds]
    return Batch(
        number, visits, Extracted(urls, ones, ones, ones, ones.astype(np.uint32), ones.astype(np.uint8), weights)
    )


def settle(repository: Repository, *batches: Batch) -> int:
    """Run cycles until no URL is waiting; return the next number."""
    for each in batches:
        repository.cycle(each)
    return max((each.number for each in batches), default=0) + 1 + len(list(drain(repository, batches[-1].number + 1)))


def scheduled(repository: Repository, host: str = HOST) -> list[str]:
    every = [each for block in repository.blocks() for each in repository.scheduled(block)]
    return next((each.urls for each in every if each.host == host), [])


def known(repository: Repository, url: str) -> Known:
    found = repository.lookup(url)
    assert found is not None
    return found


def by_weight(urls: UrlColumns) -> NDArray[np.int64]:
    return -urls.weight.astype(np.int64)


# Weights.


@engines
@settings(max_examples=15)
@given(history=HISTORIES)
def test_weights_are_added_up_over_batches_cycles_and_restarts(name: str, history: list[list[tuple[str, int]]]) -> None:
    sums: dict[str, int] = {}
    with new_folder() as folder, opened(name, folder) as repository:
        batches = [batch(number, *finds) for number, finds in enumerate(history)]
        for each in batches:
            repository.cycle(each)
        for _ in drain(repository, len(batches)):
            pass
        for finds in history:
            for url, weight in finds:
                sums[url] = min(sums.get(url, 0) + weight, WEIGHT_MAX)
        assert {url: known(repository, url).weight for url in sums} == sums


@engines
def test_weights_may_be_missing_from_a_batch(name: str, tmp_path: Path) -> None:
    with opened(name, tmp_path) as repository:
        with_weights, without = batch(0, (f"{HOST}/1", 5)), batch(1, (f"{HOST}/1", 0), (f"{HOST}/2", 0))
        settle(repository, with_weights, without._replace(extracted=Extracted(*without.extracted[:-1])))
        assert [known(repository, f"{HOST}/{number}").weight for number in (1, 2)] == [5, 0]


@engines
def test_weights_survive_a_restart_and_the_join_of_texts(name: str, tmp_path: Path) -> None:
    with opened(name, tmp_path) as repository:
        number = settle(repository, batch(0, *[(f"{HOST}/{each}", each) for each in range(20)]))
        if isinstance(repository, MemoryRepository):
            return
    with opened(name, tmp_path) as repository:
        for each in range(40):
            repository.cycle(batch(number + each, (f"{HOST}/new{each}", 3)))
        assert [known(repository, f"{HOST}/{each}").weight for each in range(20)] == list(range(20))
        assert isinstance(repository, Veuniq)
        assert list(repository.problems()) == []


@engines
def test_weigh_replaces_the_weights_of_urls_that_are_not_collected(name: str, tmp_path: Path) -> None:
    with opened(name, tmp_path, order=by_weight) as repository:
        finds = [(f"{host}/{each}", 9) for host in (HOST, OTHER) for each in range(4)]
        number = settle(repository, batch(0, *finds))
        settle(repository, batch(number, collected=(f"{HOST}/0",)))
        for block in repository.blocks():
            repository.weigh(block, lambda urls: np.array([int(url[-1]) for url in urls.to_pylist()], np.uint32))
        assert known(repository, f"{HOST}/0").weight == 9
        assert [known(repository, f"{OTHER}/{each}").weight for each in range(4)] == [0, 1, 2, 3]
        assert scheduled(repository) == [f"{HOST}/{each}" for each in (3, 2, 1)]
        assert scheduled(repository, OTHER) == [f"{OTHER}/{each}" for each in (3, 2, 1, 0)]


@engines
def test_block_without_urls_can_be_weighed(name: str, tmp_path: Path) -> None:
    with opened(name, tmp_path) as repository:
        for block in repository.blocks():
            repository.weigh(block, lambda urls: np.zeros(len(urls), np.uint32))


@pytest.mark.parametrize("steps", range(12))
def test_kill_while_weighing_leaves_the_old_weights_or_the_new_ones(tmp_path: Path, steps: int) -> None:
    urls = [f"{HOST}/{each}" for each in range(3)]
    with Veuniq(tmp_path, seed=1) as repository:
        repository.cycle(batch(0, *[(url, 1) for url in urls]))
    taken: list[str] = []

    def die(step: str) -> None:
        taken.append(step)
        if len(taken) > steps:
            raise KeyboardInterrupt

    with Veuniq(tmp_path, seed=1, step=die) as repository, suppress(KeyboardInterrupt):
        repository.weigh(0, lambda urls: np.full(len(urls), 7, np.uint32))
    with Veuniq(tmp_path, seed=1) as repository:
        assert {known(repository, url).weight for url in urls} in ({1}, {7})
        assert list(repository.problems()) == []
        repository.cycle(batch(1, (urls[0], 1)))
        assert known(repository, urls[0]).weight in (2, 8)


# The order.


@engines
def test_urls_are_scheduled_and_refilled_in_the_order_of_the_repository(name: str, tmp_path: Path) -> None:
    finds = [(f"{HOST}/{each}", 10 * each) for each in range(8)]
    with opened(name, tmp_path, Quota(3, 1), by_weight) as repository:
        number = settle(repository, batch(0, *finds))
        # A new host begins with its shortest URLs: of equal length, those admitted first.
        first = scheduled(repository)
        assert len(first) == 3
        assert first == sorted(first, key=lambda url: -int(url[-1]))
        settle(repository, batch(number, collected=tuple(first)))
        left = [url for url, _ in reversed(finds) if url not in first]
        assert scheduled(repository) == left[:3]


@engines
def test_weight_gained_later_moves_a_url_forward(name: str, tmp_path: Path) -> None:
    with opened(name, tmp_path, order=by_weight) as repository:
        number = settle(repository, batch(0, (f"{HOST}/1", 3), (f"{HOST}/2", 2), (f"{HOST}/3", 1)))
        assert scheduled(repository) == [f"{HOST}/1", f"{HOST}/2", f"{HOST}/3"]
        settle(repository, batch(number, (f"{HOST}/3", 5)))
        assert scheduled(repository) == [f"{HOST}/3", f"{HOST}/1", f"{HOST}/2"]


@engines
def test_first_priority_comes_first_whatever_the_order_and_does_not_count_as_the_key_of_the_host(
    name: str, tmp_path: Path
) -> None:
    """Sitemaps have it."""
    with opened(name, tmp_path, order=by_weight) as repository:
        usual, sitemap = batch(0, (f"{HOST}/1", 9), (f"{HOST}/2", 3)), batch(1, (f"{HOST}/map", 0))
        zeros = np.zeros(1, np.uint16)
        settle(repository, usual, sitemap._replace(extracted=sitemap.extracted._replace(priority=zeros)))
        (found,) = [each for block in repository.blocks() for each in repository.scheduled(block)]
        assert found.urls == [f"{HOST}/map", f"{HOST}/1", f"{HOST}/2"]
        assert found.key == -9.0
        assert list(found.weights) == [0, 9, 3]


@engines
def test_hosts_without_weights_give_none(name: str, tmp_path: Path) -> None:
    with opened(name, tmp_path) as repository:
        settle(repository, batch(0, (f"{HOST}/1", 0), (f"{OTHER}/1", 4)))
        found = {each.host: list(each.weights) for block in repository.blocks() for each in repository.scheduled(block)}
        assert found == {HOST: [], OTHER: [4]}


@engines
def test_order_sees_what_is_known_of_each_url(name: str, tmp_path: Path) -> None:
    seen: dict[int, tuple[int, ...]] = {}

    def noted(urls: UrlColumns) -> NDArray[np.int64]:
        for number, *rest in zip(urls.number.tolist(), *(column.tolist() for column in urls[:-1]), strict=True):
            seen[number] = tuple(rest)
        return np.zeros(len(urls.number), np.int64)

    with opened(name, tmp_path, order=noted) as repository:
        settle(repository, batch(0, (f"{HOST}/1", 2), (f"{HOST}/1", 3)), batch(1, (f"{HOST}/1", 4)))
        assert scheduled(repository) == [f"{HOST}/1"]
    assert seen == {0: (1, 1, 3, 3, 9)}


BAD_ORDERS: dict[str, Callable[[UrlColumns], object]] = {
    "too few": lambda urls: urls.depth[1:],
    "no numbers": lambda urls: np.array(["a"] * len(urls.depth)),
    "not a number": lambda urls: np.full(len(urls.depth), np.nan),
    "nothing": lambda urls: None,
}


@pytest.mark.parametrize("bad", BAD_ORDERS)
@engines
def test_order_that_returns_something_else_than_a_number_for_each_url_is_told(
    name: str, tmp_path: Path, bad: str
) -> None:
    with opened(name, tmp_path, order=BAD_ORDERS[bad]) as repository:  # type: ignore[arg-type]

        def use() -> None:
            settle(repository, batch(0, (f"{HOST}/1", 0), (f"{HOST}/2", 0)))
            scheduled(repository)

        with pytest.raises(WorkError, match="one number for each URL"):
            use()


# The division.


class LongestFirst:
    """A division of a test: the longest URLs of a new host, then the last found."""

    def first(self, urls: UrlColumns, url_bytes: NDArray[np.integer]) -> NDArray[np.int64]:
        return -url_bytes.astype(np.int64)

    def next(self, urls: UrlColumns) -> NDArray[np.int64]:
        return -urls.number.astype(np.int64)


@engines
def test_division_is_a_policy_of_its_own(name: str, tmp_path: Path) -> None:
    urls = [f"{HOST}/{'x' * each}" for each in range(1, 6)]
    with opened(name, tmp_path, Quota(2, 1), division=LongestFirst()) as repository:
        number = settle(repository, batch(0, *[(url, 0) for url in urls]))
        assert set(scheduled(repository)) == set(urls[-2:])
        late = f"{HOST}/y"
        number = settle(repository, batch(number, (late, 0)))
        settle(repository, batch(number, collected=tuple(urls[-2:])))
        assert late in scheduled(repository)
        assert len(scheduled(repository)) == 2
