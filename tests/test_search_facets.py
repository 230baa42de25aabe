"""Counts of results by site, language, media type and year."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexes import row, searched, write
from tarrafa.search import FacetCount, Search, SearchRequest
from tarrafa.search.facets import NAMES, VALUES_LIMIT, merge, slices_for
from tarrafa.search.pruning import SLICES_COUNT

YEAR = 31_557_600
IN_2020 = 50 * YEAR + 1_000_000


@pytest.fixture(scope="module")
def nets(tmp_path_factory: pytest.TempPathFactory) -> Search:
    return searched(
        tmp_path_factory.mktemp("facets"),
        row("one", "A net of rope.", published_at=IN_2020),
        row("two", "A net of wire.", published_at=IN_2020),
        row("http://other.org/a", "Uma rede, a net.", language="pt", published_at=IN_2020 + 2 * YEAR),
        row("http://other.org/b", "A boat.", media_type="text/plain"),
    )


def counts(search: Search, text: str) -> dict[str, dict[str, int]]:
    found = search.search(SearchRequest(text, facets=True)).facets
    assert found is not None
    return {name: {each.value: each.documents_count for each in values} for name, values in found.items()}


def test_results_are_counted_by_each_facet(nets: Search) -> None:
    assert counts(nets, "net") == {
        "site": {"example.org": 2, "other.org": 1},
        "language": {"en": 2, "pt": 1},
        "type": {"text/html": 3},
        "year": {"2022": 1, "2020": 2},
    }


def test_filters_and_required_words_narrow_the_counts(nets: Search) -> None:
    assert counts(nets, "+net +rope")["site"] == {"example.org": 1}
    assert counts(nets, "net lang:pt")["site"] == {"other.org": 1}
    assert counts(nets, "nothing")["site"] == {}


def test_counts_are_made_only_on_request(nets: Search) -> None:
    assert nets.search(SearchRequest("net")).facets is None


def test_counts_of_several_indexes_are_added(tmp_path: Path) -> None:
    write(tmp_path, row("a", "a net"), agent="00")
    write(tmp_path, row("b", "a net"), agent="01")
    assert counts(Search.open(tmp_path), "net")["site"] == {"example.org": 2}


def test_many_matches_are_counted_in_some_slices() -> None:
    assert slices_for(0) == slices_for(50_000) == SLICES_COUNT
    assert slices_for(100_000) == SLICES_COUNT // 2
    assert slices_for(10**9) == 1


@given(st.lists(st.dictionaries(st.text("abc", min_size=1, max_size=3), st.integers(1, 9)), max_size=4))
def test_merged_counts_are_sums_and_the_largest_come_first(parts: list[dict[str, int]]) -> None:
    empty: dict[str, Counter[str]] = {name: Counter() for name in NAMES}
    merged = merge([{**empty, "site": Counter(part)} for part in parts])["site"]
    total = sum(map(Counter, parts), Counter())
    assert len(merged) == min(len(total), VALUES_LIMIT)
    assert all(total[each.value] == each.documents_count for each in merged)
    assert list(merged) == sorted(merged, key=lambda each: (-each.documents_count, each.value))
    assert all(isinstance(each, FacetCount) for each in merged)
