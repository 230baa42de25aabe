"""Words that lead and words that follow, and what is remembered: the same results for less work."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexes import index_folder, row, searched, urls, write
from tarrafa.search import Search, SearchRequest
from tarrafa.search import leading as leading_module
from tarrafa.search import shard as shard_module
from tarrafa.search import terms as terms_module
from tarrafa.search.leading import estimated_count, following, rarity
from tarrafa.search.remembering import Remembered
from tarrafa.search.shard import Opened
from tarrafa.search.words import Language

TOTAL = 1_000_000
COUNTS = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, TOTAL), max_size=8)


@given(COUNTS)
def test_words_that_lead_find_enough_or_nothing_follows(counts: dict[str, int]) -> None:
    led = following(counts, TOTAL)
    assert led <= counts.keys()
    if led:
        assert max(count for word, count in counts.items() if word not in led) >= 2_000


@given(COUNTS)
def test_word_that_follows_is_commoner_and_tells_less_than_one_that_leads(counts: dict[str, int]) -> None:
    led = following(counts, TOTAL)
    for word in led:
        assert any(rarity(counts[word], TOTAL) < rarity(counts[other], TOTAL) / 4 for other in counts.keys() - led)


def test_equally_common_words_all_lead() -> None:
    assert following({"a": 600_000, "b": 550_000}, TOTAL) == frozenset()
    assert following({"a": 990_000, "b": 50_000}, TOTAL) == {"a"}
    assert following({"a": 990_000, "b": 500, "c": 300_000}, TOTAL) == {"a"}


@given(st.integers(0, TOTAL), st.lists(st.integers(0, TOTAL), max_size=5))
def test_estimate_is_between_the_largest_part_and_all(found: int, counts: list[int]) -> None:
    assert max([found, *counts]) <= estimated_count(found, counts, TOTAL) <= TOTAL


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a few documents were many."""
    monkeypatch.setattr(leading_module, "_ENOUGH_DOCUMENTS", 8)
    monkeypatch.setattr(leading_module, "_FOLLOWING_DOCUMENTS", 20)
    monkeypatch.setattr(shard_module, "CANDIDATES_LIMIT", 8)


@pytest.mark.usefixtures("eager")
def test_word_that_follows_decides_between_the_best(tmp_path: Path) -> None:
    common = [row(f"common{number}", "sea and boat", signature=number + 1) for number in range(40)]
    rare = [row(f"rare{number}", "net and boat", signature=number + 100) for number in range(7)]
    search = searched(tmp_path, *common, *rare, row("both", "net and sea", signature=999))
    found = search.search(SearchRequest("net sea", per_site=0))
    assert found.hits[0].url.endswith("/both")
    assert all("/common" not in hit.url for hit in found.hits)
    assert found.is_estimated
    assert 41 <= found.count <= 48


@pytest.mark.usefixtures("eager")
def test_where_leading_words_find_too_few_all_words_look(tmp_path: Path) -> None:
    """Most documents with the rare word are excluded here, which its count does not say."""
    common = [row(f"common{number}", "sea", signature=number + 1) for number in range(40)]
    rare = [row(f"rare{number}", "net boat", signature=number + 100) for number in range(7)]
    search = searched(tmp_path, *common, *rare, row("both", "net sea", signature=999))
    found = search.search(SearchRequest("net sea -boat", per_site=0))
    assert (found.count, len(found.hits), found.is_estimated) == (41, 8, False)


def test_other_form_of_common_word_is_found_still(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nearly all write the word in one form: then one term looks for both."""
    monkeypatch.setattr(terms_module, "_COMMON_DOCUMENTS", 100)
    usual = [row(f"usual{number}", "net", signature=number + 1) for number in range(100)]
    search = searched(tmp_path, *usual, row("other", "nets", signature=999))
    assert [search.search(SearchRequest(text)).count for text in ("net", "nets", "+net", "net -nets")] == [
        101,
        101,
        101,
        100,
    ]


def test_next_page_and_same_question_again_go_on_from_what_is_remembered(tmp_path: Path) -> None:
    search = searched(tmp_path, *(row(f"p{number:02}", "net", signature=number + 1) for number in range(30)))
    whole = urls(search, "net", top=30)
    parts = [urls(search, "net", top=10, page=page) for page in (1, 2, 3, 1)]
    assert parts == [whole[:10], whole[10:20], whole[20:], whole[:10]]


def test_what_is_committed_later_is_found_after_refresh(tmp_path: Path) -> None:
    search = searched(tmp_path, row("a", "net"))
    assert urls(search, "net") == ["a"]
    write(tmp_path, row("b", "net"))
    assert urls(search, "net") == ["a"]
    search.refresh()
    assert sorted(urls(search, "net", per_site=0)) == ["a", "b"]


def test_index_that_has_not_changed_is_not_opened_again(tmp_path: Path) -> None:
    write(tmp_path, row("a", "net"))
    opened = Opened(index_folder(tmp_path), Language(), 0)
    first = opened.shard()
    assert opened.shard() is first
    write(tmp_path, row("b", "net"))
    assert opened.shard() is not first


@given(st.lists(st.integers(0, 9), max_size=40))
def test_only_the_last_are_remembered(keys: list[int]) -> None:
    remembered: Remembered[int, int] = Remembered(3)
    for key in keys:
        assert remembered.get(key) in (None, key * key)
        remembered.put(key, key * key)
        assert len(remembered) <= 3
        assert remembered.get(key) == key * key


def test_opening_an_index_sees_all_of_it(tmp_path: Path) -> None:
    write(tmp_path, row("a", "net"), row("b", "net"))
    assert Search.open(tmp_path).documents_count == 2
