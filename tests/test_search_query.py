"""The query language."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tarrafa.search import Clause, ClauseKind, Filter, Sign, parse
from tarrafa.search.query import QUERY_MAX_CHARS, WORDS_LIMIT, moment_of


def word(text: str, sign: Sign = Sign.ANY, field: str = "") -> Clause:
    return Clause(ClauseKind.WORD, (text,), sign, field)


def test_words_without_a_sign_are_optional() -> None:
    assert parse("Fishing NET").clauses == (word("fishing"), word("net"))


def test_signs_require_and_exclude() -> None:
    assert parse("+net -fish").clauses == (word("net", Sign.MUST), word("fish", Sign.NOT))


def test_phrase_is_required() -> None:
    assert parse('"fishing net" boat').clauses == (
        Clause(ClauseKind.PHRASE, ("fishing", "net"), Sign.MUST),
        word("boat"),
    )


def test_phrase_may_have_words_between() -> None:
    assert parse('"fishing net"~5').clauses[0].slop == 5


def test_quotes_in_a_sentence_are_only_emphasis() -> None:
    found = parse('where do i find a "fishing net" for my boat').clauses
    assert {clause.kind for clause in found} == {ClauseKind.WORD}
    assert word("net") in found


def test_plus_requires_a_phrase_in_a_sentence() -> None:
    found = parse('where do i find a +"fishing net" for my boat').clauses
    assert Clause(ClauseKind.PHRASE, ("fishing", "net"), Sign.MUST) in found


def test_unclosed_quote_ends_with_the_query() -> None:
    assert parse('"fishing net').clauses == (Clause(ClauseKind.PHRASE, ("fishing", "net"), Sign.MUST),)


def test_star_ends_a_prefix() -> None:
    assert parse("fish*").clauses == (Clause(ClauseKind.PREFIX, ("fish",)),)


def test_prefix_of_one_letter_is_a_word() -> None:
    assert parse("f*").clauses == (word("f"),)


def test_fields_and_filters() -> None:
    found = parse("title:net url:fish site:Example.org -lang:pt after:2023-05")
    assert found.clauses == (word("net", field="title"), word("fish", field="url"))
    assert found.filters == (Filter("site", "example.org"), Filter("lang", "pt", True), Filter("after", "2023-05"))


def test_invalid_date_is_a_word() -> None:
    assert parse("before:christmas").clauses == (word("before"), word("christmas"))


def test_unknown_field_is_a_word() -> None:
    assert parse("http://example.org/").clauses == (word("http"), word("example"), word("org"))


def test_words_joined_by_a_hyphen_are_excluded_together() -> None:
    assert parse("-e-mail").clauses == (Clause(ClauseKind.PHRASE, ("e", "mail"), Sign.NOT),)


@pytest.mark.parametrize("text", ["", " ", '"', '""', "+", "-", "*", '+"', "~", ":", "-:", "+-+", "' -- ''"])
def test_stray_operators_are_an_empty_query(text: str) -> None:
    assert parse(text).clauses == ()


def test_accents_are_kept_for_the_stemmer() -> None:
    assert parse("Informação").words == ("informação",)


@given(st.text(max_size=2 * QUERY_MAX_CHARS))
def test_any_text_is_parsed_within_the_limits(text: str) -> None:
    found = parse(text)
    assert sum(len(clause.words) for clause in found.clauses) <= WORDS_LIMIT
    assert len(found.filters) <= WORDS_LIMIT


@given(st.text(alphabet='+-"~*: abé1', max_size=60))
def test_any_operators_give_clauses_with_words(text: str) -> None:
    assert all(all(clause.words) for clause in parse(text).clauses)


@pytest.mark.parametrize(
    ("text", "moment"), [("1970", 0), ("1970-01-02", 86_400), ("1970-2", 31 * 86_400), ("1970-13", None), ("x", None)]
)
def test_date_is_the_beginning_of_a_year_a_month_or_a_day(text: str, moment: int | None) -> None:
    assert moment_of(text) == moment


@pytest.mark.parametrize(
    ("text", "words", "identifiers"),
    [
        ("os.path.join", ("os", "path", "join"), (("os", "path", "join"),)),
        ("std::unordered_map x", ("std", "unordered", "map", "x"), (("std", "unordered", "map"),)),
        ("--with-openssl", ("with", "openssl"), (("with", "openssl"),)),
        ("--help", ("help",), ()),
        ("+mod_rewrite", ("mod", "rewrite"), (("mod", "rewrite"),)),
        ("net -e-mail", ("net",), ()),
        ("title:a-b", ("a", "b"), ()),
        ("plain words", ("plain", "words"), ()),
    ],
)
def test_identifier_is_its_words_and_a_whole(
    text: str, words: tuple[str, ...], identifiers: tuple[tuple[str, ...], ...]
) -> None:
    found = parse(text)
    assert found.words == words
    assert found.identifiers == identifiers
