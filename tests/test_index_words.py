"""Stems of many texts at once: the same as of each alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarrafa.search import words
from tarrafa.search.words import Language, lowered

LANGUAGE = Language()
TEXTS = st.lists(
    st.tuples(
        st.sampled_from(["en", "pt", "fr", ""]),
        st.text(st.sampled_from("Nets fishing_informação ÀßŒ½漢字\n-\x1f"), max_size=40) | st.text(max_size=40),
    ),
    max_size=12,
)


@given(TEXTS)
def test_texts_together_have_the_stems_that_each_has_alone(texts: list[tuple[str, str]]) -> None:
    lows = [(language, lowered(text)) for language, text in texts]
    alone = [LANGUAGE.stems(language).of(low.split()).split() for language, low in lows]
    assert [found.split() for found in LANGUAGE.stemmed(lows)] == alone


def test_texts_that_are_too_large_together_are_taken_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "_TOGETHER_CHARS", 10)
    texts = [("en", "nets"), ("en", "fishing boats"), ("pt", "redes"), ("en", ""), ("en", "sails")]
    assert LANGUAGE.stemmed(texts) == ["net", "fish boat", "red", "", "sail"]
