"""Ranks of generated crawls against the plain twin, with small buckets, and the parts that keep links on disk."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from archive_pages import quick_folder
from plain_ranks import PlainLink, PlainVisit, components, plain_ranks
from ranked import Crawl, anchors, of
from tarrafa.rank import RankSettings, Scratch, bucket_file
from tarrafa.rank.bucket_file import BucketFile, buckets_of_numbers, even_edges
from tarrafa.rank.graph import UrlPairs
from tarrafa.rank.nodes import choose_representatives, merge_pairs, number_by_host
from tarrafa.rank.numbering import Numbering
from tarrafa.versions import MERE_VISITS

# The stored ranks have seven digits.
RELATIVE_TOLERANCE = 1e-5

URLS = [f"http://{host}.test/{page}" for host in "abc" for page in range(4)]
PAGES = st.sampled_from(URLS)
LINKS = st.tuples(
    PAGES,
    st.sampled_from(["", "menu", "more", "x"]),
    st.sampled_from(["", "", "", "nofollow"]),
    st.sampled_from(["a", "a", "a", "image"]),
)
FETCHED = st.builds(
    PlainVisit,
    url=PAGES,
    links=st.lists(LINKS, max_size=6).map(tuple),
    signature=st.sampled_from([0, 0, 0, 7, 8]),
    canonical=st.just("") | PAGES,
    directives=st.sampled_from([(), (), (), ("nofollow",)]),
)
ENDED = st.builds(
    PlainVisit, url=PAGES, outcome=st.sampled_from(["gone", "refused", "dropped"]), signature=st.sampled_from([0, 7])
)
# An error page and an unchanged one may have links, too.
MERE = st.builds(
    PlainVisit,
    url=PAGES,
    links=st.lists(LINKS, max_size=2).map(tuple),
    outcome=st.sampled_from(MERE_VISITS),
    signature=st.sampled_from([0, 7]),
)
REDIRECTS = st.builds(
    lambda url, target: PlainVisit(url, ((target, "", "", "redirect"),), "redirected"), url=PAGES, target=PAGES
)
VISITS = st.lists(FETCHED | FETCHED | FETCHED | REDIRECTS | ENDED | MERE, max_size=20)
SETTINGS = RankSettings(tolerance=1e-12, iterations_max=1000, template_few=2, anchors_max=2, anchor_targets_max=2)

MENU = (("http://b.test/0", "menu", "", "a"), ("http://b.test/1", "menu", "", "a"))


def menu(host: str) -> list[PlainVisit]:
    return [PlainVisit(f"http://{host}.test/{page}", MENU) for page in range(4)]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(VISITS, st.sampled_from([1, 3, 1_000_000]))
@example([*menu("a"), *menu("c")], 1)
def test_ranks_are_those_of_the_plain_twin(
    monkeypatch: pytest.MonkeyPatch, visits: list[PlainVisit], bucket_rows: int
) -> None:
    monkeypatch.setattr(bucket_file, "BUCKET_ROWS", bucket_rows)
    expected = plain_ranks(visits, SETTINGS)
    with quick_folder() as root:
        crawl = Crawl(root)
        for visit in visits:
            facts = {"signature": visit.signature, "canonical": visit.canonical, "directives": visit.directives}
            crawl.visit(visit.url, *map(stored, visit.links), outcome=visit.outcome, **facts)
        ranks = crawl.ranks(SETTINGS)
        urls = sorted(expected.rank)
        found = of(ranks, *urls)
        for name, column in found._asdict().items():
            values = [getattr(expected, name)[url] for url in urls]
            assert np.allclose(column, values, rtol=RELATIVE_TOLERANCE), name
        assert {url: anchors(ranks, url) for url in urls} == expected.anchors
        assert ranks.counts.urls == len(urls)
        looked_up = ranks.lookup_many([*urls, "http://nowhere.test/"])
        assert looked_up.tolist() == [*found.rank.tolist(), 0]


def stored(link: PlainLink) -> tuple[str, str, str, str, int]:
    return *link, 0


@pytest.fixture
def scratch() -> Iterator[Scratch]:
    with quick_folder() as folder, Scratch(folder) as made:
        yield made


BATCHES = st.lists(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 99))))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(BATCHES)
def test_a_bucket_has_its_rows_in_the_order_of_adding(scratch: Scratch, batches: list[list[tuple[int, int]]]) -> None:
    file = BucketFile(scratch, 4, np.uint32, np.uint64, np.uint16)
    for batch in batches:
        buckets, values = np.array(batch, np.int64).reshape(-1, 2).T
        file.add(buckets, values, 2 * values)
    rows = [row for batch in batches for row in batch]
    for bucket in range(4):
        expected = [value for own, value in rows if own == bucket]
        assert file.read(bucket, 0).tolist() == expected
        assert file.read(bucket, 1).tolist() == [2 * value for value in expected]
        file.write(bucket, 2, np.array(expected) + 1)
    for number, batch in enumerate(batches):
        assert file.batch(number, 2).tolist() == [value + 1 for _, value in sorted(batch, key=lambda row: row[0])]
    file.close()


HASHES = st.lists(st.lists(st.integers(0, 2**64 - 1) | st.sampled_from([0, 1, 2**63, 2**64 - 1]), unique=True))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(HASHES)
def test_hashes_are_numbered_in_order_over_all_parts(
    scratch: Scratch, monkeypatch: pytest.MonkeyPatch, parts: list[list[int]]
) -> None:
    monkeypatch.setattr(bucket_file, "BUCKET_ROWS", 2)
    numbering = Numbering(scratch, sum(map(len, parts)), np.uint64)
    for part in parts:
        numbering.add(np.array(part, np.uint64), np.array(part, np.uint64) // np.uint64(2))
    found = [pair for columns in numbering.distinct() for pair in zip(*(c.tolist() for c in columns), strict=True)]
    distinct = sorted({number for part in parts for number in part})
    assert found == [(number, number // 2) for number in distinct]
    for number, part in enumerate(parts):
        assert [distinct[place] for place in numbering.numbers(number).tolist()] == part


@given(st.lists(st.integers(0, 9), max_size=30))
def test_ranges_have_similar_numbers_of_rows(counts: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bucket_file, "BUCKET_ROWS", 5)
        edges = even_edges(np.array(counts, np.int64)).tolist()
    assert edges == sorted({0, *edges, len(counts)})
    for first, end in pairwise(edges):
        assert end - first == 1 or sum(counts[first:end]) <= 5 + max(counts[first:end])


def test_close_numbers_are_spread_over_all_buckets() -> None:
    found = buckets_of_numbers(np.arange(10_000, dtype=np.uint64), 10)
    assert (np.bincount(found, minlength=10) > 800).all()


COUNT = 12
PAIRS = st.lists(st.tuples(st.integers(0, COUNT - 1), st.integers(0, COUNT - 1)))
WORTH = st.lists(st.integers(0, 3), min_size=COUNT, max_size=COUNT)
HOSTS = st.lists(st.integers(0, 2), min_size=COUNT, max_size=COUNT)


@given(PAIRS, WORTH, HOSTS)
def test_merged_urls_have_the_worthiest_as_representative_and_nodes_are_numbered_by_host(
    pairs: list[tuple[int, int]], worth: list[int], hosts: list[int]
) -> None:
    leaders = merge_pairs(UrlPairs(*np.array(pairs, np.uint32).reshape(-1, 2).T), COUNT)
    merged = components(map(str, range(COUNT)), [(str(left), str(right)) for left, right in pairs])
    expected = {url: min(map(int, component)) for component in merged for url in map(int, component)}
    assert leaders.tolist() == [expected[url] for url in range(COUNT)]
    chosen = choose_representatives(leaders, np.array(worth, np.uint32))
    best = {int(url): min(map(int, each), key=lambda own: (-worth[own], own)) for each in merged for url in each}
    assert chosen.tolist() == [best[url] for url in range(COUNT)]
    found = number_by_host(chosen, np.array(hosts, np.uint32), 3)
    assert found.representatives.tolist() == sorted(set(best.values()), key=lambda url: (hosts[url], url))
    assert found.representatives[found.nodes].tolist() == [best[url] for url in range(COUNT)]


def test_a_long_chain_of_redirects_is_one_component() -> None:
    count = 5000
    order = np.random.default_rng(3).permutation(count).astype(np.uint32)
    assert not merge_pairs(UrlPairs(order[:-1], order[1:]), count).any()


def test_ranks_are_looked_up_by_arrow_columns_too(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)
    crawl.visit(URLS[0], (URLS[5], "", "", "a", 0))
    ranks = crawl.ranks()
    column = pa.array([URLS[5], URLS[1], URLS[0], URLS[5]])
    assert ranks.lookup_many(column).tolist() == of(ranks, URLS[5], URLS[1], URLS[0], URLS[5]).rank.tolist()
    assert ranks.lookup_many([]).tolist() == []
