"""Two hosts with the same hash: the second cannot be known, and this is counted and told; nothing else changes.

With 64 bits nobody will see this, so the hash is made weak here: it is that of the first letter of a host's name.
"""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from repositories import batch_of, new_folder
from tarrafa.hashes import I64, edges_of
from tarrafa.urls import host_hash, host_of
from tarrafa.verify import Cycle, MemoryRepository, Repository, RepositoryBounds, Veuniq, drain
from tarrafa.verify.contract import HostCollision

HASHED_CHARS = len("http://x")
A1, A2, B = "http://a1.test", "http://a2.test", "http://b.test"


@pytest.fixture
def _weak_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    def starts(texts: object) -> I64:
        return edges_of(texts)[:-1] + HASHED_CHARS

    def weak(name: str, seed: int = 0) -> int:
        return host_hash(name[:HASHED_CHARS], seed)

    monkeypatch.setattr("tarrafa.verify.keys.path_starts", starts)
    monkeypatch.setattr("tarrafa.verify.memory_repository.host_hash", weak)


@pytest.fixture(params=["veuniq", "veuniq of small blocks", "twin"])
def repository(request: pytest.FixtureRequest, _weak_hash: None) -> Iterator[Repository]:
    if request.param == "twin":
        yield MemoryRepository(seed=1)
        return
    bounds = RepositoryBounds(rows=6) if request.param.endswith("small blocks") else RepositoryBounds()
    with new_folder() as folder, Veuniq(folder, bounds=bounds, seed=1) as veuniq:
        yield veuniq
        assert list(veuniq.problems()) == []


def offer(repository: Repository, number: int, urls: Sequence[str], visited: Sequence[str] = ()) -> list[Cycle]:
    visits = [(url, 1.0, 200, 0, 0) for url in visited]
    first = repository.cycle(batch_of(number, visits, [(url, 5, 1) for url in urls]))
    return [first, *drain(repository, number + 1)]


def collisions_of(cycles: Sequence[Cycle]) -> list[HostCollision]:
    return [each for cycle in cycles for each in cycle.collisions]


def known(repository: Repository, host: str) -> set[str]:
    return {each.url for each in repository.urls_of(host) if host_of(each.url) == host}


def test_host_whose_hash_another_has_is_told_and_the_other_stays_as_it_is(repository: Repository) -> None:
    own = [f"{A1}/{n}" for n in range(5)]
    assert collisions_of(offer(repository, 0, [*own, f"{B}/"])) == []
    strange = [f"{A2}/{n}" for n in range(3)]
    told = offer(repository, 100, [*strange, strange[0], f"{A1}/5"], visited=[f"{A2}/seen"])
    assert collisions_of(told) == [HostCollision(A2, A1, 4)]
    assert [url for cycle in told for url in cycle.fresh] == [f"{A1}/5"]
    assert sum(cycle.collected_now + cycle.known + cycle.collected_before for cycle in told) == 0
    assert known(repository, A1) == {*own, f"{A1}/5"}
    assert known(repository, B) == {f"{B}/"}
    assert all(repository.lookup(url) is None for url in strange)
    counts = repository.counts()
    assert (counts.known, counts.hosts, counts.collected, counts.waiting) == (7, 2, 0, 0)
    scheduled = {each.host: set(each.urls) for block in repository.blocks() for each in repository.scheduled(block)}
    assert scheduled == {A1: {*own, f"{A1}/5"}, B: {f"{B}/"}}


def test_two_hosts_of_one_cycle_are_told_apart_too(repository: Repository) -> None:
    """Neither was known before, so the first to be admitted has the hash."""
    told = offer(repository, 0, [f"{A1}/1", f"{A2}/1", f"{A1}/2", f"{A2}/2", f"{B}/"])
    (collision,) = collisions_of(told)
    assert {collision.host, collision.other} == {A1, A2}
    assert collision.urls_count == 2
    assert known(repository, collision.other) == {f"{collision.other}/1", f"{collision.other}/2"}
    assert known(repository, collision.host) == set()


def test_name_that_begins_like_the_other_is_another_host(repository: Repository) -> None:
    told = offer(repository, 0, ["http://a.test/1"])
    told += offer(repository, 100, ["http://a.test.example/1", "http://a.test:8080/1", "http://a/1"])
    assert {each.host for each in collisions_of(told)} == {"http://a.test.example", "http://a.test:8080", "http://a"}


def test_cycle_of_nothing_but_a_strange_host_changes_nothing(repository: Repository) -> None:
    offer(repository, 0, [f"{A1}/"])
    before = repository.counts()
    assert collisions_of(offer(repository, 100, [f"{A2}/"])) == [HostCollision(A2, A1, 1)]
    after = repository.counts()
    assert (after.known, after.hosts, after.waiting) == (before.known, before.hosts, 0)


@pytest.mark.usefixtures("_weak_hash")
@pytest.mark.parametrize("seed", range(5))
def test_twin_equals_veuniq_after_every_batch(seed: int, tmp_path: Path) -> None:
    chance, twin = random.Random(seed), MemoryRepository(seed=1)
    hosts = [f"http://{letter}{number}.test" for letter in "ab" for number in range(4)]
    with Veuniq(tmp_path / "repository", seed=1) as veuniq:
        for number in range(12):
            finds = [(f"{chance.choice(hosts)}/{chance.randrange(30)}", 5, 1) for _ in range(20)]
            visits = [(url, 1.0, 200, 0, 0) for url, *_ in chance.sample(finds, 3)]
            mine, other = (each.cycle(batch_of(number, visits, finds)) for each in (veuniq, twin))
            assert sorted(mine.collisions) == sorted(other.collisions)
            assert mine._replace(collisions=()) == other._replace(collisions=())
            assert [*veuniq.scheduled(veuniq.blocks()[0])] == [*twin.scheduled(0)]
