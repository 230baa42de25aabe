"""Snippets: the part of a text that shows why it was found, with the words of the query marked. Bounded."""

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from tarrafa.search.words import WordAnalyzer, WordForms, drop_stop_words, lower_words

SNIPPET_CHARS = 240
_LEAD_CHARS = 60  # before the first marked word
_SPANS_LIMIT = 60  # of one word in one text
_PREFIX_CHARS = 4  # by which the highlighter finds words that may match
_ELLIPSIS = "…"

Piece = tuple[str, bool]  # text, and whether it is marked


class Highlighter:
    """Finds the words of a text that match a query.

    Checking every word of a text is slow. Both forms of a word begin as the word does, except for its last letter, so
    only words that share a prefix with a word of the query are checked.
    """

    def __init__(self, words: WordAnalyzer, query_words: list[str], language: str | None) -> None:
        self._words = words
        shown = drop_stop_words(query_words)
        self._folds = {fold: word for word in shown if (fold := words.folded[word])}
        self._stems = {stem: word for word in shown for stem in words.variants(word, language)}
        self._prefixes = _shortest_prefixes([*self._folds, *self._stems])

    def matches(self, text: str, language: str) -> dict[str, str]:
        """Return the matching words of a text, in lower case, each with the word of the query that it matches."""
        stems, folded = self._words.stems(language), self._words.folded
        found: dict[str, str] = {}
        for word in _words_with_prefixes(lower_words(text), self._prefixes):
            matched = self._folds.get(folded[word]) or self._stems.get(stems[word])
            if matched:
                found[word] = matched
        return found


def _shortest_prefixes(forms: list[str]) -> list[str]:
    """Return prefixes of the forms, none of which is a prefix of another."""
    found: list[str] = []
    for prefix in sorted({form[: max(1, min(len(form) - 1, _PREFIX_CHARS))] for form in forms}):
        if not found or not prefix.startswith(found[-1]):
            found.append(prefix)
    return found


def _words_with_prefixes(low: str, prefixes: list[str]) -> set[str]:
    """Return the words whose unaccented form has one of the prefixes; all words if the text is not Latin-1."""
    try:
        plain = low if low.isascii() else low.encode("latin-1").translate(_unaccented_bytes()).decode("latin-1")
    except UnicodeEncodeError:
        return set(low.split())
    padded = f" {plain} "
    found: set[str] = set()
    for prefix in prefixes:
        place = padded.find(f" {prefix}")
        while place >= 0:
            end = padded.find(" ", place + 1)
            found.add(low[place : end - 1])
            place = padded.find(f" {prefix}", end)
    return found


@cache
def _unaccented_bytes() -> bytes:
    """Return the unaccented letter for each Latin-1 letter; a letter that would become two stays."""
    folded = WordForms(None)
    return bytes(ord(fold) if len(fold := folded[chr(code)]) == 1 else code for code in range(256))


class _Span(NamedTuple):
    """A marked word in a text, and the word of the query that it matches."""

    start: int
    end: int
    word: str


def snippet(text: str, matches: Mapping[str, str], limit_chars: int = SNIPPET_CHARS) -> list[Piece]:
    """Return the part of a text with most different words of the query, marked; the beginning if there is none.

    `matches` has the matching words of the text, in lower case, each with the word of the query that it matches.
    """
    spans = _spans(text, matches)
    start = _best_start(text, spans, limit_chars)
    end = min(len(text), start + limit_chars)
    if end < len(text):
        space = text.rfind(" ", start, end)
        end = space if space > start + limit_chars // 2 else end
    pieces = _cut(text, [span for span in spans if span.start >= start and span.end <= end], start, end)
    return [*([(_ELLIPSIS, False)] if start else []), *pieces, *([(_ELLIPSIS, False)] if end < len(text) else [])]


def mark_all(text: str, matches: Mapping[str, str]) -> list[Piece]:
    """Return the whole text with the matching words marked."""
    return _cut(text, _spans(text, matches), 0, len(text))


def _spans(text: str, matches: Mapping[str, str]) -> list[_Span]:
    """Return where the matching words stand, in order."""
    low = text.lower()
    low = low if len(low) == len(text) else text
    return sorted(span for word, matched in matches.items() for span in _occurrences(low, word, matched))


def _occurrences(low: str, word: str, matched: str) -> list[_Span]:
    found: list[_Span] = []
    start = low.find(word)
    while start >= 0 and len(found) < _SPANS_LIMIT:
        end = start + len(word)
        if not low[max(0, start - 1) : start].isalnum() and not low[end : end + 1].isalnum():
            found.append(_Span(start, end, matched))
        start = low.find(word, end)
    return found


def _best_start(text: str, spans: list[_Span], limit_chars: int) -> int:
    """Return where the window with most different words begins; of equals, the one with most words, then the first."""
    best = (0, 0, 0)
    start = first = 0
    counts: dict[str, int] = {}
    for last, span in enumerate(spans):
        counts[span.word] = counts.get(span.word, 0) + 1
        while span.end - spans[first].start > limit_chars - _LEAD_CHARS and first < last:
            left = spans[first].word
            counts[left] -= 1
            if not counts[left]:
                del counts[left]
            first += 1
        value = (len(counts), last - first + 1, -spans[first].start)
        if value[:2] > best[:2]:
            best, start = value, spans[first].start
    return _word_start(text, start - _LEAD_CHARS) if start > _LEAD_CHARS else 0


def _word_start(text: str, near: int) -> int:
    space = text.find(" ", near, near + _LEAD_CHARS)
    return near if space < 0 else space + 1


def _cut(text: str, spans: list[_Span], start: int, end: int) -> list[Piece]:
    pieces: list[Piece] = []
    place = start
    for span in spans:
        if span.start > place:
            pieces.append((_squeeze(text[place : span.start]), False))
        pieces.append((text[span.start : span.end], True))
        place = span.end
    if place < end:
        pieces.append((_squeeze(text[place:end]), False))
    return pieces


def _squeeze(text: str) -> str:
    """Turn runs of white space into single spaces, also at the ends, where words follow."""
    words = " ".join(text.split())
    lead = " " if text[:1].isspace() else ""
    trail = " " if words and text[-1:].isspace() else ""
    return f"{lead}{words}{trail}"
