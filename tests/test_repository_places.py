"""Where a URL stands among those of its host, and which hosts have most left: as counting all URLs says."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from repositories import host_of
from sample_batches import batches
from tarrafa.verify import (
    HostUrls,
    Known,
    Quota,
    RepositoryBounds,
    UrlState,
    Veuniq,
    drain,
    host_urls,
    hosts_left,
    is_waiting,
    locate,
)

SEED, COUNT = 7, 12


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, list[Known], dict[str, list[str]]]]:
    """A repository of several blocks whose hosts have scheduled and remaining URLs: folder, URLs, scheduled by host."""
    folder = tmp_path_factory.mktemp("places") / "repository"
    bounds = RepositoryBounds(rows=200, quota=Quota(4, 2))
    with Veuniq(folder, bounds=bounds, seed=SEED) as repository:
        for batch in batches(seed=3, count=COUNT, size=80):
            repository.cycle(batch)
        list(drain(repository, COUNT))
        scheduled = {each.host: each.urls for block in repository.blocks() for each in repository.scheduled(block)}
        yield folder, list(repository.urls()), scheduled


Filled = tuple[Path, list[Known], dict[str, list[str]]]


def test_a_scheduled_url_has_as_many_before_it_as_are_scheduled_before_it(filled: Filled) -> None:
    folder, _, scheduled = filled
    for urls in scheduled.values():
        for number, url in enumerate(urls):
            place = locate(folder, url)
            assert place is not None
            assert (place.state, place.ahead_count) == (UrlState.SCHEDULED, number)


def test_remaining_urls_come_behind_scheduled_ones_by_priority_then_depth(filled: Filled) -> None:
    folder, known, scheduled = filled
    by_host: dict[str, list[Known]] = defaultdict(list)
    for each in known:
        if not each.collected and each.url not in scheduled.get(host_of(each.url), []):
            by_host[host_of(each.url)].append(each)
    assert by_host
    for host, remaining in by_host.items():
        ordered = sorted(remaining, key=lambda each: (each.priority, each.depth))
        places = [locate(folder, each.url) for each in ordered]
        first = len(scheduled.get(host, []))
        found = [(place.state, place.ahead_count, place.left_count) for place in places if place is not None]
        expected = range(first, first + len(ordered))
        assert found == [(UrlState.REMAINING, number, first + len(ordered)) for number in expected]


def test_collected_and_unknown_urls(filled: Filled) -> None:
    folder, known, _ = filled
    collected = next(each for each in known if each.collected)
    place = locate(folder, collected.url)
    assert place is not None
    assert (place.known, place.state, place.ahead_count) == (collected, UrlState.COLLECTED, 0)
    assert locate(folder, "http://no.example/") is None


def test_counts_of_a_host_and_the_hosts_with_most_left(filled: Filled) -> None:
    folder, known, scheduled = filled
    left = Counter(host_of(each.url) for each in known if not each.collected)
    sizes = Counter(host_of(each.url) for each in known)
    for host, size in sizes.items():
        found = host_urls(folder, host, 3)
        assert (found.left_count, found.collected) == (left[host], size - left[host])
        assert found.scheduled == len(scheduled.get(host, []))
        assert list(found.next_urls) == scheduled.get(host, [])[:3]
    counts = [count for _, count in left.most_common(5)]
    assert [count for _, count in hosts_left(folder, 5)] == counts
    assert dict(hosts_left(folder, len(sizes))) == left
    assert host_urls(folder, "http://no.example", 3) == HostUrls()


def test_a_url_waits_from_its_batch_to_the_cycle_of_its_block(tmp_path: Path) -> None:
    with Veuniq(tmp_path / "r", bounds=RepositoryBounds(rows=50), seed=SEED) as repository:
        for batch in batches(seed=5, count=6, size=80):
            repository.cycle(batch)
        offered = batches(seed=5, count=6, size=80)[-1].extracted.urls
        before = {url for url in offered if is_waiting(tmp_path / "r", url)}
        assert before
        assert all(locate(tmp_path / "r", url) is None or is_waiting(tmp_path / "r", url) for url in before)
        list(drain(repository, 6))
        assert not any(is_waiting(tmp_path / "r", url) for url in offered)
        assert all(locate(tmp_path / "r", url) for url in offered)


def test_a_missing_repository_knows_nothing(tmp_path: Path) -> None:
    assert locate(tmp_path, "http://a.example/") is None
    assert hosts_left(tmp_path, 3) == []
    assert not is_waiting(tmp_path, "http://a.example/")
