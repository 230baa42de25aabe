"""Words, snippets, spelling, expansion and order: what needs no index."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tarrafa.search.expansion import EXTRA_LIMIT, expansion, inverse_frequency
from tarrafa.search.ranking import anchor_share, fold_copies, freshness, spread
from tarrafa.search.snippets import SNIPPET_CHARS, mark_all, snippet
from tarrafa.search.spelling import best_spelling, distance
from tarrafa.search.words import Language, lowered, split, telling

LANGUAGE = Language()


def test_accents_and_case_are_folded() -> None:
    assert LANGUAGE.folded.of(split("Ação, ÀS Três")) == "acao as tres"


def test_stem_is_made_with_accents_and_then_folded() -> None:
    """Of the folded word the stemmer would make something else."""
    stems = LANGUAGE.stems("pt")
    assert stems["informação"] == stems["informações"] == "inform"


def test_languages_without_a_stemmer_keep_their_words() -> None:
    assert LANGUAGE.stems("fi").of(["verkkoja"]) == "verkkoja"


def test_decomposed_letters_are_the_same() -> None:
    assert split("informac\u0327a\u0303o") == ["informação"]


def test_quotes_and_dashes_part_words() -> None:
    assert split("rede – “tarrafa”… R$ 10") == ["rede", "tarrafa", "r", "10"]


@given(st.text(alphabet=st.characters(max_codepoint=0x24F), max_size=80))
def test_fast_and_slow_way_to_split_agree(text: str) -> None:
    """A letter that one byte cannot hold makes the slow way of it."""
    assert [*split(f"{text} 網"[:-2]), "網"] == split(f"{text} 網")


@given(st.text(alphabet=st.characters(max_codepoint=0x24F), max_size=80))
def test_text_is_folded_as_its_words_are(text: str) -> None:
    low = lowered(text)
    assert LANGUAGE.fold(low).split() == LANGUAGE.folded.of(low.split()).split() or any(
        len(w) > 40 for w in low.split()
    )


def test_overlong_words_have_no_form() -> None:
    assert LANGUAGE.folded["x" * 41] == ""


@given(st.text(max_size=60))
def test_forms_are_one_word_each(text: str) -> None:
    for word in split(text):
        assert len(LANGUAGE.folded[word].split()) <= 1
        assert len(LANGUAGE.stems("pt")[word].split()) <= 1


def test_words_that_hold_a_sentence_together_are_left_out() -> None:
    assert telling(["what", "is", "the", "best", "fishing", "net"]) == ["best", "fishing", "net"]
    assert telling(["como", "fazer", "uma", "rede", "de", "pesca"]) == ["fazer", "rede", "pesca"]


def test_sentence_of_nothing_else_stays() -> None:
    assert telling(["to", "be", "or", "not", "to", "be"]) == ["to", "be", "or", "not", "to", "be"]


def test_two_words_are_meant() -> None:
    assert telling(["the", "who"]) == ["the", "who"]


def test_snippet_shows_where_most_words_are() -> None:
    text = "net " + "x " * 400 + "a fishing net here " + "y " * 400
    pieces = snippet(text, {"net": "net", "fishing": "fishing"})
    assert [piece for piece, is_marked in pieces if is_marked] == ["fishing", "net"]
    assert pieces[0] == pieces[-1] == ("…", False)


def test_snippet_without_words_is_the_beginning() -> None:
    assert snippet("one\n two", {}) == [("one two", False)]


def test_part_of_a_word_is_not_marked() -> None:
    assert mark_all("internet Net", {"net": "net"}) == [("internet ", False), ("Net", True)]


@given(st.text(max_size=600), st.sampled_from(["a", "é", "0", "ab"]))
def test_snippet_is_bounded_and_from_the_text(text: str, word: str) -> None:
    pieces = snippet(text, {word: word})
    assert sum(len(piece) for piece, _ in pieces) <= SNIPPET_CHARS + 2
    assert all(piece.lower() == word for piece, is_marked in pieces if is_marked)


def test_distance_counts_edits_and_swaps() -> None:
    assert distance("search", "search", 2) == 0
    assert distance("saerch", "search", 2) == 1
    assert distance("serch", "search", 2) == 1
    assert distance("kitten", "sitting", 2) > 2


@given(st.text(alphabet="abc", max_size=8), st.text(alphabet="abc", max_size=8))
def test_distance_is_the_same_both_ways(first: str, second: str) -> None:
    assert min(distance(first, second, 9), 9) == min(distance(second, first, 9), 9)


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


def test_copies_are_folded_under_their_best() -> None:
    assert fold_copies(np.array([5, 0, 5, 7, 0], np.uint64)) == [[0, 2], [1], [3], [4]]


def test_sites_take_turns_and_nothing_is_lost() -> None:
    groups = [[0], [1], [2], [3]]
    site = np.array([1, 1, 1, 2], np.uint64)
    assert spread(groups, site, 1) == [[0], [3], [1], [2]]
    assert spread(groups, site, 2) == [[0], [1], [3], [2]]
    assert spread(groups, site, 0) == groups


def test_month_halves_freshness() -> None:
    month = 30 * 86_400
    assert freshness(np.array([2 * month, month, 3 * month]), 2.0 * month).tolist() == [1.0, 0.5, 1.0]


def test_anchor_text_counts_by_words_and_votes() -> None:
    words = frozenset({"fishing", "net"})
    few, many = [(words, 1)], [(words, 50)]
    assert 0.0 < anchor_share(few, words) < anchor_share(many, words) < 1.0
    assert anchor_share([(frozenset({"home"}), 50)], words) == 0.0
    assert anchor_share([], words) == 0.0
