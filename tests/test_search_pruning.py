"""Pruning: the same best results for less work, and what is cached between queries."""

from math import inf, prod
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexes import index_folder, row, searched, urls, write
from tarrafa.search import Search, SearchRequest, index_reader, pruning, terms
from tarrafa.search.index_reader import IndexReader
from tarrafa.search.pruning import (
    SINGLES_MAX,
    SLICES_COUNT,
    SampleSize,
    TermGroup,
    deferred_words,
    estimated_count,
    make_sample,
    rarity,
)
from tarrafa.search.words import WordAnalyzer

TOTAL = 1_000_000
COUNTS = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, TOTAL), max_size=8)


@given(COUNTS)
def test_essential_words_find_enough_or_none_is_deferred(counts: dict[str, int]) -> None:
    deferred = deferred_words(counts, TOTAL)
    assert deferred <= counts.keys()
    if deferred:
        assert max(count for word, count in counts.items() if word not in deferred) >= 2_000


@given(COUNTS)
def test_deferred_word_is_much_less_rare_than_an_essential_one(counts: dict[str, int]) -> None:
    deferred = deferred_words(counts, TOTAL)
    for word in deferred:
        assert any(rarity(counts[word], TOTAL) < rarity(counts[other], TOTAL) / 4 for other in counts.keys() - deferred)


def test_equally_common_words_are_all_essential() -> None:
    assert deferred_words({"a": 600_000, "b": 550_000}, TOTAL) == frozenset()
    assert deferred_words({"a": 990_000, "b": 50_000}, TOTAL) == {"a"}
    assert deferred_words({"a": 990_000, "b": 500, "c": 300_000}, TOTAL) == {"a"}


@given(st.integers(0, TOTAL), st.lists(st.integers(0, TOTAL), max_size=5))
def test_estimate_is_between_the_largest_part_and_all(found: int, counts: list[int]) -> None:
    assert max([found, *counts]) <= estimated_count(found, counts, TOTAL) <= TOTAL


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prune an index of a few documents as if it were large."""
    monkeypatch.setattr(pruning, "ENOUGH_DOCUMENTS", 8)
    monkeypatch.setattr(pruning, "DEFERRED_DOCUMENTS", 20)
    monkeypatch.setattr(index_reader, "CANDIDATES_LIMIT", 8)


@pytest.mark.usefixtures("eager")
def test_deferred_word_decides_between_the_best(tmp_path: Path) -> None:
    common = [row(f"common{number}", "sea and boat", signature=number + 1) for number in range(40)]
    rare = [row(f"rare{number}", "net and boat", signature=number + 100) for number in range(7)]
    search = searched(tmp_path, *common, *rare, row("both", "net and sea", signature=999))
    found = search.search(SearchRequest("net sea", per_site=0))
    assert found.hits[0].url.endswith("/both")
    assert all("/common" not in hit.url for hit in found.hits)
    assert found.is_estimated
    assert 41 <= found.count <= 48


@pytest.mark.usefixtures("eager")
def test_deferred_word_finds_candidates_if_essential_words_find_too_few(tmp_path: Path) -> None:
    """Most documents with the rare word are excluded here, which its count does not tell."""
    common = [row(f"common{number}", "sea", signature=number + 1) for number in range(40)]
    rare = [row(f"rare{number}", "net boat", signature=number + 100) for number in range(7)]
    search = searched(tmp_path, *common, *rare, row("both", "net sea", signature=999))
    found = search.search(SearchRequest("net sea -boat", per_site=0))
    assert (found.count, len(found.hits), found.is_estimated) == (41, 8, False)


def test_rare_form_of_a_common_word_is_still_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nearly all documents have the word in one form, so one term searches for both."""
    monkeypatch.setattr(terms, "COMMON_DOCUMENTS", 100)
    usual = [row(f"usual{number}", "net", signature=number + 1) for number in range(100)]
    search = searched(tmp_path, *usual, row("other", "nets", signature=999))
    assert [search.search(SearchRequest(text)).count for text in ("net", "nets", "+net", "net -nets")] == [
        101,
        101,
        101,
        100,
    ]


def test_pages_of_a_query_follow_each_other_and_repeat(tmp_path: Path) -> None:
    search = searched(tmp_path, *(row(f"p{number:02}", "net", signature=number + 1) for number in range(30)))
    whole = urls(search, "net", top=30)
    parts = [urls(search, "net", top=10, page=page) for page in (1, 2, 3, 1)]
    assert parts == [whole[:10], whole[10:20], whole[20:], whole[:10]]


def test_later_commits_are_found_after_refresh(tmp_path: Path) -> None:
    search = searched(tmp_path, row("a", "net"))
    assert urls(search, "net") == ["a"]
    write(tmp_path, row("b", "net"))
    assert urls(search, "net") == ["a"]
    search.refresh()
    assert sorted(urls(search, "net", per_site=0)) == ["a", "b"]


def test_snapshot_stays_until_the_index_changes(tmp_path: Path) -> None:
    write(tmp_path, row("a", "net"))
    reader = IndexReader(index_folder(tmp_path), WordAnalyzer(), 0)
    first = reader.snapshot()
    assert reader.snapshot() is first
    write(tmp_path, row("b", "net"))
    assert reader.snapshot() is not first


def test_opening_an_index_sees_all_of_it(tmp_path: Path) -> None:
    write(tmp_path, row("a", "net"), row("b", "net"))
    assert Search.open(tmp_path).documents_count == 2


# Samples.

SIZE = SampleSize(200_000, 20_000, 30_000, 2_000)
GROUPS = st.builds(
    TermGroup, st.integers(1, TOTAL), st.just((("titles", "net"),)), st.floats(0.0, 1.0, exclude_max=True)
)
GROUP_LISTS = st.lists(GROUPS, max_size=5)


@given(st.integers(0, SIZE.expected_min - 1), GROUP_LISTS)
def test_few_documents_are_all_scanned(expected: int, groups: list[TermGroup]) -> None:
    assert make_sample(expected, TOTAL, groups, SIZE) is None


@given(st.integers(SIZE.expected_min, TOTAL), GROUP_LISTS)
def test_sample_is_bounded(expected: int, groups: list[TermGroup]) -> None:
    sample = make_sample(expected, TOTAL, groups, SIZE)
    assert sample is not None
    assert sample.slices / SLICES_COUNT * expected <= SIZE.sliced + 1
    assert sum(each.documents_count for each in sample.singles) <= SINGLES_MAX
    counts = [TOTAL * prod(each.documents_count / TOTAL for each in found) for found in sample.intersections]
    assert sample.intersection_slices / SLICES_COUNT * sum(counts) <= SIZE.intersected + 1


@given(st.integers(SIZE.expected_min, TOTAL), GROUP_LISTS)
def test_sample_is_large_enough(expected: int, groups: list[TermGroup]) -> None:
    sample = make_sample(expected, TOTAL, groups, SIZE)
    assert sample is not None
    assert sample.slices / SLICES_COUNT - 1e-9 <= sample.seen_share <= 1.0
    assert sample.seen_share * expected >= SIZE.enough - 1


@given(st.integers(SIZE.expected_min, TOTAL), GROUP_LISTS)
def test_rarest_groups_are_scanned_and_others_intersected(expected: int, groups: list[TermGroup]) -> None:
    sample = make_sample(expected, TOTAL, groups, SIZE)
    assert sample is not None
    assert list(sample.singles) == sorted(set(groups))[: len(sample.singles)]
    assert not {*sample.singles} & {each for found in sample.intersections for each in found}
    assert len({len(found) for found in sample.intersections}) <= 1


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All documents have all words; few are named by them, and two have a phrase that others do not have."""
    folder = tmp_path_factory.mktemp("sea")
    usual = [row(f"usual{number}", "a boat at sea with a net", signature=number + 1) for number in range(400)]
    named = [row(f"named{number}", "boat, sea, net", "The sea", signature=number + 1_001) for number in range(8)]
    odd = [row(f"odd{number}", "a net sea boat", signature=number + 2_001) for number in range(2)]
    with pytest.MonkeyPatch.context() as patching:
        patching.setattr(pruning, "STRETCH_ROWS", 1)
        searched(folder, *usual, *named, *odd)
    return folder


@pytest.fixture
def sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take samples of an index of a few documents as if it were large."""
    for name, enough in (("WORDS_SIZE", 50), ("NEAR_SIZE", inf), ("PHRASE_SIZE", inf)):
        monkeypatch.setattr(pruning, name, SampleSize(320, 80, 10, enough))
    monkeypatch.setattr(pruning, "SINGLES_MAX", 10)
    monkeypatch.setattr(index_reader, "CANDIDATES_LIMIT", 20)


def asked(folder: Path, text: str) -> tuple[list[str], int, bool]:
    found = Search.open(folder).search(SearchRequest(text, per_site=0))
    return [hit.url.rpartition("/")[2] for hit in found.hits], found.count, found.is_estimated


@pytest.mark.usefixtures("sampled")
@pytest.mark.parametrize("text", ["+boat +sea", "+boat sea net", "+sea -gull", '"boat at sea"', '"boat sea"~2'])
def test_sample_has_the_best_results_and_is_always_the_same(folder: Path, text: str) -> None:
    found = asked(folder, text)
    assert asked(folder, text) == found
    if text != '"boat at sea"':
        assert sorted(found[0][:8]) == [f"named{number}" for number in range(8)]


@pytest.mark.usefixtures("sampled")
@pytest.mark.parametrize(("text", "count"), [('"boat at sea"', 400), ('"boat sea"~2', 408)])
def test_documents_with_phrase_are_estimated(folder: Path, text: str, count: int) -> None:
    _, counted, is_estimated = asked(folder, text)
    assert is_estimated
    assert count * 0.7 < counted < count * 1.3


@pytest.mark.usefixtures("sampled")
@pytest.mark.parametrize("text", ["+boat +sea", "+boat sea net", "+sea -gull", "+boat"])
def test_very_many_documents_with_words_are_estimated(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_reader, "COUNTED_DOCUMENTS", 320)
    _, counted, is_estimated = asked(folder, text)
    assert is_estimated
    assert 410 * 0.8 < counted < 410 * 1.2


@pytest.mark.usefixtures("sampled")
@pytest.mark.parametrize("text", ["+boat +sea", "+boat sea net", "+sea -gull", "+boat"])
def test_documents_with_words_are_counted(folder: Path, text: str) -> None:
    assert asked(folder, text)[1:] == (410, False)


@pytest.mark.usefixtures("sampled")
@pytest.mark.parametrize(
    ("text", "count"),
    [
        ('"sea boat"', 2),
        ('"net sea boat"', 2),
        ('"sea net"', 8),
        ("+boat +sea after:2030", 0),
        ("+boat +sea site:other.org", 0),
    ],
)
def test_all_documents_are_scanned_if_the_sample_has_too_few_results(folder: Path, text: str, count: int) -> None:
    """All documents have the words, and still few match."""
    found, counted, is_estimated = asked(folder, text)
    assert (len(found), counted, is_estimated) == (count, count, False)


@pytest.mark.usefixtures("sampled")
def test_request_for_more_than_the_sample_has_is_answered(folder: Path) -> None:
    """Few of the documents with the words have the phrase."""
    search = Search.open(folder)
    first = search.search(SearchRequest('"net sea"', top=1, per_site=0))
    pages = [search.search(SearchRequest('"net sea"', top=1, page=page, per_site=0)) for page in (1, 2, 3)]
    assert [len(page.hits) for page in pages] == [1, 1, 0]
    assert pages[0].hits == first.hits


def test_small_index_is_scanned_wholly(folder: Path) -> None:
    assert asked(folder, "+boat +sea")[1:] == (410, False)
