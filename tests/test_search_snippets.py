"""Snippets, and the words that they mark."""

from hypothesis import given
from hypothesis import strategies as st

from tarrafa.search.query import parse
from tarrafa.search.snippets import SNIPPET_CHARS, Highlighter, mark_all, snippet
from tarrafa.search.words import WordAnalyzer, drop_stop_words, split_words

ANALYZER = WordAnalyzer()
WORDS = [
    *("net", "nets", "network", "networks", "networking", "fish", "fishing", "fished", "fisher", "happy", "happiness"),
    *("informação", "informações", "informar", "rede", "redes", "coração", "corações", "maçã", "maca", "é", "e", "a"),
    *("Łódź", "сеть", "straße", "ação", "ações", "x", "10", "ÜBER", "uber"),
]


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


def obvious_matches(text: str, language: str, query_words: list[str]) -> dict[str, str]:
    """Check every word of the text, as the highlighter would if it were slow."""
    folds = {ANALYZER.folded[word]: word for word in query_words}
    stems = {stem: word for word in query_words for stem in ANALYZER.variants(word, None)}
    matches = {
        word: folds.get(ANALYZER.folded[word]) or stems.get(ANALYZER.stems(language)[word])
        for word in split_words(text)
    }
    return {word: matched for word, matched in matches.items() if matched}


@given(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=4, unique=True),
    st.lists(st.sampled_from(WORDS), max_size=20),
    st.sampled_from(["en", "pt", "fi"]),
    st.sampled_from([" ", ", ", "\n"]),
)
def test_highlighter_finds_the_words_that_checking_every_word_finds(
    asked: list[str], written: list[str], language: str, between: str
) -> None:
    query_words = [*parse(" ".join(asked)).words]
    text = between.join(written)
    found = Highlighter(ANALYZER, query_words, None).matches(text, language)
    # If two words of the query have the same form, either may be named.
    assert found.keys() == obvious_matches(text, language, drop_stop_words(query_words)).keys()
