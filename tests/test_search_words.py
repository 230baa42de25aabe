"""Words of texts, their forms, and stop words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarrafa.search import words
from tarrafa.search.words import WordAnalyzer, drop_stop_words, lower_words, split_words

WORDS = WordAnalyzer()
TEXTS = st.lists(
    st.tuples(
        st.sampled_from(["en", "pt", "fr", ""]),
        st.text(st.sampled_from("Nets fishing_informação ÀßŒ½漢字\n-\x1f"), max_size=40) | st.text(max_size=40),
    ),
    max_size=12,
)


def test_accents_and_case_are_folded() -> None:
    assert WORDS.folded.join(split_words("Ação, ÀS Três")) == "acao as tres"


def test_stem_is_made_with_accents_and_then_folded() -> None:
    """The stemmer would return something else for the folded word."""
    stems = WORDS.stems("pt")
    assert stems["informação"] == stems["informações"] == "inform"


def test_languages_without_a_stemmer_keep_their_words() -> None:
    assert WORDS.stems("fi").join(["verkkoja"]) == "verkkoja"


def test_decomposed_letters_are_the_same() -> None:
    assert split_words("informac\u0327a\u0303o") == ["informação"]


def test_quotes_and_dashes_separate_words() -> None:
    assert split_words("rede – “tarrafa”… R$ 10") == ["rede", "tarrafa", "r", "10"]


@given(st.text(alphabet=st.characters(max_codepoint=0x24F), max_size=80))
def test_fast_and_slow_way_to_split_agree(text: str) -> None:
    """A letter outside Latin-1 forces the slow way."""
    assert [*split_words(f"{text} 網"[:-2]), "網"] == split_words(f"{text} 網")


@given(st.text(alphabet=st.characters(max_codepoint=0x24F), max_size=80))
def test_text_is_folded_as_its_words_are(text: str) -> None:
    low = lower_words(text)
    assert WORDS.fold(low).split() == WORDS.folded.join(low.split()).split() or any(len(w) > 40 for w in low.split())


def test_overlong_words_have_no_form() -> None:
    assert WORDS.folded["x" * 41] == ""


@given(st.text(max_size=60))
def test_forms_are_one_word_each(text: str) -> None:
    for word in split_words(text):
        assert len(WORDS.folded[word].split()) <= 1
        assert len(WORDS.stems("pt")[word].split()) <= 1


def test_stop_words_are_dropped() -> None:
    assert drop_stop_words(["what", "is", "the", "best", "fishing", "net"]) == ["best", "fishing", "net"]
    assert drop_stop_words(["como", "fazer", "uma", "rede", "de", "pesca"]) == ["fazer", "rede", "pesca"]


def test_sentence_of_stop_words_only_stays() -> None:
    assert drop_stop_words(["to", "be", "or", "not", "to", "be"]) == ["to", "be", "or", "not", "to", "be"]


def test_query_of_two_words_keeps_its_stop_words() -> None:
    assert drop_stop_words(["the", "who"]) == ["the", "who"]


@given(TEXTS)
def test_stems_of_many_texts_are_those_of_each_alone(texts: list[tuple[str, str]]) -> None:
    lows = [(language, lower_words(text)) for language, text in texts]
    alone = [WORDS.stems(language).join(low.split()).split() for language, low in lows]
    assert [found.split() for found in WORDS.stem_texts(lows)] == alone


def test_large_texts_are_stemmed_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "CHUNK_CHARS", 10)
    texts = [("en", "nets"), ("en", "fishing boats"), ("pt", "redes"), ("en", ""), ("en", "sails")]
    assert WORDS.stem_texts(texts) == ["net", "fish boat", "red", "", "sail"]
