"""What a question means. Pure, and never raises: whatever is typed is a question.

    net fish          any of the words
    +net +fish        all of them
    net -fish         without that word
    "fishing net"     the words in this order; "fishing net"~5 with up to five words between. Within a sentence quotes
                      only stress: a phrase among five words or more is required if a plus stands before it
    fish*             words that begin so
    title:net         in the title; url:net in the address
    site:example.org  also host: lang: type: before:2024-05 after:2023; a minus before one excludes

An unclosed quote ends with the question. What is no operator is a word.
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from enum import Enum
from typing import NamedTuple

from tarrafa.search.words import split

QUERY_MAX_CHARS = 1_000
WORDS_LIMIT = 64
SLOP_LIMIT = 100
SENTENCE_WORDS = 5  # so many beside a phrase
PREFIX_MIN_CHARS = 2  # shorter ones would match half of all words

_TOKEN = re.compile(
    r"""(?P<sign>[+\-]?)
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
    """Words in lower case, with their accents. `field` is empty, `title` or `url`."""

    kind: ClauseKind
    words: tuple[str, ...]
    sign: Sign = Sign.ANY
    field: str = ""
    slop: int = 0


class Filter(NamedTuple):
    """`name` is site, host, lang, type, before or after."""

    name: str
    value: str
    is_excluded: bool = False


class Query(NamedTuple):
    clauses: tuple[Clause, ...] = ()
    filters: tuple[Filter, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """All whole words that are looked for, in the order of the question."""
        sought = (each for each in self.clauses if each.sign is not Sign.NOT and each.kind is not ClauseKind.PREFIX)
        return tuple(word for clause in sought for word in clause.words)


_FILTERS = frozenset({"site", "host", "lang", "type", "before", "after"})
_FIELDS = frozenset({"title", "url"})


def parse(text: str) -> Query:
    clauses: list[Clause] = []
    filters: list[Filter] = []
    for match in _TOKEN.finditer(text[:QUERY_MAX_CHARS]):
        name = (match["name"] or "").lower()
        value = match["word"] or match["phrase"] or ""
        if name in _FILTERS and (kept := make_filter(name, value, match["sign"] == "-")):
            filters.append(kept)
        else:
            clauses += _clauses(match, name)
    return Query(_bounded(_relaxed(clauses)), tuple(filters[:WORDS_LIMIT]))


def make_filter(name: str, value: str, is_excluded: bool = False) -> Filter | None:
    """None if the value says nothing: an empty one, or a date that is none."""
    value = value.strip().lower()
    if name in ("before", "after"):
        return Filter(name, value, is_excluded) if moment_of(value) is not None else None
    value = value.rstrip("/") if name in ("site", "host") else value
    return Filter(name, value, is_excluded) if value else None


def moment_of(text: str) -> int | None:
    """The beginning of a year, a month or a day (`2024`, `2024-05`, `2024-05-17`), in seconds since the Unix epoch."""
    match = _DATE.fullmatch(text.strip())
    if match is None:
        return None
    try:
        return int(datetime(*(int(part or 1) for part in match.groups()), tzinfo=UTC).timestamp())  # type: ignore[misc,arg-type]
    except ValueError:
        return None


def _clauses(match: re.Match[str], name: str) -> list[Clause]:
    sign = Sign(match["sign"])
    field = name if name in _FIELDS else ""
    if match["phrase"] is not None:
        words = _split(_unnamed(name, field) + match["phrase"])
        slop = min(int(match["slop"] or 0), SLOP_LIMIT)
        return [Clause(ClauseKind.PHRASE, words, sign, field, slop)] if words else []
    words = _split(_unnamed(name, field) + match["word"])
    if words and match["word"].endswith("*") and len(words[-1]) >= PREFIX_MIN_CHARS:
        return [*_single(words[:-1], sign, field), Clause(ClauseKind.PREFIX, words[-1:], sign, field)]
    return _single(words, sign, field)


def _relaxed(clauses: list[Clause]) -> list[Clause]:
    """Phrases without a sign: in a sentence their words are like the others, elsewhere they must be there."""
    loose_count = sum(clause.kind is ClauseKind.WORD and clause.sign is Sign.ANY for clause in clauses)
    found: list[Clause] = []
    for clause in clauses:
        if clause.kind is ClauseKind.PHRASE and clause.sign is Sign.ANY:
            if loose_count >= SENTENCE_WORDS:
                found += _single(clause.words, Sign.ANY, clause.field)
            else:
                found.append(clause._replace(sign=Sign.MUST))
        else:
            found.append(clause)
    return found


def _unnamed(name: str, field: str) -> str:
    """What looked like a field and is none, such as the scheme of a URL, is a word."""
    return f"{name} " if name and not field else ""


def _single(words: Iterable[str], sign: Sign, field: str) -> list[Clause]:
    """Several words in one, as in `e-mail`, must stand together if they are excluded."""
    together = tuple(words)
    if sign is Sign.NOT and len(together) > 1:
        return [Clause(ClauseKind.PHRASE, together, sign, field)]
    return [Clause(ClauseKind.WORD, (word,), sign, field) for word in together]


def _split(text: str) -> tuple[str, ...]:
    return tuple(split(text))


def _bounded(clauses: list[Clause]) -> tuple[Clause, ...]:
    """The same word twice is one; beyond the limit, words are left out."""
    kept: list[Clause] = []
    count = 0
    for clause in dict.fromkeys(clauses):
        count += len(clause.words)
        if count > WORDS_LIMIT:
            break
        kept.append(clause)
    return tuple(kept)
