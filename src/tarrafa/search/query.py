"""The query language. Pure; parsing never raises, because every text is a query.

    net fish          any of the words
    +net +fish        all of the words
    net -fish         without that word; --option is a word
    os.path.join      all words of an identifier, best as they stand there
    "fishing net"     the phrase; "fishing net"~5 allows up to five words between. In a sentence of five words or more
                      quotes are only emphasis: there, a phrase is required only after a plus
    fish*             words with that prefix
    title:net         in the title; url:net in the address
    site:example.org  also host: lang: type: before:2024-05 after:2023; a minus before one excludes
    field:price=2.5   documents with that field; field:price with any value of it

An unclosed quote ends with the query. Whatever is not an operator is a word.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from enum import Enum
from typing import NamedTuple

from tarrafa.search.words import split_words

QUERY_MAX_CHARS = 1_000
WORDS_LIMIT = 64
SLOP_LIMIT = 100
IDENTIFIERS_LIMIT = 8  # that are searched for as a whole
SENTENCE_WORDS = 5  # words beside a phrase that make the query a sentence
PREFIX_MIN_CHARS = 2  # a shorter prefix would match too many words

_TOKEN = re.compile(
    r"""(?P<sign>(?:[+\-](?![+\-]))?)
        (?:(?P<name>[A-Za-z]+):(?=\S))?
        (?: "(?P<phrase>[^"]*)(?:"(?:~(?P<slop>[0-9]{1,3}))?|$) | (?P<word>[^\s"]+) )""",
    re.VERBOSE,
)
_DATE = re.compile(r"([0-9]{4})(?:-([0-9]{1,2}))?(?:-([0-9]{1,2}))?")


class Sign(Enum):
    ANY = ""
    MUST = "+"
    NOT = "-"


class ClauseKind(Enum):
    WORD = "word"
    PHRASE = "phrase"
    PREFIX = "prefix"


class Clause(NamedTuple):
    """Words in lower case, with accents. `field` is empty, `title` or `url`."""

    kind: ClauseKind
    words: tuple[str, ...]
    sign: Sign = Sign.ANY
    field: str = ""
    slop: int = 0


class Filter(NamedTuple):
    """`name` is site, host, lang, type, field, before or after."""

    name: str
    value: str
    is_excluded: bool = False


class Query(NamedTuple):
    """A parsed query."""

    clauses: tuple[Clause, ...] = ()
    filters: tuple[Filter, ...] = ()
    identifiers: tuple[tuple[str, ...], ...] = ()  # the words of each, which are clauses, too

    @property
    def words(self) -> tuple[str, ...]:
        """All whole words that are searched for, in the order of the query."""
        sought = (each for each in self.clauses if each.sign is not Sign.NOT and each.kind is not ClauseKind.PREFIX)
        return tuple(word for clause in sought for word in clause.words)


_FILTERS = frozenset({"site", "host", "lang", "type", "field", "before", "after"})
_FIELDS = frozenset({"title", "url"})


def parse(text: str) -> Query:
    """Parse a query; text beyond the limits is dropped."""
    clauses: list[Clause] = []
    filters: list[Filter] = []
    identifiers: dict[tuple[str, ...], None] = {}
    for match in _TOKEN.finditer(text[:QUERY_MAX_CHARS]):
        name = (match["name"] or "").lower()
        value = match["word"] or match["phrase"] or ""
        if name in _FILTERS and (found := make_filter(name, value, match["sign"] == "-")):
            filters.append(found)
        else:
            made = _make_clauses(match, name)
            clauses += made
            if len(made) > 1 and all(clause.kind is ClauseKind.WORD and not clause.field for clause in made):
                identifiers[tuple(clause.words[0] for clause in made)] = None
    kept = tuple(identifiers)[:IDENTIFIERS_LIMIT]
    return Query(_limit(_resolve_phrases(clauses)), tuple(filters[:WORDS_LIMIT]), kept)


def make_filter(name: str, value: str, is_excluded: bool = False) -> Filter | None:
    """Return the filter; None if the value is empty, or should be a date and is not."""
    value = value.strip().lower()
    if name in ("before", "after"):
        return Filter(name, value, is_excluded) if moment_of(value) is not None else None
    value = value.rstrip("/") if name in ("site", "host") else value
    return Filter(name, value, is_excluded) if value else None


def moment_of(text: str) -> int | None:
    """Return when a year, month or day (`2024`, `2024-05`, `2024-05-17`) begins, in seconds since the Unix epoch."""
    match = _DATE.fullmatch(text.strip())
    if match is None:
        return None
    try:
        return int(datetime(*(int(part or 1) for part in match.groups()), tzinfo=UTC).timestamp())  # type: ignore[misc,arg-type]
    except ValueError:
        return None


def _make_clauses(match: re.Match[str], name: str) -> list[Clause]:
    sign = Sign(match["sign"])
    field = name if name in _FIELDS else ""
    if match["phrase"] is not None:
        words = tuple(split_words(_plain_name(name, field) + match["phrase"]))
        slop = min(int(match["slop"] or 0), SLOP_LIMIT)
        return [Clause(ClauseKind.PHRASE, words, sign, field, slop)] if words else []
    words = tuple(split_words(_plain_name(name, field) + match["word"]))
    if words and match["word"].endswith("*") and len(words[-1]) >= PREFIX_MIN_CHARS:
        return [*_make_words(words[:-1], sign, field), Clause(ClauseKind.PREFIX, words[-1:], sign, field)]
    return _make_words(words, sign, field)


def _resolve_phrases(clauses: list[Clause]) -> list[Clause]:
    """Require phrases that have no sign, or turn them into words if the query is a sentence."""
    loose_count = sum(clause.kind is ClauseKind.WORD and clause.sign is Sign.ANY for clause in clauses)
    found: list[Clause] = []
    for clause in clauses:
        if clause.kind is ClauseKind.PHRASE and clause.sign is Sign.ANY:
            if loose_count >= SENTENCE_WORDS:
                found += _make_words(clause.words, Sign.ANY, clause.field)
            else:
                found.append(clause._replace(sign=Sign.MUST))
        else:
            found.append(clause)
    return found


def _plain_name(name: str, field: str) -> str:
    """Return the name as a word if it is not a field, such as the scheme of a URL."""
    return f"{name} " if name and not field else ""


def _make_words(words: Sequence[str], sign: Sign, field: str) -> list[Clause]:
    """Return a clause for each word. Excluded words that were typed as one, such as `e-mail`, are a phrase."""
    if sign is Sign.NOT and len(words) > 1:
        return [Clause(ClauseKind.PHRASE, tuple(words), sign, field)]
    return [Clause(ClauseKind.WORD, (word,), sign, field) for word in words]


def _limit(clauses: list[Clause]) -> tuple[Clause, ...]:
    """Drop repeated clauses, and those beyond the limit of words."""
    kept: list[Clause] = []
    count = 0
    for clause in dict.fromkeys(clauses):
        count += len(clause.words)
        if count > WORDS_LIMIT:
            break
        kept.append(clause)
    return tuple(kept)
