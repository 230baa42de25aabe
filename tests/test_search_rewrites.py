"""Query rewriting: spelling and expansion."""

from hypothesis import given
from hypothesis import strategies as st

from tarrafa.search.rewrites import EXTRA_LIMIT, best_spelling, edit_distance, expansion, inverse_frequency


def test_distance_counts_edits_and_swaps() -> None:
    assert edit_distance("search", "search", 2) == 0
    assert edit_distance("saerch", "search", 2) == 1
    assert edit_distance("serch", "search", 2) == 1
    assert edit_distance("kitten", "sitting", 2) > 2


@given(st.text(alphabet="abc", max_size=8), st.text(alphabet="abc", max_size=8))
def test_distance_is_the_same_both_ways(first: str, second: str) -> None:
    assert min(edit_distance(first, second, 9), 9) == min(edit_distance(second, first, 9), 9)


def test_nearest_spelling_wins_and_then_the_commonest() -> None:
    assert best_spelling("serch", [("search", 2), ("perch", 9), ("sarch", 1)]) == "perch"
    assert best_spelling("zzzzz", [("search", 2)]) is None


def test_expansion_takes_rare_words_that_results_share() -> None:
    found = expansion([["net", "fish", "the"], ["net", "fish", "boat"]], {"net"}, lambda stem: float(stem != "the"))
    assert [stem for stem, _ in found] == ["fish"]


@given(st.lists(st.lists(st.sampled_from(["one", "two", "six", "ten"]), max_size=9), max_size=9))
def test_expansion_is_bounded(documents: list[list[str]]) -> None:
    assert len(expansion(documents, {"one"}, len)) <= EXTRA_LIMIT


def test_word_of_half_of_all_documents_is_not_rare() -> None:
    assert inverse_frequency(50, 100) == 0.0
    assert inverse_frequency(1, 100) > inverse_frequency(10, 100) > 0.0
